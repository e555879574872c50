/** A runtime for the tests, in a process of its own, so that it can be killed. Prints its address. */
import { ARCPServer } from "../../src/arcp-server.ts";

const [dataDirectory = "", port = "0"] = process.argv.slice(2);
const bearer = { "worker-token": "worker", "ada-token": "ada" };
const server = await ARCPServer.open({ bearer, dataDirectory, mayWork: () => true });
const { url } = await server.listen({ port: Number(port) });
console.log(url);

/** A runtime for the tests, in a process of its own, so that it can be killed. Prints its address. */
import { ARCPServer } from "../../src/arcp-server.ts";
import { askTwice } from "./asking-agent.ts";

const [dataDirectory = "", port = "0"] = process.argv.slice(2);
const bearer = { "worker-token": "worker", "ada-token": "ada" };
const server = await ARCPServer.open({ bearer, dataDirectory, mayWork: () => true });
server.registerAgent("asks-here", askTwice, { isIdempotent: true });
server.registerAgent("asks-here-once", askTwice);
const { url } = await server.listen({ port: Number(port) });
console.log(url);

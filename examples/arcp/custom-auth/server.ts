/** Who is speaking is found out by a function of your own. */
import { ARCPServer } from "tipstaff/runtime";
import { verifyToken } from "./token.ts";

const { ARCP_DEMO_PORT: port = "7894" } = process.env;
const server = await ARCPServer.open({ bearer: verifyToken });

server.registerAgent("echo", (_input, ctx) => ({ hello: ctx.principal }));

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

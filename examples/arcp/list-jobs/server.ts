/** Jobs that are there until someone sends them away. */
import { once } from "node:events";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7887", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("hold", async (_input, ctx) => {
  await once(ctx.signal, "abort");
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

/** A job that is silent for twelve seconds, on a connection that must not be taken for dead. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7885", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" }, heartbeatSec: 5 });

server.registerAgent("long", async (_input, ctx) => {
  await sleep(12_000, undefined, { signal: ctx.signal });
  return { ok: true };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

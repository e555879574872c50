/** A job of ten seconds. Whether it has them is its caller's decision. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7890", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("slow", async (_input, ctx) => {
  await sleep(10_000, undefined, { signal: ctx.signal });
  return { done: true };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

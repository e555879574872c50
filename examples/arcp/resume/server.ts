/** A job of five seconds, long enough to lose a connection in the middle of it. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7880", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({
  bearer: { [token]: "demo-principal" },
  resumeWindowSec: 60,
});

server.registerAgent("slow", async (_input, ctx) => {
  for (let i = 0; i < 10; i += 1) {
    await ctx.log("info", `step ${i}`, { i });
    await sleep(500, undefined, { signal: ctx.signal });
  }
  return { steps: 10 };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

/** A job that others may watch, and only its owner may end. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7888", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({
  bearer: { [token]: "principal-a", "demo-token-b": "principal-b" },
  authorizeObserve: () => true,
});

server.registerAgent("slow", async (_input, ctx) => {
  for (let i = 0; i < 20; i += 1) {
    await ctx.log("info", `step ${i}`, { i });
    await sleep(300, undefined, { signal: ctx.signal });
  }
  return { steps: 20 };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

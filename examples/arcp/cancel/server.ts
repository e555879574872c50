/** A job of half a minute that stops when it is asked to. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7883", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("patient", async (_input, ctx) => {
  for (let i = 0; i < 60; i += 1) {
    await ctx.log("info", `tick ${i}`);
    // The signal is all an agent needs: what waits for it is over at once.
    await sleep(500, undefined, { signal: ctx.signal });
  }
  return { ticks: 60 };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

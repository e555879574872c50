/** A job that talks faster than anyone says that it has understood. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7886", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({
  bearer: { [token]: "demo-principal" },
  backPressureEvents: 50,
});

server.registerAgent("chatty", async (_input, ctx) => {
  for (let i = 0; i < 200; i += 1) {
    await ctx.log("info", `chatter ${i}`, { i });
    await sleep(5, undefined, { signal: ctx.signal });
  }
  return { emitted: 200 };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

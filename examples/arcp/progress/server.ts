/** A job that tells how far it is. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "tipstaff/runtime";
import { z } from "zod";

const { ARCP_DEMO_PORT: port = "7892", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

const Input = z.object({ steps: z.int().positive() });

server.registerAgent("report", async (input, ctx) => {
  const { steps: total } = Input.parse(input);
  for (let current = 1; current <= total; current += 1) {
    await sleep(20, undefined, { signal: ctx.signal });
    await ctx.progress(current, { total, units: "steps", message: `step ${current}/${total}` });
  }
  return { steps: total };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

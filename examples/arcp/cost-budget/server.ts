/** An agent whose calls cost thirty cents each, and that stops when the money is gone. */
import { ARCPServer, isARCPError } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7891", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

/** What must be there for another call. What it comes to is known, and told, when the bill is there. */
const cent = { currency: "USD", value: { units: 1n, scale: 2 } };

server.registerAgent("caller", async (_input, ctx) => {
  for (let round = 1; round <= 5; round += 1) {
    const call_id = `tc${round}`;
    try {
      const aside = await ctx.reserve(cent);
      await aside.settle();
    } catch (error) {
      if (!isARCPError(error) || error.code !== "BUDGET_EXHAUSTED") throw error;
      await ctx.toolResult({ call_id, error: error.toPayload() });
      return { completed: round - 1, exhausted: true };
    }
    await ctx.metric({ name: "cost.openai", value: 0.3, unit: "USD" });
    await ctx.toolResult({ call_id, result: `call-${round}` });
  }
  return { completed: 5, exhausted: false };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

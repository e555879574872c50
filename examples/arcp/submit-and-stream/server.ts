/** An agent that tells everything an agent can tell while it works. */
import { ARCPError, ARCPServer } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7879", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("echo", async (input, ctx) => {
  if (input === null) throw new ARCPError("INVALID_REQUEST", "there is nothing to echo");
  await ctx.status("starting");
  await ctx.log("info", "got something to echo", { keys: Object.keys(input ?? {}) });
  await ctx.thought("I fetch it first, then I sum it up.");
  await ctx.emitEvent("tool_call", { tool: "fetch", args: { url: "x://" }, call_id: "tc1" });
  await ctx.toolResult({ call_id: "tc1", result: { bytes: 42 } });
  await ctx.metric({ name: "tokens.in", value: 12, unit: "tokens" });
  await ctx.artifactRef({ uri: "a1", content_type: "text/plain", byte_size: 7 });
  await ctx.status("complete");
  return { summary: "ok" };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

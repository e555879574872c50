/** An agent that wants more than it was allowed, is told no, and goes on. */
import { ARCPServer, isARCPError } from "tipstaff/runtime";

const { ARCP_DEMO_PORT: port = "7882", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("cautious", async (_input, ctx) => {
  try {
    await ctx.authorize("fs.write", "/etc/passwd");
    // Here it would write. It never gets here: the lease of the job is asked first.
  } catch (error) {
    if (!isARCPError(error) || error.code !== "PERMISSION_DENIED") throw error;
    await ctx.toolResult({ call_id: "tc1", error: error.toPayload() });
  }
  await ctx.log("info", "went on without it");
  return { continued: true };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

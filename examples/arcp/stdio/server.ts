/** The same runtime without a port: one frame a line on standard output, and nothing else there. */
import { once } from "node:events";
import { ARCPServer, fromProcess } from "tipstaff/runtime";

const { ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
await using server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

server.registerAgent("echo", async (input, ctx) => {
  await ctx.log("info", "stdio agent ran");
  return { echoed: input };
});

server.accept(fromProcess(process));
console.error("listening on standard input");
await once(process.stdin, "close");

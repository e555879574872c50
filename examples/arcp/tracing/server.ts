/** An agent whose work is seen in the trace of whoever asked for it. */
import { ARCPServer } from "tipstaff/runtime";
import { jobSpans, withTracing } from "tipstaff/tracing";
import { printSpan, startTracing } from "./spans.ts";

const { ARCP_DEMO_PORT: port = "7895", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const tracer = startTracing((span) => console.log(printSpan(span)));

const server = await ARCPServer.open({
  bearer: { [token]: "demo-principal" },
  around: jobSpans(tracer),
  wrap: (transport) => withTracing(transport, { tracer }),
});
server.registerAgent("echo", async (input, ctx) => {
  await ctx.log("info", "echo started", { ...ctx.traceContext });
  return { echoed: input };
});

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

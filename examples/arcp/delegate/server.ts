/** A job that has another agent do part of its work: one trace, a job of its own. */
import { ARCPClient } from "tipstaff/arcp";
import { ARCPServer, type JobContext, pairMemoryTransports } from "tipstaff/runtime";
import { z } from "zod";

const { ARCP_DEMO_PORT: port = "7878", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const server = await ARCPServer.open({ bearer: { [token]: "demo-principal" } });

const Result = z.object({ trace_id: z.string() });

server.registerAgent("child", async (_input, ctx) => {
  await ctx.log("info", "child running", { trace_id: ctx.traceId });
  return { child_done: true, trace_id: ctx.traceId };
});

server.registerAgent("parent", async (_input, ctx) => {
  const mayDelegate = ctx.lease["agent.delegate"] !== undefined;
  const result = mayDelegate ? await delegate(ctx) : await submitFor(ctx);
  const { trace_id } = Result.parse(result);
  return { parent_trace: ctx.traceId, child_trace: trace_id };
});

/** Within the lease of the parent: the runtime tells it, checks it and starts it. */
async function delegate(ctx: JobContext): Promise<unknown> {
  const child = await ctx.delegate({ agent: "child", input: { from: "parent" } });
  return await child.done;
}

/** For a caller who leased nothing, the agent asks in its own name, as a client of its own server. */
async function submitFor(ctx: JobContext): Promise<unknown> {
  const [near, far] = pairMemoryTransports();
  server.accept(far);
  await using client = await ARCPClient.connect(near, { token });
  const { traceId, jobId: parentJobId } = ctx;
  const child = await client.submit({
    agent: "child",
    input: { from: "parent" },
    traceId,
    parentJobId,
  });
  await ctx.emitEvent("delegate", {
    delegate_id: "child-1",
    agent: "child",
    child_job_id: child.jobId,
  });
  return (await child.done).result;
}

const { url } = await server.listen({ port: Number(port) });
console.log(`listening on ${url}`);

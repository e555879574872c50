/** Asks within a span, and finds the agent's work below it. */
import assert from "node:assert/strict";
import { ARCPClient, connectWebSocket } from "tipstaff/arcp";
import { withTracing } from "tipstaff/tracing";
import { printSpan, startTracing } from "./spans.ts";

const { ARCP_DEMO_PORT: port = "7895", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

const sent = new Map<string, string>();
const tracer = startTracing((span) => {
  console.log(printSpan(span));
  sent.set(span.spanContext().spanId, span.name);
});

const connect = async () => withTracing(await connectWebSocket(url), { tracer });
await using client = await ARCPClient.connect(connect, { token });

await tracer.startActiveSpan("ask for an echo", async (asking) => {
  const { traceId } = asking.spanContext();
  const job = await client.submit({ agent: "echo", input: { k: 1 }, traceId });
  const places: string[] = [];
  for await (const { view } of job.events()) {
    const told = view?.kind === "log" ? view.attributes : undefined;
    if (typeof told?.["traceparent"] === "string") places.push(told["traceparent"]);
  }
  assert.deepEqual((await job.done).result, { echoed: { k: 1 } });
  assert.equal(job.traceId, traceId);
  const [, agentTrace, agentSpan = ""] = places[0]?.split("-") ?? [];
  assert.equal(agentTrace, traceId, "the agent is in another trace");
  assert(!sent.has(agentSpan), "the agent has no span of its own");
  asking.end();
});
assert([...sent.values()].includes("arcp.send job.submit"));
assert([...sent.values()].includes("arcp.recv job.result"));
console.log("the agent worked in the trace of its client");

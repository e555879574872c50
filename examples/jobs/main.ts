/** A job with a lease: what the agent may call, what it may spend, and everything it did. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";
import { ARCPServer } from "tipstaff/runtime";

await using server = await ARCPServer.open({ bearer: { "my-token": "you" } });
server.registerAgent("reporter", async (_, job) => {
  for (const page of [1, 2, 3]) {
    await job.callTool({ tool: "search.web", args: { page } }, () => `results ${page}`);
    await job.metric({ name: "cost.search", value: 0.03, unit: "USD" });
    await job.progress(page, { total: 3, units: "pages" });
  }
  // Nobody allowed this: it is refused before it happens, and the job goes on.
  const sent = await job.callTool({ tool: "mail.send" }, () => true).catch(() => false);
  return { pages: 3, sent };
});
const { url } = await server.listen({ port: 0 });

await using client = await ARCPClient.connect(url, { token: "my-token" });
const job = await client.submit({
  agent: "reporter",
  lease: { "tool.call": ["search.*"], "cost.budget": ["USD:0.10"] },
});
for await (const { kind, body } of job.events()) console.log(kind, JSON.stringify(body));
const { result } = await job.done;
console.log("result", JSON.stringify(result));
assert.deepEqual(result, { pages: 3, sent: false });

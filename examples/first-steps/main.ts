/** Register, hold a task, find an agent, leave. */
import { connect } from "tipstaff/client";

await using client = await connect();
await using agent = await client.register({
  name: "scraper",
  description: "Fetches invoices from web pages",
  tools: ["browser"],
});
await using lease = await agent.acquire("invoice-42", { ttlMs: 60_000, wait: true });
console.log(`${agent.name} holds ${lease.taskId} with token ${lease.token}`);

const [best] = await client.find("get a web page", { tools: ["browser"] });
console.log(`best agent for a web page: ${best?.agent.card.name}`);
if (best?.agent.card.name !== "scraper" || !lease.isHeld) process.exitCode = 1;

/** The daemon brought along: in this process for tests and small programs, or as a child process. */
import assert from "node:assert/strict";
import { openEmbedded, startDaemon } from "tipstaff/embedded";

{
  await using plane = await openEmbedded();
  await using agent = await plane.client.register({ name: "scraper" });
  await using lease = await agent.acquire("invoice-42");
  assert(lease.isHeld);
}
{
  await using daemon = await startDaemon();
  await using agent = await daemon.client.register({ name: "scraper" });
  console.log(`${agent.name} registered with a daemon at ${daemon.url}, gone when this ends`);
}

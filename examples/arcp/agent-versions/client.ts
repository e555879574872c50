/** Takes the version that is recommended, one that it names, and one that there is not. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7889", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
for (const { name, versions, default: recommended } of client.agents) {
  console.log(`${name}: ${versions.join(", ")}; recommended ${recommended}`);
}

const any = await client.submit({ agent: "summarize", input: { x: "hello" } });
console.log(`summarize is ${any.agent}: ${JSON.stringify((await any.done).result)}`);
assert.equal(any.agent, "summarize@1.2.3");

const old = await client.submit({ agent: "summarize@1.0.0", input: { x: "hi" } });
console.log(`asked for ${old.agent}: ${JSON.stringify((await old.done).result)}`);
assert.equal(old.agent, "summarize@1.0.0");

const none = client.submit({ agent: "summarize@9.9.9", input: { x: "?" } });
await assert.rejects(none, { code: "AGENT_VERSION_NOT_AVAILABLE" });
console.log("summarize@9.9.9: AGENT_VERSION_NOT_AVAILABLE");

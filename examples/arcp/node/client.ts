/** The same port answers requests and takes jobs, and neither from whoever calls it by another name. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:http";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7897", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;
const at = (path: string): URL => new URL(path, url.replace(/^ws/, "http"));

const health = await (await fetch(at("/health"))).json();
console.log(`GET /health: ${JSON.stringify(health)}`);
assert.equal(Object(health).ok, true);
assert.equal((await fetch(at("/elsewhere"))).status, 404);

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({ agent: "echo", input: { k: 1 } });
const { result } = await job.done;
console.log(`echo on the same port: ${JSON.stringify(result)}`);
assert.deepEqual(result, { echoed: { k: 1 } });

const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
const key = { "sec-websocket-key": Buffer.from("0123456789abcdef").toString("base64") };
for (const [path, headers] of [
  ["/health", {}],
  ["/arcp", { ...upgrade, ...key }],
] as const) {
  const request = get(at(path), { headers: { ...headers, host: "evil.example" } });
  const [{ statusCode }] = await once(request, "response");
  request.destroy();
  console.log(`${path} as evil.example: ${statusCode}`);
  assert.equal(statusCode, 403);
}

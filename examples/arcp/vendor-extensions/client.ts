/** Understands what it knows, passes what it does not, and says something of its own. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7884", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const job = await client.submit({
  agent: "vendor",
  input: {},
  lease: { "x-vendor.acme.metrics": ["*"] },
});

const own: unknown[] = [];
for await (const { kind, body } of job.events()) {
  console.log(`${kind} ${JSON.stringify(body)}`);
  if (kind === "x-vendor.acme.progress") own.push(body);
}
assert.deepEqual(
  own,
  [1, 2, 3].map((i) => ({ i, total: 3 })),
);
assert.deepEqual((await job.done).result, { vendor: true });

const answer = Promise.withResolvers<unknown>();
client.on("x-vendor.acme.greeted", ({ payload }) => answer.resolve(payload));
await client.send({ type: "x-vendor.acme.greeting", payload: { from: "client" } });
console.log(`greeted: ${JSON.stringify(await answer.promise)}`);
assert.deepEqual(await answer.promise, { from: "client", back: true });

/** Waits for a job that says nothing, and hears every five seconds that the other side lives. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7885", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
assert.equal(client.welcome.heartbeatIntervalSec, 5);
let beats = 0;
for (const type of ["session.ping", "session.pong"]) {
  client.on(type, () => {
    beats += 1;
    console.log(`${type} came: still there`);
  });
}
const job = await client.submit({ agent: "long", input: {} });
assert.deepEqual((await job.done).result, { ok: true });
console.log(`${beats} signs of life in twelve silent seconds`);
assert(beats >= 2);

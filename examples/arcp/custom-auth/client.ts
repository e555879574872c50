/** Comes in with a token that it signed itself; nobody comes in with one that is made up or over. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";
import { signToken } from "./token.ts";

const { ARCP_DEMO_PORT: port = "7894" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token: signToken("alice") });
const job = await client.submit({ agent: "echo", input: {} });
const { result } = await job.done;
console.log(`signed: ${JSON.stringify(result)}`);
assert.deepEqual(result, { hello: "alice" });

const expired = signToken("alice", -1);
const forged = signToken("alice").replace("alice", "mallory");
for (const token of ["not.a.valid.token", expired, forged]) {
  await assert.rejects(ARCPClient.connect(url, { token }), { code: "UNAUTHENTICATED" });
}
console.log("made up, expired, forged: UNAUTHENTICATED");

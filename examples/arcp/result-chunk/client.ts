/** Reads a result while it is written, and has all of it at the end. */
import assert from "node:assert/strict";
import { ARCPClient } from "tipstaff/arcp";

const { ARCP_DEMO_PORT: port = "7893", ARCP_DEMO_TOKEN: token = "demo-token" } = process.env;
const { ARCP_DEMO_URL: url = `ws://127.0.0.1:${port}/arcp` } = process.env;

await using client = await ARCPClient.connect(url, { token });
const wish = { agent: "report-builder", input: { chunks: 30 } };

// Piece by piece, while it is written.
const first = await client.submit(wish);
let pieces = 0;
for await (const { data, chunkSeq } of first.chunks()) {
  pieces += 1;
  if (chunkSeq < 3) console.log(`piece ${chunkSeq}: ${data.trim()}`);
}
console.log(`${pieces} pieces`);
assert(pieces >= 30);

// Or whole.
const second = await client.submit(wish);
const report = await second.collectChunks();
const { result_size, summary } = await second.done;
console.log(`${result_size} bytes: ${summary}`);
assert.equal(Buffer.byteLength(report), result_size);
assert.match(String(report), /^Section 1: .*Section 30: [^\n]*\n$/s);

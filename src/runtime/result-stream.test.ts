import assert from "node:assert/strict";
import { test } from "node:test";
import { dialects } from "../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import { type ChunkBody, ResultStream, type ResultStreamOptions } from "./result-stream.ts";

function streamOf(options: ResultStreamOptions = {}): {
  readonly stream: ResultStream;
  readonly said: readonly ChunkBody[];
} {
  const said: ChunkBody[] = [];
  const say = async (body: ChunkBody): Promise<void> => void said.push(body);
  return { stream: new ResultStream("res_1", say, options), said };
}

function chunk(more: Partial<ChunkBody>): ChunkBody {
  return { result_id: "res_1", chunk_seq: 0, data: "a", encoding: "utf8", more: true, ...more };
}

test("[ARCP-125] [ARCP-124] a stream without data is one empty piece, which is the last", async () => {
  const { stream, said } = streamOf();
  await stream.finalize();
  await stream.finalize();
  assert.deepEqual(said, [chunk({ data: "", more: false })]);
  assert.equal(stream.bytes, 0);
});

test("[ARCP-126] [ARCP-33] what is written at once is cut into pieces of 256 KiB, fewer where printing takes more", async () => {
  const { stream, said } = streamOf();
  await stream.write(new Uint8Array(600_000));
  await stream.write("é".repeat(200_000));
  await stream.write("\u0001".repeat(300_000));
  await stream.finalize();
  assert.equal(stream.bytes, 600_000 + 400_000 + 300_000);
  assert.deepEqual(
    said.map(({ chunk_seq }) => chunk_seq),
    [...said.keys()],
  );
  assert.deepEqual(
    said.map(({ more }) => more),
    said.map((_, at) => at < said.length - 1),
  );
  for (const body of said) assert(JSON.stringify(body).length < 1_048_576 - 1_000);
  assert.equal(Buffer.from(said[0]?.data ?? "", "base64").length, 262_144);
});

test("[PYR-18] [PY-48] for a client that reads lines of 64 KiB pieces are shorter", async () => {
  const { stream, said } = streamOf({ chunk: dialects.python.lineChunk });
  await stream.write("\u0001é".repeat(50_000));
  await stream.write(new Uint8Array(100_000));
  await stream.finalize();
  for (const body of said) assert(Buffer.byteLength(JSON.stringify(body)) < 65_536 - 1_000);
});

test("[ARCP-126] a piece of more than 1 MiB is refused, and so is what makes a result too long; the rest counts", async () => {
  const { stream, said } = streamOf({ bytesMax: 2_000_000 });
  const tooLong = "x".repeat(limits.chunkBytesMax + 1);
  await assert.rejects(stream.put(chunk({ data: tooLong })), { code: "internal_error" });
  await stream.put(chunk({ data: "x".repeat(1_000_000) }));
  await assert.rejects(stream.write("x".repeat(1_000_001)), { code: "internal_error" });
  assert.equal(said[0]?.data.length, 1_000_000);
  assert(stream.bytes <= 2_000_000);
  assert.equal(limits.resultBytesMax, 268_435_456);
});

test("[ARCP-127] pieces of an agent's own come in order, of one result, and none after the last", async () => {
  const { stream, said } = streamOf();
  await stream.put(chunk({}));
  for (const wrong of [{ chunk_seq: 0 }, { chunk_seq: 2 }, { chunk_seq: 1, result_id: "other" }]) {
    await assert.rejects(stream.put(chunk(wrong)), { code: "invalid_argument" });
  }
  await stream.put(chunk({ chunk_seq: 1, more: false }));
  await assert.rejects(stream.put(chunk({ chunk_seq: 2 })), { code: "invalid_argument" });
  await assert.rejects(stream.write("more"), { code: "invalid_argument" });
  await stream.finalize();
  assert.equal(said.length, 2);
});

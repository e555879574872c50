import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeBase64, splitText } from "../work/chunks.ts";
import { printEventPayload } from "./answers.ts";
import {
  dialectOfHello,
  dialectOfWelcome,
  dialects,
  printBudget,
  rejectionType,
} from "./dialect.ts";
import { type Envelope, printFrame, readEnvelope } from "./envelope.ts";
import { errorCodes, isErrorCode } from "./errors.ts";

const bare = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

function frame(id: string, payload: unknown): Envelope {
  const { envelope } = readEnvelope({ arcp: "1.1", id, type: "session.hello", payload });
  assert(envelope);
  return envelope;
}

test("[PYR-1] [PY-1] [PY-74] the Python client is known by its list of agents and its bare ids", () => {
  const offers = { capabilities: { encodings: ["json"], features: [], agents: [] } };
  assert.equal(dialectOfHello(frame(bare, offers)), "python");
  assert.equal(dialectOfHello(frame(`msg_${bare}`, offers)), "spec");
  assert.equal(dialectOfHello(frame(bare, { capabilities: { features: [] } })), "spec");
  assert.equal(dialectOfHello(frame(bare, { capabilities: { agents: {} } })), "spec");
  assert.equal(dialectOfHello(frame(bare, {})), "spec");
});

test("[PYR-1] [PYC-1] who configures a dialect gets it", () => {
  assert.equal(dialectOfHello(frame("x", {}), "python"), "python");
  assert.equal(dialectOfHello(frame(bare, { capabilities: { agents: [] } }), "spec"), "spec");
  assert.equal(dialectOfWelcome(frame("x", {}), "python"), "python");
});

test("[PYC-1] the Python runtime is known by its bare ids and its tokens", () => {
  assert.equal(dialectOfWelcome(frame(bare, { resume_token: `rtk_${bare}` })), "python");
  assert.equal(dialectOfWelcome(frame(bare, { resume_token: "rt_ab" })), "spec");
  assert.equal(dialectOfWelcome(frame(`msg_${bare}`, { resume_token: `rtk_${bare}` })), "spec");
  assert.equal(dialectOfWelcome(frame(bare, { resume_token: 7 })), "spec");
});

test("[PYR-5] [PY-71] the Python client's amounts keep their decimals", () => {
  const budget = [
    { currency: "USD", text: "2.00" },
    { currency: "credits", text: "10" },
  ];
  assert.deepEqual(printBudget(budget, "python"), { USD: "USD:2.00", credits: "credits:10" });
  assert.deepEqual(printBudget(budget, "spec"), { USD: 2, credits: 10 });
});

test("[ARCP-155] an amount is the nearest number that JSON has, however large", () => {
  const amount = (text: string) => printBudget([{ currency: "a", text }], "spec")["a"];
  assert.equal(amount("0.3"), 0.3);
  assert.equal(amount("-0.12"), -0.12);
  assert.equal(amount("9".repeat(400)), Number.MAX_VALUE);
  assert.throws(() => amount("one"), RangeError);
});

test("[PYR-7] [PY-43] [PY-72] [ARCP-89] [ARCP-91] [ARCP-92] how a submit is refused is a matter of dialect, code and options", () => {
  for (const code of Object.keys(errorCodes).filter(isErrorCode)) {
    const usual = code === "AGENT_VERSION_NOT_AVAILABLE" ? "session.error" : "job.error";
    assert.equal(rejectionType(code, "spec"), usual);
    assert.equal(rejectionType(code, "spec", { versionErrorAs: "job.error" }), "job.error");
    assert.equal(rejectionType(code, "python"), "session.error");
    assert.equal(rejectionType(code, "python", { versionErrorAs: "job.error" }), "session.error");
    assert.equal(rejectionType(code, "spec", { rejectWith: "session.error" }), "session.error");
  }
});

test("[PYR-14] [PYR-18] [PY-46] [PY-47] [PY-48] what the Python client cannot take is known as data", () => {
  const { holdAfterSubscribedMs, messageBytesMax, lineBytesMax } = dialects.python;
  assert.deepEqual([holdAfterSubscribedMs, messageBytesMax, lineBytesMax], [25, 1_048_576, 65_536]);
  assert.equal(dialects.spec.holdAfterSubscribedMs, 0);
});

test("[PYR-18] a chunk of the worst text, or of bytes, fits into what the Python client reads", () => {
  const ids = { result_id: "r".repeat(256), chunk_seq: Number.MAX_SAFE_INTEGER };
  const id = "i".repeat(256);
  const head = { id, type: "job.event", sessionId: id, jobId: id, eventSeq: 2 ** 53 - 1 };
  const frameOf = (data: string, encoding: string): number => {
    const body = JSON.stringify({ ...ids, data, encoding, more: true });
    const frame = printFrame({ ...head, traceId: "a".repeat(32) }, printEventPayload("k", 0, body));
    return Buffer.byteLength(frame);
  };
  const { chunk, lineChunk, messageBytesMax, lineBytesMax } = dialects.python;
  const rows = [
    [chunk, messageBytesMax],
    [lineChunk, lineBytesMax],
  ] as const;
  for (const [{ bytesMax, printedBytesMax }, framesMax = 0] of rows) {
    for (const worst of ["\u0000", '"', "😀", "\ud800", "é", "a"]) {
      const [piece = ""] = splitText(worst.repeat(bytesMax), bytesMax, printedBytesMax);
      assert(frameOf(piece, "utf8") <= framesMax, worst);
    }
    assert(frameOf(encodeBase64(new Uint8Array(bytesMax)), "base64") <= framesMax);
  }
});

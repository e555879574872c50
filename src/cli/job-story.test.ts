import assert from "node:assert/strict";
import { test } from "node:test";
import { normaliseBody } from "../wire/arcp/index.ts";
import { JobStory, type Line } from "./job-story.ts";

class Teller {
  readonly #story = new JobStory();
  #atMs = 0;

  say(kind: string, body: object, afterMs = 0): readonly string[] {
    this.#atMs += afterMs;
    const view = normaliseBody(kind, body);
    return this.#story.take({ kind, body, view, atMs: this.#atMs }).map(textOf);
  }

  get story(): JobStory {
    return this.#story;
  }
}

function textOf({ text, tail = "" }: Line): string {
  return text + tail;
}

test("a tool call and its result are one line, with how long it took", () => {
  const teller = new Teller();
  assert.deepEqual(teller.say("tool_call", { tool: "search", args: { q: 1 }, call_id: "c" }), []);
  assert.equal(teller.story.standing.doing, 'search {"q":1}');
  assert.deepEqual(teller.say("tool_result", { call_id: "c", result: { hits: 3 } }, 1_250), [
    '✓ search {"q":1} → {"hits":3} · 1.3 s',
  ]);
  assert.equal(teller.story.standing.doing, "");
});

test("a tool that fails says why, and one that never came back is not forgotten", () => {
  const teller = new Teller();
  teller.say("tool_call", { tool: "rm", call_id: "c" });
  teller.say("tool_call", { tool: "wait", call_id: "d" });
  const error = { code: "PERMISSION_DENIED", message: "no", retryable: false };
  assert.deepEqual(teller.say("tool_result", { call_id: "c", error }, 4), [
    "✗ rm: PERMISSION_DENIED no · 4 ms",
  ]);
  assert.deepEqual(teller.story.end().map(textOf), ["… wait"]);
});

test("a metric is a line, but not what is left of a budget: the cost of the job says that", () => {
  const teller = new Teller();
  const said = [
    teller.say("metric", { name: "cost.model", value: 0.25, unit: "USD" }),
    teller.say("metric", { name: "cost.budget.remaining", value: 0.75, unit: "USD" }),
    teller.say("metric", { name: "tokens.in", value: 12 }),
  ];
  assert.deepEqual(said, [["metric  cost.model 0.25 USD"], [], ["metric  tokens.in 12"]]);
});

test("progress is how it stands, and a line only for those who see no bar", () => {
  const teller = new Teller();
  const body = { current: 3, total: 10, units: "pages", message: "reading" };
  const [line] = teller.story.take({
    kind: "progress",
    body,
    view: normaliseBody("progress", body),
    atMs: 0,
  });
  assert.equal(line?.text, "progress 3 of 10 pages · reading");
  assert.equal(line?.isPassing, true);
  assert.deepEqual(teller.story.standing.progress, { current: 3, total: 10 });
});

test("what came of its result is counted in bytes, however it was sent", () => {
  const teller = new Teller();
  const piece = { result_id: "r", more: true };
  teller.say("result_chunk", { ...piece, chunk_seq: 0, data: "é…", encoding: "utf8" });
  assert.equal(teller.story.standing.doing, "5 bytes of its result");
  teller.say("result_chunk", { ...piece, chunk_seq: 1, data: "b2s=", encoding: "base64" });
  assert.equal(teller.story.standing.doing, "7 bytes of its result");
});

test("what an agent says cannot move the cursor", () => {
  const teller = new Teller();
  const evil = "\x1b[2Jgone\u202e";
  const said = [
    ...teller.say("log", { level: "info", message: evil }),
    ...teller.say("thought", { text: `a\n${evil}` }),
    ...teller.say("status", { phase: evil, message: evil }),
    ...teller.say("artifact_ref", { uri: evil, content_type: evil }),
    ...teller.say("delegate", { delegate_id: "d", agent: evil }),
    ...teller.say("x-vendor.acme.note", { evil }),
  ];
  assert.equal(said.length, 6);
  for (const line of said) assert.doesNotMatch(line, /[\x1b\u202e]/);
});

test("text that is written piece by piece is told line by line", () => {
  const teller = new Teller();
  const kind = "x-vendor.runctx.text_delta";
  assert.deepEqual(teller.say(kind, { text: "Once upon" }), []);
  assert.equal(teller.story.standing.doing, "Once upon");
  assert.deepEqual(teller.say(kind, { text: " a time\n\nthere was" }), [
    "│ Once upon a time",
    "│ ",
  ]);
  assert.deepEqual(teller.say("log", { level: "info", message: "done" }), [
    "│ there was",
    "info    done",
  ]);
  teller.say(kind, { text: "the end" });
  assert.deepEqual(teller.story.end().map(textOf), ["│ the end"]);
  const long = teller.say(kind, { text: "x".repeat(5_000) });
  assert.equal(long.join("").length, 5_002, "a line without an end is not kept for ever");
});

test("what a job made and what went wrong are told in words", () => {
  const teller = new Teller();
  const made = {
    name: "report",
    uri: "file:///r.pdf",
    content_type: "application/pdf",
    byte_size: 2_000,
  };
  assert.deepEqual(teller.say("artifact_ref", made), [
    "▤ report  file:///r.pdf  application/pdf  2.0 kB",
  ]);
  const error = { level: "error", message: "no route", attributes: { code: "ENETUNREACH" } };
  assert.deepEqual(teller.say("log", error), ["error   no route (ENETUNREACH)"]);
});

test("a question says what is asked and how to answer it, and who did", () => {
  const teller = new Teller();
  const own = (kind: string, body: object) => teller.say(`x-vendor.runctx.${kind}`, body);
  const question = { question_id: "q_0123456789ab", prompt: "Pay?", choices: ["yes", "no"] };
  assert.deepEqual(own("question", question), [
    "? asks: Pay? (yes | no)  tipstaff answer 6789ab <choice>",
  ]);
  assert.deepEqual(teller.say("status", { phase: "input_required", message: "Pay?" }), []);
  assert.equal(teller.story.standing.doing, "asks: Pay?");
  const answered = { question_id: "q_0123456789ab", outcome: "answered", by: "ada" };
  assert.deepEqual(own("question_closed", answered), ["? answered by ada"]);
  teller.say("status", { phase: "running" });
  assert.equal(teller.story.standing.doing, "");
  const late = { question_id: "q_0123456789ab", outcome: "timed_out" };
  assert.deepEqual(own("question_closed", late), ["? no answer: timed out"]);
  const scope = {
    request_id: "q_1",
    reason: "to compare",
    read_patterns: ["docs/**"],
    write_prefix: "out/",
  };
  assert.deepEqual(own("scope_request", scope), [
    "? wants to read docs/** and write out/: to compare  tipstaff answer q_1 <yes or no>",
  ]);
  assert.deepEqual(teller.say("x-vendor.acme.note", { a: 1 }), ['x-vendor.acme.note {"a":1}']);
});

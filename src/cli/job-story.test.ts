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

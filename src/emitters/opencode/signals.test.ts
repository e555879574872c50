import assert from "node:assert/strict";
import { test } from "node:test";
import { firstPromptIn, signalOfEvent, signalOfMessage, signalOfTool } from "./signals.ts";

const prompt = (...parts: readonly object[]) =>
  signalOfMessage({ sessionID: "s1" }, { message: { role: "user" }, parts });

test("a session is named in one of four places", () => {
  for (const properties of [
    { sessionID: "s1" },
    { info: { id: "s1" } },
    { part: { sessionID: "s1" } },
    { message: { sessionID: "s1" } },
  ]) {
    assert.deepEqual(signalOfEvent({ type: "session.idle", properties }), {
      type: "idle",
      session: "s1",
    });
  }
});

test("what is no event, or is about no session, says nothing", () => {
  const nothing: readonly unknown[] = [
    undefined,
    null,
    7,
    "session.idle",
    [],
    {},
    { type: "session.idle" },
    { type: "session.idle", properties: null },
    { type: "session.idle", properties: { sessionID: 7 } },
    { type: "session.error", properties: { error: { name: "UnknownError" } } },
    { type: "constructor", properties: { sessionID: "s1" } },
    { type: "message.part.delta", properties: { sessionID: "s1" } },
  ];
  for (const event of nothing) assert.equal(signalOfEvent(event), undefined);
  assert.equal(signalOfMessage(undefined, undefined), undefined);
  assert.equal(signalOfMessage({ sessionID: "s1" }, { parts: "text" }), undefined);
  assert.equal(signalOfTool("tool.started", {}), undefined);
});

test("the words of a prompt are a person's, without what the host added to them", () => {
  const said = { type: "text", text: "Fix it" };
  const added = { type: "text", text: "a whole file", synthetic: true };
  const image = { type: "file", url: "data:image/png" };
  assert.deepEqual(prompt(added, said, image), { type: "prompted", session: "s1", text: "Fix it" });
  assert.equal(prompt(added), undefined);
  assert.equal(prompt({ type: "text", text: " \n\t" }), undefined);
  assert.equal(prompt(image), undefined);
});

test("[AS-86] words are cut to 120 characters, never in the middle of one, and on one line", () => {
  const smiles = "😀".repeat(200);
  assert.deepEqual(prompt({ type: "text", text: smiles }), {
    type: "prompted",
    session: "s1",
    text: `${"😀".repeat(119)}…`,
  });
  const spread = { type: "text", text: "  Fix\n\n\tit\u001b[31m \u0007now " };
  assert.deepEqual(prompt(spread), { type: "prompted", session: "s1", text: "Fix it[31m now" });
});

test("what a session is for is the first thing that a person said in it", () => {
  const message = (role: string, ...parts: readonly object[]) => ({ info: { role }, parts });
  const text = (words: string, synthetic = false) => ({ type: "text", text: words, synthetic });
  assert.equal(
    firstPromptIn([
      message("assistant", text("Hello")),
      message("user", text("instructions", true)),
      message("user", text("all of it", true), text("First")),
      message("user", text("Second")),
    ]),
    "First",
  );
  for (const nothing of [undefined, null, [], {}, [null], [message("assistant")], "x"]) {
    assert.equal(firstPromptIn(nothing), undefined);
  }
});

test("a session tells what it has used", () => {
  const known = (info: object) =>
    signalOfEvent({ type: "session.updated", properties: { info: { id: "s1", ...info } } });
  assert.deepEqual(known({ cost: 0.5, tokens: { input: 70, output: 35, reasoning: 0 } }), {
    type: "session.known",
    session: "s1",
    spent: { input: 70, output: 35, costUsd: 0.5 },
  });
  for (const info of [{}, { tokens: { input: 0, output: 0 } }, { tokens: { input: "7" } }]) {
    assert.deepEqual(known(info), { type: "session.known", session: "s1" });
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Asked, desktopWords, Episodes, variablesOf, variablesOfQuestion } from "./notify.ts";
import { asked, seen } from "./testing.ts";

const waiting = seen({ state: "waiting" });

test("each time an agent waits is told once", () => {
  const episodes = new Episodes();
  assert.deepEqual(episodes.begun([waiting], 0), [waiting]);
  assert.deepEqual(episodes.begun([{ ...waiting, sinceMs: 5 }], 1_000), []);
  assert.deepEqual(episodes.begun([seen()], 2_000), []);
  assert.deepEqual(episodes.begun([waiting], 3_000), [waiting]);
});

test("under another id it is the same, and gone for a moment it is not new", () => {
  const episodes = new Episodes();
  const process = { pid: 7, startedAtMs: 5 };
  assert.equal(episodes.begun([{ ...waiting, ...process }], 0).length, 1);
  assert.equal(episodes.begun([{ ...waiting, ...process, id: "registered" }], 1_000).length, 0);
  assert.equal(episodes.begun([], 2_000).length, 0);
  assert.equal(episodes.begun([waiting], 3_000).length, 0);
  assert.equal(episodes.begun([], 300_000).length, 0);
  assert.equal(episodes.begun([waiting], 300_000 + 1).length, 1);
});

test("each question is told once", () => {
  const told = new Asked();
  const [one, other] = [asked({ id: "q_1" }), asked({ id: "q_2" })];
  assert.deepEqual(told.begun([one]), [one]);
  assert.deepEqual(told.begun([one, other]), [other]);
  assert.deepEqual(told.begun([one, other]), []);
});

test("a command is given a question under the names that it knows from agents", () => {
  const question = asked({ choices: ["pay now", "wait"], prompt: "Pay\0 5 EUR?" });
  const variables = variablesOfQuestion(question);
  assert.equal(variables["TIPSTAFF_NAME"], "payer");
  assert.equal(variables["TIPSTAFF_DOING"], "Pay 5 EUR?");
  assert.equal(variables["TIPSTAFF_QUESTION"], question.id);
  assert.equal(variables["TIPSTAFF_CHOICES"], "pay now\nwait");
});

test("what an agent says is never part of a script, of markup or of a variable's end", () => {
  const evil = `"; do shell script "id" <b>&`;
  const mac = desktopWords("t", evil, "darwin");
  assert.equal(mac.at(-1), evil);
  assert.ok(!mac.slice(0, -1).some((word) => word.includes(evil)));
  assert.equal(desktopWords("-t", evil, "linux").at(-1), `"; do shell script "id" &lt;b&gt;&amp;`);
  assert.equal(desktopWords("-t", evil, "linux").indexOf("--"), 2);
  const variables = variablesOf(seen({ doing: "a\0b" }));
  assert.equal(variables["TIPSTAFF_DOING"], "ab");
  assert.equal(variables["TIPSTAFF_BRANCH"], "");
});

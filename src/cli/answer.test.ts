import assert from "node:assert/strict";
import { test } from "node:test";
import { questionsMeant, readAnswer } from "./answer.ts";

const text = { kind: "input" } as const;

test("a question for text takes the words as they are", () => {
  assert.equal(readAnswer(text, "42"), "42");
  assert.equal(readAnswer(text, "go ahead"), "go ahead");
});

test("of several choices one must be given, in any case of letters if that is clear", () => {
  const asked = { ...text, choices: ["Yes", "No"] };
  assert.equal(readAnswer(asked, "yes"), "Yes");
  assert.throws(() => readAnswer(asked, "maybe"), /answer one of: Yes, No/);
  const alike = { ...text, choices: ["a", "A"] };
  assert.equal(readAnswer(alike, "A"), "A");
});

test("where a schema is, the answer is JSON, or text if the schema takes a string", () => {
  assert.equal(readAnswer({ ...text, schema: { type: "number" } }, "42"), 42);
  assert.deepEqual(readAnswer({ ...text, schema: { type: "object" } }, '{"a":[1]}'), { a: [1] });
  assert.equal(readAnswer({ ...text, schema: { type: "string" } }, "go ahead"), "go ahead");
  assert.throws(
    () => readAnswer({ ...text, schema: { type: "number" } }, "many"),
    /the answer must be JSON/,
  );
});

test("a wish for more access is granted by yes and refused by no", () => {
  const asked = { kind: "scope" } as const;
  assert.deepEqual(readAnswer(asked, "yes"), { granted: true });
  assert.deepEqual(readAnswer(asked, "N"), { granted: false });
  assert.throws(() => readAnswer(asked, "perhaps"), /answer yes or no/);
});

test("a question goes by its id, a part of it, or the name of its asker", () => {
  const one = { id: "qst_01ABC", askerName: "payer" };
  const other = { id: "qst_01ABD", askerName: "mailer" };
  for (const word of ["qst_01ABC", "abc", "payer"]) {
    assert.deepEqual(questionsMeant([one, other], word), [one], word);
  }
  assert.equal(questionsMeant([one, other], "qst_01").length, 2);
  assert.deepEqual(questionsMeant([one, other], "x"), []);
});

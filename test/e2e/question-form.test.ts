/** The forms that the dashboard makes of questions. `page.test.ts` answers some of them in a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOfAnswer } from "../../src/wire/answer-schema/index.ts";
import { answerFrom, endOf, type Form, formOf } from "../../web/src/words/question.ts";

test("choices, yes or no, a few values and scope requests are answered by one click", () => {
  const cases: readonly (readonly [Parameters<typeof formOf>[0], readonly unknown[]])[] = [
    [{ kind: "input", choices: ["a", "b"] }, ["a", "b"]],
    [{ kind: "scope" }, [{ granted: true }, { granted: false }]],
    [{ kind: "input", schema: { type: "boolean" } }, [true, false]],
    [{ kind: "input", schema: { enum: [1, null, "x"] } }, [1, null, "x"]],
    [{ kind: "input", schema: { oneOf: [{ const: 1, title: "one" }, { const: 2 }] } }, [1, 2]],
  ];
  for (const [question, values] of cases) {
    const form = formOf(question);
    assert(form.of === "buttons");
    assert.deepEqual(
      form.choices.map(({ value }) => value),
      values,
    );
  }
});

test("a schema makes fields for people, and one for JSON where there is none", () => {
  const kinds = (schema: unknown): readonly (readonly [string, string])[] =>
    fieldsOf(schema).fields.map(({ name, kind }) => [name, kind]);
  assert.deepEqual(kinds(undefined), [["", "text"]]);
  assert.deepEqual(kinds({ type: "string", minLength: 3 }), [["", "text"]]);
  assert.deepEqual(kinds({ type: "integer" }), [["", "number"]]);
  assert.deepEqual(kinds({ type: "array", items: { enum: ["a"] } }), [["", "several"]]);
  assert.deepEqual(kinds({ enum: Array.from({ length: 40 }, (_, at) => at) }), [["", "one"]]);
  for (const schema of [
    {},
    { type: ["string", "null"] },
    { type: "array", items: { type: "string" } },
    { type: "object" },
    { type: "object", properties: { a: {} }, required: ["b"] },
    { anyOf: [{ const: 1 }, { type: "string" }] },
  ]) {
    assert.deepEqual(kinds(schema), [["", "json"]], JSON.stringify(schema));
  }
  assert.deepEqual(
    kinds({
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: "number" },
        c: { type: "boolean" },
        d: { type: "array", items: { enum: [1, 2] } },
        e: { type: "object", properties: { f: {} } },
        g: true,
      },
    }),
    [
      ["a", "text"],
      ["b", "number"],
      ["c", "one"],
      ["d", "several"],
      ["e", "json"],
      ["g", "json"],
    ],
  );
});

test("what was entered becomes the answer that the schema allows", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      size: { type: "number" },
      paid: { type: "boolean" },
      tags: { type: "array", items: { enum: ["x", "y", 3] } },
      more: {},
    },
    required: ["name", "tags"],
  };
  const form = fieldsOf(schema);
  const cases: readonly (readonly [readonly (readonly string[])[], unknown])[] = [
    [
      [["a\nb"], ["-1.5"], ["1"], ["0", "2"], ['{"k":[null]}']],
      { name: "a\nb", size: -1.5, paid: false, tags: ["x", 3], more: { k: [null] } },
    ],
    // Optional fields that are empty are left out; required ones may be empty if the schema allows it.
    [[[""], [" "], [], [], [""]], { name: "", tags: [] }],
  ];
  for (const [entered, answer] of cases) {
    assert.deepEqual(answerFrom(form, entered), { answer });
    assert.equal(problemOfAnswer(schema, answer), undefined);
  }
  const proto = fieldsOf(
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"number"}}}'),
  );
  const read = answerFrom(proto, [["7"]]);
  assert.equal(JSON.stringify("answer" in read && read.answer), '{"__proto__":7}');
});

test("a problem names the field before anything is sent", () => {
  const problemOf = (schema: unknown, ...texts: readonly string[]): unknown => {
    const read = answerFrom(fieldsOf(schema), [texts]);
    return "problem" in read ? read.problem : read;
  };
  assert.equal(problemOf(undefined, "  "), "Answer is missing");
  assert.equal(problemOf({ type: "number" }, ""), "Answer is missing");
  assert.equal(problemOf({ type: "number" }, "1,5"), "Answer must be a number");
  assert.equal(problemOf({ type: "number" }, "Infinity"), "Answer must be a number");
  assert.match(String(problemOf({}, "{a: 1}")), /^Answer must be JSON such as/);
  const flag = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  assert.equal(problemOf(flag), "ok is missing");
});

test("the end of a question says who answered it, or why nobody did", () => {
  const asked = {
    id: "q_1",
    kind: "input",
    asker: { kind: "agent", id: "a" },
    askerName: "payer",
    key: "1",
    prompt: "?",
    askedAtMs: 0,
  } as const;
  const answered = { ...asked, state: "answered", answer: { a: 1 }, answeredBy: "ada" } as const;
  assert.equal(endOf(answered), 'answered by ada: {"a":1}');
  const late = { ...asked, state: "closed", reason: "timed_out" } as const;
  assert.equal(endOf(late), "closed: nobody answered before its deadline");
});

function fieldsOf(schema: unknown): Extract<Form, { of: "fields" }> {
  const form = formOf({ kind: "input", ...(schema !== undefined && { schema }) });
  assert(form.of === "fields");
  return form;
}

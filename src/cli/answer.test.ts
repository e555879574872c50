import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { onlyOne, questionsMeant, readAnswer } from "./answer.ts";
import { exits } from "./exits.ts";
import { explain, Failure } from "./failure.ts";
import { schemaText } from "./schema-words.ts";
import { asked, nowMs } from "./testing.ts";

test("whoever answers under a user id without a name is named by the id", {
  skip: process.platform !== "linux" && "needs user namespaces",
}, () => {
  const module = JSON.stringify(new URL("./answer.ts", import.meta.url).href);
  const program = `import { userName } from ${module}; console.log(userName())`;
  const words = [
    "--user",
    "--map-user=54321",
    process.execPath,
    "--input-type=module",
    "-e",
    program,
  ];
  const { stdout, stderr } = spawnSync("unshare", words, { encoding: "utf8" });
  assert.equal(stdout, "uid-54321\n", stderr);
});

const text = { kind: "input" } as const;

test("a question for text takes the words as they are", () => {
  assert.equal(readAnswer(text, "42"), "42");
  assert.equal(readAnswer(text, "go ahead"), "go ahead");
});

test("an answer must be one of the choices, in upper or lower case if only one choice matches", () => {
  const asked = { ...text, choices: ["Yes", "No"] };
  assert.equal(readAnswer(asked, "yes"), "Yes");
  assert.throws(() => readAnswer(asked, "maybe"), /answer one of: Yes, No/);
  const alike = { ...text, choices: ["a", "A"] };
  assert.equal(readAnswer(alike, "A"), "A");
});

test("the answer to a question with a schema is JSON, or text if the schema allows a string", () => {
  assert.equal(readAnswer({ ...text, schema: { type: "number" } }, "42"), 42);
  assert.deepEqual(readAnswer({ ...text, schema: { type: "object" } }, '{"a":[1]}'), { a: [1] });
  assert.equal(readAnswer({ ...text, schema: { type: "string" } }, "go ahead"), "go ahead");
  assert.throws(
    () => readAnswer({ ...text, schema: { type: "number" } }, "many"),
    /the answer must be JSON: number$/,
  );
});

test("an answer that could be JSON or text is what the schema allows", () => {
  const read = (schema: object, typed: string) => readAnswer({ ...text, schema }, typed);
  const string = { type: "string" };
  for (const typed of ["42", "true", "null", '{"a":1}']) assert.equal(read(string, typed), typed);
  assert.equal(read(string, '"quoted"'), "quoted");
  // The daemon says what is wrong with these.
  assert.equal(read({ ...string, minLength: 3 }, "42"), "42");
  assert.equal(read({ enum: ["red", "blue"] }, "green"), "green");
  assert.equal(read({ enum: ["red", "blue"] }, "red"), "red");
  assert.equal(read({ enum: ["1", "2"] }, "1"), "1");
  assert.equal(read({ enum: [1, 2] }, "1"), 1);
  const textOrNull = { anyOf: [string, { type: "null" }] };
  assert.equal(read(textOrNull, "go ahead"), "go ahead");
  assert.equal(read(textOrNull, "null"), null);
  assert.equal(read({ type: ["string", "number"] }, "42"), 42);
  assert.throws(() => read({ enum: [1, 2] }, "one"), /the answer must be JSON: 1 \| 2$/);
  assert.throws(() => read({}, '{"a":'), /the answer must be JSON: /);
});

test("an answer that is not JSON is told which fields are expected", () => {
  const schema = {
    type: "object",
    properties: {
      parts: { type: "integer", minimum: 1, maximum: 12 },
      reference: { type: "string" },
      colours: { type: "array", items: { enum: ["red", "blue"] }, maxItems: 2 },
      note: { type: ["string", "null"], maxLength: 80 },
      where: { type: "object", properties: { at: { type: "object", properties: { a: {} } } } },
    },
    required: ["parts"],
  };
  assert.equal(
    schemaText(schema),
    'object with parts (whole number, 1 to 12), reference (text, optional), colours (list of "red" | "blue", at most 2 items, optional), note (text, at most 80 characters or null, optional), where (object with at (object, optional), optional)',
  );
  const twelve = {
    type: "object",
    required: ["parts"],
    properties: { parts: { type: "integer" } },
  };
  assert.throws(
    () => readAnswer({ ...text, schema: twelve }, "twelve"),
    /the answer must be JSON: object with parts \(whole number\)$/,
  );
});

test("several questions of one asker are told apart by who asks, since when, and what", () => {
  const asker = { kind: "job", id: "job_000000aa11" } as const;
  const scope = { read: ["docs/**"], mode: "read_only", ttlMs: 1_000 } as const;
  const meant = [
    asked({ id: "q_1", asker, expiresAtMs: nowMs + 40_000 }),
    asked({ id: "q_2", askedAtMs: nowMs - 9_000, kind: "scope", prompt: "to compare", scope }),
  ];
  assert.throws(
    () => onlyOne(meant, { word: "payer", nowMs }),
    (error: Failure) => {
      assert.equal(error.message, "2 questions match payer; give the id of one");
      assert.deepEqual(error.advice, [
        "q_1  job 00aa11  4 min ago  Pay 5 EUR?  closes in 40 s",
        "q_2  agent p  9 s ago  wants to read docs/**: to compare",
      ]);
      return true;
    },
  );
});

test("yes grants a request for access, and no denies it", () => {
  const asked = { kind: "scope" } as const;
  assert.deepEqual(readAnswer(asked, "yes"), { granted: true });
  assert.deepEqual(readAnswer(asked, "N"), { granted: false });
  assert.throws(() => readAnswer(asked, "perhaps"), /answer yes or no/);
});

test("a question is found by its id, a part of its id, or the id or name of its asker", () => {
  const one = asked({ id: "qst_01ABC", asker: { kind: "job", id: "job_01" } });
  const other = asked({ id: "qst_01ABD", askerName: "mailer" });
  for (const word of ["qst_01ABC", "abc", "payer", "job_01"]) {
    assert.deepEqual(questionsMeant([one, other], word), [one], word);
  }
  assert.equal(questionsMeant([one, other], "qst_01").length, 2);
  assert.deepEqual(questionsMeant([one, other], "x"), []);
});

test("an answer that the daemon refuses ends with 2, as one that the command refuses", () => {
  for (const code of ["mistake", "answer_invalid"] as const) {
    assert.equal(explain(new Failure(code, "answer one of: yes, no"), "tipstaff"), exits.usage);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printJson, printRecord } from "./print.ts";
import { type Problem, readJson, readRecord } from "./read.ts";
import { findSyntaxProblem } from "./syntax.ts";

/** Any at all, halves of characters included. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10_ffff))
  .map((code) => String.fromCodePoint(code));

const encoder = new TextEncoder();
const least =
  '"schema_version":"agent-status/v1alpha1","agent_id":"a","agent_name":"n",' +
  '"runtime":{"lifecycle":"running","updated_at":"2026-06-20T16:45:00Z"}';

function problemOf(text: string): Problem | undefined {
  return readRecord(encoder.encode(text)).problem;
}

test("a record is what its bytes say, fields that nobody knows included", () => {
  const { record } = readRecord(encoder.encode(`{${least},"x_future":{"é":[1,"😀"]}}`));
  assert.deepEqual(record, {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    runtime: { lifecycle: "running", updated_at: "2026-06-20T16:45:00Z" },
    x_future: { é: [1, "😀"] },
  });
});

test("[AS-34] of a name that comes twice the last one counts", () => {
  const { record } = readRecord(encoder.encode(`{${least},"agent_id":"b","agent_id":"c"}`));
  assert.equal(record?.agent_id, "c");
});

test("[AS-35] [AS-40] what is no JSON is told where it stops being so, and nothing of what is there", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["", "expected a value: line 1 column 1 (char 0)"],
    [" \n ", "expected a value: line 2 column 2 (char 3)"],
    ["\ufeff{}", "unexpected byte order mark: line 1 column 1 (char 0)"],
    ["{bad", "expected a name in double quotes: line 1 column 2 (char 1)"],
    ['{"a":1,}', "expected a name in double quotes: line 1 column 8 (char 7)"],
    ["[1,]", "expected a value: line 1 column 4 (char 3)"],
    ['{"a":1} x', "unexpected text after the value: line 1 column 9 (char 8)"],
    ["{} // note", "unexpected text after the value: line 1 column 4 (char 3)"],
    ["{'a':1}", "expected a name in double quotes: line 1 column 2 (char 1)"],
    ['{"a" 1}', "expected a colon: line 1 column 6 (char 5)"],
    ['{"a":1 "b":2}', "expected a comma or a closing brace: line 1 column 8 (char 7)"],
    ["[1 2]", "expected a comma or a closing bracket: line 1 column 4 (char 3)"],
    ['"a\tb"', "control character in a string: line 1 column 3 (char 2)"],
    ['"a\\x"', "unknown escape in a string: line 1 column 3 (char 2)"],
    ['{"s":"secret', "string without an end: line 1 column 6 (char 5)"],
    ['{"a":NaN}', "expected a value: line 1 column 6 (char 5)"],
    ['{"a":-Infinity}', "expected a value: line 1 column 6 (char 5)"],
    ["01", "unexpected text after the value: line 1 column 2 (char 1)"],
    // Columns and offsets count characters, however many units or bytes they have.
    ['{\n"😀é": tru}', "expected a value: line 2 column 7 (char 8)"],
    ["root:x:0:0:secret:/root:/bin/sh\n", "expected a value: line 1 column 1 (char 0)"],
  ];
  for (const [text, error] of rows) {
    assert.deepEqual(problemOf(text), { kind: "invalid-json", errors: [error] }, text);
  }
});

test("[AS-35] halves of a character are accepted as escapes, and not as bytes", () => {
  const { record } = readRecord(encoder.encode(`{${least},"x_meta":{"half":"\\ud83d"}}`));
  assert.deepEqual(record?.x_meta, { half: "\ud83d" });
  assert.match(record ? printRecord(record) : "", /"half": "\\ud83d"/);
  const raw = Uint8Array.of(0x22, 0xed, 0xa0, 0xbd, 0x22);
  assert.deepEqual(readJson(raw).problem, { kind: "unreadable", errors: ["not valid UTF-8"] });
});

test("[AS-41] [AS-47] [TV-23] bytes that are no UTF-8 are not repaired", () => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0xff, 0xfe, 0x7b, 0x00],
    [0x22, 0xc3],
  ]) {
    const { problem } = readRecord(Uint8Array.from(bytes));
    assert.deepEqual(problem, { kind: "unreadable", errors: ["not valid UTF-8"] });
  }
});

test("[AS-39] a value that is no record comes with all its errors", () => {
  assert.deepEqual(problemOf("[]"), {
    kind: "invalid-status",
    errors: ["payload must be object"],
  });
  assert.equal(problemOf("{}")?.errors.length, 4);
});

test("[AS-44] [AS-41] a megabyte is read, a byte more is too large", () => {
  const sized = (size: number): Uint8Array => {
    const start = `{${least},"x_meta":{"a":"`;
    return encoder.encode(`${start}${"x".repeat(size - start.length - 3)}"}}`);
  };
  assert.equal(sized(1_048_576).length, 1_048_576);
  assert(readRecord(sized(1_048_576)).record);
  assert.deepEqual(readRecord(sized(1_048_577)).problem, {
    kind: "unreadable",
    errors: ["too large"],
  });
});

test("[AS-44] [AS-41] 500 levels are read and printed, and one more is too deep", () => {
  const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  // The record and x_meta are two levels themselves.
  const { record } = readRecord(encoder.encode(`{${least},"x_meta":{"a":${nested(498)}}}`));
  assert(record && printRecord(record).includes("[]"));
  const tooDeep = { kind: "unreadable", errors: ["too deeply nested"] };
  assert.deepEqual(problemOf(`{${least},"x_meta":{"a":${nested(499)}}}`), tooDeep);
  assert.deepEqual(problemOf(nested(500_000)), tooDeep);
  assert.deepEqual(problemOf('{"a":'.repeat(100_000)), tooDeep);
  // As long as there are enough closing ones, being no JSON comes first in neither order.
  assert.deepEqual(problemOf("[".repeat(500))?.kind, "invalid-json");
});

test("numbers that a double cannot hold come out as they went in", () => {
  const meta =
    '{"big":12345678901234567890,"neg":-9007199254740993,"far":1e400,"safe":9007199254740991}';
  const { record } = readRecord(encoder.encode(`{${least},"x_meta":${meta}}`));
  assert(record);
  for (const digits of ["12345678901234567890", "-9007199254740993", "1e400", "9007199254740991"]) {
    assert(printRecord(record).includes(`: ${digits}`), digits);
    assert(JSON.stringify(record).includes(`:${digits}`), digits);
  }
});

test("a large number in the place of a part is not taken for the part", () => {
  assert.deepEqual(problemOf(`{${least},"task":12345678901234567890}`)?.errors, [
    "task must be object",
  ]);
  assert.deepEqual(problemOf(`{${least},"runtime":12345678901234567890}`)?.errors, [
    "missing or invalid object: runtime",
  ]);
});

test("a process number of 30 digits is valid, a number, and an integer when printed", () => {
  const pid = "123456789012345678901234567890";
  const text = `{${least.replace('"running"', `"running","pid":${pid}`)}}`;
  const { record } = readRecord(encoder.encode(text));
  assert.equal(record?.runtime.pid, Number(pid));
  assert.match(record ? printRecord(record) : "", /"pid": \d{30},/);
  assert.deepEqual(problemOf(text.replace(pid, "1e400"))?.errors, ["runtime.pid must be integer"]);
});

test("[AS-41] our scanner refuses exactly what the engine refuses", () => {
  const valid = fc.json({ maxDepth: 3 });
  // A valid text, with a piece of it cut out, doubled or replaced.
  const damaged = fc
    .tuple(
      valid,
      fc.nat(),
      fc.nat(8),
      fc.constantFrom("", ",", "}", '"', "\\", "0", "e", ".", "\n"),
    )
    .map(([text, at, length, put]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + put + text.slice(start + length);
    });
  fc.assert(
    fc.property(fc.oneof(valid, damaged, fc.string({ unit: character })), (text) => {
      assert.equal(findSyntaxProblem(text) === undefined, isJson(text), text);
    }),
    { numRuns: 3_000 },
  );
});

test("any bytes at all are a record or a problem", () => {
  const json = fc.json().map((text) => encoder.encode(text));
  fc.assert(
    fc.property(fc.oneof(json, fc.uint8Array({ maxLength: 64 })), (bytes) => {
      const { record, problem } = readRecord(bytes);
      assert((record === undefined) !== (problem === undefined));
      if (problem) assert(problem.errors.length > 0);
    }),
  );
});

test("whatever is read prints, and reads again as the same, in the same bytes", () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false, depthSize: "medium" }), (text) => {
      const printed = printAgain(text);
      assert.equal(printAgain(printed), printed);
      assert.deepEqual(JSON.parse(printed), JSON.parse(text));
      assert.match(printed, /^[\x20-\x7e\n]*\n$/);
    }),
  );
});

/** Through bytes, a value and back. */
function printAgain(text: string): string {
  const { record } = readRecord(encoder.encode(`{${least},"x_meta":{"value":${text}}}`));
  assert(record?.x_meta);
  return printJson(record.x_meta["value"] ?? null);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

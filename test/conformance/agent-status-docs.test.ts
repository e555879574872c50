/** The page on status files, its samples and its schema say what the code does. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import {
  jsonSchema,
  lifecycles,
  printRecord,
  readRecord,
  taskStates,
  validateStrict,
} from "../../src/wire/status-file/index.ts";

const page = readFileSync("docs/status-file.md", "utf8");
const samples = globSync("docs/status-file-samples/*.json").toSorted();

test("there are samples", () => {
  assert(samples.length >= 5, `${samples.length}`);
});

for (const path of samples) {
  test(`${path} is a record, strictly, and printed in the one way`, () => {
    const bytes = readFileSync(path);
    const { record, problem } = readRecord(bytes);
    assert.equal(problem, undefined);
    assert.deepEqual(validateStrict(record, { fileName: basename(path) }), []);
    assert.equal(printRecord(record), bytes.toString("utf8"));
  });
}

test("the record on the page is one of the samples", () => {
  const [, shown = ""] = /```json\n(.*?)```/s.exec(page) ?? [];
  assert(samples.some((path) => readFileSync(path, "utf8") === shown));
});

test("the page names every field of the schema, and every state in the words of A2A", () => {
  const missing = fieldsOf(jsonSchema).filter((field) => !page.includes(`| \`${field}\` |`));
  assert.deepEqual(missing, ["runtime", "goal", "task", "a2a"]);
  for (const state of taskStates) {
    const name = state === "unknown" ? "UNSPECIFIED" : state.toUpperCase().replace("-", "_");
    const row = new RegExp(
      `^\\| \`${state}\` \\|.*\\| \`${state}\` \\| \`TASK_STATE_${name}\` \\|$`,
      "m",
    );
    assert.match(page, row);
  }
  for (const lifecycle of lifecycles) assert(page.includes(`\`${lifecycle}\``));
});

/** Dotted paths of everything under `properties`. */
function fieldsOf(schema: unknown, prefix = ""): readonly string[] {
  if (typeof schema !== "object" || schema === null || !("properties" in schema)) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    `${prefix}${name}`,
    ...fieldsOf(inner, `${prefix}${name}.`),
  ]);
}

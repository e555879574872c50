/**
 * The JSON Schema against our validator, with another's implementation of JSON Schema: where both have
 * something to say they say the same.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { validate, validateStrict } from "../../src/wire/status-file/index.ts";
import { prepareJsonSchema, pythonIn } from "../interop/environment.ts";

const prepared = await prepareJsonSchema();

const full = {
  schema_version: "agent-status/v1alpha1",
  agent_id: "a",
  agent_name: "n",
  runtime: {
    lifecycle: "running",
    updated_at: "2026-06-20T16:45:00Z",
    last_activity_at: "2026-06-20T18:45:00.5+02:00",
    pid: 1,
    workspace: "/a",
  },
  goal: { summary: "g", updated_at: "2026-06-20T16:45:00Z", source: "initial-prompt" },
  task: {
    id: "t",
    context_id: "c",
    state: "working",
    summary: "s",
    status_timestamp: "2026-06-20T16:45:00Z",
  },
  a2a: { agent_card_url: "http://localhost/card", service_url: "http://localhost/a2a" },
  x_meta: { tmux_socket: "/tmp/x", tmux_pane: "%4", other: [1] },
};

const odd: readonly unknown[] = [undefined, null, 1, 1.5, 1e29, -1, true, "", "soon", [], {}];
const fitting: readonly unknown[] = [
  "unknown",
  "2026-06-20T16:45:00Z",
  "/x",
  "%12",
  "initial-prompt",
];
const places = [full, ...Object.values(full)].flatMap((part) =>
  typeof part === "object" ? Object.keys(part).map((key) => ({ part, key })) : [],
);
const change = fc.record({
  place: fc.constantFrom(...places),
  value: fc.oneof(fc.constantFrom(...odd), fc.constantFrom(...fitting)),
});
const record = fc.array(change, { maxLength: 2 }).map((changes) => changes.reduce(apply, full));

function apply(
  before: unknown,
  { place, value }: { place: (typeof places)[number]; value: unknown },
): unknown {
  if (typeof before !== "object" || before === null) return before;
  if (place.part === full) return { ...before, [place.key]: value };
  const entries = Object.entries(before).map(([key, held]) => {
    const isHere = Object.entries(full).some(([name, part]) => name === key && part === place.part);
    return [key, isHere && typeof held === "object" ? { ...held, [place.key]: value } : held];
  });
  return Object.fromEntries(entries);
}

if ("unavailable" in prepared) {
  test("the JSON Schema and the validator agree", (context) => {
    // Where everything must be tested, what cannot be tested has failed.
    assert.notEqual(process.env["CI"], "true", prepared.unavailable);
    context.skip(prepared.unavailable);
  });
} else {
  const python = pythonIn(prepared.directory);

  test("the schema allows every sample", () => {
    const samples = globSync("docs/status-file-samples/*.json");
    const values = samples.map((path): unknown => JSON.parse(readFileSync(path, "utf8")));
    assert.deepEqual(
      judge(python, values),
      samples.map(() => true),
    );
  });

  test("the schema allows what the strict validator allows, and nothing else", (context) => {
    const values = fc.sample(record, { numRuns: 4_000, seed: 7 });
    const allowed = judge(python, values);
    const differing = values.filter(
      (value, index) => !validateStrict(value).some(isSeenBySchemas) !== allowed[index],
    );
    const count = allowed.filter(Boolean).length;
    context.diagnostic(`${count} of ${values.length} valid`);
    assert(count > 400, "enough of them were valid");
    assert.deepEqual(differing.slice(0, 3), []);
  });

  test("what readers put up with, the schema does not", () => {
    const least = {
      schema_version: "agent-status/v1alpha1",
      agent_id: "a",
      agent_name: "n",
      runtime: { lifecycle: "running", updated_at: "2026-06-20T16:45:00Z" },
    };
    const tolerated = [
      { ...least, goal: null },
      { ...least, task: { state: null } },
      { ...least, runtime: { ...least.runtime, updated_at: "20260620T164500Z" } },
      { ...least, runtime: { ...least.runtime, updated_at: "2026-06-20T16:45Z" } },
      { ...least, x_meta: { tmux_pane: "%4" } },
    ];
    for (const value of tolerated) assert.deepEqual(validate(value), []);
    assert.deepEqual(
      judge(python, tolerated),
      tolerated.map(() => false),
    );
  });
}

/** What a name or a path is good for, no schema can say. */
function isSeenBySchemas(error: string): boolean {
  return !/filename-safe|must be absolute/.test(error);
}

function judge(python: string, values: readonly unknown[]): readonly boolean[] {
  const schema: unknown = JSON.parse(readFileSync("docs/status-file.schema.json", "utf8"));
  const input = [schema, ...values].map((value) => `${JSON.stringify(value)}\n`).join("");
  const output = execFileSync(python, ["test/conformance/agent-status-schema.py"], {
    encoding: "utf8",
    input,
    maxBuffer: 2 ** 26,
  });
  return output
    .trim()
    .split("\n")
    .map((line) => line === "true");
}

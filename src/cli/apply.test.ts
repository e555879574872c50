/** Policies in files: what is wrong is named before anything is changed. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { compare, readPolicies } from "./apply.ts";
import { Failure } from "./failure.ts";

const p1 = { id: "p1", subject: "a", action: "call", resource: "*", effect: "allow" } as const;
const p2 = { id: "p2", subject: "b", action: "call", resource: "*", effect: "deny" } as const;

test("a file holds one policy, a list, or what the command line prints", async () => {
  await using directory = await temporaryDirectory();
  const put = (name: string, content: unknown): string => {
    const path = join(directory.path, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  assert.deepEqual(readPolicies([put("one.json", p1)]), [p1]);
  assert.deepEqual(readPolicies([put("two.json", [p1, p2])]), [p1, p2]);
  assert.deepEqual(readPolicies([put("printed.json", { rows: [p2], total: 1 })]), [p2]);
  assert.deepEqual(readPolicies([put("none.json", [])]), []);
});

test("of a directory, every .json file is read, in the order of names, and nothing else", async () => {
  await using directory = await temporaryDirectory();
  writeFileSync(join(directory.path, "b.json"), JSON.stringify(p2));
  writeFileSync(join(directory.path, "a.json"), JSON.stringify(p1));
  writeFileSync(join(directory.path, "README.md"), "not JSON");
  mkdirSync(join(directory.path, "below"));
  assert.deepEqual(readPolicies([directory.path]), [p1, p2]);
});

test("all that is wrong is told at once, with file, place and field", async () => {
  await using directory = await temporaryDirectory();
  const put = (name: string, content: string): void =>
    writeFileSync(join(directory.path, name), content);
  const { effect: _, ...unsaid } = p2;
  put("a.json", "{");
  put("b.json", JSON.stringify([p1, { ...p2, effect: "maybe" }, 7, unsaid]));
  put(
    "c.json",
    JSON.stringify({ id: "", subject: 5, action: "x", resource: "y", effect: "allow" }),
  );
  put("d.json", JSON.stringify({ ...p1, effct: "deny" }));
  put("e.json", JSON.stringify(p1));
  put("f.yaml", "id: p9");
  assert.throws(
    () => readPolicies([directory.path, join(directory.path, "absent")]),
    (error) => {
      assert(error instanceof Failure);
      const told = error.advice.map((line) => line.replace(`${directory.path}/`, ""));
      assert.match(told[0] ?? "", /^f\.yaml: only \.json is read/);
      assert.match(told[1] ?? "", /^there is no absent$/);
      assert.match(told[2] ?? "", /^a\.json: is no JSON: /);
      assert.deepEqual(told.slice(3), [
        "b.json[1]: effect is allow or deny",
        "b.json[2]: is no policy, which has id, subject, action, resource and effect",
        "b.json[3]: effect is missing: allow or deny",
        "c.json: id is no text",
        "c.json: subject is no text",
        "d.json: there is no field effct",
        `e.json: id p1 stands in ${directory.path}/b.json[0] already`,
      ]);
      return true;
    },
  );
});

test("what is as it should be is left alone, and only --prune takes away", () => {
  const changed = { ...p1, resource: "tool:*" };
  const plan = compare([p1, p2], [changed, { ...p2 }], { isPruning: true });
  assert.deepEqual(plan, {
    added: [],
    changed: [{ before: p1, after: changed }],
    pruned: [],
    unchanged: [p2],
  });
  assert.deepEqual(compare([p1], [p2], { isPruning: false }).pruned, []);
  assert.deepEqual(compare([p1], [p2], { isPruning: true }).pruned, [p1]);
});

test("fields that only look alike together are not taken for the same", () => {
  const one = { ...p1, subject: "a may b", action: "c" };
  const other = { ...p1, subject: "a", action: "b may c" };
  assert.equal(compare([one], [other], { isPruning: false }).changed.length, 1);
});

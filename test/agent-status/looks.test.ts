/** What stands in the cells of the table, and in which colour. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { ago, now, output, record, rowsOf, statusDirectory } from "./command.ts";

const atNow = { env: { AGENT_STATUS_NOW: now } };

/** By the number that turns it on. */
const colours = { green: 32, yellow: 33, cyan: 36, red: 31, dim: 2, none: undefined };

const looks: readonly (readonly [string, string, keyof typeof colours])[] = [
  ["working", "●", "green"],
  ["completed", "✓", "green"],
  ["input-required", "?", "yellow"],
  ["auth-required", "🔑", "yellow"],
  ["submitted", "→", "cyan"],
  ["failed", "✗", "red"],
  ["rejected", "✗", "red"],
  ["stale", "⏳", "red"],
  ["idle", "~", "dim"],
  ["canceled", "✗", "dim"],
  ["unknown", "?", "dim"],
  ["stopped", "?", "dim"],
  ["running", "?", "none"],
];

test("[AS-59] [AS-61] every state has its icon, and its row its colour", async () => {
  using place = statusDirectory();
  for (const [state] of looks) {
    const path = `${state}.json`;
    const base = { agent_id: state };
    if (state === "stale") place.put(path, record({ ...base, runtime: { updated_at: ago(61) } }));
    else if (state === "idle") place.put(path, record(base));
    else if (state === "running") place.put(path, record({ ...base, task: { id: "t" } }));
    else if (state === "stopped") {
      place.put(path, record({ ...base, runtime: { lifecycle: "stopped" } }));
    } else place.put(path, record({ ...base, task: { state } }));
  }
  const table = await output(["list", "--status-dir", place.path, "--color"], atNow);
  const lines = table.split("\n");
  for (const [state, icon, colour] of looks) {
    const code = colours[colour];
    const shown = `${icon} ${state}`;
    const cell = code === undefined ? `│ ${shown} ` : `│ \x1b[${code}m${shown}\x1b[0m `;
    const line = lines.find((each) => each.includes(cell));
    assert(line, `${state} is not shown as ${JSON.stringify(cell)}`);
    const painted = [...line.matchAll(/\x1b\[(\d+)m/g)].map(([, each]) => Number(each));
    const own = painted.filter((each) => each !== 0);
    assert.deepEqual(own, code === undefined ? [] : Array(6).fill(code), state);
  }
});

test("[AS-59] every lifecycle has its icon", async () => {
  using place = statusDirectory();
  for (const lifecycle of ["running", "stopped", "unknown"]) {
    place.put(`${lifecycle}.json`, record({ agent_id: lifecycle, runtime: { lifecycle } }));
  }
  const rows = rowsOf(await output(["list", "--status-dir", place.path], atNow));
  assert.deepEqual(
    rows.map(({ lifecycle }) => lifecycle),
    ["▶ running", "◼ stopped", "? unknown"],
  );
});

test("[AS-56] the title has the name of the machine, and says how many", async () => {
  using place = statusDirectory();
  const title = async (): Promise<string> => {
    const [line = ""] = (await output(["list", "--status-dir", place.path], atNow)).split("\n");
    return line.trim();
  };
  assert.equal(await title(), `${hostname()}  ·  0 agents`);
  place.put("a.json", record());
  assert.equal(await title(), `${hostname()}  ·  1 agent`);
  place.put("b.json", record({ agent_id: "b" }));
  assert.equal(await title(), `${hostname()}  ·  2 agents`);
});

test("[AS-57] [AS-58] a task is the goal, the workspace and the task, a line each, without tabs or a process number", async () => {
  using place = statusDirectory();
  place.put(
    "a.json",
    record({
      runtime: { workspace: "/tmp/pro\tject", pid: 123 },
      goal: { summary: "the\tgoal", updated_at: now, source: "initial-prompt" },
      task: { summary: "the task" },
    }),
  );
  place.put("b.json", record({ agent_id: "b", runtime: { workspace: "/w" } }));
  place.put("c.json", record({ agent_id: "c", task: { summary: "only this" } }));
  const table = await output(["list", "--status-dir", place.path], atNow);
  assert.doesNotMatch(table, /\t|123/);
  assert.match(table, /TASK +\| AGENT ID +\| NAME +\| LIFECYCLE +\| STATE +\| UPDATED +\|/);
  const tasks = Object.fromEntries(rowsOf(table).map(({ id, task }) => [id, task]));
  assert.deepEqual(tasks, {
    a: ["◎  the goal", "📁  /tmp/pro ject", "▸  the task"],
    b: ["─", "📁  /w"],
    c: ["─", "▸  only this"],
  });
  assert.match(table, /^\| ◎ {2}the goal/m);
  assert.match(table, /^\| {3}📁 {2}\/w/m);
  assert.match(table, /^\| {3}▸ {2}only this/m);
});

test("[AS-9] a file whose name is not its agent's is shown as what it says, and two of one id are two rows", async () => {
  using place = statusDirectory();
  place.put("x.json", record({ agent_id: "same" }));
  place.put("y.json", record({ agent_id: "same" }));
  const rows = rowsOf(await output(["list", "--status-dir", place.path], atNow));
  assert.deepEqual(
    rows.map(({ id }) => id),
    ["same", "same"],
  );
});

test("[AS-46] who stopped is shown until its file is gone", async () => {
  using place = statusDirectory();
  place.put("a.json", record({ runtime: { lifecycle: "stopped" } }));
  place.put("b.json", record({ agent_id: "b" }));
  const states = async (): Promise<readonly string[]> =>
    rowsOf(await output(["list", "--status-dir", place.path], atNow)).map(({ state }) => state);
  assert.deepEqual(await states(), ["? stopped", "~ idle"]);
  await output(
    ["prune", "--prune-after", "-1", "--stale-after", "99", "--status-dir", place.path],
    atNow,
  );
  assert.deepEqual(await states(), ["~ idle"]);
});

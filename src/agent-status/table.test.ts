/** How the table looks where there is room, and where there is none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { widthOf } from "../terminal/index.ts";
import { cellOf, empty, type Line } from "./cells.ts";
import { limits } from "./limits.ts";
import { printTable, type Row } from "./table.ts";

const id = "claude-code-0123456789abcdef0123456789abcdef";

function row(
  more: Partial<Record<"id" | "name" | "state" | "updated", string>> = {},
  task = [""],
): Row {
  return {
    task: task.map(lineOf),
    id: cellOf(more.id ?? id),
    name: cellOf(more.name ?? "claude-code"),
    lifecycle: cellOf("▶ running"),
    state: cellOf(more.state ?? "🔑 auth-required"),
    updated: cellOf(more.updated ?? "59s ago"),
    colour: "yellow",
  };
}

/** As rows have them: a mark, two blanks, a text. */
function lineOf(text: string): Line {
  const mark = /^ *\S {2}|^ *\S+ {2}/u.exec(text)?.[0] ?? "";
  return { mark: mark === "" ? empty : cellOf(mark), body: cellOf(text.slice(mark.length)) };
}

const full = row({}, [
  "◎  Make the build green again",
  "  📁  /home/u/src/a long way down",
  "  ▸  日本語 👍 fix it",
]);

function draw(
  rows: readonly Row[],
  columns: number | undefined,
  hasColours = false,
): readonly string[] {
  const text = [...printTable("host  ·  1 agent", rows, { columns, hasColours })].join("");
  assert(text.endsWith("\n"));
  return text.slice(0, -1).split("\n");
}

test("[AS-56] [AS-57] [AS-61] without colours the frame is of plain letters, and the title stands above its middle", () => {
  const line = `+${"-".repeat(78)}+`;
  assert.deepEqual(draw([row({ id: "a", name: "n", state: "~ idle" }, ["─"])], undefined), [
    "                                host  ·  1 agent",
    line,
    "| TASK                        | AGENT ID | NAME | LIFECYCLE | STATE  | UPDATED |",
    "|-----------------------------+----------+------+-----------+--------+---------|",
    "| ─                           | a        | n    | ▶ running | ~ idle | 59s ago |",
    line,
  ]);
});

test("[AS-61] with colours the frame is drawn, and every cell of a row has its colour", () => {
  const lines = draw([row({}, ["─"])], undefined, true);
  assert.match(lines[1] ?? "", /^╭─+┬─+┬─+┬─+┬─+┬─+╮$/);
  assert.match(lines[3] ?? "", /^├─+┼─+┼─+┼─+┼─+┼─+┤$/);
  assert.match(lines.at(-1) ?? "", /^╰─+┴─+┴─+┴─+┴─+┴─+╯$/);
  const cells = (lines[4] ?? "").split("│").slice(1, -1);
  assert.equal(cells.length, 6);
  for (const cell of cells) assert.match(cell, /^ \x1b\[33m[^\x1b]+\x1b\[0m *$/);
});

test("every line is as wide as every other, also with wide letters and emoji", () => {
  for (const columns of [undefined, 60, 80, 100, 140, 200]) {
    const [, ...lines] = draw([full, row({ id: "日本-エージェント-😀" }, ["─"])], columns);
    assert.equal(new Set(lines.map(widthOf)).size, 1, String(columns));
  }
});

test("[AS-63] where nobody says how wide, nothing is cut; where somebody does, no line is wider", () => {
  const natural = draw([full], undefined).join("\n");
  for (const text of [id, "a long way down", "auth-required", "59s ago"]) {
    assert(natural.includes(text), text);
  }
  for (let columns = 32; columns < 200; columns += 1) {
    const lines = draw([full], columns);
    const text = lines.join("\n");
    assert(
      lines.every((line) => widthOf(line) <= Math.max(columns, widthOf("host  ·  1 agent"))),
      text,
    );
    // State and age are what one looks for.
    assert(text.includes("🔑 auth-required") && text.includes("59s ago"), text);
  }
});

test("[AS-63] the task gives way first, then the middle of the id", () => {
  const wide = draw([full], 135).join("\n");
  assert(wide.includes(id));
  assert.match(wide, /^\| {3}📁 {2}\/home\/u\/src\/a long/m);
  const narrow = draw([full], 100).join("\n");
  assert.match(narrow, /\| claude?.*…[0-9a-f]*f +\|/);
  assert.match(narrow, /▶ running/);
});

test("[AS-57] the task has 27 cells at least, unless the terminal has none to give", () => {
  const [, , head = ""] = draw([], 80);
  assert.match(head, /^\| TASK {24}\|/);
});

test("a text that never ends is cut, and says so", () => {
  const lines = draw([row({}, [`◎  ${"word ".repeat(2_000)}`])], 100);
  assert.equal(lines.length, limits.taskLinesMax + 5);
  assert.match(lines.at(-2) ?? "", /…/);
});

test("ids and names of any length do not make the table wider than a reader can bear", () => {
  const lines = draw([row({ id: "i".repeat(10_000), name: "n".repeat(10_000) })], undefined);
  assert(widthOf(lines[1] ?? "") < 400);
});

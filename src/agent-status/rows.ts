/** A table of what is there: what stands in each cell, and the title above it. [AS-56] to [AS-60] */
import { hostname } from "node:os";
import { escapeForTerminal, printAge } from "../wire/status-file/index.ts";
import { type Cell, cellOf, empty, type Line } from "./cells.ts";
import { limits } from "./limits.ts";
import type { Entry, Listing } from "./listing.ts";
import { lifecycleIcons, stateLooks } from "./looks.ts";
import { printTable, type Row, type Style } from "./table.ts";

/** Stands where nothing is. */
const nothing = cellOf("─");
const never = cellOf("never");
const noGoal: Line = { mark: empty, body: nothing };

/** Of many entries only the first `rowsMax`, where no more would be seen. */
export function printListing(
  { entries, nowMs }: Listing,
  style: Style,
  rowsMax: number = Number.POSITIVE_INFINITY,
): Generator<string> {
  const count = entries.length === 1 ? "1 agent" : `${entries.length} agents`;
  const title = `${safe(hostname())}  ·  ${count}`;
  const rows = entries.slice(0, rowsMax).map((entry) => rowOf(entry, nowMs));
  return printTable(title, rows, style);
}

function rowOf({ agentId, state, record, updatedAtMs }: Entry, nowMs: number): Row {
  const { icon, colour } = stateLooks[state];
  const row = { id: cellOf(safe(agentId)), state: wordAfter(icon, state), colour };
  if (!record || updatedAtMs === undefined) {
    return { ...row, task: [noGoal], name: nothing, lifecycle: nothing, updated: never };
  }
  const { runtime, goal, task, agent_name: name } = record;
  const lines = [goal ? lineAfter(goalMark, goal.summary) : noGoal];
  if (runtime.workspace) lines.push(lineAfter(workspaceMark, runtime.workspace));
  if (task?.summary) lines.push(lineAfter(taskMark, task.summary));
  return {
    ...row,
    task: lines,
    name: cellOf(safe(name)),
    lifecycle: wordAfter(lifecycleIcons[runtime.lifecycle], runtime.lifecycle),
    updated: cellOf(printAge(nowMs - updatedAtMs)),
  };
}

const goalMark = cellOf("◎  ");
const workspaceMark = cellOf("  📁  ");
const taskMark = cellOf("  ▸  ");

function lineAfter(mark: Cell, text: string): Line {
  return { mark, body: cellOf(safe(text)) };
}

const words = new Map<string, Cell>();

/** There are few of them, and how wide an icon is takes a while to tell. */
function wordAfter(icon: string, word: string): Cell {
  const known = words.get(word);
  if (known?.text.startsWith(icon)) return known;
  const cell = cellOf(`${icon} ${word}`);
  words.set(word, cell);
  return cell;
}

/** What comes from files is shown, never obeyed. [AS-64] */
function safe(text: string): string {
  return escapeForTerminal(text.length > limits.cellLengthMax ? cut(text) : text);
}

function cut(text: string): string {
  return `${text.slice(0, limits.cellLengthMax)}…`;
}

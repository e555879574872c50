/** A table of what is there: what stands in each cell, and the title above it. [AS-56] to [AS-60] */
import { hostname } from "node:os";
import { escapeForTerminal, printAge } from "../wire/status-file/index.ts";
import { limits } from "./limits.ts";
import type { Entry, Listing } from "./listing.ts";
import { lifecycleIcons, stateLooks } from "./looks.ts";
import { printTable, type Row, type Style } from "./table.ts";

/** Stands where nothing is. */
const nothing = "─";

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
  const row = { id: safe(agentId), state: `${icon} ${state}`, colour };
  if (!record || updatedAtMs === undefined) {
    return { ...row, task: [nothing], name: nothing, lifecycle: nothing, updated: "never" };
  }
  const { runtime, goal, task, agent_name: name } = record;
  const lines = [goal ? `◎  ${safe(goal.summary)}` : nothing];
  if (runtime.workspace) lines.push(`  📁  ${safe(runtime.workspace)}`);
  if (task?.summary) lines.push(`  ▸  ${safe(task.summary)}`);
  return {
    ...row,
    task: lines,
    name: safe(name),
    lifecycle: `${lifecycleIcons[runtime.lifecycle]} ${runtime.lifecycle}`,
    updated: printAge(nowMs - updatedAtMs),
  };
}

/** What comes from files is shown, never obeyed. [AS-64] */
function safe(text: string): string {
  return escapeForTerminal(text.length > limits.cellLengthMax ? cut(text) : text);
}

function cut(text: string): string {
  return `${text.slice(0, limits.cellLengthMax)}…`;
}

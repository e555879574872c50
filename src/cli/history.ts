/** `tipstaff history`: an agent's day as a strip and, state by state, as a table. */
import type { Entry, SightingState } from "../wire/api/index.ts";
import { findAgentIfAny } from "./agents.ts";
import { printColumns } from "./columns.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import type { Values } from "./table.ts";
import { paint, print, screen, type Tone } from "./terminal.ts";
import { jsonOf, printable } from "./text.ts";
import { atTime, forHowLong } from "./times.ts";
import { textIn } from "./values.ts";

/** A stretch of time in which an agent did one thing. */
export type Stretch = {
  readonly state: SightingState | "gone";
  readonly note: string;
  readonly fromMs: number;
  readonly toMs: number;
};

type Day = { readonly startMs: number; readonly endMs: number };

export async function history(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const day = dayOf(textIn(values, "day"));
  const { nowMs } = await call(values, "getOverview", {});
  const id = await subjectOf(values, word);
  const entries = await entriesOf(values, id, day);
  const stretches = stretchesOf(entries, { ...day, endMs: Math.min(day.endMs, nowMs) });
  if (values["json"] === true) {
    print(`${jsonOf({ agentId: id, ...day, stretches })}\n`);
    return exits.ok;
  }
  if (stretches.length === 0) throw no(`nothing is known of ${printable(word)} on that day`);
  print(`${printable(nameIn(entries, id))}\n\n${strip(stretches, day)}\n\n`);
  print(
    printColumns(stretches, [
      { title: "AT", cell: ({ fromMs }) => atTime(fromMs, day.startMs), weight: 4 },
      {
        title: "STATE",
        cell: ({ state }) => ({ text: state, tone: toneOf[state] }),
        weight: 5,
      },
      {
        title: "FOR",
        cell: ({ fromMs, toMs }) => forHowLong(toMs - fromMs),
        weight: 3,
        align: "right",
      },
      { title: "DOING", cell: ({ note }) => printable(note), weight: 1, cellsMin: 10 },
    ]),
  );
  print(`\n${paint("dim", totals(stretches))}\n`);
  return exits.ok;
}

/** Of this machine's calendar; absent: today. */
function dayOf(text: string | undefined): Day {
  const now = new Date();
  const parts = text === undefined ? undefined : /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (text !== undefined && !parts) throw mistake(`--day is a date such as 2026-01-31`);
  const [year, month, date] = parts
    ? [Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])]
    : [now.getFullYear(), now.getMonth(), now.getDate()];
  return {
    startMs: new Date(year, month, date).getTime(),
    endMs: new Date(year, month, date + 1).getTime(),
  };
}

/** The id that a word stands for: an id, or the name of who is here, or of who was. */
async function subjectOf(values: Values, word: string): Promise<string> {
  const { rows } = await call(values, "listEntries", { about: word, limit: 1 });
  if (rows.length > 0) return word;
  const agent = await findAgentIfAny(values, word);
  if (agent) return agent.id;
  const told = await call(values, "listEntries", { type: ["observed."], query: word, limit: 100 });
  for (const entry of told.rows) {
    if ("observed" in entry && entry.observed.name === word) return entry.observed.id;
  }
  throw no(`nothing is known of an agent ${printable(word)}`);
}

/** Those of the day and the one before them, oldest first. */
async function entriesOf(values: Values, about: string, day: Day): Promise<readonly Entry[]> {
  const newestFirst: Entry[] = [];
  let before: number | undefined;
  do {
    const page = await call(values, "listEntries", {
      about,
      type: ["observed.", "agent."],
      limit: limits.pageMax,
      ...(before === undefined ? {} : { before }),
    });
    newestFirst.push(...page.rows.filter(({ atMs }) => atMs < day.endMs));
    before = page.next;
  } while (before !== undefined && (newestFirst.at(-1)?.atMs ?? day.endMs) >= day.startMs);
  const earlier = newestFirst.findIndex(({ atMs }) => atMs < day.startMs);
  const wanted = earlier === -1 ? newestFirst : newestFirst.slice(0, earlier + 1);
  return wanted.reverse();
}

/** Neighbours in which the same was done are one. */
export function stretchesOf(
  entries: readonly Entry[],
  { startMs, endMs }: Day,
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (const [index, entry] of entries.entries()) {
    const said = stateIn(entry);
    if (!said) continue;
    const fromMs = Math.max(entry.atMs, startMs);
    const toMs = Math.min(entries[index + 1]?.atMs ?? endMs, endMs);
    const last = stretches.at(-1);
    if (last && last.state === said.state && last.note === said.note) {
      stretches[stretches.length - 1] = { ...last, toMs };
    } else if (toMs >= fromMs) {
      stretches.push({ ...said, fromMs, toMs });
    }
  }
  // To be gone is no stretch of a day, unless it is seen to begin.
  return stretches.filter(({ state, fromMs }) => state !== "gone" || fromMs > startMs);
}

function stateIn(entry: Entry): Pick<Stretch, "state" | "note"> | undefined {
  switch (entry.type) {
    case "observed.changed":
      return { state: entry.observed.state, note: entry.observed.note };
    case "observed.left":
    case "agent.died":
      return { state: "gone", note: "" };
    case "agent.active": {
      const { state, note } = entry.activity;
      const isWorking = state !== "waiting" && state !== "idle";
      return { state: isWorking ? "working" : state, note };
    }
    case "agent.registered":
    case "agent.recovered":
      return { state: "unknown", note: "is here" };
    case "agent.unreachable":
      return { state: "lost", note: "" };
    default:
      return undefined;
  }
}

const toneOf: Readonly<Record<Stretch["state"], Tone | undefined>> = {
  waiting: "warn",
  working: "good",
  silent: "warn",
  failed: "bad",
  lost: "bad",
  idle: "dim",
  stopped: "dim",
  unknown: undefined,
  gone: "dim",
};

const marks: Readonly<Record<Stretch["state"], string>> = {
  waiting: "!",
  working: "█",
  silent: "▒",
  failed: "x",
  lost: "?",
  idle: "─",
  stopped: "─",
  unknown: "▒",
  gone: " ",
};

/** The day from left to right; a cell shows what most needs a person in it. */
function strip(stretches: readonly Stretch[], { startMs, endMs }: Day): string {
  const cells = Math.min(Math.max((screen().columns ?? 96) - 4, 24), 96);
  const cellMs = (endMs - startMs) / cells;
  const urgency = Object.keys(marks);
  const shown = Array.from({ length: cells }, (_, index) => {
    const fromMs = startMs + index * cellMs;
    const within = stretches.filter((one) => one.fromMs < fromMs + cellMs && one.toMs > fromMs);
    const [most] = within
      .map(({ state }) => state)
      .sort((one, other) => urgency.indexOf(one) - urgency.indexOf(other));
    return most === undefined ? " " : paint(toneOf[most], marks[most]);
  });
  const every = Math.ceil(24 / Math.floor(cells / 4));
  const hours = Array.from({ length: Math.ceil(24 / every) }, (_, index) => {
    const from = Math.round((index * every * cells) / 24);
    const to = Math.round(((index + 1) * every * cells) / 24);
    return String(index * every)
      .padStart(2, "0")
      .padEnd(to - from);
  });
  return `  ${shown.join("").trimEnd()}\n  ${paint("dim", hours.join("").trimEnd())}`;
}

function totals(stretches: readonly Stretch[]): string {
  const byState = new Map<Stretch["state"], number>();
  for (const { state, fromMs, toMs } of stretches) {
    if (state !== "gone") byState.set(state, (byState.get(state) ?? 0) + toMs - fromMs);
  }
  return [...byState].map(([state, ms]) => `${state} ${forHowLong(ms)}`).join(" · ");
}

function nameIn(entries: readonly Entry[], id: string): string {
  for (const entry of entries.toReversed()) {
    if ("observed" in entry) {
      const { name, workspace } = entry.observed;
      return workspace === "" ? name : `${name} · ${workspace}`;
    }
    if ("agent" in entry) return entry.agent.card.name;
  }
  return id;
}

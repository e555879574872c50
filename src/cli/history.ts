/** `tipstaff history`: an agent's day as a strip and, state by state, as a table. */
import { jsonOf, paint, print, printable, screen } from "../terminal/index.ts";
import type { Agent, Entry } from "../wire/api/index.ts";
import { findAgentIfAny } from "./agents.ts";
import { printColumns } from "./columns.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { printPath } from "./paths.ts";
import { type StretchState, stripLooks, toneOf } from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { atTime, countOf, forHowLong } from "./times.ts";
import { textIn } from "./values.ts";

/** A stretch of time in which an agent did one thing. */
export type Stretch = {
  readonly state: StretchState;
  readonly note: string;
  readonly fromMs: number;
  readonly toMs: number;
};

type Day = { readonly startMs: number; readonly endMs: number };

export async function history(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const day = dayOf(textIn(values, "day"));
  const { nowMs } = await call(values, "getOverview", {});
  const id = await subjectOf(values, word, day);
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
        cell: ({ state }) => ({ text: state, tone: state === "gone" ? "dim" : toneOf[state] }),
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

/** Of this machine's calendar; absent: today. Exported for its test. */
export function dayOf(text: string | undefined): Day {
  const now = new Date();
  const parts = text === undefined ? undefined : /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (text !== undefined && !parts) throw mistake(`--day is a date such as 2026-01-31`);
  const [year, month, date] = parts
    ? [Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])]
    : [now.getFullYear(), now.getMonth(), now.getDate()];
  const start = new Date(year, month, date);
  // The 31st of February would be a day in March, and the year 50 one of the last century.
  const isThere =
    start.getFullYear() === year && start.getMonth() === month && start.getDate() === date;
  if (!isThere) throw mistake(`there is no day ${text}; --day is a date such as 2026-01-31`);
  return {
    startMs: start.getTime(),
    endMs: new Date(year, month, date + 1).getTime(),
  };
}

const tellsOfAgents = ["observed.", "agent."];

/** The id that a word stands for: an id, its beginning, or the name of the one agent that had it on that day. */
async function subjectOf(values: Values, word: string, day: Day): Promise<string> {
  const own = { about: word, type: tellsOfAgents, limit: 1 };
  if ((await call(values, "listEntries", own)).rows.length > 0) return word;
  const named = [...(await registeredAs(values, word)), ...(await observedAs(values, word, day))];
  const [one, ...others] = named.filter(
    ({ fromMs, toMs }) => fromMs < day.endMs && toMs >= day.startMs,
  );
  if (!one) {
    const agent = named[0] ?? (await findAgentIfAny(values, word));
    if (agent) return agent.id;
    throw no(`nothing is known of an agent ${printable(word)}`);
  }
  if (others.length === 0) return one.id;
  const shown = [one, ...others].slice(0, limits.namesakesShownMax);
  throw no(
    `${printable(word)} was ${countOf(others.length + 1, "agent")} on that day; give the id of one`,
    ...shown.map(({ id, where, fromMs }) =>
      `${id}  ${atTime(fromMs, day.startMs)}  ${where}`.trim(),
    ),
    ...(others.length + 1 > shown.length ? ["…"] : []),
  );
}

/** From when to when it was there, as far as that is known. */
type Namesake = {
  readonly id: string;
  readonly where: string;
  readonly fromMs: number;
  readonly toMs: number;
};

async function registeredAs(values: Values, name: string): Promise<readonly Namesake[]> {
  const { rows } = await call(values, "listAgents", { query: name, limit: limits.pageMax });
  return rows
    .filter(({ card }) => card.name === name)
    .map(({ id, registeredAtMs, diedAtMs }) => ({
      id,
      where: "registered",
      fromMs: registeredAtMs,
      toMs: diedAtMs ?? Number.POSITIVE_INFINITY,
    }));
}

/** Whoever was last heard of comes first. The log is read back to the day, or until there is somebody. */
async function observedAs(values: Values, name: string, day: Day): Promise<readonly Namesake[]> {
  const found = new Map<string, Namesake>();
  let before: number | undefined;
  let oldestMs = Number.POSITIVE_INFINITY;
  do {
    const page = await call(values, "listEntries", {
      type: ["observed."],
      query: name,
      limit: limits.pageMax,
      ...(before === undefined ? {} : { before }),
    });
    for (const entry of page.rows) {
      oldestMs = entry.atMs;
      if (!("observed" in entry) || entry.observed.name !== name) continue;
      const { id, workspace, sinceMs } = entry.observed;
      const known = found.get(id);
      const toMs = entry.type === "observed.left" ? entry.atMs : Number.POSITIVE_INFINITY;
      const fromMs = Math.min(sinceMs, entry.atMs);
      found.set(
        id,
        known ? { ...known, fromMs } : { id, where: printPath(workspace), fromMs, toMs },
      );
    }
    before = page.next;
  } while (before !== undefined && (oldestMs >= day.startMs || found.size === 0));
  return [...found.values()];
}

/** Those of the day and the one before them, oldest first. */
async function entriesOf(values: Values, about: string, day: Day): Promise<readonly Entry[]> {
  const newestFirst: Entry[] = [];
  let before: number | undefined;
  do {
    const page = await call(values, "listEntries", {
      about,
      type: tellsOfAgents,
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
  const begun: Said[] = [];
  let heardAtMs = Number.NEGATIVE_INFINITY;
  for (const entry of entries) {
    const said = stateIn(entry);
    if (!said) continue;
    const last = begun.at(-1);
    // What was broken off is shown for a while by whoever is idle, and then is not.
    const isSame = last?.state === said.state && (last.note === said.note || last.state === "idle");
    if (!isSame) {
      begun.push({ ...said, fromMs: Math.max(beginOf(said, last), heardAtMs) });
    }
    heardAtMs = entry.atMs;
  }
  const stretches = begun.map(({ state, note, fromMs }, index) => ({
    state,
    note,
    fromMs: Math.max(fromMs, startMs),
    toMs: Math.min(begun[index + 1]?.fromMs ?? endMs, endMs),
  }));
  return stretches.filter(
    ({ state, fromMs, toMs }) =>
      // To be gone is no stretch of a day, unless it is seen to begin.
      toMs >= fromMs && (state !== "gone" || fromMs > startMs),
  );
}

type Said = Pick<Stretch, "state" | "note" | "fromMs"> & {
  /** As the source says. */
  readonly sinceMs?: number;
};

/**
 * A change was seen when it happened. Only of what went before, and of whoever was not heard any more, the
 * source knows better: the list of agents says the same then.
 */
function beginOf({ state, fromMs, sinceMs = fromMs }: Said, last: Said | undefined): number {
  const isSeenLate = !last || last.state === "gone" || state === "lost";
  return isSeenLate ? Math.min(fromMs, sinceMs) : fromMs;
}

function stateIn(entry: Entry): Said | undefined {
  const fromMs = entry.atMs;
  switch (entry.type) {
    case "observed.changed": {
      const { state, note, sinceMs } = entry.observed;
      return { state, note, fromMs, sinceMs };
    }
    case "observed.left":
    case "agent.died":
      return { state: "gone", note: "", fromMs };
    case "agent.active": {
      const { state, note } = entry.activity;
      const isWorking = state !== "waiting" && state !== "idle";
      return { state: isWorking ? "working" : state, note, fromMs };
    }
    case "agent.registered":
    case "agent.recovered":
      return { state: "unknown", note: "is here", fromMs };
    case "agent.unreachable":
      return { state: "lost", note: "", fromMs, sinceMs: lastHeardMs(entry.agent) };
    default:
      return undefined;
  }
}

/** The time of the restart for an agent that was not heard since, because earlier heartbeats are not known. */
function lastHeardMs({ unheardSinceMs, lastHeartbeatAtMs }: Agent): number {
  return unheardSinceMs ?? lastHeartbeatAtMs;
}

/** The day from left to right; a cell shows what most needs a person in it. Exported for its test. */
export function strip(stretches: readonly Stretch[], { startMs, endMs }: Day): string {
  const cells = Math.min(Math.max((screen().columns ?? 96) - 4, 24), 96);
  const cellMs = (endMs - startMs) / cells;
  const shown = Array.from({ length: cells }, (_, index) => {
    const fromMs = startMs + index * cellMs;
    const within = stretches.filter((one) => one.fromMs < fromMs + cellMs && one.toMs > fromMs);
    const most = stripLooks.find(([state]) => within.some((one) => one.state === state));
    return most ? paint(most[2], most[1]) : " ";
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
  // What stands in the strip is explained where it is summed up.
  return stripLooks
    .flatMap(([state, mark]) => {
      const ms = byState.get(state);
      return ms === undefined ? [] : [`${mark} ${state} ${forHowLong(ms)}`.trim()];
    })
    .join(" · ");
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

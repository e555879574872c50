/** `tipstaff needs`: everything that waits for a person, and how to clear it. `status` counts the same. */
import { paint, printable, type Tone } from "../terminal/index.ts";
import { type Attention, type AttentionKind, limits as apiLimits } from "../wire/api/index.ts";
import { type Column, printColumns } from "./columns.ts";
import { call } from "./daemon.ts";
import { mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { printOne } from "./lists.ts";
import type { Values } from "./table.ts";
import { atTime, countOf, forHowLong, grouped } from "./times.ts";
import { durationIn } from "./values.ts";

const words: Readonly<Record<AttentionKind, { readonly word: string; readonly tone: Tone }>> = {
  question: { word: "asks you", tone: "warn" },
  agent_waiting: { word: "waits for you", tone: "warn" },
  task_dead: { word: "task failed", tone: "bad" },
  job_failed: { word: "job failed", tone: "bad" },
  task_stuck: { word: "no worker", tone: "warn" },
  agent_silent: { word: "silent", tone: "warn" },
  agent_unreachable: { word: "unreachable", tone: "bad" },
};

export async function listNeeds(values: Values): Promise<number> {
  const isDismissed = values["dismissed"] === true;
  const needs = await ask(values, isDismissed);
  const { nowMs } = await call(values, "getOverview", {});
  return printOne(values, { ...needs, nowMs }, () => describeNeeds(needs, { isDismissed, nowMs }));
}

/** Exported for its test. */
export function describeNeeds(
  { items, total }: { readonly items: readonly Attention[]; readonly total: number },
  { isDismissed, nowMs }: { readonly isDismissed: boolean; readonly nowMs: number },
): string {
  if (total === 0) return isDismissed ? "nothing is dismissed\n" : "nothing needs you\n";
  const columns: readonly Column<Attention>[] = [
    {
      title: "WHAT",
      cell: ({ kind }) => ({ text: words[kind].word, tone: words[kind].tone }),
      weight: 10,
    },
    { title: "FOR", cell: ({ sinceMs }) => forHowLong(nowMs - sinceMs), weight: 9 },
    {
      title: "CLOSES IN",
      cell: ({ expiresAtMs }) => (expiresAtMs === undefined ? "" : forHowLong(expiresAtMs - nowMs)),
      weight: 9,
    },
    { title: "NAME", cell: ({ name }) => name, weight: 8, cellsMin: 10 },
    { title: "WHY", cell: ({ text }) => text, weight: 7, cellsMin: 16 },
    ...(isDismissed
      ? [{ title: "DISMISSED", cell: (item: Attention) => dismissedIn(item, nowMs), weight: 6 }]
      : []),
    { title: "ID", cell: ({ id }) => id, weight: 2, cellsMin: 10 },
  ];
  const more = total > items.length ? ` · ${grouped(total - items.length)} more` : "";
  const last = isDismissed
    ? `${countOf(total, "item")} dismissed · tipstaff needs restore <id> shows one again`
    : `${countOf(total, "item needs you", "items need you")}${more} · ${howToGoOn(items)}`;
  return `${printColumns(items, columns)}\n${paint("dim", last)}\n`;
}

function howToGoOn(items: readonly Attention[]): string {
  const hasQuestion = items.some(({ kind }) => kind === "question");
  const answers = hasQuestion ? "tipstaff answer <id> <text> answers one · " : "";
  return `${answers}tipstaff needs dismiss <id> clears one`;
}

function dismissedIn({ dismissed }: Attention, nowMs: number): string {
  if (!dismissed) return "";
  const { by, atMs, untilMs } = dismissed;
  const end = untilMs === undefined ? "" : `, until ${atTime(untilMs, nowMs)}`;
  return `by ${by} at ${atTime(atMs, nowMs)}${end}`;
}

export async function dismissNeeds(values: Values, ids: readonly string[]): Promise<number> {
  return await clear(values, ids, {});
}

export async function snoozeNeeds(values: Values, ids: readonly string[]): Promise<number> {
  const forMs = durationIn(values, "for") ?? limits.snoozeMs;
  if (forMs < apiLimits.snoozeMsMin || forMs > apiLimits.snoozeMsMax) {
    throw mistake("--for must be from 1s to 365d");
  }
  return await clear(values, ids, { forMs });
}

async function clear(
  values: Values,
  ids: readonly string[],
  snooze: { readonly forMs?: number },
): Promise<number> {
  const isAll = values["all"] === true;
  if (isAll === ids.length > 0) throw mistake("give the id or name of one item, or --all");
  const { items, total } = await ask(values, false);
  const cleared: Attention[] = [];
  let listed = isAll ? items : [await findShownOrHidden(values, items, ids[0] ?? "")];
  while (listed.length > 0) {
    for (const { kind, id, sinceMs } of listed) {
      await call(values, "dismissNeed", { kind, id, sinceMs, ...snooze });
    }
    cleared.push(...listed);
    // The daemon lists some 200 items at a time. Items that are added meanwhile must not keep the command going.
    const isMore = isAll && cleared.length < total;
    listed = isMore ? (await ask(values, false)).items : [];
  }
  const done = cleared.map(({ kind, id, name }) => ({ kind, id, name }));
  const what = snooze.forMs === undefined ? "dismissed" : `snoozed for ${forHowLong(snooze.forMs)}`;
  return printOne(values, { needs: done }, () =>
    done.length === 0
      ? "nothing needs you\n"
      : done.map(({ name }) => `${printable(name)} is ${what}\n`).join(""),
  );
}

export async function restoreNeed(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const { items: hidden } = await ask(values, true);
  const item = matchNeed(hidden, word);
  if (!item) {
    const shown = findNeed((await ask(values, false)).items, word);
    throw no(`${printable(shown.name)} is not dismissed or snoozed`);
  }
  const { kind, id, name } = item;
  await call(values, "restoreNeed", { kind, id });
  return printOne(values, { kind, id }, () => `${printable(name)} is shown again\n`);
}

/** An item that is snoozed can be dismissed, and one that is dismissed can be snoozed. */
async function findShownOrHidden(
  values: Values,
  shown: readonly Attention[],
  word: string,
): Promise<Attention> {
  return matchNeed(shown, word) ?? findNeed((await ask(values, true)).items, word);
}

async function ask(
  values: Values,
  isDismissed: boolean,
): Promise<{ readonly items: readonly Attention[]; readonly total: number }> {
  return await call(values, "getAttention", isDismissed ? { dismissed: true } : {});
}

/** Finds an item by its id, the beginning of its id, or its name. Exported for its test. */
export function findNeed(items: readonly Attention[], word: string): Attention {
  const item = matchNeed(items, word);
  if (item) return item;
  throw no(`no item has the id or name ${printable(word)}`, "tipstaff needs lists the items");
}

/** Undefined if there is none. Throws if there are several. */
function matchNeed(items: readonly Attention[], word: string): Attention | undefined {
  const exact = items.filter(({ id, name }) => id === word || name === word);
  const begun = word.length >= 2 ? items.filter(({ id }) => id.startsWith(word)) : [];
  const [item, ...others] = exact.length > 0 ? exact : begun;
  if (item && others.length > 0) {
    const shown = [item, ...others].slice(0, limits.namesakesShownMax);
    throw no(
      `${countOf(others.length + 1, "item")} match ${printable(word)}; give the id of one`,
      ...shown.map(
        ({ id, kind, name }) => `${printable(id)}  ${words[kind].word}  ${printable(name)}`,
      ),
    );
  }
  return item;
}

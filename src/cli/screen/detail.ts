/** All that is known of one agent, how it is known, and how old each word of it is. */
import type { Known, Sighting } from "../../wire/api/index.ts";
import type { Stretch } from "../history.ts";
import { printPath } from "../paths.ts";
import { moreBy, spentBy, toneOf, whereOf } from "../sighting-words.ts";
import { ago, atTime, forHowLong, left } from "../times.ts";
import { limits } from "./limits.ts";
import type { About, Happening, Model } from "./model.ts";
import { fitLine, joinSpans, type Line, type Look, padLine, span, wrapText } from "./spans.ts";
import { stripOf } from "./strip.ts";

type Fact = { readonly name: string; readonly line: Line };

/** The pane below the list: what matters most first, one line each, as much as there is room for. */
export function paneOf(
  model: Model,
  agent: Sighting,
  { cells, rows }: { readonly cells: number; readonly rows: number },
): readonly Line[] {
  const about = aboutOf(model, agent);
  const isBeside = cells >= limits.besideColumnsMin;
  const leftCells = isBeside ? Math.floor(cells * 0.58) : cells;
  const facts = factsOf(agent, about, { nowMs: model.nowMs, cells: leftCells - nameCells });
  const past = pastLines(model, about.happenings.toReversed());
  // The last facts matter less than what happened last.
  const kept = isBeside ? 0 : Math.min(past.length, limits.pastRowsMin);
  const lines = facts.slice(0, rows - kept).map((fact) => factLine(fact));
  if (!isBeside) return [...lines, ...past.slice(0, Math.max(0, rows - lines.length))];
  return Array.from({ length: rows }, (_, index) => [
    ...padLine(lines[index] ?? [], leftCells),
    span("  "),
    ...fitLine(past[index] ?? [], cells - leftCells - 2),
  ]);
}

/** The same on a screen of its own: nothing is cut, it goes on further down. */
export function inspectionOf(
  model: Model,
  agent: Sighting,
  { cells }: { readonly cells: number },
): readonly Line[] {
  const about = aboutOf(model, agent);
  const { nowMs } = model;
  const facts = factsOf(agent, about, { nowMs, cells: cells - nameCells });
  const long = [...facts, ...moreFactsOf(model, agent)];
  return [
    ...long.flatMap((fact) => wrapFact(fact, cells)),
    [],
    ...pastLines(model, about.happenings.toReversed()),
  ];
}

/** What the list itself tells, until more was asked for. */
function aboutOf({ about, nowMs }: Model, agent: Sighting): About {
  if (about?.id === agent.id) return about;
  const { id, state, sinceMs } = agent;
  const stretches: readonly Stretch[] =
    sinceMs === undefined ? [] : [{ state, note: "", fromMs: sinceMs, toMs: nowMs }];
  return { id, stretches, happenings: [], facts: [] };
}

/** Who, how, since when: the title above all that follows. */
export function titleOf(agent: Sighting, nowMs: number): Line {
  const { name, state, sinceMs, isContradicted } = agent;
  const since = sinceMs === undefined ? "" : ` for ${forHowLong(nowMs - sinceMs)}`;
  const where = whereOf(agent);
  return joinSpans(
    [
      [span(name, "bold")],
      [span(`${state}${since}`, toneOf[state])],
      ...(isContradicted ? [[span("sources disagree", "warn")]] : []),
      ...(where === "" ? [] : [[span(where, "dim")]]),
    ],
    " · ",
  );
}

function factsOf(
  agent: Sighting,
  about: About,
  { nowMs, cells }: { readonly nowMs: number; readonly cells: number },
): readonly Fact[] {
  const { state, doing, goal, task, known, hint, lastProgressAtMs } = agent;
  // Whoever holds a task is at it: said once is enough.
  const isSaid = (text = ""): boolean =>
    text === doing || about.facts.some((held) => text === `task ${held.text}`);
  const stripCells = Math.min(limits.stripCells, Math.max(10, cells - 2));
  const strip = stripOf(about.stretches, { endMs: nowMs, ms: limits.stripMs, cells: stripCells });
  return [
    ...fact(state === "waiting" ? "asks" : "doing", doing),
    ...fact("task", isSaid(task) ? undefined : task),
    ...fact("goal", goal),
    { name: "last hour", line: [...strip, span("▏", "dim")] },
    ...(lastProgressAtMs === undefined ? [] : fact("progress", ago(lastProgressAtMs, nowMs))),
    ...known.map((one, index) => ({
      name: index === 0 ? "known from" : "",
      line: knownLine(one, nowMs),
    })),
    ...fact("spent", spentBy(agent)),
    ...about.facts.flatMap(({ name, text, untilMs }) =>
      fact(name, untilMs === undefined ? text : `${text} · ${left(untilMs, nowMs)}`),
    ),
    ...fact("to see more", moreBy(hint)),
  ];
}

/** What one asks for seldom. */
function moreFactsOf({ nowMs, daemon }: Model, agent: Sighting): readonly Fact[] {
  const { id, pid, startedAtMs, host, workspace, branch, tmux, known } = agent;
  const started = startedAtMs === undefined ? "" : `, started ${ago(startedAtMs, nowMs)}`;
  const paths = known.flatMap(({ path }) => (path === undefined ? [] : [path]));
  return [
    ...fact("workspace", workspace),
    ...fact("branch", branch),
    ...fact("process", pid === undefined ? undefined : `${pid}${started}`),
    ...fact("machine", host),
    ...fact("tmux pane", tmux && `${tmux.pane} of ${tmux.socket}`),
    ...paths.flatMap((path) => fact("file", printPath(path))),
    ...fact("id", id),
    ...(daemon.kind === "there" ? fact("its day", `tipstaff history ${id}`) : []),
  ];
}

function fact(name: string, text: string | undefined, look?: Look): readonly Fact[] {
  return text ? [{ name, line: [span(text, look)] }] : [];
}

/** `hook  input-required for 4 min · heard 2 s ago`. */
function knownLine(known: Known, nowMs: number): Line {
  const { source, state, word, sinceMs, heardAtMs, unheardSinceMs } = known;
  const heard =
    unheardSinceMs === undefined
      ? `heard ${ago(heardAtMs, nowMs)}`
      : `not heard since the restart ${ago(unheardSinceMs, nowMs)}`;
  const since = sinceMs === undefined ? "" : ` for ${forHowLong(nowMs - sinceMs)}`;
  return [
    span(source.padEnd(10), "dim"),
    span(`${word}${since}`, toneOf[state]),
    span(` · ${heard}`, "dim"),
  ];
}

const nameCells = 14;

function factLine({ name, line }: Fact): Line {
  return [...padLine([span(` ${name}`, "dim")], nameCells), ...line];
}

/** Text goes on below itself; what is laid out, like the strip, is cut. */
function wrapFact(fact: Fact, cells: number): readonly Line[] {
  const [only, ...others] = fact.line;
  if (!only || others.length > 0) return [factLine(fact)];
  return wrapText(only.text, cells - nameCells).map((text, index) =>
    factLine({ name: index === 0 ? fact.name : "", line: [{ ...only, text }] }),
  );
}

/** In the order given, one line each; if there is nothing, why. */
export function pastLines(
  { daemon, nowMs }: Model,
  happenings: readonly Happening[],
): readonly Line[] {
  if (happenings.length > 0) {
    return happenings.map(({ atMs, text, tone }) => [
      span(` ${atTime(atMs, nowMs)}  `, "dim"),
      span(text, tone),
    ]);
  }
  const why =
    daemon.kind === "there"
      ? " the log has nothing about it"
      : " nothing since this view was opened; tipstaff up keeps a log";
  return [[span(why, "dim")]];
}

/** The last two lines: how it stands, and what can be done. */
import type { Sighting } from "../../wire/api/index.ts";
import { toneOf } from "../sighting-words.ts";
import { ago, countOf, grouped } from "../times.ts";
import { agentsOf, type Model, rowsOf } from "./model.ts";
import { cellsOf, joinSpans, justify, type Line, span } from "./spans.ts";

export function totalsOf(model: Model, cells: number): Line {
  const { questions, questionsError, filter, sort, problems } = model;
  const agents = agentsOf(model);
  const count = (state: Sighting["state"]): number =>
    agents.filter((agent) => agent.state === state).length;
  const waiting = count("waiting");
  const parts: Line[] = [];
  if (questionsError !== undefined) parts.push([span("questions could not be read", "warn")]);
  if (questions.length > 0) parts.push([span(countOf(questions.length, "question"), "warn")]);
  if (waiting > 0) {
    parts.push([span(`${grouped(waiting)} ${waiting === 1 ? "waits" : "wait"} for you`, "warn")]);
  }
  for (const state of ["silent", "failed", "lost"] as const) {
    const some = count(state);
    if (some > 0) parts.push([span(`${grouped(some)} ${state}`, toneOf[state])]);
  }
  if (problems > 0) {
    parts.push([span(`${countOf(problems, "file")} unreadable`, "warn")]);
  }
  parts.push([span(countOf(agents.length, "agent"), "dim")]);
  if (filter !== "") parts.push([span(`${grouped(rowsOf(model).length)} with ${filter}`)]);
  if (sort !== "attention") parts.push([span(sortWords[sort])]);
  const needed = parts.length;
  const working = count("working");
  if (working > 0) parts.push([span(`${grouped(working)} working`, "dim")]);
  const hidden = model.agents.length - agents.length;
  if (hidden > 0) parts.push([span(`${grouped(hidden)} ended or lost: a shows them`, "dim")]);
  const daemon = daemonWord(model);
  const printed = (): Line => [span(" "), ...joinSpans(parts, " · ")];
  const isTooLong = (): boolean => cellsOf(printed()) + cellsOf(daemon) + 1 > cells;
  // What one can do without is left out, not cut.
  while (parts.length > needed && isTooLong()) parts.pop();
  const isNews = model.daemon.kind === "lost";
  return justify(printed(), isTooLong() && !isNews ? [] : daemon, cells);
}

const sortWords = { name: "by name", where: "by directory", latest: "latest first" } as const;

function daemonWord({ daemon, nowMs }: Model): Line {
  switch (daemon.kind) {
    case "asked":
      return [];
    case "none":
      return daemon.error === undefined
        ? [span("no daemon", "dim")]
        : [span("daemon could not be read", "warn")];
    case "there":
      return [span(`daemon ${daemon.version}`, "dim")];
    case "lost":
      return [span(`daemon lost ${ago(daemon.sinceMs, nowMs)}`, "warn")];
  }
}

export function keysOf(model: Model, cells: number): Line {
  const { isTyping, filter, notice, view } = model;
  if (isTyping) {
    const hint = [span("enter keeps it · esc clears it", "dim")];
    return justify([span(" /", "bold"), span(filter), span("▏")], hint, cells);
  }
  if (notice) return [span(` ${notice.text}`, notice.tone)];
  const keys = keysIn[view.kind === "events" && view.isOfAll ? "all" : view.kind];
  const shown = keys.map(([key, meaning]) => [span(key, "bold"), span(` ${meaning}`, "dim")]);
  return fitKeys(shown, cells);
}

/** Those that do not fit are left out, not cut: the last, which leads out, never is. */
function fitKeys(keys: readonly Line[], cells: number): Line {
  let shown = keys;
  const printed = (): Line => [span(" "), ...joinSpans(shown, "  ")];
  while (shown.length > 1 && cellsOf(printed()) > cells) shown = shown.toSpliced(-2, 1);
  return printed();
}

const keysIn: Readonly<
  Record<Model["view"]["kind"] | "all", readonly (readonly [string, string])[]>
> = {
  list: [
    ["↑↓", "select"],
    ["enter", "inspect"],
    ["/", "filter"],
    ["s", "sort"],
    ["g", "pane"],
    ["e", "events"],
    ["?", "help"],
    ["q", "quit"],
  ],
  inspect: [
    ["esc", "back"],
    ["↑↓", "scroll"],
    ["←→", "next agent"],
    ["g", "pane"],
    ["e", "events"],
    ["?", "help"],
    ["q", "quit"],
  ],
  events: [
    ["esc", "back"],
    ["↑↓", "scroll"],
    ["e", "of everybody"],
    ["?", "help"],
    ["q", "quit"],
  ],
  all: [
    ["esc", "back"],
    ["↑↓", "scroll"],
    ["e", "back to the list"],
    ["?", "help"],
    ["q", "quit"],
  ],
  help: [
    ["esc", "back"],
    ["q", "quit"],
  ],
};

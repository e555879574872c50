/** Views that have the screen to themselves: one agent, what happened, the keys. */
import type { Size } from "../../terminal/index.ts";
import { markOf, toneOf } from "../sighting-words.ts";
import { inspectionOf, pastLines, titleOf } from "./detail.ts";
import { type Model, selectedOf } from "./model.ts";
import { cellsIn, pageRowsIn } from "./regions.ts";
import { joinSpans, type Line, padLine, span } from "./spans.ts";

export type Page = {
  readonly title: Line;
  /** All of them, also those that are not seen. */
  readonly lines: readonly Line[];
  /** The first that is seen. */
  readonly from: number;
};

export function pageOf(model: Model, size: Size): Page {
  const { view } = model;
  switch (view.kind) {
    case "list":
      return { title: [], lines: [], from: 0 };
    case "inspect": {
      const agent = selectedOf(model);
      if (!agent) return { title: [span("no agent", "bold")], lines: [], from: 0 };
      const lines = inspectionOf(model, agent, { cells: cellsIn(size) });
      return { title: [span(" "), ...titleOf(agent, model.nowMs)], lines, from: view.scroll };
    }
    case "events": {
      const { title, lines } = eventsOf(model, view.isOfAll);
      const from = Math.max(0, lines.length - pageRowsIn(size) - view.scroll);
      return { title, lines, from };
    }
    case "help":
      return { title: [span(" keys and marks", "bold")], lines: helpLines, from: view.scroll };
  }
}

function eventsOf(model: Model, isOfAll: boolean): Pick<Page, "title" | "lines"> {
  const agent = isOfAll ? undefined : selectedOf(model);
  const happenings = agent
    ? model.about?.id === agent.id
      ? model.about.happenings
      : []
    : model.happenings;
  const source =
    model.daemon.kind === "there"
      ? "from the log of the daemon"
      : "as seen since this view was opened";
  return {
    title: joinSpans(
      [
        [span(` what happened: ${agent ? agent.name : "everybody"}`, "bold")],
        [span(source, "dim")],
      ],
      " · ",
    ),
    lines: pastLines(model, happenings),
  };
}

const keys: readonly (readonly [string, string])[] = [
  ["↑ ↓ or k j", "select; space and b move by a page, home and end to the ends"],
  ["enter", "inspect the agent; enter or esc goes back, ← → to the next"],
  ["/", "filter: every word must be in what is known; esc clears it"],
  ["s", "sort: who waits first, by name, by directory, latest first"],
  ["a", "all: also those that ended, or were lost long ago"],
  ["g", "go to the agent's tmux pane"],
  ["e", "what happened to the agent; again: to everybody"],
  ["ctrl-l", "draw the screen again"],
  ["ctrl-z", "suspend; fg comes back"],
  ["q or ctrl-c", "quit"],
];

const states = [
  ["waiting", "it asks something, or may not go on without you"],
  ["silent", "says it works, but has made no progress for minutes"],
  ["failed", "its last turn ended in an error"],
  ["lost", "said that it runs, and is not heard of any more"],
  ["working", "is at it: thinks, reads, writes, runs a tool"],
  ["idle", "runs, and has nothing to do"],
  ["stopped", "has ended"],
  ["unknown", "runs; nobody says what it does"],
] as const;

/** As many as fit on the smallest terminal that people use, 80 by 24. */
const helpLines: readonly Line[] = [
  ...keys.map(([key, meaning]) => [...padLine([span(`   ${key}`, "bold")], 17), span(meaning)]),
  [],
  ...states.map(([state, meaning]) => [
    ...padLine([span(` ${markOf[state]} ${state}`, toneOf[state])], 17),
    span(meaning),
  ]),
  [],
  [span(" last hour: █ working, ! waiting, ▒ silent, x failed, ? lost, ─ idle, · unknown", "dim")],
];

/**
 * What a key, news or time do to what is shown. Values in, values out: the terminal, the clock and the
 * sources are elsewhere.
 */
import type { Key, Size, Tone } from "../../terminal/index.ts";
import type { Sighting } from "../../wire/api/index.ts";
import { limits } from "./limits.ts";
import { type Model, rowsOf, type Scene, selectedOf, type View } from "./model.ts";
import { pageOf } from "./pages.ts";
import { agentRowsIn, pageRowsIn } from "./regions.ts";
import { sorts } from "./rows.ts";

/**
 * The selection stays on its agent, wherever the agent's row goes, and in view. If the agent has left, the
 * selection stays where it was on the screen.
 */
export function settle(model: Model, before: Model, size: Size): Model {
  const rows = rowsOf(model);
  const found = rows.findIndex(({ id }) => id === model.selectedId);
  const left = rowsOf(before).findIndex(({ id }) => id === before.selectedId);
  const wanted = model.isTouched ? (found === -1 ? Math.max(0, left) : found) : 0;
  const index = Math.min(wanted, rows.length - 1);
  const room = agentRowsIn(model.questions.length, size);
  const topMax = Math.max(0, rows.length - room);
  const top = Math.min(topMax, Math.max(index - room + 1, Math.min(model.top, Math.max(0, index))));
  const settled = { ...model, selectedId: rows[index]?.id, top: Math.max(0, top) };
  return { ...settled, view: settleView(settled, size) };
}

/** Not further than there is something to see, so that the way back begins at once. */
function settleView(model: Model, size: Size): View {
  const { view } = model;
  if (view.kind === "list" || view.scroll === 0) return view;
  const hidden = pageOf(model, size).lines.length - pageRowsIn(size);
  return { ...view, scroll: Math.max(0, Math.min(view.scroll, hidden)) };
}

/** Time passes, and something may have been heard. */
export function learn(
  model: Model,
  news: Partial<Scene> & { readonly nowMs: number },
  size: Size,
): Model {
  const notice = model.notice && model.notice.untilMs > news.nowMs ? model.notice : undefined;
  return settle({ ...model, ...news, notice }, model, size);
}

export function notify(model: Model, text: string, tone?: Tone): Model {
  const untilMs = model.nowMs + limits.noticeMs;
  return { ...model, notice: { atMs: model.nowMs, text, tone, untilMs } };
}

/** What only the program around it can do. */
export type Wish =
  | { readonly kind: "quit" }
  | { readonly kind: "suspend" }
  /** The screen may show what we did not write. */
  | { readonly kind: "redraw" }
  | { readonly kind: "go"; readonly agent: Sighting };

export type Pressed = { readonly model: Model; readonly wish?: Wish };

export function press(before: Model, key: Key, size: Size): Pressed {
  const model = { ...before, isTouched: true, notice: undefined };
  switch (key.name) {
    case "ctrl-c":
      return { model, wish: { kind: "quit" } };
    case "ctrl-z":
      return { model, wish: { kind: "suspend" } };
    case "ctrl-l":
      return { model, wish: { kind: "redraw" } };
    default: {
      const pressed = model.isTyping
        ? { model: typed(model, key) }
        : (pressedAnywhere(model, key) ?? { model: pressedIn(model, key, size) });
      return { ...pressed, model: settle(pressed.model, model, size) };
    }
  }
}

/** Into the filter. The rows follow at once; the arrows still move among them. */
function typed(model: Model, key: Key): Model {
  const { filter } = model;
  switch (key.name) {
    case "text":
      return { ...model, filter: `${filter}${key.text}`.slice(0, limits.filterLengthMax) };
    case "backspace":
      // There is nothing left to take away, so the filter itself is meant.
      if (filter === "") return { ...model, isTyping: false };
      return { ...model, filter: [...filter].slice(0, -1).join("") };
    case "ctrl-u":
      return { ...model, filter: "" };
    case "ctrl-w":
      return { ...model, filter: filter.replace(/\S*\s*$/, "") };
    case "enter":
      return { ...model, isTyping: false };
    case "escape":
      return { ...model, isTyping: false, filter: "" };
    case "up":
      return move(model, -1);
    case "down":
      return move(model, 1);
    default:
      return model;
  }
}

/** Keys that mean the same in every view. */
function pressedAnywhere(model: Model, key: Key): Pressed | undefined {
  if (key.name !== "text") return undefined;
  const { view } = model;
  switch (key.text) {
    case "q":
      return { model, wish: { kind: "quit" } };
    case "?":
      return {
        model: { ...model, view: view.kind === "help" ? list : { kind: "help", scroll: 0 } },
      };
    case "e":
      return { model: { ...model, view: nextEvents(view) } };
    case "g":
      return goToPane(model);
    case "/":
      return { model: { ...model, view: list, isTyping: true } };
    default:
      return undefined;
  }
}

const list: View = { kind: "list" };

/** Of the agent, of everybody, none. */
function nextEvents(view: View): View {
  if (view.kind !== "events") return { kind: "events", isOfAll: false, scroll: 0 };
  return view.isOfAll ? list : { kind: "events", isOfAll: true, scroll: 0 };
}

function goToPane(model: Model): Pressed {
  const agent = selectedOf(model);
  if (!agent) return { model: notify(model, "there is no agent to go to", "warn") };
  if (!agent.tmux) return { model: notify(model, `${agent.name} is in no tmux pane`, "warn") };
  return { model, wish: { kind: "go", agent } };
}

function pressedIn(model: Model, key: Key, size: Size): Model {
  const { view } = model;
  if (view.kind !== "list" && (key.name === "escape" || key.name === "backspace")) {
    return { ...model, view: list };
  }
  switch (view.kind) {
    case "help":
    case "inspect": {
      if (key.name === "enter") return { ...model, view: list };
      // From one agent to the next, without the way over the list.
      if (key.name === "left") return { ...move(model, -1), view: { ...view, scroll: 0 } };
      if (key.name === "right") return { ...move(model, 1), view: { ...view, scroll: 0 } };
      const scroll = Math.max(0, view.scroll + stepOf(key, pageRowsIn(size)));
      return { ...model, view: { ...view, scroll } };
    }
    case "events": {
      const scroll = Math.max(0, view.scroll - stepOf(key, pageRowsIn(size)));
      return { ...model, view: { ...view, scroll } };
    }
    case "list":
      return pressedInList(model, key, size);
  }
}

function pressedInList(model: Model, key: Key, size: Size): Model {
  if (key.name === "enter") {
    return model.selectedId === undefined
      ? model
      : { ...model, view: { kind: "inspect", scroll: 0 } };
  }
  if (key.name === "escape") return { ...model, filter: "" };
  if (key.name === "text" && key.text === "a") return { ...model, isOfAll: !model.isOfAll };
  if (key.name === "text" && key.text === "s") {
    const next = sorts[(sorts.indexOf(model.sort) + 1) % sorts.length] ?? "attention";
    return { ...model, sort: next };
  }
  return move(model, stepOf(key, agentRowsIn(model.questions.length, size)));
}

/** By how many lines a key moves. */
function stepOf(key: Key, page: number): number {
  switch (key.name) {
    case "up":
      return -1;
    case "down":
      return 1;
    case "page-up":
      return -page;
    case "page-down":
      return page;
    case "home":
      return Number.NEGATIVE_INFINITY;
    case "end":
      return Number.POSITIVE_INFINITY;
    case "text":
      return steps[key.text]?.(page) ?? 0;
    default:
      return 0;
  }
}

const steps: Readonly<Record<string, (page: number) => number>> = {
  k: () => -1,
  j: () => 1,
  " ": (page) => page,
  b: (page) => -page,
  "<": () => Number.NEGATIVE_INFINITY,
  G: () => Number.POSITIVE_INFINITY,
  ">": () => Number.POSITIVE_INFINITY,
};

function move(model: Model, by: number): Model {
  const rows = rowsOf(model);
  const index = rows.findIndex(({ id }) => id === model.selectedId);
  const target = Math.min(Math.max(index + by, 0), rows.length - 1);
  return { ...model, selectedId: rows[target]?.id };
}

/** What there is to show, and what of it is shown. */
import type { Tone } from "../../terminal/index.ts";
import type { Question, Sighting } from "../../wire/api/index.ts";
import type { Stretch } from "../history.ts";
import { isOfInterest } from "../sighting-words.ts";
import { matches, type Sort, sorted } from "./rows.ts";

/** Something that happened, as one line. */
export type Happening = {
  readonly atMs: number;
  readonly text: string;
  readonly tone: Tone | undefined;
};

/** What is known of one agent beyond what the list has. */
export type About = {
  readonly id: string;
  /** The last hour. */
  readonly stretches: readonly Stretch[];
  /** Oldest first. */
  readonly happenings: readonly Happening[];
  /** Leases, claims, groups, and what its card says. */
  readonly facts: readonly AboutFact[];
};

export type AboutFact = {
  readonly name: string;
  readonly text: string;
  /** It ends then, unless it is renewed. */
  readonly untilMs?: number;
};

export type DaemonState =
  /** Nobody has answered yet, and nobody has refused to. */
  | { readonly kind: "asked" }
  /** `error`: why a daemon that runs was not read; undefined if none runs. */
  | { readonly kind: "none"; readonly error?: string }
  | { readonly kind: "there"; readonly version: string }
  /** It was there. */
  | { readonly kind: "lost"; readonly sinceMs: number };

/** What the sources have, at one moment. */
export type Scene = {
  /** Open questions, oldest first. */
  readonly questions: readonly Question[];
  /** Why they could not be read, if a daemon answers and they could not. */
  readonly questionsError: string | undefined;
  /** What most needs a person first. */
  readonly agents: readonly Sighting[];
  /** Of the agent that is selected, once it was asked for. */
  readonly about: About | undefined;
  /** Of everybody, oldest first. */
  readonly happenings: readonly Happening[];
  readonly daemon: DaemonState;
  /** How many status files cannot be read. */
  readonly problems: number;
};

export type View =
  | { readonly kind: "list" }
  /** One agent, in full. `scroll`: lines that are above the screen. */
  | { readonly kind: "inspect"; readonly scroll: number }
  /** What happened, the newest at the bottom. `scroll`: lines that are below the screen. */
  | { readonly kind: "events"; readonly isOfAll: boolean; readonly scroll: number }
  | { readonly kind: "help"; readonly scroll: number };

export type Model = Scene & {
  readonly nowMs: number;
  readonly view: View;
  readonly selectedId: string | undefined;
  /** Until a key was pressed, nobody has chosen an agent: the first one is shown, whoever that is. */
  readonly isTouched: boolean;
  /** The first row that is shown. */
  readonly top: number;
  readonly filter: string;
  /** Letters go into the filter. */
  readonly isTyping: boolean;
  readonly sort: Sort;
  /** Also those that ended, or were lost long ago. */
  readonly isOfAll: boolean;
  /** Said once, where the keys are. */
  readonly notice: (Happening & { readonly untilMs: number }) | undefined;
};

export function firstModel(
  nowMs: number,
  { isOfAll = false }: { readonly isOfAll?: boolean } = {},
): Model {
  return {
    questions: [],
    questionsError: undefined,
    agents: [],
    about: undefined,
    happenings: [],
    daemon: { kind: "asked" },
    problems: 0,
    nowMs,
    view: { kind: "list" },
    selectedId: undefined,
    isTouched: false,
    top: 0,
    filter: "",
    isTyping: false,
    sort: "attention",
    isOfAll,
    notice: undefined,
  };
}

/** Those that there are to look at. */
export function agentsOf({ agents, isOfAll, nowMs }: Model): readonly Sighting[] {
  return isOfAll ? agents : agents.filter((agent) => isOfInterest(agent, nowMs));
}

/** The agents that are shown, in their order. */
export function rowsOf(model: Model): readonly Sighting[] {
  const { filter, sort } = model;
  const agents = agentsOf(model);
  const matching = filter === "" ? agents : agents.filter((agent) => matches(agent, filter));
  return sorted(matching, sort);
}

export function selectedOf(model: Model): Sighting | undefined {
  return model.agents.find(({ id }) => id === model.selectedId);
}

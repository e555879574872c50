/**
 * What a Pi session is doing, told signal by signal (agent-status, section 9.4). Pi itself says only that a
 * turn begins and ends; whoever knows more (which question is open, what is queued) is another extension,
 * and what it says over the event bus counts for more than what we see: the bridge.
 */
import type {
  Doing,
  JsonObject,
  SessionGoal,
  Task,
  TaskState,
} from "../../wire/status-file/index.ts";
import { limits } from "../limits.ts";

export const agentName = "pi";

export type State = {
  /** Counts prompts, so that a summary that comes late is known to be of an older one. */
  readonly prompts: number;
  /** Of the last prompt. Empty where it was blank. */
  readonly summary: string;
  /** From a prompt, or from the host going on by itself, until the turn ends. */
  readonly isWorking: boolean;
  /** How the last turn ended, if not well. Shown for a while; until the next turn if somebody has to log in. */
  readonly ending?: Ending;
  /** Tool calls that wait for an answer of a person, and what they ask. */
  readonly asking: ReadonlyMap<string, string>;
  readonly bridge?: Bridge;
  readonly goal?: SessionGoal & { readonly prompt?: number };
  readonly lastActivityMs?: number;
  /** Since when it is in the state that it is in, or since the prompt. */
  readonly sinceMs: number;
};

export type Ending = {
  readonly state: "failed" | "canceled" | "auth-required";
  /** What the host says; empty where it says nothing that its person does not know. */
  readonly text: string;
};

export type Bridge = { readonly task?: Task; readonly meta?: JsonObject };

export type Told =
  /** Whatever was before is another session's. The goal is what its file remembers. */
  | { readonly type: "started"; readonly goal?: SessionGoal }
  | { readonly type: "prompted"; readonly text: string }
  /** A better summary of the prompt with this number. */
  | { readonly type: "summarized"; readonly prompt: number; readonly text: string }
  /** The host begins, also by itself: to try again, or to go on with what was queued. */
  | { readonly type: "working" }
  | { readonly type: "tool.started"; readonly call: string; readonly question?: string }
  | { readonly type: "tool.ended"; readonly call: string }
  | { readonly type: "ended"; readonly ending?: Ending }
  /** The time for which an ending is shown is over. */
  | { readonly type: "passed" }
  | { readonly type: "bridged"; readonly bridge?: Bridge };

export function emptyState(nowMs: number): State {
  return { prompts: 0, summary: "", isWorking: false, asking: new Map(), sinceMs: nowMs };
}

export function apply(state: State, told: Told, nowMs: number): State {
  const after = change(state, told, nowMs);
  const isSame = told.type !== "prompted" && taskOf(state)?.state === taskOf(after)?.state;
  return isSame ? after : { ...after, sinceMs: nowMs };
}

/** The bridge's word first, then what a tool asks, then the prompt, then how it ended. */
export function taskOf(state: State): Task | undefined {
  const { bridge, asking, isWorking, summary, ending } = state;
  if (bridge?.task) return bridge.task;
  const [question] = asking.values();
  if (question !== undefined) return task("input-required", question);
  if (isWorking) return task("working", summary);
  return ending && task(ending.state, ending.text || summary);
}

/** What the file says. */
export function nowOf(state: State, sessionFile: string | undefined): Doing {
  const { lastActivityMs, goal, sinceMs, bridge } = state;
  const task = taskOf(state);
  return { lastActivityMs, goal, task, session: sessionFile, sinceMs, meta: bridge?.meta ?? {} };
}

function change(state: State, told: Told, nowMs: number): State {
  const moving = { ...state, lastActivityMs: nowMs };
  switch (told.type) {
    case "started": {
      const { prompts } = state;
      return { ...emptyState(nowMs), prompts, ...(told.goal ? { goal: told.goal } : {}) };
    }
    case "prompted": {
      const prompt = state.prompts + 1;
      const goal = state.goal ?? { summary: told.text, atMs: nowMs, prompt };
      return {
        ...begin(moving),
        prompts: prompt,
        summary: told.text,
        asking: new Map(),
        // A blank prompt says nothing about what the session is for (TV-43).
        ...(goal.summary === "" ? {} : { goal }),
      };
    }
    case "summarized": {
      const isGoal = state.goal?.prompt === told.prompt;
      const goal = isGoal ? { goal: { ...state.goal, summary: told.text, atMs: nowMs } } : {};
      const isCurrent = state.prompts === told.prompt && state.isWorking;
      return { ...state, ...goal, ...(isCurrent ? { summary: told.text } : {}) };
    }
    case "working":
      return begin(moving);
    case "tool.started": {
      const { call, question } = told;
      if (question === undefined || state.asking.size >= limits.blocksMax) return moving;
      return { ...moving, asking: new Map([...state.asking, [call, question]]) };
    }
    case "tool.ended":
      return {
        ...moving,
        asking: new Map([...state.asking].filter(([other]) => other !== told.call)),
      };
    case "ended":
      return {
        ...moving,
        isWorking: false,
        asking: new Map(),
        ...(told.ending && { ending: told.ending }),
      };
    case "passed":
      return state.ending?.state === "auth-required" ? state : withoutEnding(state);
    case "bridged": {
      const { bridge: _, ...rest } = state;
      return told.bridge ? { ...rest, bridge: told.bridge } : rest;
    }
  }
}

function begin(state: State): State {
  return { ...withoutEnding(state), isWorking: true };
}

function withoutEnding({ ending: _, ...rest }: State): State {
  return rest;
}

function task(state: TaskState, summary: string): Task {
  return { state, ...(summary === "" ? {} : { summary }) };
}

/**
 * What an OpenCode process is doing, told signal by signal (agent-status, section 9.3). It has one file and
 * many sessions: the file is about the one that a person last spoke to, and the others are remembered in case
 * they come back. A subagent is a session with a parent. It has no file (AS-80); but what it asks, it asks
 * the person in front of its parent.
 */
import type { Doing, JsonObject, SessionGoal, TaskState } from "../../wire/status-file/index.ts";
import { limits } from "../limits.ts";
import {
  type Question,
  questionTool,
  type Signal,
  type Spent,
  waitingForInput,
} from "./signals.ts";

export const agentName = "opencode";

/** What is said of a session is the first of these that it has. */
export type Session = {
  /** Input-required. Outlives being idle (TV-44), and not an interruption: then nobody asks any more. */
  readonly blocks: readonly Block[];
  /** How the last turn ended. Gone when the host is idle, but for what needs somebody to log in. */
  readonly error?: { readonly state: TaskState; readonly summary: string };
  /** Working. From the first sign of a turn until the host is idle. */
  readonly active?: string;
  /** Submitted: what is left to do while nothing is done. */
  readonly pending?: string;

  /** Whether a turn is under way. What is told of it afterwards comes too late to count. */
  readonly isBusy: boolean;
  /** Restored: told by the host, who knows how the session began. We may have come later. */
  readonly goal?: SessionGoal & { readonly isRestored: boolean };
  readonly lastActivityMs?: number;
  /** Since when it is in the state that it is in, or since the prompt. */
  readonly sinceMs: number;
  readonly spent?: Spent;
};

type Block = {
  readonly kind: Question;
  readonly id?: string;
  readonly summary: string;
  /** The session that asks, which may be a subagent. */
  readonly from: string;
};

export type State = {
  /** The session that the file is about. */
  readonly attached?: string;
  readonly sessions: ReadonlyMap<string, Session>;
  /** Subagents, and whose they are. */
  readonly parents: ReadonlyMap<string, string>;
  /** Those of them that are at work. */
  readonly busyChildren: ReadonlySet<string>;
  /** Deleted. The host may go on about them for a while. */
  readonly gone: ReadonlySet<string>;
};

export const emptyState: State = {
  sessions: new Map(),
  parents: new Map(),
  busyChildren: new Set(),
  gone: new Set(),
};

export type Told =
  | Signal
  | { readonly type: "goal.restored"; readonly session: string; readonly text: string }
  | { readonly type: "beat" };

export function apply(state: State, told: Told, nowMs: number): State {
  if (told.type === "beat") return afterBeat(state, nowMs);
  const { session } = told;
  if (state.gone.has(session)) return state;
  const parent = "parent" in told ? told.parent : undefined;
  if (parent !== undefined) return adopt(state, session, parent);
  return state.parents.has(session)
    ? applyToChild(state, told, nowMs)
    : applyToRoot(state, told, nowMs);
}

/** What is said of a session: its state and why, or nothing if it is idle. */
export function taskOf(
  session: Session,
): { readonly state: TaskState; readonly summary: string } | undefined {
  const [block] = session.blocks;
  if (block) return { state: "input-required", summary: block.summary };
  if (session.error) return session.error;
  if (session.active !== undefined) return { state: "working", summary: session.active };
  if (session.pending !== undefined) return { state: "submitted", summary: session.pending };
  return undefined;
}

/** What the file says: of the process, and of the session that it is about. */
export function nowOf(state: State, projectId: string | undefined): Doing {
  const { attached: id } = state;
  const session = id === undefined ? undefined : state.sessions.get(id);
  const { lastActivityMs, goal, sinceMs, spent } = session ?? {};
  const task = session && taskOf(session);
  const subagents = subagentsOf(state);
  const own: JsonObject = {
    ...(id !== undefined && { session_id: id }),
    ...(projectId !== undefined && { project_id: projectId }),
    ...(subagents > 0 && { subagents }),
    ...(spent && { tokens: { input: spent.input, output: spent.output } }),
    ...(spent && spent.costUsd > 0 && { cost_usd: spent.costUsd }),
  };
  return { lastActivityMs, goal, task, session: id, sinceMs, meta: { [agentName]: own } };
}

export function subagentsOf(state: State): number {
  let count = 0;
  for (const child of state.busyChildren) if (rootOf(state, child) === state.attached) count += 1;
  return count;
}

function applyToRoot(state: State, told: Exclude<Told, { type: "beat" }>, nowMs: number): State {
  const { session: id } = told;
  switch (told.type) {
    case "session.created":
      return state.sessions.has(id) ? state : attach(state, id, fresh(nowMs));
    case "session.deleted":
      return forget(state, id);
    case "prompted": {
      const before = state.sessions.get(id) ?? fresh(nowMs);
      const goal = before.goal ?? { summary: told.text, atMs: nowMs, isRestored: false };
      const { error: _, ...calm } = before;
      const active = told.text;
      return attach(state, id, {
        ...calm,
        goal,
        active,
        blocks: [],
        isBusy: true,
        lastActivityMs: nowMs,
        sinceMs: nowMs,
      });
    }
    case "session.known":
    case "goal.restored":
    case "busy":
    case "tool.started":
    case "tool.ended":
    case "asked":
    case "answered":
    case "todos":
    case "ended":
    case "idle": {
      // A host that was resumed may be at work before anyone prompts it.
      const isFirst = told.type === "busy" && state.attached === undefined;
      const before = state.sessions.get(id) ?? (isFirst ? fresh(nowMs) : undefined);
      if (!before) return state;
      const after = settle(before, change(before, told, nowMs), nowMs);
      return isFirst ? attach(state, id, after) : put(state, id, after);
    }
  }
}

type Change = Exclude<Told, { type: "beat" | "session.created" | "session.deleted" | "prompted" }>;

function change(before: Session, told: Change, nowMs: number): Session {
  const moving = { ...before, lastActivityMs: nowMs };
  switch (told.type) {
    case "session.known":
      return told.spent ? { ...before, spent: told.spent } : before;
    case "goal.restored":
      return before.goal?.isRestored || before.goal?.summary === told.text
        ? before
        : { ...before, goal: { summary: told.text, atMs: nowMs, isRestored: true } };
    case "busy":
      return work(moving, "Working");
    case "tool.started":
      if (told.tool !== questionTool) return work(moving, `Using ${told.tool}`);
      return {
        ...moving,
        blocks: [
          ...moving.blocks,
          { kind: "question" as const, summary: waitingForInput, from: told.session },
        ].slice(-limits.blocksMax),
        isBusy: true,
      };
    case "tool.ended": {
      const blocks = before.blocks.filter(
        ({ kind }) => kind !== "question" || told.tool !== questionTool,
      );
      // A tool may end long after its turn was interrupted.
      const isLate = !before.isBusy && blocks.length === before.blocks.length;
      return isLate ? before : work({ ...moving, blocks }, `Using ${told.tool}`);
    }
    case "asked":
      return ask(moving, told);
    case "answered":
      return answer(before, told, nowMs);
    case "todos": {
      const { pending: _, ...rest } = before;
      return told.next === undefined ? rest : { ...rest, pending: told.next };
    }
    case "ended": {
      const { active: _, ...rest } = moving;
      const error = { state: told.outcome, summary: told.text };
      // The host says nothing of what it was asking when it was interrupted, and it asks no more.
      const blocks = told.outcome === "canceled" ? [] : before.blocks;
      return { ...rest, error, blocks, isBusy: false };
    }
    case "idle": {
      const { active: _, ...rest } = before.isBusy ? moving : before;
      return { ...withoutPassing(rest), isBusy: false };
    }
  }
}

/** A turn goes on, or begins. */
function work(session: Session, otherwise: string): Session {
  const { error: _, ...rest } = session;
  return { ...rest, active: session.active ?? otherwise, isBusy: true };
}

function ask(session: Session, told: Extract<Told, { type: "asked" }>): Session {
  const { kind, id, text: summary, session: from } = told;
  // The tool that asks was seen before the question was.
  const others = session.blocks.filter(
    (block) =>
      block.from !== from ||
      block.kind !== kind ||
      (block.id !== undefined && (id === undefined || block.id !== id)),
  );
  const block: Block = { kind, summary, from, ...(id === undefined ? {} : { id }) };
  const blocks = [...others, block].slice(-limits.blocksMax);
  return { ...session, blocks, isBusy: true };
}

/** Of several that are open a reply ends the one it names, or all of its kind if it names none that we know. */
function answer(
  session: Session,
  { kind, id, session: from }: Extract<Told, { type: "answered" }>,
  nowMs: number,
): Session {
  const isMeant = (block: Block): boolean => block.kind === kind && block.from === from;
  const isNamed = (block: Block): boolean => isMeant(block) && block.id === id;
  const ends = id !== undefined && session.blocks.some(isNamed) ? isNamed : isMeant;
  const blocks = session.blocks.filter((block) => !ends(block));
  // A reply to what was given up already starts nothing.
  if (blocks.length === session.blocks.length && !session.isBusy) return session;
  return work({ ...session, blocks, lastActivityMs: nowMs }, "Working");
}

/** What a subagent says counts only as far as a person has to answer it. */
function applyToChild(state: State, told: Exclude<Told, { type: "beat" }>, nowMs: number): State {
  const { session: child } = told;
  const id = rootOf(state, child);
  const before = state.sessions.get(id);
  const withRoot = (next: State, alter: (root: Session) => Session): State =>
    before ? put(next, id, settle(before, alter(before), nowMs)) : next;
  const withoutItsBlocks = (root: Session): Session => ({
    ...root,
    blocks: root.blocks.filter(({ from }) => from !== child),
  });
  switch (told.type) {
    case "asked":
      return withRoot(state, (root) => ask({ ...root, lastActivityMs: nowMs }, told));
    case "answered":
      return withRoot(state, (root) => answer(root, told, nowMs));
    case "busy":
    case "prompted":
    case "tool.started":
    case "tool.ended": {
      const busyChildren = new Set([...state.busyChildren, child]);
      return withRoot({ ...state, busyChildren }, (root) =>
        root.isBusy ? { ...root, lastActivityMs: nowMs } : root,
      );
    }
    case "ended":
    case "idle":
    case "session.deleted": {
      const busyChildren = new Set([...state.busyChildren].filter((other) => other !== child));
      return withRoot({ ...state, busyChildren }, withoutItsBlocks);
    }
    case "session.created":
    case "session.known":
    case "goal.restored":
    case "todos":
      return state;
  }
}

/** A failure that no idle host follows is over by now, too: it must not outlive its turn (AS-24). */
function afterBeat(state: State, nowMs: number): State {
  const { attached } = state;
  const session = attached === undefined ? undefined : state.sessions.get(attached);
  if (attached === undefined || !session?.error || session.isBusy) return state;
  return put(state, attached, settle(session, withoutPassing(session), nowMs));
}

/** Without what was only to be seen for a moment. Whoever must log in is waited for until they prompt again. */
function withoutPassing(session: Session): Session {
  if (session.error?.state === "auth-required") return session;
  const { error: _, ...rest } = session;
  return rest;
}

/** A state begins when it is not the one before. */
function settle(before: Session, after: Session, nowMs: number): Session {
  if (taskOf(before)?.state === taskOf(after)?.state) return after;
  return { ...after, sinceMs: nowMs };
}

function fresh(nowMs: number): Session {
  return { blocks: [], isBusy: false, sinceMs: nowMs };
}

/** It is a subagent, though it may have looked like a session of its own. */
function adopt(state: State, child: string, parent: string): State {
  const parents = withLast(state.parents, child, parent, limits.strangersMax);
  // Of one that is forgotten nobody can say that its work is over.
  const busyChildren = new Set([...state.busyChildren].filter((id) => parents.has(id)));
  const next = { ...state, parents, busyChildren };
  if (!state.sessions.has(child)) return next;
  const { attached, ...rest } = { ...next, sessions: without(state.sessions, child) };
  const id = attached === child ? rootOf(rest, parent) : attached;
  return id !== undefined && rest.sessions.has(id) ? { ...rest, attached: id } : rest;
}

function attach(state: State, id: string, session: Session): State {
  return { ...put(state, id, session), attached: id };
}

function put(state: State, id: string, session: Session): State {
  const [oldest] = state.sessions.keys();
  const sessions = withLast(state.sessions, id, session, limits.sessionsMax);
  const next = { ...state, sessions };
  return oldest === undefined || sessions.has(oldest) ? next : withoutChildrenOf(next, oldest);
}

function forget(state: State, id: string): State {
  const left = withoutChildrenOf({ ...state, sessions: without(state.sessions, id) }, id);
  const { attached, ...rest } = left;
  const gone = new Set([...state.gone, id].slice(-limits.strangersMax));
  return { ...rest, gone, ...(attached === id || attached === undefined ? {} : { attached }) };
}

function withoutChildrenOf(state: State, root: string): State {
  const others = [...state.busyChildren].filter((child) => rootOf(state, child) !== root);
  return { ...state, busyChildren: new Set(others) };
}

function without(sessions: State["sessions"], id: string): State["sessions"] {
  return new Map([...sessions].filter(([other]) => other !== id));
}

function rootOf(state: Pick<State, "parents">, id: string): string {
  let root = id;
  for (let steps = 0; steps < limits.ancestorsMax; steps++) {
    const parent = state.parents.get(root);
    if (parent === undefined) break;
    root = parent;
  }
  return root;
}

/** The last is the newest; the oldest makes room. */
function withLast<Value>(
  entries: ReadonlyMap<string, Value>,
  key: string,
  value: Value,
  countMax: number,
): ReadonlyMap<string, Value> {
  const others = [...entries].filter(([other]) => other !== key);
  return new Map([...others, [key, value] as const].slice(-countMax));
}

/**
 * A session of a host: what its events have told so far. Plain data, so that whoever writes its file
 * can lay it down and take it up again.
 */
import {
  runningRecord,
  type SessionGoal,
  type StatusRecord,
  type TaskState,
  type Tmux,
} from "../status-file/index.ts";
import { type HostName, metaKeys } from "./hosts.ts";

export type Turn = {
  readonly id: string | undefined;
  readonly state: TaskState;
  readonly summary: string | undefined;
  /** What a person is asked, as long as one is. */
  readonly asks: string | undefined;
  /** When this state began. */
  readonly sinceMs: number;
};

/** A call of a tool that was begun and has not returned. */
export type Call = { readonly id: string; readonly tool: string };

/** Something waits for a person. Without a call: whatever comes back ends it. */
export type Asking = {
  readonly what: "permission" | "question";
  readonly callId: string | undefined;
};

export type Session = {
  readonly host: HostName;
  readonly agentId: string;
  readonly sessionId: string;
  /** The process of the host. */
  readonly pid: number | undefined;
  readonly tmux: Tmux | undefined;
  /** Before its start nothing of a session is shown. */
  readonly hasStarted: boolean;
  /** False after a resume without a goal: a later prompt is not what the session was for. */
  readonly mayFindGoal: boolean;
  readonly workspace: string | undefined;
  readonly model: string | undefined;
  readonly permissionMode: string | undefined;
  readonly goal: SessionGoal | undefined;
  readonly turn: Turn | undefined;
  /**
   * What the turn was before the host, and no event, said that something is under way: when the host says that
   * it rests, it is that again. Null: there was none. Undefined: the last word is an event's.
   */
  readonly rests: Turn | null | undefined;
  readonly asking: readonly Asking[];
  readonly calls: readonly Call[];
  /** Who works for it. They have no record of their own. */
  readonly subagents: readonly string[];
  readonly lastPrompt: string | undefined;
  /** Why the last turn failed, in the host's word. */
  readonly lastError: string | undefined;
  readonly updatedAtMs: number;
  readonly lastActivityAtMs: number | undefined;
  /** When the last event happened: what other sources said before that is old. */
  readonly heardAtMs: number;
};

export type Beginning = Pick<Session, "host" | "agentId" | "sessionId" | "pid" | "tmux">;

export function newSession(beginning: Beginning, nowMs: number): Session {
  return {
    ...beginning,
    hasStarted: false,
    mayFindGoal: true,
    workspace: undefined,
    model: undefined,
    permissionMode: undefined,
    goal: undefined,
    turn: undefined,
    rests: undefined,
    asking: [],
    calls: [],
    subagents: [],
    lastPrompt: undefined,
    lastError: undefined,
    updatedAtMs: nowMs,
    lastActivityAtMs: undefined,
    heardAtMs: 0,
  };
}

/** Says that it is still there, and nothing else (AS-22). */
export function beat(session: Session, nowMs: number): Session {
  return { ...session, updatedAtMs: nowMs };
}

/** What is in its file; undefined before the session has started. */
export function recordOf(session: Session): StatusRecord | undefined {
  if (!session.hasStarted) return undefined;
  const { host, sessionId, turn, subagents } = session;
  const own = given({
    session_id: sessionId,
    model: session.model,
    permission_mode: session.permissionMode,
    subagents: subagents.length === 0 ? undefined : subagents.length,
    last_error: session.lastError,
    asks: turn?.asks,
  });
  return runningRecord(
    { ...session, agentName: host },
    {
      lastActivityMs: session.lastActivityAtMs,
      goal: session.goal,
      task: turn && { ...given({ id: turn.id, summary: turn.summary }), state: turn.state },
      session: sessionId,
      sinceMs: turn?.sinceMs,
      meta: { [metaKeys[host]]: own },
    },
    session.updatedAtMs,
  );
}

/** Without what is undefined: a record has no empty fields. */
function given<Fields extends Record<string, unknown>>(
  fields: Fields,
): { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> };
}

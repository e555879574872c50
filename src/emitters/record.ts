/** What the file of a host says that is told of from inside: what stays, and what is so now. */
import {
  goalSource,
  type JsonObject,
  printTimestamp,
  type StatusRecord,
  schemaVersion,
  type Task,
  type Tmux,
} from "../wire/status-file/index.ts";

/** What does not change while it runs. */
export type About = {
  readonly agentName: string;
  readonly agentId: string;
  readonly pid: number;
  readonly workspace: string | undefined;
  readonly tmux: Tmux | undefined;
};

export type Goal = { readonly summary: string; readonly atMs: number };

/** Of a host that is idle, without a session, only the last is there. */
export type Now = {
  readonly lastActivityMs?: number | undefined;
  readonly goal?: Goal | undefined;
  /** With what it says of itself, should it know better than we: which session, and since when. */
  readonly task?: Task | undefined;
  readonly session?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly meta: JsonObject;
};

export function recordOf(about: About, now: Now, nowMs: number): StatusRecord {
  const { agentName, agentId, pid, workspace, tmux } = about;
  const { lastActivityMs, goal, task, session, sinceMs = nowMs } = now;
  // Where in tmux it runs is ours to say: both or none, whatever else is said (AS-25).
  const { tmux_socket: _, tmux_pane: __, ...rest } = now.meta;
  const meta = { ...rest, ...tmux };
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      ...(lastActivityMs !== undefined && { last_activity_at: printTimestamp(lastActivityMs) }),
      pid,
      ...(workspace !== undefined && { workspace }),
    },
    ...(goal && {
      goal: { summary: goal.summary, updated_at: printTimestamp(goal.atMs), source: goalSource },
    }),
    ...(task && {
      task: {
        ...(session !== undefined && { context_id: session }),
        status_timestamp: printTimestamp(sinceMs),
        ...task,
      },
    }),
    ...(Object.keys(meta).length > 0 && { x_meta: meta }),
  };
}

/** The record of an agent that runs: of what stays, and of what is so now. */
import {
  goalSource,
  type JsonObject,
  type StatusRecord,
  schemaVersion,
  type Task,
} from "./record.ts";
import { printTimestamp } from "./timestamp.ts";
import type { Tmux } from "./tmux.ts";

/** What stays as it is. */
export type RunningAgent = {
  readonly agentName: string;
  readonly agentId: string;
  readonly pid: number | undefined;
  readonly workspace: string | undefined;
  readonly tmux: Tmux | undefined;
};

/** What a session is for: its first prompt. */
export type SessionGoal = { readonly summary: string; readonly atMs: number };

/** Of a host that is idle, without a session, only the last is there. */
export type Doing = {
  readonly lastActivityMs?: number | undefined;
  readonly goal?: SessionGoal | undefined;
  /** With what it says of itself, should it know better than we: which session, and since when. */
  readonly task?: Task | undefined;
  readonly session?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly meta: JsonObject;
};

export function runningRecord(agent: RunningAgent, doing: Doing, nowMs: number): StatusRecord {
  const { agentName, agentId, pid, workspace, tmux } = agent;
  const { lastActivityMs, goal, task, session, sinceMs = nowMs } = doing;
  // Where in tmux it runs is ours to say: both or none, whatever else is said (AS-25).
  const { tmux_socket: _, tmux_pane: __, ...rest } = doing.meta;
  const meta = { ...rest, ...tmux };
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      ...(lastActivityMs !== undefined && { last_activity_at: printTimestamp(lastActivityMs) }),
      ...(pid !== undefined && { pid }),
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

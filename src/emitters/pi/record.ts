/** What the file of a Pi session says. */
import {
  goalSource,
  type JsonObject,
  printTimestamp,
  type StatusRecord,
  schemaVersion,
  type Tmux,
} from "../../wire/status-file/index.ts";
import { type State, taskOf } from "./state.ts";

export const agentName = "pi";

/** What does not change while a session runs. */
export type About = {
  readonly agentId: string;
  readonly pid: number;
  readonly workspace: string | undefined;
  readonly sessionFile: string | undefined;
  readonly tmux: Tmux | undefined;
};

export function recordOf(state: State, about: About, nowMs: number): StatusRecord {
  const { agentId, pid, workspace, sessionFile, tmux } = about;
  const { goal, lastActivityMs } = state;
  const task = taskOf(state);
  const meta = metaOf(state.bridge?.meta, tmux);
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      ...(lastActivityMs === undefined ? {} : { last_activity_at: printTimestamp(lastActivityMs) }),
      pid,
      ...(workspace === undefined ? {} : { workspace }),
    },
    ...(goal
      ? {
          goal: {
            summary: goal.summary,
            updated_at: printTimestamp(goal.atMs),
            source: goalSource,
          },
        }
      : {}),
    ...(task
      ? {
          task: {
            ...(sessionFile === undefined ? {} : { context_id: sessionFile }),
            status_timestamp: printTimestamp(state.sinceMs),
            ...task,
          },
        }
      : {}),
    ...(meta ? { x_meta: meta } : {}),
  };
}

/** Where in tmux it runs is ours to say: both or none, whatever a bridge says (AS-25). */
function metaOf(bridge: JsonObject = {}, tmux: Tmux | undefined): JsonObject | undefined {
  const { tmux_socket: _, tmux_pane: __, ...rest } = bridge;
  const meta = { ...rest, ...tmux };
  return Object.keys(meta).length === 0 ? undefined : meta;
}

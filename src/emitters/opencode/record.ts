/** What the file of an OpenCode process says. */
import {
  goalSource,
  type JsonObject,
  printTimestamp,
  type StatusRecord,
  schemaVersion,
  type Tmux,
} from "../../wire/status-file/index.ts";
import { type State, subagentsOf, taskOf } from "./state.ts";

export const agentName = "opencode";

/** What does not change while the process runs. */
export type About = {
  readonly agentId: string;
  readonly pid: number;
  readonly workspace: string | undefined;
  readonly projectId: string | undefined;
  readonly tmux: Tmux | undefined;
};

export function recordOf(state: State, about: About, nowMs: number): StatusRecord {
  const { agentId, pid, workspace, tmux } = about;
  const id = state.attached;
  const session = id === undefined ? undefined : state.sessions.get(id);
  const activeMs = session?.lastActivityMs;
  const task = session && taskOf(session);
  const goal = session?.goal;
  return {
    schema_version: schemaVersion,
    agent_id: agentId,
    agent_name: agentName,
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      ...(activeMs === undefined ? {} : { last_activity_at: printTimestamp(activeMs) }),
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
    ...(session && task
      ? {
          task: {
            ...(id === undefined ? {} : { context_id: id }),
            ...task,
            status_timestamp: printTimestamp(session.sinceMs),
          },
        }
      : {}),
    x_meta: { [agentName]: metaOf(state, about), ...tmux },
  };
}

function metaOf(state: State, { projectId }: About): JsonObject {
  const { attached: id } = state;
  const spent = id === undefined ? undefined : state.sessions.get(id)?.spent;
  const subagents = subagentsOf(state);
  return {
    ...(id === undefined ? {} : { session_id: id }),
    ...(projectId === undefined ? {} : { project_id: projectId }),
    ...(subagents === 0 ? {} : { subagents }),
    ...(spent ? { tokens: { input: spent.input, output: spent.output } } : {}),
    ...(spent && spent.costUsd > 0 ? { cost_usd: spent.costUsd } : {}),
  };
}

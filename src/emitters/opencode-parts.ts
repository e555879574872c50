/** The plugin, and its pieces by the names of agent-status, section 9.5. */
import type { Env } from "../status-files/index.ts";
import { limits, sanitizeAgentId as sanitize, tmuxOf } from "../wire/status-file/index.ts";
import { agentName } from "./opencode/state.ts";
import plugin from "./opencode.ts";
import { statusPathFor } from "./parts.ts";

export { newAgentId as createAgentId } from "./opencode/plugin.ts";
export { buildTempPath, getStatusDir, writeStatusFile } from "./parts.ts";
export { tmuxOf as parseTmuxEnvironment };

export const HEARTBEAT_INTERVAL_MS: number = limits.heartbeatMs;

export const buildStatusPath: (id: string, env: Env, home?: string) => string =
  statusPathFor(agentName);

export function sanitizeAgentId(text: string): string {
  return sanitize(text, agentName);
}

export default plugin;

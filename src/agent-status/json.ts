/** What machines read. Names are as in the files themselves. */
import type { Warning } from "../status-files/index.ts";
import { jsonOf, print } from "../terminal/index.ts";
import { printTimestamp } from "../wire/status-file/index.ts";
import type { Entry, Listing } from "./listing.ts";
import { Processes } from "./processes.ts";

/** One document, or one line of many. False once nobody reads any more. */
export function printDocument(value: unknown): boolean {
  return print(`${jsonOf(value)}\n`);
}

/** Of all agents. */
export function listingOf({ directory, nowMs, staleAfterMs, entries, warnings }: Listing): object {
  const processes = new Processes(directory);
  return {
    schema: "agent-status-list/v1",
    status_dir: directory,
    generated_at: printTimestamp(nowMs),
    stale_after: staleAfterMs / 1_000,
    agents: entries.map((entry) => agentOf(entry, nowMs, processes)),
    warnings: warningsOf(warnings),
  };
}

export function agentOf(entry: Entry, nowMs: number, processes: Processes): object {
  const { agentId, path, state, updatedAtMs, record } = entry;
  return {
    agent_id: agentId,
    path,
    state,
    age_seconds: updatedAtMs === undefined ? null : (nowMs - updatedAtMs) / 1_000,
    pid_alive: record ? processes.isAlive(path, record) : null,
    record: record ?? null,
  };
}

function warningsOf(warnings: readonly Warning[]): readonly object[] {
  return warnings.map(({ path, kind, errors }) => ({ path, kind, errors }));
}

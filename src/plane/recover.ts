/** The state that a log stands for: its last snapshot, and every entry since. */
import { evolve, type OwnState, Restoring } from "../core/index.ts";
import { type Log, LogError } from "../log/index.ts";
import { limits } from "./limits.ts";
import { countSince, nothingSince, type Since } from "./snapshots.ts";

export type Recovered = { readonly state: OwnState; readonly since: Since };

export async function recover(log: Log): Promise<Recovered> {
  const restoring = new Restoring();
  const snapshotSequence = await log.loadSnapshot((name, row) => restoring.add(name, row));
  const { state } = restoring;
  state.lastSequence = snapshotSequence;
  let since = nothingSince(snapshotSequence);
  if (log.oldestSequence > snapshotSequence + 1) {
    const entries = `entries ${snapshotSequence + 1} to ${log.oldestSequence - 1}`;
    const where = log.path === undefined ? "" : ` (${log.path})`;
    // A damaged snapshot was only a warning until here.
    const problems = [
      `${entries} are missing from the log${where}, and no intact snapshot contains their effects`,
      ...log.warnings,
      "restore the directory from a backup, or see docs/damage.md",
    ];
    throw new LogError("damaged", problems.join("; "));
  }
  await log.checkHistory?.(snapshotSequence);
  while (state.lastSequence < log.lastSequence) {
    const entries = await log.read(state.lastSequence, limits.recoveryEntries);
    if (entries.length === 0) {
      throw new LogError("damaged", `entry ${state.lastSequence + 1} of the log is missing`);
    }
    for (const entry of entries) evolve(state, entry.event);
    since = countSince(since, entries);
  }
  return { state, since };
}

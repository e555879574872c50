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
  let sequence = snapshotSequence;
  let since = nothingSince(sequence);
  if (log.oldestSequence > sequence + 1) {
    const entries = `entries ${sequence + 1} to ${log.oldestSequence - 1}`;
    const message = `${entries} are gone from the log, and no intact snapshot has what was in them; restore the directory from a backup`;
    throw new LogError("damaged", message);
  }
  while (sequence < log.lastSequence) {
    const entries = await log.read(sequence, limits.recoveryEntries);
    for (const entry of entries) evolve(state, entry.event);
    since = countSince(since, entries);
    const last = entries.at(-1);
    if (!last) throw new LogError("damaged", `entry ${sequence + 1} of the log is missing`);
    sequence = last.sequence;
  }
  return { state, since };
}

/**
 * Where on the log a place on the bus is. Bus sequences grow with log sequences, but skip what is not
 * published; so it is found by halving, with a few small reads, however long the log is.
 */
import type { Entry, Log } from "../log/index.ts";
import { limits } from "./limits.ts";

export type BusPosition =
  /** What follows this entry follows the place. */
  | { readonly afterSequence: number; readonly oldestBusSequence?: never }
  /** What follows the place is not kept any more, or never was: this is the oldest there is. */
  | { readonly oldestBusSequence: number; readonly afterSequence?: never };

/** `lastBusSequence` is that of the state, which may be ahead of the log. */
export async function findOnBus(
  log: Log,
  busSequence: number,
  lastBusSequence: number,
): Promise<BusPosition> {
  const oldest = await firstPublished(log, log.oldestSequence, log.lastSequence + 1);
  const oldestBusSequence = oldest?.busSequence ?? lastBusSequence + 1;
  const isThere = busSequence + 1 >= oldestBusSequence && busSequence <= lastBusSequence;
  if (!isThere) return { oldestBusSequence };
  // Up to `low`, nothing comes after the place; from `high` on, everything that is published does.
  let low = log.oldestSequence - 1;
  let high = log.lastSequence + 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const found = await firstPublished(log, middle, high);
    if (!found || found.busSequence > busSequence) high = middle;
    else low = found.sequence;
  }
  return { afterSequence: low };
}

/** From a sequence on, up to another. Mostly the first is; where it is not, more are read at a time. */
async function firstPublished(log: Log, from: number, until: number): Promise<Entry | undefined> {
  let size = 1;
  for (let next = from; next < until; size = Math.min(size * 8, limits.historyEntries)) {
    const entries = await log.read(next - 1, Math.min(size, until - next));
    const found = entries.find(({ busSequence }) => busSequence > 0);
    if (found) return found.sequence < until ? found : undefined;
    const last = entries.at(-1);
    if (!last) return undefined;
    next = last.sequence + 1;
  }
  return undefined;
}

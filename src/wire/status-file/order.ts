/** In which order files are read, and in which they are shown. */
import type { DerivedState, StatusFile } from "./record.ts";
import { updatedAtMs } from "./state.ts";

/** Who has nothing to say at the moment comes after all others. [AS-55] */
const quiet: ReadonlySet<DerivedState> = new Set([
  "idle",
  "stale",
  "stopped",
  "unknown",
  "canceled",
]);

/** What decides where an agent is shown, be it from a file or missed by somebody. */
export type DisplayKey = {
  readonly agentId: string;
  readonly state: DerivedState;
  readonly activeAtMs: number;
};

type LoadKey = { readonly path: string; readonly updatedAtMs: number };

/** The newest first; what was written at the same time, by its path: all are in one directory. */
export function sortForLoad<File extends StatusFile>(files: readonly File[]): readonly File[] {
  return sortBy(files, loadKey, compareLoadKeys);
}

/**
 * Those that are at something first, by id alone: a heartbeat moves no row. Then the quiet ones, the last
 * that was active first. Of one id, as they came.
 */
export function sortForDisplay<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => DisplayKey,
): readonly Item[] {
  return sortBy(items, keyOf, compareDisplayKeys);
}

/** By code point. By UTF-16 units, as `<` does it, U+1F600 would come before U+FFFD. */
export function compareCodePoints(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === end) return a.length - b.length;
  // Halves of one character that begin alike differ in the second half, which is enough to tell.
  return (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0);
}

function loadKey({ path, record }: StatusFile): LoadKey {
  return { path, updatedAtMs: updatedAtMs(record) };
}

function compareLoadKeys(a: LoadKey, b: LoadKey): number {
  return b.updatedAtMs - a.updatedAtMs || compareCodePoints(a.path, b.path);
}

function compareDisplayKeys(a: DisplayKey, b: DisplayKey): number {
  const isQuiet = quiet.has(a.state);
  if (isQuiet !== quiet.has(b.state)) return isQuiet ? 1 : -1;
  const byActivity = isQuiet ? b.activeAtMs - a.activeAtMs : 0;
  return byActivity || compareCodePoints(a.agentId, b.agentId);
}

/** Each key is made once. */
function sortBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
  compare: (a: Key, b: Key) => number,
): readonly Item[] {
  const keyed = items.map((item) => ({ item, key: keyOf(item) }));
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item);
}

/** In which order files are read, and in which they are shown. */
import type { DerivedState, StatusFile } from "./record.ts";
import { deriveState, lastActivityAtMs, type Moment, updatedAtMs } from "./state.ts";

/** Who has nothing to say at the moment comes after all others. */
const quiet: ReadonlySet<DerivedState> = new Set([
  "idle",
  "stale",
  "stopped",
  "unknown",
  "canceled",
  "missing",
]);

type LoadKey = { readonly path: string; readonly updatedAtMs: number };
type DisplayKey = LoadKey & {
  readonly isQuiet: boolean;
  readonly agentId: string;
  readonly activeAtMs: number;
};

/** The newest first; what was written at the same time, by its path. */
export function compareForLoad(a: StatusFile, b: StatusFile): number {
  return compareLoadKeys(loadKey(a), loadKey(b));
}

/**
 * Those that are at something first, by id alone: a heartbeat moves no row. Then the quiet ones, the last
 * that was active first.
 */
export function compareForDisplay(a: StatusFile, b: StatusFile, moment: Moment): number {
  return compareDisplayKeys(displayKey(a, moment), displayKey(b, moment));
}

/** As `compareForLoad`, but reads each time once. */
export function sortForLoad<File extends StatusFile>(files: readonly File[]): readonly File[] {
  return sortBy(files, loadKey, compareLoadKeys);
}

/** As `compareForDisplay`, but reads each time once. */
export function sortForDisplay<File extends StatusFile>(
  files: readonly File[],
  moment: Moment,
): readonly File[] {
  return sortBy(files, (file) => displayKey(file, moment), compareDisplayKeys);
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

function displayKey(file: StatusFile, moment: Moment): DisplayKey {
  const key = loadKey(file);
  return {
    ...key,
    isQuiet: quiet.has(deriveState(file.record, moment)),
    agentId: file.record.agent_id,
    activeAtMs: lastActivityAtMs(file.record) ?? key.updatedAtMs,
  };
}

function compareLoadKeys(a: LoadKey, b: LoadKey): number {
  return b.updatedAtMs - a.updatedAtMs || compareCodePoints(a.path, b.path);
}

function compareDisplayKeys(a: DisplayKey, b: DisplayKey): number {
  if (a.isQuiet !== b.isQuiet) return a.isQuiet ? 1 : -1;
  const byActivity = a.isQuiet ? b.activeAtMs - a.activeAtMs : 0;
  return byActivity || compareCodePoints(a.agentId, b.agentId) || compareLoadKeys(a, b);
}

function sortBy<File, Key>(
  files: readonly File[],
  keyOf: (file: File) => Key,
  compare: (a: Key, b: Key) => number,
): readonly File[] {
  const keyed = files.map((file) => ({ file, key: keyOf(file) }));
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ file }) => file);
}

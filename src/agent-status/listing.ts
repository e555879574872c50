/** What is there: every record with what a reader makes of it, in the order in which it is shown. */
import { readDirectory, type StatusFile, statusPath, type Warning } from "../status-files/index.ts";
import {
  type DerivedState,
  deriveState,
  isLookupId,
  lastActivityAtMs,
  type StatusRecord,
  sortForDisplay,
  updatedAtMs,
} from "../wire/status-file/index.ts";
import { Failure } from "./failure.ts";
import type { Given } from "./parse.ts";
import { readOptions } from "./surroundings.ts";

export type Entry = {
  readonly agentId: string;
  readonly path: string;
  readonly state: DerivedState;
  /** Neither is there if it is missing. */
  readonly updatedAtMs?: number;
  readonly record?: StatusRecord;
};

export type Listing = {
  readonly directory: string;
  readonly nowMs: number;
  readonly staleAfterMs: number;
  readonly entries: readonly Entry[];
  readonly warnings: readonly Warning[];
};

export type Moment = { readonly nowMs: number; readonly staleAfterMs: number };

export function listDirectory(directory: string, moment: Moment, given: Given): Listing {
  const { files, warnings } = readDirectory(directory, readOptions());
  return listFiles({ directory, files, warnings }, moment, given);
}

export function listFiles(
  found: {
    readonly directory: string;
    readonly files: readonly StatusFile[];
    readonly warnings: readonly Warning[];
  },
  moment: Moment,
  given: Given,
): Listing {
  const { directory, files, warnings } = found;
  const missing = findMissing(found, given.texts("expect"));
  const all = [...files.map((file) => entryOf(file, moment)), ...missing];
  const entries = sortForDisplay(all, ({ agentId, state, updatedAtMs: atMs = 0, record }) => ({
    agentId,
    state,
    activeAtMs: (record && lastActivityAtMs(record)) ?? atMs,
  }));
  return { ...moment, directory, warnings, entries: filter(entries, given) };
}

export function entryOf({ path, record }: StatusFile, moment: Moment): Entry {
  const state = deriveState(record, moment);
  return { agentId: record.agent_id, path, state, updatedAtMs: updatedAtMs(record), record };
}

/**
 * Those of the expected that have no file, which goes by its name as it does for `get` [AS-9]. One that is
 * there and not valid is told of otherwise.
 */
function findMissing(
  found: {
    readonly directory: string;
    readonly files: readonly StatusFile[];
    readonly warnings: readonly Warning[];
  },
  expected: readonly string[],
): readonly Entry[] {
  if (expected.length === 0) return [];
  const unsafe = expected.find((id) => !isLookupId(id));
  if (unsafe !== undefined) throw new Failure("agent_id must be non-empty and filename-safe");
  const paths = new Set([...found.files, ...found.warnings].map(({ path }) => path));
  return [...new Set(expected)]
    .map((agentId): Entry => {
      const path = statusPath(found.directory, agentId);
      return { agentId, path, state: "missing" };
    })
    .filter(({ path }) => !paths.has(path));
}

function filter(entries: readonly Entry[], given: Given): readonly Entry[] {
  const states = new Set(given.texts("state").flatMap((text) => text.split(",")));
  const names = new Set(given.texts("name"));
  if (states.size === 0 && names.size === 0) return entries;
  return entries.filter(
    ({ state, record }) =>
      (states.size === 0 || states.has(state)) &&
      (names.size === 0 || (record !== undefined && names.has(record.agent_name))),
  );
}

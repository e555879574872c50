/** Files of agents that are long gone: agent-status, section 8.6. */
import { prune as pruneDirectory } from "../status-files/index.ts";
import { print } from "../terminal/index.ts";
import { Failure, reasonOf } from "./failure.ts";
import { printDocument } from "./json.ts";
import type { Given } from "./parse.ts";
import { directoryOf, nowMs, printedPath, readOptions, staleAfterMsOf } from "./surroundings.ts";

export function prune(given: Given): number {
  const directory = directoryOf(given);
  const seconds = given.number("prune-after");
  const isRehearsal = given.toggle("dry-run") === true;
  const failures: string[] = [];
  const removed = pruneDirectory(directory, {
    onFailure: (path, error) => failures.push(`cannot remove ${path}: ${reasonOf(error)}`),
    ...readOptions(),
    nowMs: nowMs(),
    staleAfterMs: staleAfterMsOf(given),
    pruneAfterMs: seconds === undefined ? undefined : seconds * 1_000,
    keepStopped: given.toggle("keep-stopped"),
    dryRun: isRehearsal,
    invalid: given.toggle("invalid"),
    tempFiles: given.toggle("temp-files"),
  });
  if (given.toggle("json")) {
    const schema = "agent-status-prune/v1";
    printDocument({ schema, status_dir: directory, dry_run: isRehearsal, removed });
  } else {
    for (const path of removed) if (!print(`${printedPath(path)}\n`)) break;
  }
  if (failures.length > 0) throw new Failure(...failures);
  return 0;
}

/** A host whose hooks are in a file of JSON: what the file says now, and what it shall say. */
import { readFileSync } from "node:fs";
import { no } from "../failure.ts";
import { printPath } from "../paths.ts";
import { type Hook, withHooks, withoutHooks } from "./hooks-file.ts";
import type { FileChange } from "./host.ts";
import { JsonTextError } from "./json-text.ts";

export function planHooks(path: string, hooks: readonly Hook[]): readonly FileChange[] {
  const before = readText(path);
  const after = changed(path, () => withHooks(before ?? "", hooks));
  if (after === before) return [];
  return [
    { path, before, after, says: `${hooks.length} hooks, one for each event that tells something` },
  ];
}

/** A file that says nothing any more goes: should it have been there before, its backup says so. */
export function planNoHooks(path: string): readonly FileChange[] {
  const before = readText(path);
  if (before === undefined) return [];
  const after = changed(path, () => withoutHooks(before));
  if (after === before) return [];
  const isBlank = /^[\s{}]*$/.test(after);
  return [{ path, before, after: isBlank ? undefined : after, says: "without the hooks" }];
}

/** Undefined if there is none. Text that a host could not read either is not touched. */
export function readText(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return undefined;
    throw no(`cannot read ${printPath(path)}: ${String(code)}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw no(`${printPath(path)} is not UTF-8`, "nothing was changed");
  }
}

function changed(path: string, change: () => string): string {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw no(`${printPath(path)} ${error.message}`, "nothing was changed; mend it, and try again");
  }
}

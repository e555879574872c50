/** A host whose hooks are in a file of JSON: what the file says now, and what it shall say. */
import { no } from "../failure.ts";
import { printPath } from "../paths.ts";
import { countOf } from "../times.ts";
import { checkSize, readText } from "./file-text.ts";
import { eventsOfOurs, type Hook, withHooks, withoutHooks } from "./hooks-file.ts";
import type { FileChange } from "./host.ts";
import { JsonText, JsonTextError } from "./json-text.ts";

/** `notes` are what a person should know of these hooks. */
export function planHooks(
  path: string,
  hooks: readonly Hook[],
  notes: readonly string[] = [],
): readonly FileChange[] {
  const before = readText(path);
  const after = understood(path, () => withHooks(before ?? "", hooks));
  if (after === before) return [];
  checkSize(path, Buffer.byteLength(after));
  const older = installedIn(path).length;
  const says = `${countOf(hooks.length, "hook")}, one for each event that tells something`;
  const place = older === 0 ? "" : `, in place of ${countOf(older, "older one")}`;
  const details = [...explain(hooks), ...notes];
  return [{ path, before, after, says: says + place, details }];
}

/** A file that says nothing any more goes: should it have been there before, its backup says so. */
export function planNoHooks(path: string): readonly FileChange[] {
  const before = readText(path);
  if (before === undefined) return [];
  const after = understood(path, () => withoutHooks(before));
  if (after === before) return [];
  const isBlank = /^[\s{}]*$/.test(after);
  const ours = `without our ${countOf(installedIn(path).length, "hook")}`;
  const says = isBlank ? `${ours} nothing is left in it` : ours;
  return [{ path, before, after: isBlank ? undefined : after, says, details: [] }];
}

/** The events for which a hook of ours is there. */
export function installedIn(path: string): readonly string[] {
  return understood(path, () => eventsOfOurs(readText(path) ?? ""));
}

export function isSwitchedOn(path: string, key: string): boolean {
  return understood(path, () => new JsonText(readText(path) ?? "").valueAt([key])) === true;
}

function explain([first, ...others]: readonly Hook[]): readonly string[] {
  if (!first) return [];
  const { event, command, timeout } = first;
  const names = others.map((each) => each.event).join(", ");
  const rest = names === "" ? [] : [`and so do, each with its own name: ${names}`];
  return [`${event} runs, for ${timeout} s at most:`, `  ${command}`, ...rest];
}

function understood<Value>(path: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw no(`${printPath(path)} ${error.message}`, "nothing was changed; mend it, and try again");
  }
}

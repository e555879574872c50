/**
 * Hooks in the settings of a host, as Claude Code and Codex both have them: under `hooks`, for each event a
 * list of groups, each with a list of commands. Ours are known by the comment that ends them.
 */
import { JsonText } from "./json-text.ts";

export type Hook = { readonly event: string; readonly command: string; readonly timeout: number };

const mark = "# tipstaff";

/**
 * One that does nothing should the package be gone one day: `exec`, so that the host is the parent of the
 * hook whatever the user's shell is.
 */
export function commandFor(path: string, ...words: readonly string[]): string {
  const quoted = `'${path.replaceAll("'", String.raw`'\''`)}'`;
  return `test -x ${quoted} && exec ${quoted} ${words.join(" ")} || true ${mark}`;
}

/** With exactly these hooks of ours; the same text if it is so already. Throws a `JsonTextError`. */
export function withHooks(text: string, hooks: readonly Hook[]): string {
  const before = new JsonText(text);
  const found = ownIn(before);
  const isComplete =
    found.length === hooks.length &&
    hooks.every(({ event, command, timeout }) =>
      found.some(
        (own) => own.event === event && own.command === command && own.timeout === timeout,
      ),
    );
  if (isComplete) return text;
  return hooks.reduce(
    (json, { event, command, timeout }) =>
      json.append(["hooks", event], { hooks: [{ type: "command", command, timeout }] }),
    without(before),
  ).text;
}

/** Without any of ours; the same text if there is none. What was there for them only goes, too. */
export function withoutHooks(text: string): string {
  return without(new JsonText(text)).text;
}

/** In the order of the file. */
export function eventsOfOurs(text: string): readonly string[] {
  return [...new Set(ownIn(new JsonText(text)).map(({ event }) => event))];
}

type Own = Hook & { readonly group: number; readonly index: number };

function ownIn(json: JsonText): readonly Own[] {
  return Object.entries(objectAt(json.valueAt(["hooks"]))).flatMap(([event, groups]) =>
    listAt(groups).flatMap((each, group) =>
      listAt(objectAt(each)["hooks"]).flatMap((hook, index) => {
        const { command, timeout } = objectAt(hook);
        if (typeof command !== "string" || !command.endsWith(mark)) return [];
        return [{ event, command, timeout: Number(timeout), group, index }];
      }),
    ),
  );
}

function without(before: JsonText): JsonText {
  const own = ownIn(before);
  if (own.length === 0) return before;
  // From the end, so that what is left to do keeps its place.
  const json = own.toReversed().reduce((text, { event, group, index }) => {
    const path = ["hooks", event, group, "hooks"];
    const rest = text.remove([...path, index]);
    return rest.isSpare(path) ? rest.remove(["hooks", event, group]) : rest;
  }, before);
  const events = [...new Set(own.map(({ event }) => event))];
  const rest = events.reduce((text, event) => {
    const path = ["hooks", event];
    return text.isSpare(path) ? text.remove(path) : text;
  }, json);
  return rest.isSpare(["hooks"]) ? rest.remove(["hooks"]) : rest;
}

function objectAt(value: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value)) : {};
}

function listAt(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

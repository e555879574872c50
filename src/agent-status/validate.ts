/** Files against the standard: agent-status, section 8.5. */
import { basename } from "node:path";
import { print, say } from "../terminal/index.ts";
import { escapeForTerminal, validateStrict } from "../wire/status-file/index.ts";
import { printDocument } from "./json.ts";
import type { Given } from "./parse.ts";
import { readNamed } from "./read-named.ts";

type Verdict = {
  readonly path: string;
  readonly kind: "invalid-json" | "invalid-status" | "unreadable" | undefined;
  readonly errors: readonly string[];
};

export function validate(given: Given): number {
  const isStrict = given.toggle("strict") === true;
  const verdicts = given.words.map((path) => judge(path, isStrict));
  const isValid = verdicts.every(({ kind }) => kind === undefined);
  if (given.toggle("json")) {
    const files = verdicts.map(({ path, kind, errors }) => ({
      path,
      valid: kind === undefined,
      kind: kind ?? null,
      errors,
    }));
    printDocument({ schema: "agent-status-validate/v1", valid: isValid, files });
    return isValid ? 0 : 1;
  }
  // Which file is meant need only be said where there are several.
  for (const verdict of verdicts) tell(verdict, verdicts.length > 1 ? `${verdict.path}: ` : "");
  return isValid ? 0 : 1;
}

function judge(path: string, isStrict: boolean): Verdict {
  const { record, problem } = readNamed(path);
  if (problem) return { path, ...problem };
  const errors = isStrict ? validateStrict(record, { fileName: basename(path) }) : [];
  return { path, kind: errors.length > 0 ? "invalid-status" : undefined, errors };
}

function tell({ path, kind, errors }: Verdict, prefix: string): void {
  const lines = linesOf({ path, kind, errors }).map((line) => escapeForTerminal(prefix + line));
  if (kind === undefined) print(`${lines.join("\n")}\n`);
  else say(`${lines.join("\n")}\n`);
}

function linesOf({ path, kind, errors }: Verdict): readonly string[] {
  switch (kind) {
    case undefined:
      return ["valid"];
    case "invalid-json":
      return [`invalid JSON: ${errors.join("; ")}`];
    case "invalid-status":
      return errors;
    case "unreadable":
      return [`cannot read ${path}: ${errors.join("; ").replace("ENOENT", "no such file")}`];
  }
}

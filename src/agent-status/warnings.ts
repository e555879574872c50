/** What is wrong with files, a line each. [AS-38] to [AS-41] */
import type { Warning } from "../status-files/index.ts";
import { say } from "../terminal/index.ts";
import { escapeForTerminal } from "../wire/status-file/index.ts";

export function sayWarnings(warnings: readonly Warning[]): void {
  const lines = printWarnings(warnings);
  if (lines.length > 0) say(`${lines.join("\n")}\n`);
}

export function printWarnings(warnings: readonly Warning[]): readonly string[] {
  return warnings.flatMap((warning) => {
    const line = lineOf(warning);
    return line === undefined ? [] : [escapeForTerminal(line)];
  });
}

function lineOf({ path, kind, errors, isDirectory }: Warning): string | undefined {
  const detail = errors.join("; ");
  switch (kind) {
    case "invalid-json":
      return `warning: ignored invalid JSON ${path}: ${detail}`;
    case "invalid-status":
      return `warning: ignored invalid status ${path}: ${detail}`;
    case "unreadable":
      return isDirectory
        ? `warning: cannot read status directory ${path}: ${detail}`
        : `warning: ignored unreadable file ${path}: ${detail}`;
    case "too-many":
      return `warning: status directory ${path} ${detail}`;
    case "id-mismatch":
      // The record is shown all the same, and the reference says nothing. [AS-9]
      return undefined;
  }
}

/** Nothing is taken away unasked: a person is asked, a script says `--yes`. */
import { readSync } from "node:fs";
import { mistake, no } from "./failure.ts";
import type { Values } from "./table.ts";
import { say } from "./terminal.ts";
import { printable } from "./text.ts";

/** `question` says what would happen. Throws a `Failure` unless the answer is yes. */
export function confirm(values: Values, question: string): void {
  if (values["yes"]) return;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw mistake(`${printable(question)} Nobody is there to ask: add --yes if that is meant`);
  }
  say(`${printable(question)} [y/N] `);
  if (!/^y(es)?$/i.test(readAnswer().trim())) throw no("nothing was changed");
}

function readAnswer(): string {
  const bytes = Buffer.alloc(64);
  try {
    return bytes.toString("utf8", 0, readSync(0, bytes));
  } catch {
    // Closed, or not to be read: that is no yes.
    return "";
  }
}

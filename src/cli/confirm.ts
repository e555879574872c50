/** Nothing is taken away unasked: a person is asked, a script says `--yes`. */
import { readSync } from "node:fs";
import { isatty } from "node:tty";
import { printable, say } from "../terminal/index.ts";
import { mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import type { Values } from "./table.ts";

/** `question` says what would happen. Throws a `Failure` unless the answer is yes. */
export function confirm(values: Values, question: string): void {
  if (values["yes"]) return;
  // Not `process.stdin`: to look at it makes it a stream, of which nothing can be read in one go.
  if (!isatty(0) || process.stderr.isTTY !== true) {
    throw mistake(`${printable(question)} Nobody is there to ask: add --yes if that is meant`);
  }
  say(`${printable(question)} [y/N] `);
  if (!/^y(es)?$/i.test(readAnswer().trim())) throw no("nothing was changed");
}

function readAnswer(): string {
  const bytes = Buffer.alloc(64);
  for (;;) {
    try {
      return bytes.toString("utf8", 0, readSync(0, bytes));
    } catch (error) {
      // Closed, or not to be read: that is no yes.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return "";
      // Somebody else made it so that nothing waits: a person takes their time all the same.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, limits.answerPauseMs);
    }
  }
}

/**
 * Where output goes. Written at once and without Node's streams, whose loading takes longer than most
 * commands have to say; a reader that went away (`tipstaff agents | head -1`) is no error. A full disk is: it
 * is told at once, and the process ends with 1 unless its command has something worse to say.
 */
import { fstatSync, writeSync } from "node:fs";

let isReaderGone = false;
/** Somebody made the pipe non-blocking, and it was full: from then on, the stream waits for us. */
let isStreaming = false;

/** False once nobody reads any more. */
export function print(text: string | Uint8Array): boolean {
  if (isReaderGone) return false;
  if (isStreaming) return process.stdout.write(text) || !isReaderGone;
  let bytes: Uint8Array = typeof text === "string" ? Buffer.from(text) : text;
  try {
    while (bytes.length > 0) bytes = bytes.subarray(writeSync(1, bytes));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EAGAIN") {
      isReaderGone = true;
      if (!isOfReader(code)) lose(error);
      return false;
    }
    isStreaming = true;
    process.stdout.on("error", () => {
      isReaderGone = true;
    });
    process.stdout.write(bytes);
  }
  return true;
}

/** Whoever read it closed the pipe, or the window in which the terminal was. */
function isOfReader(code: unknown): boolean {
  if (code === "EPIPE" || code === "ECONNRESET") return true;
  return code === "EIO" && fstatSync(1).isCharacterDevice();
}

/** By the process's own exit code: a command that is bundled apart has another copy of this file. */
function lose(error: unknown): void {
  const [, why] = /^E[A-Z]+: (.+), write$/.exec(error instanceof Error ? error.message : "") ?? [];
  say(`cannot write the output: ${why ?? String(error)}\n`);
  process.exitCode = 1;
}

/** For people, beside the output: notes, questions, errors. */
export function say(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Nobody reads it.
  }
}

export type Screen = {
  /** How wide a line may be; undefined where nobody looks on. */
  readonly columns: number | undefined;
  readonly hasColours: boolean;
};

let known: Screen | undefined;

export function screen(): Screen {
  known ??= look();
  return known;
}

function look(): Screen {
  const { NO_COLOR: noColour, TERM: terminal } = process.env;
  // Asking this way makes no stream, and loads what a network is made of only when it is needed anyway.
  if (!process.getBuiltinModule("node:tty").isatty(1))
    return { columns: undefined, hasColours: false };
  return {
    columns: process.stdout.columns || 80,
    hasColours: (noColour === undefined || noColour === "") && terminal !== "dumb",
  };
}

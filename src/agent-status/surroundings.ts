/** What the process was started with: the time, the directory, what it writes to. */
import { fstatSync } from "node:fs";
import type { Env } from "../status-files/index.ts";
import { statusDirectory } from "../status-files/index.ts";
import {
  escapeForTerminal,
  parseTimestamp,
  type ReadOptions,
  limits as wireLimits,
} from "../wire/status-file/index.ts";
import { Failure } from "./failure.ts";
import { limits } from "./limits.ts";
import type { Given } from "./parse.ts";
import type { Style } from "./table.ts";

/** `AGENT_STATUS_NOW` makes the clock stand still, for tests. */
export function nowMs(env: Env = process.env): number {
  const text = env["AGENT_STATUS_NOW"];
  if (!text) return Date.now();
  const { atMs } = parseTimestamp(text);
  if (atMs === undefined) throw new Failure(`AGENT_STATUS_NOW is no point in time: ${text}`);
  return atMs;
}

export function directoryOf(given: Given): string {
  return statusDirectory({ flag: given.text("status-dir"), env: process.env });
}

export function staleAfterMsOf(given: Given): number {
  const seconds = given.number("stale-after");
  return seconds === undefined ? wireLimits.staleAfterMs : seconds * 1_000;
}

/** `AGENT_STATUS_MAX_BYTES`: how long a file may be that is read. [AS-44] */
export function readOptions(env: Env = process.env): ReadOptions {
  const text = env["AGENT_STATUS_MAX_BYTES"];
  if (!text) return {};
  const fileBytesMax = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  if (fileBytesMax > limits.fileBytesMaxMost) {
    const most = limits.fileBytesMaxMost;
    throw new Failure(`AGENT_STATUS_MAX_BYTES is a number of bytes, ${most} at most: ${text}`);
  }
  return { fileBytesMax };
}

/** What is no device is no terminal: to know that, nothing need be loaded. */
export function isTerminal(descriptor: 1 | 2): boolean {
  try {
    if (!fstatSync(descriptor).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule("node:tty").isatty(descriptor);
}

/** [AS-61] [AS-62] [AS-63] */
export function styleOf(given: Given): Style {
  const { NO_COLOR: noColour, TERM: terminal, COLUMNS: wanted } = process.env;
  const isSeen = isTerminal(1);
  const likesColours = isSeen && !noColour && terminal !== "dumb";
  const told = /^[1-9]\d{0,5}$/.test(wanted ?? "") ? Number(wanted) : undefined;
  return {
    columns: isSeen ? process.stdout.columns || told || 80 : told,
    hasColours: given.toggle("color") ?? likesColours,
  };
}

/** What a script reads is the path itself, whatever stands in it. */
export function printedPath(path: string): string {
  return isTerminal(1) ? escapeForTerminal(path) : path;
}

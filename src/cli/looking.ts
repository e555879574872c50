/** Where to look for agents, as the flags say. */
import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { statusDirectory } from "../status-files/index.ts";
import { printable, say } from "../terminal/index.ts";
import { mistake } from "./failure.ts";
import type { Values } from "./table.ts";
import { durationIn, textIn } from "./values.ts";

export type Looking = {
  /** Where status files are. */
  readonly directory: string;
  readonly silentAfterMs: number | undefined;
  /** Only those that go by this name or id matter. */
  readonly agent?: string | undefined;
  /** A daemon that was named must answer; without any other we do. */
  readonly isDaemonNamed: boolean;
};

/** If a directory was named that is not there, that is told: it may be a slip. */
export function lookingFrom(values: Values): Looking {
  const directory = statusDirectoryFrom(values);
  const silentAfterMs = durationIn(values, "silent-after");
  if (silentAfterMs !== undefined && silentAfterMs < 1_000) {
    throw mistake("--silent-after is one second or more");
  }
  if (textIn(values, "status-dir") !== undefined && !existsSync(directory)) {
    say(`${printable(directory)} is not there, so no status files are read\n`);
  } else if (textIn(values, "status-dir") !== undefined && !statSync(directory).isDirectory()) {
    say(`${printable(directory)} is no directory, so no status files are read\n`);
  }
  return { directory, silentAfterMs, isDaemonNamed: isDaemonNamed(values) };
}

export function statusDirectoryFrom(values: Values): string {
  const flag = textIn(values, "status-dir");
  try {
    return statusDirectory({ flag, env: process.env, home: homedir() });
  } catch (error) {
    throw error instanceof Error ? mistake(error.message) : error;
  }
}

function isDaemonNamed({ http, "data-dir": dataDirectory }: Values): boolean {
  const named = http ?? dataDirectory ?? process.env["TIPSTAFF_URL"];
  return typeof named === "string" && named !== "";
}

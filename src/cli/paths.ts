/** Where things are on this machine. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Values } from "./table.ts";

/** `--data-dir`, or `${XDG_STATE_HOME:-~/.local/state}/tipstaff`. */
export function dataDirectoryFrom(values: Values): string {
  const given = values["data-dir"];
  if (typeof given === "string") return resolve(given);
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
  return join(state, "tipstaff");
}

/** Whether a daemon has run with this data directory. Commands alone create other files there, such as the token. */
export function hasLog(directory: string): boolean {
  return existsSync(join(directory, "log.db"));
}

/** The message of a command that finds no daemon where one has run before. */
export function daemonDownText(directory: string): string {
  return `the daemon is not running (${printPath(directory)}); its agents are not shown; tipstaff up starts it`;
}

/** `~` for the home directory, as people write it. */
export function printPath(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

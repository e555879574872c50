/** Where things are on this machine. */
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

/** `~` for the home directory, as people write it. */
export function printPath(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/**
 * The shared writer as a process: what a hook starts when nobody writes. It says nothing, and whatever
 * happens it disturbs nobody. `dist/emitters/writer.cjs` is this and nothing else.
 */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { emittersDirectory, runWriter } from "../emitters/index.ts";
import { statusDirectory } from "../status-files/index.ts";
import { exits } from "./exits.ts";

/** `stateDirectory`: where the hook that started it has put its event. */
export async function writer([stateDirectory]: readonly string[]): Promise<number> {
  const stopped = new AbortController();
  process.on("SIGTERM", () => stopped.abort());
  // Meant for the host in whose terminal it was started: the writer is there for the others, too.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  try {
    const { AGENT_STATUS_DIR: _own, ...env } = process.env;
    const home = homedir();
    const options = {
      stateDirectory: resolve(stateDirectory ?? emittersDirectory({ env, home })),
      // Each host says for itself where its file goes; this is for those that do not.
      statusDirectory: resolve(statusDirectory({ env, home })),
      signal: stopped.signal,
    };
    // A directory in which somebody works must not be held by somebody who does not.
    process.chdir("/");
    await runWriter(options);
  } catch {
    // A full disk, a directory that is not to be written to: there is nobody to tell.
  }
  return exits.ok;
}

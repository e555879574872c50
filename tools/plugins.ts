/**
 * The programs inside `plugins/`. They are committed, because hosts that install a plugin from git copy its folder and
 * build nothing.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { buildGuests } from "./guests.ts";
import { buildWriter } from "./writer.ts";

/** Each host copies only its own folder, so two of them have the same writer. */
const programs = [
  ["claude-code", "writer.cjs"],
  ["codex", "writer.cjs"],
  ["opencode", "opencode.js"],
  ["opencode", "opencode-parts.js"],
  ["pi", "pi.js"],
] as const;

/** Builds the programs in the directory `emitters`, and copies each to its host's folder in `plugins`. */
export async function buildPlugins({
  emitters,
  plugins,
}: {
  readonly emitters: string;
  readonly plugins: string;
}): Promise<void> {
  await buildWriter(join(emitters, "writer.cjs"));
  await buildGuests(emitters);
  for (const [host, program] of programs) {
    cpSync(join(emitters, program), join(plugins, host, program));
  }
}

/**
 * The modules that other programs load into their own process: each one file, for whatever Node or Bun that
 * program runs on. They are left readable, because they lie among a user's own files.
 */
import { dirname, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { mark } from "../src/cli/hosts/guest.ts";

/** By host, what it loads; and the same for OpenCode with the names that other programs' tests import. */
const guests: Readonly<Record<string, string>> = {
  opencode: "opencode",
  "opencode-parts": "opencode",
  pi: "pi",
};

/** No module does anything when it is imported, so what is not used is left out as a whole. */
const leaveUnusedOut: Plugin = {
  name: "leave unused modules out",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, importer, resolveDir }) => ({
      path: resolve(importer === "" ? resolveDir : dirname(importer), path),
      sideEffects: false,
    }));
  },
};

export async function buildGuests(outdir: string): Promise<void> {
  for (const [module, host] of Object.entries(guests)) {
    await build({
      entryPoints: { [module]: resolve(import.meta.dirname, `../src/emitters/${module}.ts`) },
      outdir,
      bundle: true,
      platform: "node",
      target: "node20",
      format: "esm",
      banner: {
        js: `${mark}tells what this agent does, in a file that only you can read. Made by a program; \`tipstaff uninstall ${host}\` takes it away.`,
      },
      plugins: [leaveUnusedOut],
      logLevel: "warning",
    });
  }
}

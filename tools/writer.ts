/**
 * Bundles the writer that hooks start when nobody writes: small, because it is there as long as an agent is.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Modules of Node that nobody calls are not loaded: some take megabytes. */
const leaveUnusedOut: Plugin = {
  name: "leave unused modules out",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }));
  },
};

export async function buildWriter(path: string): Promise<void> {
  await build({
    entryPoints: [join(root, "src/cli/writer.ts")],
    outfile: path,
    bundle: true,
    platform: "node",
    // A plugin that was installed from git runs it on whatever Node its user has.
    target: "node20",
    format: "cjs",
    plugins: [leaveUnusedOut],
    footer: { js: "module.exports.writer(process.argv.slice(2));" },
    logLevel: "warning",
  });
}

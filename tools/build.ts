/** Bundles the command line into `dist/`: what ships, and what `bin/` runs while no source is newer. */
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

rmSync("dist", { recursive: true, force: true });
await build({
  entryPoints: { main: "src/cli/main.ts" },
  outdir: "dist",
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  legalComments: "linked",
  logLevel: "warning",
  // Some dependencies are CommonJS and ask for node's own modules at run time.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
cpSync("src/doors/http/page", "dist/page", { recursive: true });
cpSync("src/views/meaning/table.bin", "dist/table.bin");
// Compiled code is kept between runs: the second start of a command is the one people feel.
writeFileSync(
  "dist/tipstaff.js",
  'import { enableCompileCache } from "node:module";\nenableCompileCache();\nawait import("./main.js");\n',
);

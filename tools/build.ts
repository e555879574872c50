/**
 * Bundles the command line and what the package exports into `dist/`: what ships, and what `bin/` runs while
 * no source is newer.
 */
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import { build as buildPage } from "vite";
import { writeDeclarations } from "./declarations.ts";

rmSync("dist", { recursive: true, force: true });
await build({
  entryPoints: { main: "src/cli/main.ts", embedded: "src/embedded.ts" },
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
await build({
  entryPoints: { client: "src/client/index.ts" },
  outdir: "dist",
  bundle: true,
  platform: "neutral",
  format: "esm",
  // What every browser of the last years understands; `using` is written out.
  target: "es2022",
  logLevel: "warning",
});
await writeDeclarations(["client/index.ts", "embedded.ts"], "dist/types");
cpSync("src/views/meaning/table.bin", "dist/table.bin");
await buildPage({ configFile: "web/vite.config.ts" });
// Compiled code is kept between runs: the second start of a command is the one people feel.
writeFileSync(
  "dist/tipstaff.js",
  'import { enableCompileCache } from "node:module";\nenableCompileCache();\nawait import("./main.js");\n',
);

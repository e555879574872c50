/**
 * Bundles the command line, what the package exports and the dashboard into `dist/`: what ships, and what
 * `bin/` runs while no source is newer.
 */
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { build as buildPage } from "vite";
import { writeDeclarations } from "./declarations.ts";
import { buildPlugins } from "./plugins.ts";

const forNode: BuildOptions = {
  outdir: "dist",
  bundle: true,
  platform: "node",
  target: "node24",
  legalComments: "linked",
  logLevel: "warning",
};

/** Commands that bring the daemon's parts along, or the ARCP client: loaded when one of them is run. */
const heavy = [
  ...["up", "doctor", "install", "uninstall", "job", "job-replay"],
  ...["serve", "submit", "tail", "list", "cancel", "replay", "manifest"].map(
    (verb) => `arcp/${verb}`,
  ),
];

const leaveHeavyOut: Plugin = {
  name: "leave heavy commands out",
  setup: ({ onResolve }) => {
    onResolve({ filter: new RegExp(`^\\./(${heavy.join("|")})\\.ts$`) }, ({ path }) => ({
      path: path.replace(/\.ts$/, ".js"),
      external: true,
    }));
  },
};

rmSync("dist", { recursive: true, force: true });
// Commands that only ask are CommonJS, because there an import of `node:http` loads just that; an ES module
// looks at every export, and one of them (WebSocket) loads half of Node: docs/decisions/0005.
await build({
  ...forNode,
  entryPoints: { cli: "src/cli/main.ts" },
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  plugins: [leaveHeavyOut],
});
// Files only: what it does not need is not on its way.
await build({
  ...forNode,
  entryPoints: { "status-cli": "src/agent-status/main.ts" },
  format: "cjs",
  outExtension: { ".js": ".cjs" },
});
await build({
  ...forNode,
  entryPoints: {
    ...Object.fromEntries(heavy.map((name) => [name, `src/cli/${name}.ts`])),
    embedded: "src/embedded.ts",
    "arcp-server": "src/arcp-server.ts",
  },
  format: "esm",
  // It is made so that a bundler cannot follow it.
  external: ["jsonc-parser"],
  splitting: true,
  chunkNames: "chunk-[hash]",
  // Some dependencies are CommonJS and ask for node's own modules at run time.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
await build({
  entryPoints: { client: "src/client/index.ts", arcp: "src/client/arcp/index.ts" },
  outdir: "dist",
  bundle: true,
  platform: "neutral",
  format: "esm",
  // What every browser of the last years understands; `using` is written out.
  target: "es2022",
  logLevel: "warning",
});
await buildPlugins({ emitters: "dist/emitters", plugins: "plugins" });
// Runs inside other people's agents: by itself, and nothing of the daemon with it.
await build({ ...forNode, entryPoints: { status: "src/status.ts" }, format: "esm" });
await build({
  ...forNode,
  entryPoints: { tracing: "src/tracing/index.ts" },
  format: "esm",
  // There is one for the whole process, and the user brings it.
  external: ["@opentelemetry/api"],
});
await writeDeclarations(
  [
    "client/index.ts",
    "client/arcp/index.ts",
    "embedded.ts",
    "arcp-server.ts",
    "status.ts",
    "tracing/index.ts",
  ],
  "dist/types",
);
cpSync("src/views/meaning/table.bin", "dist/table.bin");
await buildPage({ configFile: "web/vite.config.ts" });
// Compiled code is kept between runs: the second start of a command is the one people feel.
for (const [name, bundle] of [
  ["tipstaff", "cli"],
  ["agent-status", "status-cli"],
]) {
  writeFileSync(
    `dist/${name}.cjs`,
    `"use strict";\nrequire("node:module").enableCompileCache();\nrequire("./${bundle}.cjs");\n`,
  );
}

/** What the command is made of: it starts as fast as what it has to load. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const rooms =
  /^src\/(?:agent-status|terminal|wire\/(?:status-file|safe-text)|status-files)\/|^package\.json$/;

test("[AS-78] no command needs anything but Node and status files", async () => {
  const { metafile } = await build({
    entryPoints: ["src/agent-status/main.ts"],
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    write: false,
    metafile: true,
    outdir: "none",
  });
  const [bundle] = Object.values(metafile.outputs);
  assert(bundle);
  const used = Object.entries(bundle.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  assert(used.some(([path]) => path === "src/agent-status/main.ts"));
  assert.deepEqual(
    used.map(([path]) => path).filter((path) => !rooms.test(path)),
    [],
  );
  const imported = new Set(bundle.imports.map(({ path }) => path));
  const modest = ["fs", "os", "path", "timers/promises", "util"].map((name) => `node:${name}`);
  assert.deepEqual(
    [...imported].filter((path) => !modest.includes(path)),
    [],
  );
});

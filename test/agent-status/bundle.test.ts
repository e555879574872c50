/** What the command is made of: it starts as fast as what it has to load. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

/** Whatever else their indexes name must not come along, above all not the daemon. */
const rooms =
  /^src\/(?:agent-status|terminal|wire\/(?:status-file|safe-text)|doors\/status-files)\/|^package\.json$/;
/** Tables of names that look as if making them did something. */
const negligible = /^src\/sightings\//;
const negligibleBytes = 5_000;

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
  const strange = used.filter(([path]) => !rooms.test(path));
  const more = strange.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
  const paths = strange.map(([path]) => path);
  assert(paths.every((path) => negligible.test(path)) && more < negligibleBytes, paths.join(" "));
  const imported = new Set(bundle.imports.map(({ path }) => path));
  const modest = ["fs", "os", "path", "timers/promises", "util"].map((name) => `node:${name}`);
  assert.deepEqual(
    [...imported].filter((path) => !modest.includes(path)),
    [],
  );
});

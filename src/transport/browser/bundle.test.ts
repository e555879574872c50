/** The client's transport as a browser gets it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Compressed with gzip. A commit may raise it only by saying why. */
const bytesMax = 4_000;

test("what a browser gets imports nothing of Node and no package", async (t) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("index.ts", import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    write: false,
    metafile: true,
    outdir: "/",
    logLevel: "silent",
  });
  assert.deepEqual(
    Object.values(metafile.outputs).flatMap(({ imports }) => imports),
    [],
  );
  const [output] = outputFiles;
  assert(output);
  // Where there is no `setImmediate`, none is called.
  const global = /\b(?:setImmediate\(|process\b|Buffer\b)/.exec(output.text)?.[0];
  assert.equal(global, undefined, `it uses ${global}`);
  const gzip = gzipSync(output.contents).length;
  t.diagnostic(`${output.contents.length} bytes, gzip ${gzip}`);
  assert(gzip <= bytesMax, `${gzip} bytes; ${bytesMax} were agreed`);
});

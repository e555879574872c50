/** The ARCP client as a browser gets it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Compressed with gzip. A commit may raise it only by saying why. */
const bytesMax = 24_000;

test("the ARCP client is one small module that imports nothing", async (t) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(root, "src/client/arcp/index.ts")],
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
  const imports = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  assert.deepEqual(imports, [], "it imports something");
  const inputs = Object.keys(metafile.inputs);
  const own = /src\/(?:client\/arcp|client\/deadline\.ts|wire\/arcp|transport)/;
  assert(
    inputs.every((path) => own.test(path)),
    inputs.join(" "),
  );
  const [output] = outputFiles;
  assert(output);
  const { contents, text } = output;
  assert.doesNotMatch(text, /\bprocess\.|\bBuffer\b|\bsetImmediate\(/);
  const gzip = gzipSync(contents).length;
  const sizes = `${contents.length} bytes, gzip ${gzip}, brotli ${brotliCompressSync(contents).length}`;
  t.diagnostic(`tipstaff/arcp: ${sizes}`);
  assert(gzip <= bytesMax, `${sizes}; ${bytesMax} were agreed`);
});

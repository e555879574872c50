/** The clients as a browser gets them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** `bytesMax` is compressed with gzip. A commit may raise it only by saying why. */
const clients = [
  {
    name: "tipstaff/client",
    entry: "src/client/index.ts",
    own: /src\/(?:client|wire\/(?:api|answer-schema))\//,
    bytesMax: 13_200,
  },
  {
    name: "tipstaff/arcp",
    entry: "src/client/arcp/index.ts",
    own: /src\/(?:client\/arcp|client\/deadline\.ts|wire\/arcp|wire\/work|transport)/,
    bytesMax: 25_400,
  },
] as const;

for (const { name, entry, own, bytesMax } of clients) {
  test(`${name} is one small module that imports nothing`, async (t) => {
    const { outputFiles, metafile } = await build({
      entryPoints: [join(root, entry)],
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
    assert(
      inputs.every((path) => own.test(path)),
      inputs.join(" "),
    );
    const [output] = outputFiles;
    assert(output);
    const { contents, text } = output;
    assert.doesNotMatch(text, /\bBuffer\b|\bsetImmediate\(/);
    if (name === "tipstaff/arcp") assert.doesNotMatch(text, /\bprocess\./);
    const gzip = gzipSync(contents).length;
    const sizes = `${contents.length} bytes, gzip ${gzip}, brotli ${brotliCompressSync(contents).length}`;
    t.diagnostic(`${name}: ${sizes}`);
    assert(gzip <= bytesMax, `${sizes}; ${bytesMax} were agreed`);
  });
}

test("a bundler is told when the client asks for a module of Node", async () => {
  const entry = { contents: 'import "node:fs";', resolveDir: root, loader: "ts" } as const;
  const options = { stdin: entry, bundle: true, platform: "browser", write: false } as const;
  await assert.rejects(build({ ...options, logLevel: "silent" }), /node:fs/);
});

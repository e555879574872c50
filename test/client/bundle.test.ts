/** The client as a browser gets it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Compressed with gzip. A commit may raise it only by saying why. */
const bytesMax = 11_000;

test("the client is one small module that imports nothing", async (t) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(root, "src/client/index.ts")],
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
    inputs.every((path) => /src\/(?:client|wire\/api)\//.test(path)),
    inputs.join(" "),
  );
  const [output] = outputFiles;
  assert(output);
  const { contents } = output;
  const gzip = gzipSync(contents).length;
  const sizes = `${contents.length} bytes, gzip ${gzip}, brotli ${brotliCompressSync(contents).length}`;
  t.diagnostic(`tipstaff/client: ${sizes}`);
  assert(gzip <= bytesMax, `${sizes}; ${bytesMax} were agreed`);
});

test("a bundler is told when the client asks for a module of Node", async () => {
  const entry = { contents: 'import "node:fs";', resolveDir: root, loader: "ts" } as const;
  const options = { stdin: entry, bundle: true, platform: "browser", write: false } as const;
  await assert.rejects(build({ ...options, logLevel: "silent" }), /node:fs/);
});

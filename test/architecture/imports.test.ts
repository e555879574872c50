import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { test } from "node:test";
import { importsOf, type Source, violations } from "./rules.ts";

const sources = join(import.meta.dirname, "../../src");

test("every room imports only the rooms and packages that the table names, through their index", () => {
  assert.deepEqual(violations(readSources()), []);
});

test("the imports of every file are found", () => {
  const found = readSources().flatMap(importsOf);
  assert(found.length > 100, `only ${found.length} were found`);
});

const offences: Readonly<Record<string, { readonly source: Source; readonly told: RegExp }>> = {
  "the core asks Node for something": {
    source: { path: "core/x.ts", text: 'import { hash } from "node:crypto";' },
    told: /core may not import node:crypto/,
  },
  "a room reaches upwards": {
    source: { path: "core/x.ts", text: 'import type { Log } from "../log/index.ts";' },
    told: /core may not import log/,
  },
  "a room reaches past another's index": {
    source: { path: "plane/x.ts", text: 'import {\n  seal,\n} from "../log/entry.ts";' },
    told: /imports log\/entry.ts, not its index.ts/,
  },
  "an export is an import too": {
    source: { path: "views/x.ts", text: 'export { Plane } from "../plane/index.ts";' },
    told: /views may not import plane/,
  },
  "an import that happens later counts": {
    source: { path: "wire/x.ts", text: 'const fs = await import("node:fs");' },
    told: /wire may not import node:fs/,
  },
  "a bare import counts": {
    source: { path: "wire/x.ts", text: 'import "node:fs";' },
    told: /wire may not import node:fs/,
  },
  "a door uses another door's package": {
    source: { path: "doors/grpc/x.ts", text: 'import { Hono } from "hono";' },
    told: /doors\/grpc may not import hono/,
  },
  "a door opens another": {
    source: { path: "doors/grpc/x.ts", text: 'import { x } from "../http/index.ts";' },
    told: /doors\/grpc may not import doors\/http/,
  },
  "a client for browsers takes in the worker": {
    source: { path: "client/arcp/x.ts", text: 'import { x } from "../worker/index.ts";' },
    told: /client may not import client\/worker/,
  },
  "the runtime learns a protocol": {
    source: { path: "runtime/x.ts", text: 'import { ArcpError } from "../wire/arcp/index.ts";' },
    told: /runtime may not import wire\/arcp\/index.ts/,
  },
  "a part of the runtime learns a protocol": {
    source: { path: "runtime/remote/x.ts", text: 'import "../../wire/arcp/index.ts";' },
    told: /runtime may not import wire\/arcp\/index.ts/,
  },
  "someone builds on the command line": {
    source: { path: "serve.ts", text: 'import { main } from "./cli/main.ts";' },
    told: /serve.ts may not import cli/,
  },
  "a room that is in no table": {
    source: { path: "attic/x.ts", text: "" },
    told: /is in no room/,
  },
  "a folder whose name says nothing": {
    source: { path: "core/helpers/x.ts", text: "" },
    told: /a folder named helpers/,
  },
  "the environment is read below the command line": {
    source: { path: "log/x.ts", text: 'const home = process.env["HOME"];' },
    told: /asks process/,
  },
  "the environment is read where it may not be there": {
    source: { path: "client/x.ts", text: "const env = globalThis.process?.env;" },
    told: /asks process/,
  },
  "an index that lists no names": {
    source: { path: "core/index.ts", text: 'export * from "./x.ts";' },
    told: /export \*/,
  },
  "a default export": {
    source: { path: "core/x.ts", text: "export default 1;" },
    told: /default export/,
  },
  "an any": {
    source: { path: "core/x.ts", text: "const x: Map<string, any> = new Map();" },
    told: /has an `any`/,
  },
};

for (const [offence, { source, told }] of Object.entries(offences)) {
  test(`it is told when ${offence}`, () => {
    assert.match(violations([source]).join("\n"), told);
  });
}

test("words in comments and texts are no offence", () => {
  const text = [
    '// import { x } from "node:fs"; process.env, any',
    '/** export * from "x", and as any reader knows: any */',
    'const text = "process.exit(1); as any";',
    "const first = AbortSignal.any([]);",
  ].join("\n");
  assert.deepEqual(violations([{ path: "core/x.ts", text }]), []);
});

function readSources(): readonly Source[] {
  return readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name.endsWith(".ts"))
    .map((file) => {
      const path = join(file.parentPath, file.name);
      const name = relative(sources, path).split(sep).join("/");
      return { path: name, text: readFileSync(path, "utf8") };
    });
}

/** The launcher in `bin/`: which Node, and the bundle or the sources. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { test } from "node:test";
import { scratch } from "../e2e/processes.ts";

const root = join(import.meta.dirname, "../..");
const long = new Date(1_700_000_000_000);
const lately = new Date(1_700_000_100_000);
const now = new Date(1_700_000_200_000);

test("the bundle is run unless a source is newer, however deep it lies", () => {
  using place = scratch();
  const checkout = makeCheckout(place.path);
  assert.deepEqual(checkout.run("status", "two words"), [
    "dist/tipstaff.cjs",
    "status",
    "two words",
  ]);
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const deepest = Math.max(...sources.map((path) => path.split(sep).length));
  for (let depth = 1; depth <= deepest; depth += 1) {
    const path = join(
      "src",
      ...Array.from({ length: depth - 1 }, (_, level) => `d${level}`),
      "x.ts",
    );
    checkout.put(path, now);
    assert.equal(checkout.run()[0], "src/cli/main.ts", path);
    checkout.put(path, long);
    assert.equal(checkout.run()[0], "dist/tipstaff.cjs", path);
  }
});

test("a source that was deleted counts as a change", () => {
  using place = scratch();
  const checkout = makeCheckout(place.path);
  rmSync(join(checkout.path, "src/cli/main.ts"));
  utimesSync(join(checkout.path, "src/cli"), now, now);
  assert.equal(checkout.run()[0], "src/cli/main.ts");
});

test("without a bundle the sources are run; without sources, the bundle", () => {
  using place = scratch();
  const checkout = makeCheckout(place.path);
  rmSync(join(checkout.path, "src"), { recursive: true });
  assert.equal(checkout.run()[0], "dist/tipstaff.cjs");
  rmSync(join(checkout.path, "dist"), { recursive: true });
  assert.equal(checkout.run()[0], "src/cli/main.ts");
});

test("links to it are followed, also from one to the next and out of another directory", () => {
  using place = scratch();
  const checkout = makeCheckout(place.path);
  symlinkSync(join(checkout.path, "bin/tipstaff"), join(place.path, "absolute"));
  symlinkSync("absolute", join(place.path, "relative"));
  symlinkSync(join(checkout.path, "bin/agentkeeper"), join(place.path, "keeper"));
  for (const link of ["absolute", "relative"]) {
    assert.equal(checkout.runAt(join(place.path, link))[0], "dist/tipstaff.cjs", link);
  }
  const [entry, command] = checkout.runAt(join(place.path, "keeper"));
  assert.deepEqual([entry, command], ["dist/tipstaff.cjs", "agentkeeper"]);
});

test("agent-status finds its own bundle and its own sources the same way", () => {
  using place = scratch();
  const checkout = makeCheckout(place.path);
  const executable = join(checkout.path, "bin/agent-status");
  assert.deepEqual(checkout.runAt(executable, "list", "two words"), [
    "dist/agent-status.cjs",
    "list",
    "two words",
  ]);
  symlinkSync(executable, join(place.path, "linked"));
  assert.equal(checkout.runAt(join(place.path, "linked"))[0], "dist/agent-status.cjs");
  checkout.put("src/wire/status-file/x.ts", now);
  assert.equal(checkout.runAt(executable)[0], "src/agent-status/main.ts");
});

test("without a Node, the launcher names the directory to run npm ci in", () => {
  using place = scratch();
  const checkout = makeCheckout(place.path);
  rmSync(join(checkout.path, "node_modules"), { recursive: true });
  for (const name of ["tipstaff", "agent-status"]) {
    const { status, stderr } = spawnSync(`bin/${name}`, [], {
      cwd: checkout.path,
      env: { PATH: place.path },
      encoding: "utf8",
    });
    assert.equal(status, 1);
    assert.ok(stderr.endsWith(`run npm ci in ${checkout.path}\n`), stderr);
  }
});

type Checkout = {
  readonly path: string;
  readonly put: (path: string, at: Date) => void;
  /** What Node would be given: the entry, below the checkout, then the words. */
  readonly run: (...words: readonly string[]) => readonly string[];
  readonly runAt: (executable: string, ...words: readonly string[]) => readonly string[];
};

/** Only the launchers are real. Node is a script that says what it was given. */
function makeCheckout(directory: string): Checkout {
  const path = join(directory, "a checkout");
  const put = (name: string, at: Date): void => {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
    // Folders are looked at as well, and have just changed.
    for (let one = file; one.startsWith(join(path, "src")); one = dirname(one)) {
      utimesSync(one, one === file ? at : long, one === file ? at : long);
    }
    if (!name.startsWith("src")) utimesSync(file, at, at);
  };
  put("src/cli/main.ts", long);
  put("dist/tipstaff.cjs", lately);
  put("dist/agent-status.cjs", lately);
  mkdirSync(join(path, "bin"));
  for (const name of ["tipstaff", "agentkeeper", "agent-status"]) {
    copyFileSync(join(root, "bin", name), join(path, "bin", name));
  }
  const node = join(path, "node_modules/.bin/node");
  mkdirSync(dirname(node), { recursive: true });
  writeFileSync(node, '#!/bin/sh\nshift\nprintf "%s\\n" "$@"\n');
  chmodSync(node, 0o755);
  const runAt: Checkout["runAt"] = (executable, ...words) => {
    const { TIPSTAFF_NODE: _, ...env } = process.env;
    const { stdout, stderr } = spawnSync(executable, words, { env, encoding: "utf8" });
    assert.equal(stderr, "");
    const [entry = "", ...rest] = stdout.trimEnd().split("\n");
    return [relative(path, entry), ...rest];
  };
  return { path, put, run: (...words) => runAt(join(path, "bin/tipstaff"), ...words), runAt };
}

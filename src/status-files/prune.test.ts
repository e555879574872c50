import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { type Lifecycle, printTimestamp } from "../wire/status-file/index.ts";
import { prune, writeStatusFile } from "./index.ts";
import { findCandidates, removeUnchanged } from "./prune.ts";

const nowMs = Date.UTC(2026, 5, 20, 16, 45);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function write(directory: string, id: string, lifecycle: Lifecycle, ageMs: number): void {
  writeStatusFile(directory, {
    schema_version: "agent-status/v1alpha1",
    agent_id: id,
    agent_name: "n",
    runtime: { lifecycle, updated_at: printTimestamp(nowMs - ageMs) },
  });
}

/** The set of TV-31. */
function writeAll(directory: string): void {
  write(directory, "running-3d", "running", 3 * dayMs);
  write(directory, "stopped-2d", "stopped", 2 * dayMs);
  write(directory, "running-2d", "running", 2 * dayMs);
  write(directory, "stopped-1h", "stopped", hourMs);
  write(directory, "running-1h", "running", hourMs);
  write(directory, "fresh", "running", 0);
  writeFileSync(join(directory, "invalid.json"), "{bad");
}

function idsOf(paths: readonly string[], directory: string): readonly string[] {
  return paths.map((path) => path.slice(directory.length + 1, -".json".length));
}

test("[AS-54] [AS-65] [AS-68] [AS-69] [TV-31] what is old and stale or stopped goes, newest first, and nothing else", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  writeAll(path);
  const removed = idsOf(prune(path, { nowMs }), path);
  assert.deepEqual(removed, ["running-2d", "stopped-2d", "running-3d"]);
  assert.deepEqual(readdirSync(path), [
    "fresh.json",
    "invalid.json",
    "running-1h.json",
    "stopped-1h.json",
  ]);
  assert.deepEqual(prune(path, { nowMs }), []);
});

test("[AS-65] exactly as old as the limit is not too old", async () => {
  await using scratch = await temporaryDirectory();
  write(scratch.path, "a", "running", dayMs);
  assert.deepEqual(prune(scratch.path, { nowMs }), []);
  assert.equal(prune(scratch.path, { nowMs: nowMs + 1 }).length, 1);
});

test("[AS-67] [TV-32] who keeps what is stopped keeps all of it", async () => {
  await using scratch = await temporaryDirectory();
  writeAll(scratch.path);
  const removed = prune(scratch.path, { nowMs, keepStopped: true });
  assert.deepEqual(idsOf(removed, scratch.path), ["running-2d", "running-3d"]);
});

test("[AS-66] [TV-33] where nothing becomes stale only what is stopped goes", async () => {
  await using scratch = await temporaryDirectory();
  writeAll(scratch.path);
  const removed = prune(scratch.path, { nowMs, staleAfterMs: 10_000_000_000 });
  assert.deepEqual(idsOf(removed, scratch.path), ["stopped-2d"]);
});

test("[AS-68] a directory that is not there has nothing to prune", () => {
  assert.deepEqual(prune("/nowhere/at/all", { invalid: true, tempFiles: true }), []);
});

test("a dry run says the same and removes nothing", async () => {
  await using scratch = await temporaryDirectory();
  writeAll(scratch.path);
  const before = readdirSync(scratch.path);
  const told = prune(scratch.path, { nowMs, dryRun: true });
  assert.deepEqual(readdirSync(scratch.path), before);
  assert.deepEqual(told, prune(scratch.path, { nowMs }));
});

test("[AS-70] of a link the link goes, and what it leads to stays", async () => {
  await using scratch = await temporaryDirectory();
  const directory = join(scratch.path, "status");
  write(scratch.path, "aim", "stopped", 2 * dayMs);
  mkdirSync(directory);
  symlinkSync("../aim.json", join(directory, "aim.json"));
  assert.deepEqual(prune(directory, { nowMs }), [join(directory, "aim.json")]);
  assert.deepEqual(readdirSync(directory), []);
  assert.deepEqual(readdirSync(scratch.path), ["aim.json", "status"]);
});

test("[AS-70] a file that is gone already counts as removed", async () => {
  await using scratch = await temporaryDirectory();
  write(scratch.path, "a", "stopped", 2 * dayMs);
  const [candidate] = findCandidates(scratch.path, { nowMs });
  assert(candidate);
  unlinkSync(candidate.path);
  assert.equal(removeUnchanged(candidate), true);
});

test("[AS-71] a file that was written again after it was judged stays", async () => {
  await using scratch = await temporaryDirectory();
  for (const id of ["back", "gone"]) write(scratch.path, id, "running", 2 * dayMs);
  const candidates = findCandidates(scratch.path, { nowMs });
  write(scratch.path, "back", "running", 2 * dayMs);
  assert.deepEqual(candidates.map(removeUnchanged), [false, true]);
  assert.deepEqual(readdirSync(scratch.path), ["back.json"]);
});

test("[AS-69] files that are no record go when asked, if nobody has touched them of late", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  const at = (name: string): string => join(path, name);
  const now = Date.now();
  writeFileSync(at("bad.json"), "{bad");
  writeFileSync(at("bytes.json"), Buffer.from([0xff]));
  writeFileSync(at("arr.json"), "[]");
  for (const name of ["bad", "bytes", "arr"]) {
    utimesSync(at(`${name}.json`), (now - 61_000) / 1000, (now - 61_000) / 1000);
  }
  symlinkSync("nowhere", at("dangling.json"));
  writeFileSync(at("new.json"), "{bad");
  mkdirSync(at("directory.json"));
  execFileSync("mkfifo", [at("pipe.json")]);
  assert.deepEqual(prune(path), []);
  assert.deepEqual(prune(path, { invalid: true }), [
    at("arr.json"),
    at("bad.json"),
    at("bytes.json"),
  ]);
  const later = prune(path, { invalid: true, nowMs: now + 120_000 });
  assert.deepEqual(later, [at("dangling.json"), at("new.json")]);
  assert.deepEqual(readdirSync(path), ["directory.json", "pipe.json"]);
});

test("[AS-69] what dead writers left goes when asked, and what a writer is at now stays", async () => {
  await using scratch = await temporaryDirectory();
  const { path } = scratch;
  const at = (name: string): string => join(path, name);
  const old = (Date.now() - 61_000) / 1000;
  for (const name of [".a.json.abcdefgh.tmp", ".b.json.12345678.tmp", "notes.tmp", ".x.tmp"]) {
    writeFileSync(at(name), "");
    if (!name.startsWith(".b")) utimesSync(at(name), old, old);
  }
  assert.deepEqual(prune(path), []);
  assert.deepEqual(prune(path, { tempFiles: true }), [at(".a.json.abcdefgh.tmp")]);
  assert.deepEqual(readdirSync(path), [".b.json.12345678.tmp", ".x.tmp", "notes.tmp"]);
});

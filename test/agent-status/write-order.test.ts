/**
 * What is asked of the system to write a status file, in which order. No reader can tell whether a file was
 * on disk before it took its name, so the calls themselves are looked at, in the way each of them is made.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { before, test } from "node:test";
import { scratch } from "../e2e/processes.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = fs.constants;
const calls: string[] = [];

/** Notes each call and then makes it. Whoever imports these functions from now on has the noting ones. */
function listen(): void {
  const { openSync, writeFileSync, fsyncSync, fsync, closeSync, renameSync } = fs;
  Object.assign(fs, {
    // Node's own loader comes this way, too.
    openSync: (path: fs.PathLike, flags: fs.OpenMode, mode = 0o666) => {
      calls.push(`open ${flags} ${mode.toString(8)} ${shapeOf(path)}`);
      return openSync(path, flags, mode);
    },
    writeFileSync: (file: number, bytes: Uint8Array) => {
      calls.push(`write ${bytes.length}`);
      writeFileSync(file, bytes);
    },
    fsyncSync: (descriptor: number) => {
      calls.push("sync");
      fsyncSync(descriptor);
    },
    fsync: (descriptor: number, done: (error: Error | null) => void) => {
      fsync(descriptor, (error) => {
        calls.push("sync");
        done(error);
      });
    },
    closeSync: (descriptor: number) => {
      calls.push("close");
      closeSync(descriptor);
    },
    renameSync: (from: string, to: string) => {
      calls.push(`rename ${shapeOf(from)} ${shapeOf(to)}`);
      renameSync(from, to);
    },
  });
  syncBuiltinESMExports();
}

function shapeOf(path: fs.PathLike): string {
  return basename(String(path)).replace(/\.[0-9a-f]{8}\.tmp$/, ".*.tmp");
}

before(listen);

for (const way of ["at once", "in the background"]) {
  test(`[AS-12] ${way}: a new file of one's own, all of it written and on disk, closed, then renamed`, async () => {
    // Only now, so that it takes what is listened to.
    const { writeStatusFile, writeStatusFileInBackground } = await import(
      "../../src/status-files/index.ts"
    );
    using place = scratch();
    const record = {
      schema_version: "agent-status/v1alpha1",
      agent_id: "a",
      agent_name: "n",
      runtime: { lifecycle: "running", updated_at: "2026-06-20T16:50:00Z" },
    } as const;
    calls.length = 0;
    if (way === "at once") writeStatusFile(place.path, record);
    else await writeStatusFileInBackground(place.path, record);
    assert.deepEqual(calls, [
      `open ${O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW} 600 .a.json.*.tmp`,
      `write ${fs.statSync(join(place.path, "a.json")).size}`,
      "sync",
      "close",
      "rename .a.json.*.tmp a.json",
    ]);
  });
}

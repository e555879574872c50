import assert from "node:assert/strict";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { DirectoryEvents } from "./events.ts";

test("a directory behind one that may not be opened is no news until it may", async () => {
  await using scratch = await temporaryDirectory();
  const locked = join(scratch.path, "locked");
  mkdirSync(join(locked, "status"), { recursive: true });
  chmodSync(scratch.path, 0o755);
  chmodSync(locked, 0);
  using events = unprivileged(() => new DirectoryEvents(join(locked, "status")));
  unprivileged(() => {
    events.take();
    assert.equal(events.hasNews, false, "it would be looked at on and on");
    events.check();
    assert.equal(events.hasNews, false);
    assert.equal(events.isReliable, false, "nothing tells when that changes");
  });
  chmodSync(locked, 0o755);
  events.check();
  assert.equal(events.hasNews, true);
  events.take();
  assert.equal(events.isReliable, true);
});

/** Who may do everything is not stopped by anything. */
function unprivileged<Value>(doing: () => Value): Value {
  if (process.getuid?.() !== 0) return doing();
  process.seteuid?.(65_534);
  try {
    return doing();
  } finally {
    process.seteuid?.(0);
  }
}

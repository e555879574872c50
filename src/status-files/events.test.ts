import assert from "node:assert/strict";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../testing/temporary.ts";
import { unprivileged } from "../testing/unprivileged.ts";
import { DirectoryEvents } from "./events.ts";

test("a directory behind one that may not be opened is no news until it may", async () => {
  await using scratch = await temporaryDirectory();
  const locked = join(scratch.path, "locked");
  mkdirSync(join(locked, "status"), { recursive: true });
  chmodSync(locked, 0);
  const open = (): DirectoryEvents => new DirectoryEvents(join(locked, "status"));
  using events = await unprivileged(scratch.path, open);
  await unprivileged(scratch.path, () => {
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

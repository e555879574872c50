/** How long a start takes: by itself, for whatever else the machine does is no work of ours. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fill } from "./fill.ts";
import { Daemon, scratch, tipstaff } from "./processes.ts";

test("20,000 entries add less than half a second to a start", async () => {
  using directory = scratch();
  const empty = join(directory.path, "empty");
  const full = join(directory.path, "full");
  await fill(full, 20_000);
  // On a busy machine every start takes long now and then; the fastest of a few tells.
  let fastest = { empty: Number.POSITIVE_INFINITY, full: Number.POSITIVE_INFINITY };
  for (let attempt = 0; attempt < 3 || fastest.full - fastest.empty >= 500; attempt += 1) {
    assert(attempt < 8, `it takes ${fastest.full} ms, and ${fastest.empty} ms with an empty log`);
    fastest = {
      empty: Math.min(fastest.empty, await startMs(empty)),
      full: Math.min(fastest.full, await startMs(full)),
    };
  }
  const { stdout } = await tipstaff("doctor", "--data-dir", full);
  assert.match(stdout, /^no check failed: 20,0\d\d entries/m);
});

async function startMs(dataDirectory: string): Promise<number> {
  const startedMs = performance.now();
  await using _daemon = await Daemon.start({ dataDirectory });
  return performance.now() - startedMs;
}

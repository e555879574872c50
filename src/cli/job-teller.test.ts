import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

/** What a process that has a teller, and no terminal, writes. */
function written(statement: string): readonly string[] {
  const from = (file: string): string => JSON.stringify(join(import.meta.dirname, file));
  const program = `
    import { JobTeller } from ${from("job-teller.ts")};
    import { daemonIsAway, lullOf } from ${from("job-words.ts")};
    const teller = new JobTeller({ agent: "painter", jobId: "job_1" }, "lines");
    ${statement}`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program]);
  return String(stdout).trimEnd().split("\n");
}

test("in a pipe a worker that stays away is told once, and again if it was back in between", () => {
  const lines = written(`
    const job = { agent: "painter", state: "running", orphanedUntilMs: 60_000 };
    for (const nowMs of [0, 2_000, 4_000]) teller.explain(lullOf(job, nowMs));
    teller.explain("");
    teller.explain(lullOf(job, 20_000));`);
  assert.deepEqual(lines, [
    "painter job_1",
    "  its worker is away, and has 60 s to come back",
    "  its worker is away, and has 40 s to come back",
  ]);
});

test("in a pipe a daemon that was away is told to be back", () => {
  const lines = written(`
    for (const lull of [daemonIsAway, daemonIsAway, "", daemonIsAway, "waits for painter"]) {
      teller.explain(lull);
    }`);
  assert.deepEqual(lines, [
    "painter job_1",
    "  the daemon is away; waiting for it",
    "  the daemon is back",
    "  the daemon is away; waiting for it",
    "  the daemon is back",
    "  waits for painter",
  ]);
});

test("the time of a job that is cancelled counts from its start, also if its last event is older", () => {
  const lines = written(`
    const atMs = Date.now() - 60_000;
    teller.take({ kind: "x", body: {}, view: undefined, atMs }, {});
    teller.leave("cancelled");`);
  assert.match(lines.at(-1) ?? "", /^✗ cancelled after (1 min|60(\.\d)? s)/);
});

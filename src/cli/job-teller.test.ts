import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

/** What a process that has a teller, and no terminal, writes. */
function written(statement: string): readonly string[] {
  const from = (file: string): string => JSON.stringify(join(import.meta.dirname, file));
  const program = `
    import { JobTeller } from ${from("job-teller.ts")};
    import { lullOf } from ${from("job-words.ts")};
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

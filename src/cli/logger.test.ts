import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

/** What a process that has this logger writes. */
function written(format: string, statement: string): readonly string[] {
  const program = `
    import { linesTo, makeLogger } from ${JSON.stringify(join(import.meta.dirname, "logger.ts"))};
    const logger = makeLogger(${JSON.stringify(format)});
    const lines = linesTo(logger);
    ${statement}`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program]);
  return String(stderr).trimEnd().split("\n");
}

const failing = `
  lines.error("agent fails failed in job_1", { jobId: "job_1", try: 2, error: new Error("boom") });`;

test("where an agent failed is in the log for people, and what a door warns of is one line", () => {
  const [said = "", frame = ""] = written("text", failing);
  assert.match(said, /^\d\d:\d\d:\d\d error agent fails failed in job_1: boom try=2$/);
  assert.match(frame, /^ {4}at .*eval/);
  const warned = written("text", 'logger.warn({ err: new Error("taken") }, "no HTTP");');
  assert.equal(warned.length, 1);
  assert.match(warned[0] ?? "", /^\d\d:\d\d:\d\d warn no HTTP: taken$/);
});

test("the log for machines has what the runtime says in fields", () => {
  const [said = ""] = written("json", failing);
  const { level, msg, jobId, err } = JSON.parse(said);
  assert.deepEqual([level, msg, jobId], ["error", "agent fails failed in job_1", "job_1"]);
  assert.match(err.stack, /^Error: boom\n {4}at /);
});

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

test("what an agent says in fields is in its line, whatever the message has in it", () => {
  const of = '{ jobId: "job_1", agent: "do", workerId: "w", step: "one", status: "do", empty: "" }';
  const [said = ""] = written("text", `lines.info("step done of job_1", ${of});`);
  assert.match(
    said,
    /^\S+ info step done of job_1 agent="do" workerId="w" step="one" status="do" empty=""$/,
  );
});

test("no field of an agent's takes the place of one of ours", () => {
  const hello =
    'lines.info("hello", { jobId: "job_1", time: 5, level: "fatal", msg: "x", err: 1 });';
  const [forPeople = ""] = written("text", hello);
  assert.match(
    forPeople,
    /^\d\d:\d\d:\d\d info hello jobId="job_1" time=5 level="fatal" msg="x" err=1$/,
  );
  const [forMachines = ""] = written("json", hello);
  const { time, ...line } = JSON.parse(forMachines);
  assert.match(time, /^\d{4}-.*Z$/);
  assert.deepEqual(line, {
    level: "info",
    jobId: "job_1",
    fields: { time: 5, level: "fatal", msg: "x", err: 1 },
    msg: "hello",
  });
});

test("a cause that is no error is in the log as it is", () => {
  const thrown = ['"just a text"', "{ status: 503 }", "null"];
  const lines = written(
    "text",
    thrown.map((it) => `lines.warn("boom", { error: ${it} });`).join(""),
  );
  assert.deepEqual(
    lines.map((line) => line.slice("00:00:00 ".length)),
    ["warn boom: just a text", 'warn boom: {"status":503}', "warn boom: null"],
  );
});

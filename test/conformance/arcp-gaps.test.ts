/**
 * What ARCP asks for and is not met, or not tried. Each of these fails the day it is: then its row in `arcp.ts` loses
 * its note, and the test becomes one of what is so. Others stand beside what they are about.
 */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { commands } from "../../src/cli/table.ts";
import { settle } from "../../src/client/arcp/options.ts";
import { limits as coreLimits } from "../../src/core/limits.ts";
import { limits as doorLimits } from "../../src/doors/arcp/index.ts";
import { SqliteLog } from "../../src/log/index.ts";
import { SteadyClock } from "../../src/plane/index.ts";
import { DoorScene } from "../../src/testing/arcp-door.ts";
import { HeldLog } from "../../src/testing/held-log.ts";
import { withPuppet } from "../../src/testing/puppet.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { isSettled } from "../../src/testing/test-plane.ts";
import { vectors } from "./arcp.ts";

test("[ARCP-78] NOT MET: clients acknowledge by themselves unless they are told not to", () => {
  assert.notEqual(settle("ws://127.0.0.1/arcp", { token: "t" }).ackPace, undefined);
});

test("[ARCP-145] NOT MET: asking whether something is allowed answers with a promise", async () => {
  const { scene, puppet } = await withPuppet();
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet", { lease_request: { "tool.call": ["a"] } });
  const answer = puppet.job().authorize("tool.call", "a");
  assert(answer instanceof Promise);
  await answer;
});

test("[ARCP-152] NOT MET: a wall clock that is set forward ends leases early", (context) => {
  const clock = new SteadyClock();
  const before = clock.nowMs();
  const wall = Date.now();
  context.mock.method(Date, "now", () => wall + 3_600_000);
  assert(clock.nowMs() - before >= 3_599_000);
});

test("[ARCP-194] NOT MET: our files have entries of a log, not frames in a table that other runtimes replay", async () => {
  await using scratch = await temporaryDirectory();
  {
    await using log = SqliteLog.open(scratch.path);
    await using scene = await DoorScene.open({ log });
    await scene.hello();
  }
  const files = globSync(join(scratch.path, "log.db"));
  assert(files.length > 0);
  for (const file of files) {
    const database = new DatabaseSync(file, { readOnly: true });
    const columns = database.prepare("SELECT name FROM pragma_table_info('events')").all();
    const names = columns.map(({ name }) => name);
    database.close();
    assert(!(names.includes("raw") && names.includes("event_seq")), names.join(" "));
  }
});

test("[ARCP-202] NOT MET: what an agent says is on its way to the log when its call resolves, not yet in it", async () => {
  const log = new HeldLog();
  const { scene, puppet } = await withPuppet({ log });
  await using _ = scene;
  const peer = await scene.hello();
  await peer.submit("puppet");
  log.hold();
  assert(await isSettled(puppet.job().thought("one")));
  assert.deepEqual(peer.story, ["1 status running"]);
  await log.letAllThrough();
});

test("[ARCP-203] NOT MET: what can be resumed from, and how long ended jobs are remembered, is more than in the table", () => {
  assert.notEqual(coreLimits.journalEventsMax, 10_000);
  assert.notEqual(coreLimits.endedJobKeptMs, 3_600_000);
  assert.equal(coreLimits.endedJobsMax, 1_000);
  assert.equal(doorLimits.jobsOfSessionMax, 100);
  assert.equal(coreLimits.delegationDepthMax, 8);
});

test("[ARCP-223] NOT MET: serve keeps what it knows in a directory, not in a file", () => {
  const serve = commands.find(({ name }) => name === "arcp serve");
  assert.equal(serve?.flags.find(({ name }) => name === "db")?.value, "directory");
});

test("[ARCP-235] NOT MET and [ARCP-236] NOT MET: nothing here runs the TypeScript SDK", () => {
  assert.deepEqual(globSync("test/interop/*typescript*"), []);
});

test("[PYA-5] every vector has its proof, and none is noted as not met", () => {
  const open = vectors.filter(({ provenBy, notMet }) => provenBy.length === 0 || notMet);
  assert.deepEqual(open, []);
});

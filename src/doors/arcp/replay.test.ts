import assert from "node:assert/strict";
import { test } from "node:test";
import type { Handler } from "../../arcp-context.ts";
import { type Command, capture, jobId, limits, printDecimal } from "../../core/index.ts";
import { LogReader, SqliteLog } from "../../log/index.ts";
import { DoorScene, type Peer } from "../../testing/arcp-door.ts";
import {
  endJob,
  openSession,
  reserve,
  settle,
  startJob,
  submitJob,
} from "../../testing/commands.ts";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { test as me, openPlane, turns } from "../../testing/test-plane.ts";
import { costInLog, replayJob, replaySession } from "./replay.ts";

const echo: Handler = async (input, context) => {
  await context.log("info", "echo started");
  return { echoed: input };
};

const poet: Handler = async (_, context) => {
  const result = await context.streamResult();
  await result.write("roses are ");
  await result.write("red");
  return await result.finalize();
};

async function replayed(directory: string, sessionId: string, afterEventSeq = 0) {
  using log = LogReader.open(directory);
  const frames = [];
  for await (const { text } of replaySession(log, sessionId, { afterEventSeq })) {
    frames.push(JSON.parse(text));
  }
  return frames;
}

function numbered(peer: Peer) {
  return peer.told.filter(({ event_seq }) => event_seq !== undefined);
}

test("[ARCP-227] the log tells every session again what it was told, while its runtime goes on", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await DoorScene.open({ log });
  scene.agent("echo", echo);
  scene.agent("poet", poet);
  const ada = await scene.hello();
  const { job_id } = await ada.submit("echo", { input: { hi: 1 } });
  await ada.send("job.submit", { agent: "nobody" });
  await ada.submit("poet");
  const plain = await scene.hello({ features: [] });
  await plain.submit("poet");
  const watching = await scene.hello();
  await watching.ask("job.subscribe", { job_id: job_id ?? "", history: true });
  await turns(20);
  assert.match(ada.story.join(), /error AGENT_NOT_AVAILABLE/);
  assert.match(plain.story.join(), /result "roses are red"/);
  assert.equal(watching.story.length, 3);
  for (const peer of [ada, plain, watching]) {
    assert.deepEqual(await replayed(scratch.path, peer.sessionId), numbered(peer));
    assert.deepEqual(await replayed(scratch.path, peer.sessionId, 2), numbered(peer).slice(2));
  }
  assert.deepEqual(await replayed(scratch.path, "ses_nobody"), []);
});

test("[ARCP-227] what was acknowledged, and a session that is over, are still told by the log", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await DoorScene.open({ log, resumeWindowMs: 1_000 });
  const chatter: Handler = async (_, context) => {
    for (let count = 0; count < 1_100; count += 1) await context.log("info", `line ${count}`);
  };
  scene.agent("chatter", chatter);
  const peer = await scene.hello();
  await peer.submit("chatter");
  for (let turn = 0; turn < 2_000 && peer.of("job.result").length === 0; turn += 1) await turns(1);
  await peer.send("session.ack", { last_processed_seq: 1_102 });
  await turns(6);
  assert.equal(
    scene.plane.peek(({ sessions }) => [...sessions.acknowledged.values()].length),
    1,
  );
  await peer.drop();
  await scene.clock.pass(2_000);
  scene.plane.tick();
  await turns(6);
  assert.equal(
    scene.plane.peek(({ sessions }) => sessions.byId.size),
    0,
  );
  assert.deepEqual(await replayed(scratch.path, peer.sessionId), numbered(peer));
});

test("[ARCP-227] a log that was cut tells what came after, under the same numbers", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await DoorScene.open({ log });
  scene.agent("echo", echo);
  const peer = await scene.hello();
  await peer.submit("echo");
  await turns(6);
  for (let count = 0; count < 2; count += 1) {
    const sequence = scene.plane.lastSequence;
    await log.saveSnapshot({ sequence, sections: scene.plane.peek(capture) });
    await peer.submit("echo");
    await turns(6);
  }
  await log.cut({ beforeMs: Number.POSITIVE_INFINITY, bytesMax: 0 });
  assert(log.oldestSequence > 1);
  const frames = await replayed(scratch.path, peer.sessionId);
  assert(frames.length > 0);
  assert.deepEqual(frames, numbered(peer).slice(-frames.length));
  assert.deepEqual(frames.at(-1), numbered(peer).at(-1));
});

test("the log tells what a job said, and how it ended", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await DoorScene.open({ log });
  scene.agent("echo", echo);
  const peer = await scene.hello();
  const { job_id = "" } = await peer.submit("echo", { input: 7 });
  await turns(6);
  using reader = LogReader.open(scratch.path);
  const told = [];
  for await (const part of replayJob(reader, job_id)) {
    told.push("said" in part ? { type: part.said.type, ...JSON.parse(part.said.payload) } : part);
  }
  const [accepted, ...said] = told;
  assert.equal(accepted.accepted.id, job_id);
  assert.deepEqual(
    said,
    numbered(peer).map(({ type, payload }) => ({ type, ...payload })),
  );
});

test("the log tells what a job has cost with its children: without a snapshot, with one, and after both are forgotten", async () => {
  await using scratch = await temporaryDirectory();
  await using log = SqliteLog.open(scratch.path);
  await using scene = await openPlane({ log });
  const { plane, clock } = scene;
  const run = async (...commands: readonly Command[]): Promise<void> => {
    for (const command of commands) {
      const { refusal } = await plane.submit(command, me, () => undefined);
      assert.equal(refusal, undefined);
    }
  };
  const takeSnapshot = async (): Promise<void> =>
    await log.saveSnapshot({ sequence: plane.lastSequence, sections: plane.peek(capture) });
  const capabilities = { "cost.budget": ["USD:1.00"], "agent.delegate": ["*"] };
  const child = { parentId: jobId("job_1"), delegateId: "d" };
  await run(openSession("ann"), submitJob("job_1", "ann", { capabilities }), startJob("job_1"));
  await run(submitJob("job_2", "ann", child), startJob("job_2"));
  await run(reserve("job_1", "r"), settle("job_1", "r", "USD:0.01"));
  await run(reserve("job_2", "r", "USD:0.50"), settle("job_2", "r", "USD:0.25"));
  await run(endJob("job_2"), endJob("job_1"));
  const whole = ["0.26 = 0.01 + 0.25 of 1.00 USD"];
  assert.deepEqual(await costs(scratch.path, "job_1"), whole);
  await takeSnapshot();
  assert.deepEqual(await costs(scratch.path, "job_1"), whole);
  await clock.pass(limits.endedJobKeptMs + 1, 3_600_000);
  plane.tick();
  await turns(20);
  const kept = plane.peek(({ jobs }) => jobs.byId.size);
  assert.equal(kept, 0);
  assert.deepEqual(await costs(scratch.path, "job_1"), whole);
  await takeSnapshot();
  assert.deepEqual(await costs(scratch.path, "job_1"), whole);
  assert.deepEqual(await costs(scratch.path, "job_nobody"), []);
});

async function costs(directory: string, id: string): Promise<readonly string[]> {
  using log = LogReader.open(directory);
  return (await costInLog(log, id)).map(({ currency, total, own, children, cap }) => {
    const [all, itself, below, most] = [total, own, children, cap].map((one) =>
      one ? printDecimal(one) : "?",
    );
    return `${all} = ${itself} + ${below} of ${most} ${currency}`;
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { emit, endJob, openSession, startJob, submitJob } from "../testing/commands.ts";
import { test as caller, openPlane } from "../testing/test-plane.ts";

test("what is tapped comes in order, and before any answer that may have seen it", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  const heard: string[] = [];
  using _tap = plane.tap((entries) => heard.push(...entries.map(({ event }) => event.type)));
  const answered = plane.submit(openSession("ada"), caller, () => undefined).then(() => [...heard]);
  plane.carryOut(submitJob("job_1", "ada"), caller, () => undefined);
  assert.deepEqual(heard, [], "nothing is durable yet");
  assert.deepEqual(await answered, ["session.opened", "job.accepted"]);
});

test("what is carried out is answered at once, and what was tapped until then no more", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  const heard: string[] = [];
  const tap = plane.tap((entries) => heard.push(...entries.map(({ event }) => event.type)));
  const outcome = plane.carryOut(openSession("ada"), caller, ({ sessions }) => sessions.byId.size);
  assert.deepEqual(outcome, { value: 1 });
  const again = plane.carryOut(openSession("ada"), caller, () => undefined);
  assert.equal(again.refusal?.code, "key_reused");
  tap[Symbol.dispose]();
  await plane.settled();
  assert.deepEqual(heard, []);
});

test("a stream has what happened to one job, and nothing that is not durable", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  const commands = [
    openSession("ada"),
    submitJob("job_1", "ada"),
    submitJob("job_2", "ada"),
    startJob("job_1"),
    emit("job_1"),
    endJob("job_1"),
  ];
  const done = commands.map((command) => plane.submit(command, caller, () => undefined));
  const told = async (afterSequence = 0): Promise<readonly string[]> => {
    const types: string[] = [];
    for await (const { event } of plane.stream("job/job_1", { afterSequence })) {
      types.push(event.type);
    }
    return types;
  };
  assert.deepEqual(await told(), []);
  await Promise.all(done);
  const all = ["job.accepted", "job.started", "job.emitted", "job.ended"];
  assert.deepEqual(await told(), all);
  assert.deepEqual(await told(plane.durableSequence - 1), ["job.ended"]);
});

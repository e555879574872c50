import assert from "node:assert/strict";
import { test } from "node:test";
import { jobId, sessionId } from "../core/index.ts";
import { turns } from "../testing/test-plane.ts";
import { TestRuntime } from "../testing/test-runtime.ts";
import { usualChunk } from "../wire/work/index.ts";
import { Followers } from "./followers.ts";

const job = { id: jobId("job_1"), sessionIds: [sessionId("sess_1")] };
const alone = { id: jobId("job_2"), sessionIds: [] };

test("a job goes at the pace of whoever follows its session or the job itself, while that one does", () => {
  const followers = new Followers();
  const [slow, slower] = [Promise.resolve(), Promise.resolve()];
  assert.equal(followers.paceOf(job), undefined);
  const first = followers.add({ sessionId: sessionId("sess_1") }, { pace: slow });
  assert.equal(followers.paceOf(job), slow);
  const second = followers.add({ sessionId: sessionId("sess_1") }, { pace: slower });
  first[Symbol.dispose]();
  assert.equal(followers.paceOf(job), slower, "a newer connection took the place of the older");
  second[Symbol.dispose]();
  assert.equal(followers.paceOf(job), undefined);
  const own = followers.add({ jobId: alone.id }, { pace: slow });
  assert.equal(followers.paceOf(alone), slow);
  assert.equal(followers.paceOf(job), undefined);
  own[Symbol.dispose]();
  assert.equal(followers.paceOf(alone), undefined);
});

test("a result is cut for the follower that reads the least at once", () => {
  const followers = new Followers();
  assert.equal(followers.chunkOf(job), usualChunk);
  const small = { bytesMax: 1_000, printedBytesMax: 2_000 };
  const pace = undefined;
  followers.add({ sessionId: sessionId("sess_1") }, { pace, chunk: small });
  assert.equal(followers.chunkOf(job), small);
  const smaller = { bytesMax: 10, printedBytesMax: 20 };
  using _ = followers.add({ jobId: job.id }, { pace, chunk: smaller });
  followers.add({ jobId: job.id }, { pace });
  assert.equal(followers.chunkOf(job), smaller);
  assert.equal(followers.chunkOf(alone), usualChunk);
});

test("a job without a session waits for its follower before it emits more", async () => {
  await using scene = await TestRuntime.open();
  const { promise: pace, resolve: catchUp } = Promise.withResolvers<void>();
  const follower: { pace: Promise<void> | undefined } = { pace };
  const said: string[] = [];
  using _agent = scene.runtime.registerAgent("agent", async (_, context) => {
    await context.log("info", "one");
    said.push("one");
  });
  using _follower = scene.runtime.followers.add({ jobId: jobId("job_followed") }, follower);
  const { value } = await scene.runtime.submit({
    jobId: jobId("job_followed"),
    agent: "agent",
    input: "null",
    principal: "ada",
  });
  assert.equal(value?.job.id, "job_followed");
  await turns();
  assert.deepEqual(said, []);
  const ending = scene.runtime.ending(jobId("job_followed"));
  follower.pace = undefined;
  catchUp();
  assert.equal((await ending).status, "success");
  assert.deepEqual(said, ["one"]);
});

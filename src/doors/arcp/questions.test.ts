/** Clients that subscribe to a job see its questions and answer them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobContext } from "../../arcp-context.ts";
import { ARCPClient } from "../../client/arcp/index.ts";
import { DoorScene, type Peer, type SceneOptions, type Told } from "../../testing/arcp-door.ts";
import { waitUntil } from "../../testing/puppet.ts";
import { pairMemoryTransports, type Transport } from "../../transport/index.ts";

const answerType = "x-vendor.runctx.answer";

/** A job that asks, and a peer that was told what. */
async function asked(
  ask: (context: JobContext) => unknown,
  options: Pick<SceneOptions, "mayObserve"> = {},
): Promise<{ scene: DoorScene; peer: Peer; job_id: string; question_id: string }> {
  const scene = await DoorScene.open(options);
  scene.agent("asks", (_, context) => ask(context), { mayRequestScope: true });
  const peer = await scene.hello();
  const { job_id } = (await peer.submit("asks")).payload;
  const [told] = await eventsOf(peer, "x-vendor.runctx.");
  const { question_id, request_id } = bodyOf(told);
  return { scene, peer, job_id, question_id: String(question_id ?? request_id) };
}

async function eventsOf(peer: Peer, prefix: string): Promise<readonly Told[]> {
  const find = (): readonly Told[] =>
    peer.of("job.event").filter(({ payload }) => payload.kind.startsWith(prefix));
  await waitUntil(() => find().length > 0);
  return find();
}

function bodyOf(told: Told | undefined): Readonly<Record<string, unknown>> {
  assert(told);
  return { ...told.payload.body };
}

/** The code of the error, what it was before ARCP's words, and the message. */
function errorOf({ type, payload }: Told): readonly unknown[] {
  assert.equal(type, "x-vendor.runctx.answer_refused");
  return [payload.code, payload.details?.original_code, payload.message];
}

test("those who follow a job are told its question and that it waits; the answer is acknowledged, and the job goes on", async () => {
  const { scene, peer, job_id, question_id } = await asked((context) =>
    context.ask("Which colour?", { choices: ["red", "blue"] }),
  );
  await using _ = scene;
  assert.deepEqual(peer.welcome.payload.capabilities, {
    ...peer.welcome.payload.capabilities,
    [answerType]: {},
  });
  const told = peer.of("job.event").map(({ payload: { kind, body } }) => [kind, { ...body }]);
  const question = { question_id, prompt: "Which colour?", choices: ["red", "blue"] };
  assert.deepEqual(told, [
    ["status", { phase: "running" }],
    ["x-vendor.runctx.question", { ...question, timeout_seconds: 180 }],
    ["status", { phase: "input_required", message: "Which colour?" }],
  ]);
  const answered = await peer.ask(answerType, { job_id, question_id, answer: "blue" });
  assert.equal(answered.type, "x-vendor.runctx.answered");
  const { request_id, ...payload } = answered.payload;
  assert.deepEqual(payload, { job_id, question_id });
  assert.equal(answered.job_id, job_id);
  await waitUntil(() => peer.of("job.result").length > 0);
  assert.equal(peer.of("job.result")[0]?.payload.result, "blue");
  const closed = bodyOf((await eventsOf(peer, "x-vendor.runctx.question_closed"))[0]);
  assert.deepEqual(closed, { question_id, outcome: "answered", by: "ada" });
});

test("a late answer is refused, and learns who was first and when; a repeated one is not a second answer", async () => {
  const { scene, peer, job_id, question_id } = await asked(async (context) => {
    await context.ask("When?");
    await context.ask("And then?");
  });
  await using _ = scene;
  const first = { job_id, question_id, answer: "now", idempotency_key: "k" };
  assert.equal((await peer.ask(answerType, first)).type, "x-vendor.runctx.answered");
  assert.equal((await peer.ask(answerType, first)).type, "x-vendor.runctx.answered");
  const other = await scene.hello();
  const late = await other.ask(answerType, { job_id, question_id, answer: "later" });
  const at = new Date(scene.clock.nowMs()).toISOString();
  assert.deepEqual(errorOf(late), [
    "INVALID_REQUEST",
    "question_closed",
    `question ${question_id} was answered by ada at ${at}`,
  ]);
  const { details, retryable } = late.payload;
  assert.deepEqual(details, {
    original_code: "question_closed",
    outcome: "answered",
    by: "ada",
    at,
  });
  assert.equal(retryable, false);
});

test("a question that was withdrawn says so to whoever answers it then", async () => {
  const patience = new AbortController();
  const { scene, peer, job_id, question_id } = await asked(async (context) => {
    await context.ask("When?", { signal: patience.signal }).catch(() => undefined);
    await context.ask("And then?");
  });
  await using _ = scene;
  patience.abort();
  await eventsOf(peer, "x-vendor.runctx.question_closed");
  const late = await peer.ask(answerType, { job_id, question_id, answer: "now" });
  assert.equal(late.payload.details.original_code, "question_closed");
  const { outcome } = { ...late.payload.details } as { readonly outcome?: string };
  assert.equal(outcome, "withdrawn");
});

test("an answer that is none is refused, and the question stays open", async () => {
  const schema = { type: "object", required: ["copies"], properties: { copies: { minimum: 1 } } };
  const { scene, peer, job_id, question_id } = await asked((context) =>
    context.ask("How many?", { schema }),
  );
  await using _ = scene;
  const invalid = await peer.ask(answerType, { job_id, question_id, answer: { copies: 0 } });
  assert.deepEqual(errorOf(invalid).slice(0, 2), ["INVALID_REQUEST", "answer_invalid"]);
  assert.match(invalid.payload.message, /copies/);
  const pathOf = async (payload: object): Promise<string | undefined> =>
    (await peer.ask(answerType, { ...payload })).payload.details?.path;
  assert.equal(await pathOf({ job_id, question_id }), "payload.answer");
  assert.equal(await pathOf({ job_id, answer: 1 }), "payload.question_id");
  assert.equal(await pathOf({ question_id, answer: 1 }), "payload.job_id");
  assert.equal(
    await pathOf({ job_id, question_id, answer: 1, idempotency_key: 7 }),
    "payload.idempotency_key",
  );
  const answered = await peer.ask(answerType, { job_id, question_id, answer: { copies: 2 } });
  assert.equal(answered.type, "x-vendor.runctx.answered");
  await waitUntil(() => peer.of("job.result").length > 0);
  assert.deepEqual(peer.of("job.result")[0]?.payload.result, { copies: 2 });
});

test("only those who may see a job can answer its questions, and a question belongs to its job", async () => {
  const mayObserve = (principal: string): boolean => principal === "eve";
  const { scene, peer, job_id, question_id } = await asked((context) => context.ask("When?"), {
    mayObserve,
  });
  await using _ = scene;
  const bob = await scene.hello({ token: "of bob" });
  const hidden = await bob.ask(answerType, { job_id, question_id, answer: "now" });
  assert.deepEqual(errorOf(hidden), [
    "INVALID_REQUEST",
    "question_not_found",
    `there is no question ${question_id} of job ${job_id}`,
  ]);
  const other = (await peer.submit("asks")).payload.job_id;
  const wrong = await peer.ask(answerType, { job_id: other, question_id, answer: "now" });
  assert.equal(wrong.payload.details.original_code, "question_not_found");
  const eve = await scene.hello({ token: "of eve" });
  const answered = await eve.ask(answerType, { job_id, question_id, answer: "now" });
  assert.equal(answered.type, "x-vendor.runctx.answered");
  const closed = bodyOf((await eventsOf(peer, "x-vendor.runctx.question_closed"))[0]);
  assert.deepEqual(closed, { question_id, outcome: "answered", by: "eve" });
});

test("a request for a scope is told as one, and granted or denied by its answer", async () => {
  const { scene, peer, job_id, question_id } = await asked((context) =>
    context.requestScope({ reason: "Read the logs?", read: ["logs/**"] }),
  );
  await using _ = scene;
  const [told] = await eventsOf(peer, "x-vendor.runctx.scope_request");
  assert.deepEqual(bodyOf(told), {
    request_id: question_id,
    reason: "Read the logs?",
    read_patterns: ["logs/**"],
    write_prefix: null,
    ttl_seconds: 60,
    mode: "read_only",
    timeout_seconds: 60,
  });
  const status = peer.of("job.event").at(-1)?.payload.body;
  assert.equal(status?.phase, "auth_required");
  const answer = { granted: false, reason: "not those" };
  await peer.ask(answerType, { job_id, question_id, answer });
  await waitUntil(() => peer.of("job.error").length > 0);
  const { code, message, retryable } = peer.of("job.error")[0]?.payload ?? {};
  assert.deepEqual([code, message, retryable], ["PERMISSION_DENIED", "not those", false]);
});

test("tipstaff/arcp answers a question, and says who was first if it was too late", async () => {
  await using scene = await DoorScene.open();
  scene.agent("asks", (_, context) => context.ask("Which title?"));
  const dial = async (): Promise<Transport> => {
    const [ours, theirs] = pairMemoryTransports();
    scene.door.accept(ours);
    return theirs;
  };
  await using client = await ARCPClient.connect(dial, { token: "of ada" });
  const job = await client.submit({ agent: "asks" });
  for await (const { kind, body } of job.events()) {
    if (kind !== "x-vendor.runctx.question") continue;
    const { question_id } = body as { readonly question_id: string };
    await job.answer(question_id, "Yearly");
    await assert.rejects(job.answer(question_id, "Monthly"), /was answered by ada at /);
  }
  assert.equal((await job.done).result, "Yearly");
});

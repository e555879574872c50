import assert from "node:assert/strict";
import { test } from "node:test";
import { jobId } from "../../core/index.ts";
import { askAsJob, openSession, startJob, submitJob } from "../../testing/commands.ts";
import { openTestDoor, type TestDoor } from "../../testing/http-door.ts";
import { test as me, turns } from "../../testing/test-plane.ts";
import type { Question } from "../../wire/api/index.ts";

const nothing = (): void => {};

async function register(to: TestDoor): Promise<string> {
  return (await to.done("registerAgent", { card: { name: "scraper" }, ttlMs: 60_000 })).id;
}

/** A job of ada's that runs. */
async function startWork(to: TestDoor): Promise<void> {
  for (const command of [openSession("ada"), submitJob("work", "ada"), startJob("work")]) {
    await to.plane.submit(command, me, nothing);
  }
}

test("an agent asks, a person answers, and who waits for it is answered at once", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  const wish = { agentId, prompt: "Which?", choices: ["red", "blue"] };
  const waiting = to.done("askQuestion", { ...wish, waitMs: 60_000 }, { key: "colour" });
  await turns();
  const open = await to.done("listQuestions", { state: ["open"] });
  const [question] = open.rows;
  assert(question);
  assert.deepEqual(question.asker, { kind: "agent", id: agentId });
  assert.equal(question.askerName, "scraper");
  assert.equal((await to.done("getOverview", {})).counts.questions, 1);
  await to.done("answerQuestion", { questionId: question.id, answer: "blue", by: "ada" });
  const answered = await waiting;
  assert.equal(answered.state, "answered");
  assert.equal(answered.answer, "blue");
  assert.equal(answered.answeredBy, "ada");
  const again = await to.done("askQuestion", { ...wish, waitMs: 60_000 }, { key: "colour" });
  assert.deepEqual(again, answered, "asked again under the same key, the answer is the same");
});

test("an agent that asks comes first in the list of agents, with its question for callers with the token", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  await to.done("registerAgent", { card: { name: "newer" }, ttlMs: 60_000 });
  const { id } = await to.done("askQuestion", { agentId, prompt: "Which?" });
  await to.done("askQuestion", { agentId, prompt: "And when?" });
  const { rows } = await to.done("listAgents", {});
  assert.deepEqual(
    rows.map(({ card, question }) => [card.name, question?.prompt, question?.openCount]),
    [
      ["scraper", "Which?", 2],
      ["newer", undefined, undefined],
    ],
  );
  assert.equal((await to.done("getAgent", { agentId })).question?.id, id);
  const stranger = { token: null };
  const { rows: bare } = await to.done("listAgents", {}, stranger);
  assert(bare.every(({ question }) => question === undefined));
  assert.equal((await to.done("getAgent", { agentId }, stranger)).question, undefined);
});

test("who answers too late is told the answer that won", async () => {
  await using to = await openTestDoor();
  const { id: questionId } = await to.done("askQuestion", {
    agentId: await register(to),
    prompt: "Name?",
  });
  await to.done("answerQuestion", { questionId, answer: "Ada", by: "ada" }, { key: "first" });
  const again = await to.done("answerQuestion", { questionId, answer: "Ada" }, { key: "first" });
  assert.equal(again.answeredBy, "ada", "a repeated request is no second answer");
  const late = await to.refused("answerQuestion", { questionId, answer: "Bob", by: "bob" });
  assert.equal(late.code, "question_closed");
  assert.match(late.message, /answered by ada at /);
  assert.equal(late.question?.answer, "Ada");
});

test("a schema is checked when it is asked with, and the answer when it is given", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  const bad = await to.refused("askQuestion", {
    agentId,
    prompt: "?",
    schema: { pattern: "(a+)+$" },
  });
  assert.equal(bad.code, "invalid_argument");
  assert.match(bad.message, /^schema: pattern: is not supported here/);
  const both = { agentId, prompt: "?", schema: {}, choices: ["a"] };
  assert.equal((await to.refused("askQuestion", both)).code, "invalid_argument");
  const schema = { type: "object", properties: { size: { type: "integer" } }, required: ["size"] };
  const { id: questionId } = await to.done("askQuestion", { agentId, prompt: "Order?", schema });
  const wrong = await to.refused("answerQuestion", { questionId, answer: { size: "x" } });
  assert.equal(wrong.code, "answer_invalid");
  assert.match(wrong.message, /size: must be a whole number/);
  const right = await to.done("answerQuestion", { questionId, answer: { size: 3 } });
  assert.deepEqual(right.answer, { size: 3 });
  assert.deepEqual(right.schema, schema);
});

test("null may be an answer, and no answer is none", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  const ask = { agentId, prompt: "?", schema: { type: "null" } };
  const { id: questionId } = await to.done("askQuestion", ask);
  const missing = await to.refused("answerQuestion", { questionId, answer: undefined });
  assert.equal(missing.code, "invalid_argument");
  assert.match(missing.message, /answer/);
  const answered = await to.done("answerQuestion", { questionId, answer: null });
  assert.equal(answered.answer, null);
});

test("a withdrawn question is closed, and whoever waits learns it", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  const { id: questionId } = await to.done("askQuestion", { agentId, prompt: "?" }, { key: "k/u" });
  const waiting = to.done("getQuestion", { questionId, waitMs: 60_000 });
  const withdrawn = await to.done("withdrawQuestion", { agentId, key: "k/u" });
  assert.equal(withdrawn.reason, "withdrawn");
  assert.deepEqual(await waiting, withdrawn);
  assert.deepEqual(await to.done("withdrawQuestion", { agentId, key: "k/u" }), withdrawn);
});

test("open questions come first, the one that waits longest before the others", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  const asked: Question[] = [];
  for (const prompt of ["apple", "berry", "cherry", "damson"]) {
    asked.push(await to.done("askQuestion", { agentId, prompt }));
    to.clock.leap(10);
  }
  for (const at of [0, 2]) {
    await to.done("answerQuestion", { questionId: asked[at]?.id ?? "", answer: "x" });
    to.clock.leap(10);
  }
  const prompts = async (input: object): Promise<string> => {
    const { rows } = await to.done("listQuestions", input);
    return rows.map(({ prompt }) => prompt[0]).join("");
  };
  assert.equal(await prompts({}), "bdca");
  assert.equal(await prompts({ sort: "newest" }), "dcba");
  assert.equal(await prompts({ state: ["answered"], sort: "oldest" }), "ac");
  assert.equal(await prompts({ asker: agentId, query: "berry" }), "b");
  assert.equal(await prompts({ asker: "another" }), "");
});

test("a job with an open question waits, in lists, in counts and by itself", async () => {
  await using to = await openTestDoor();
  await startWork(to);
  await to.plane.submit(askAsJob("work", "name", { timeoutMs: 60_000 }), me, nothing);
  await to.plane.submit(askAsJob("work", "age"), me, nothing);
  const { rows, counts } = await to.done("listJobs", { state: ["waiting"] });
  const [job] = rows;
  assert.equal(job?.state, "waiting");
  assert.equal(job.question?.id, "q_name");
  assert.equal(job.question.openCount, 2);
  assert.deepEqual([counts.running, counts.waiting], [0, 1]);
  assert.equal((await to.done("listJobs", { state: ["running"] })).rows.length, 0);
  for (const questionId of ["q_name", "q_age"]) {
    await to.done("answerQuestion", { questionId, answer: "x" });
  }
  const after = await to.done("getJob", { jobId: jobId("work") });
  assert.equal(after.state, "running");
  assert.equal(after.question, undefined);
  assert.equal((await to.done("listJobs", {})).counts.waiting, 0);
});

test("what people are asked and answer is told only to who may see it", async () => {
  await using to = await openTestDoor();
  const { id: questionId } = await to.done("askQuestion", {
    agentId: await register(to),
    prompt: "Which password?",
  });
  for (const name of ["listQuestions", "getQuestion", "answerQuestion"] as const) {
    const input = { questionId, answer: "x" };
    const { code } = await to.refused(
      name,
      name === "listQuestions" ? {} : name === "getQuestion" ? { questionId } : input,
      { token: null },
    );
    assert.equal(code, "token_required", name);
  }
  const bare = await to.done("listEntries", { type: ["question."] }, { token: null });
  assert.doesNotMatch(JSON.stringify(bare), /password/);
  const whole = await to.done("listEntries", { about: questionId });
  assert.match(JSON.stringify(whole), /Which password/);
});

test("questions beyond what a person reads are refused", async () => {
  await using to = await openTestDoor();
  const agentId = await register(to);
  for (const wish of [
    { prompt: "" },
    { prompt: "x".repeat(20_000) },
    { prompt: "?", choices: [] },
    { prompt: "?", choices: Array.from({ length: 51 }, (_, at) => `${at}`) },
    { prompt: "?", timeoutMs: 0 },
    { prompt: "?", timeoutMs: 2_592_000_001 },
  ]) {
    const { code } = await to.refused("askQuestion", { agentId, ...wish });
    assert.equal(code, "invalid_argument", JSON.stringify(wish).slice(0, 60));
  }
});

/**
 * Plays the person. `agent.ts` asks in a process of its own and is answered over HTTP; the jobs of `agents.ts` ask and
 * are answered by the client that submitted them. Of two answers to one question the first one counts.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPClient, type JobHandle } from "tipstaff/arcp";
import { connect, type QuestionInfo, TipstaffError } from "tipstaff/client";
import { ARCPServer } from "tipstaff/runtime";
import { agents } from "./agents.ts";

await using client = await connect();

/** The open question of an agent, once it has asked. */
async function questionOf(name: string): Promise<QuestionInfo> {
  for (;;) {
    for await (const question of client.questions.list({ state: ["open"] })) {
      if (question.askerName === name) return question;
    }
    await sleep(20);
  }
}

const words = [...process.execArgv, join(import.meta.dirname, "agent.ts")];
const agent = spawn(process.execPath, words, { stdio: ["ignore", "inherit", "inherit"] });
const ended = once(agent, "exit");

const first = await questionOf("payer");
await client.questions.answer(first.id, "pay now", { by: "ada" });
const late = await client.questions.answer(first.id, "wait", { by: "bob" }).catch((error) => error);
assert(late instanceof TipstaffError && late.code === "question_closed");
assert.equal(late.question?.answeredBy, "ada");

const second = await questionOf("payer");
const bad = client.questions.answer(second.id, { parts: 100 });
await assert.rejects(bad, { code: "answer_invalid" });
await client.questions.answer(second.id, { parts: 3 });
assert.deepEqual(await ended, [0, null]);

await using server = await ARCPServer.open({ bearer: { "my-token": "you" } });
for (const [name, { handler, ...options }] of Object.entries(agents)) {
  server.registerAgent(name, handler, options);
}
const { url } = await server.listen({ port: 0 });
await using arcp = await ARCPClient.connect(url, { token: "my-token" });

/** Answers each question of a job, and resolves with its result. */
async function answering(job: JobHandle, answer: unknown): Promise<unknown> {
  for await (const { kind, body } of job.events()) {
    const { question_id, request_id } = body as { question_id?: string; request_id?: string };
    if (kind === "x-vendor.runctx.question") await job.answer(question_id ?? "", answer);
    if (kind === "x-vendor.runctx.scope_request") await job.answer(request_id ?? "", answer);
  }
  return (await job.done).result;
}

const paid = await answering(await arcp.submit({ agent: "payer", input: "invoice-42" }), "wait");
assert.deepEqual(paid, { input: "invoice-42", when: "wait" });
const granted = await answering(await arcp.submit({ agent: "reader" }), { granted: true });
assert.deepEqual((granted as { mayRead: unknown }).mayRead, ["invoices/**"]);
const denied = answering(await arcp.submit({ agent: "reader" }), { granted: false, reason: "no" });
await assert.rejects(denied, { code: "PERMISSION_DENIED", message: /no/ });
console.log("an agent and three jobs asked, and each went on with its answer");

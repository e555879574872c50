/** An agent asks people through the client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Client, connect, type QuestionInfo } from "../../src/client/index.ts";
import { until, within } from "../e2e/processes.ts";
import { RestartableDaemon } from "./daemon.ts";
import { openPlane } from "./plane.ts";

const patienceMs = 20_000;

async function firstOpen(client: Client): Promise<QuestionInfo> {
  const found: QuestionInfo[] = [];
  await until(async () => {
    for await (const question of client.questions.list({ state: ["open"] })) found.push(question);
    return found.length > 0;
  }, "a question");
  const [question] = found;
  assert(question);
  return question;
}

test("an agent gets the answer of a person, as text or as what the schema allows", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "scraper" });
  const colour = agent.ask("Which colour?", { choices: ["red", "blue"] });
  const { id, choices } = await firstOpen(client);
  assert.deepEqual(choices, ["red", "blue"]);
  await assert.rejects(client.questions.answer(id, "green"), { code: "answer_invalid" });
  await client.questions.answer(id, "blue", { by: "ada" });
  assert.equal(await colour, "blue");
  assert.equal((await client.questions.get(id)).answeredBy, "ada");

  const size = agent.ask("How many?", { schema: { type: "integer" }, key: "size" });
  await client.questions.answer((await firstOpen(client)).id, 3);
  assert.equal(await size, 3);
  assert.equal(
    await agent.ask("How many?", { schema: { type: "integer" }, key: "size" }),
    3,
    "asked again under its key, it has its answer",
  );
  await assert.rejects(agent.ask("Something else?", { key: "size" }), { code: "key_reused" });
});

test("of two who answer, one wins and the other learns who did", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "scraper" });
  const asking = agent.ask("Name?");
  const { id } = await firstOpen(client);
  const both = await Promise.allSettled(
    ["ada", "bob"].map((by) => client.questions.answer(id, by, { by })),
  );
  const won = both.filter(({ status }) => status === "fulfilled");
  assert.equal(won.length, 1);
  const [lost] = both.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  assert.equal(lost.code, "question_closed");
  assert.equal(lost.question.answer, await asking);
});

test("a question that nobody answers in time rejects, and so does one whose agent leaves", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  const agent = await client.register({ name: "scraper" });
  await assert.rejects(agent.ask("Quick?", { timeoutMs: 20 }), { code: "ask_timeout" });
  const asking = agent.ask("Still there?");
  const { id } = await firstOpen(client);
  const rejected = assert.rejects(asking, { code: "closed" });
  await agent.deregister();
  await rejected;
  assert.equal((await client.questions.get(id)).reason, "asker_ended");
});

test("an aborted signal withdraws the question", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "scraper" });
  const controller = new AbortController();
  const asking = agent.ask("Name?", { signal: controller.signal });
  const { id } = await firstOpen(client);
  controller.abort(new Error("changed my mind"));
  await assert.rejects(asking, /changed my mind/);
  await until(async () => (await client.questions.get(id)).state === "closed", "the withdrawal");
  assert.equal((await client.questions.get(id)).reason, "withdrawn");
});

test("a withdrawal that overtakes its question on the way withdraws it all the same", async (t) => {
  await using plane = await openPlane(t);
  const withdrawn = Promise.withResolvers<void>();
  // The daemon gets the question after it has answered the withdrawal, although its caller is gone by then.
  await using client = await plane.connect({
    fetch: async (url, { signal, ...init }) => {
      const deliver = (): Promise<Response> => plane.daemon.fetch(new Request(url, init));
      if (new URL(url).pathname.endsWith("/questions")) {
        const delivered = withdrawn.promise.then(deliver);
        const gone = new Promise<never>((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
        });
        return await Promise.race([delivered, gone]);
      }
      const response = await deliver();
      if (init.method === "DELETE") withdrawn.resolve();
      return response;
    },
  });
  await using agent = await client.register({ name: "scraper" });
  const controller = new AbortController();
  const asking = agent.ask("Name?", { signal: controller.signal });
  controller.abort(new Error("changed my mind"));
  await assert.rejects(asking, /changed my mind/);
  await using observer = await plane.connect();
  await until(async () => {
    for await (const { state, reason } of observer.questions.list()) {
      if (state === "closed") return reason === "withdrawn";
    }
    return false;
  }, "the withdrawal");
});

test("an agent that waits for an answer gets it although the daemon was killed meanwhile", async () => {
  await using daemon = await RestartableDaemon.start();
  await using client = await connect({ url: daemon.url, token: daemon.token });
  await using agent = await client.register({ name: "scraper", ttlMs: 6_000 });
  const asking = agent.ask("Name?");
  const { id } = await firstOpen(client);
  await daemon.restart();
  assert.equal((await client.questions.get(id)).state, "open");
  await client.questions.answer(id, "Ada");
  assert.equal(await within(patienceMs, asking, "the answer"), "Ada");

  const second = agent.ask("Age?");
  await client.questions.answer((await firstOpen(client)).id, "36");
  await daemon.restart();
  assert.equal(await within(patienceMs, second, "the answer"), "36");
});

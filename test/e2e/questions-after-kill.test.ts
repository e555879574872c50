/** What becomes of a job's questions when the process that runs it is killed, or the runtime, or both are one. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer } from "../../src/arcp-server.ts";
import {
  ARCPClient,
  isARCPError,
  type JobHandle,
  type ReceivedEvent,
} from "../../src/client/arcp/index.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { patienceMs, within } from "./processes.ts";
import { Program } from "./program.ts";

const bearer = { "worker-token": "worker", "ada-token": "ada" };
const token = "ada-token";

/** A runtime that keeps its data, and is killed and started again at the same address. */
class KilledRuntime implements AsyncDisposable {
  readonly url: string;
  readonly #data: string;
  #program: Program;

  static async start(directory: string): Promise<KilledRuntime> {
    const data = join(directory, "data");
    const program = new Program("remote-server.ts", [data]);
    return new KilledRuntime(data, program, await program.line());
  }

  private constructor(data: string, program: Program, url: string) {
    this.#data = data;
    this.#program = program;
    this.url = url;
  }

  async killAndRestart(): Promise<void> {
    await this.#program.kill();
    this.#program = new Program("remote-server.ts", [this.#data, new URL(this.url).port]);
    assert.equal(await this.#program.line(), this.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.kill();
  }
}

/** The questions of one job, as its submitter is told of them. */
class Asked {
  readonly job: JobHandle;
  /** Ids by prompts, in the order in which the questions came. A question that is asked anew would be here twice. */
  readonly told: [prompt: string, id: string][] = [];
  readonly #events: AsyncIterator<ReceivedEvent>;

  constructor(job: JobHandle) {
    this.job = job;
    this.#events = job.events()[Symbol.asyncIterator]();
  }

  /** Resolves when the next attempt of the job waits for the answer to this question. Answers its id. */
  async waitsFor(prompt: string): Promise<string> {
    for (;;) {
      const event = await this.#next();
      assert(event, `the job ended before it waited for ${prompt}`);
      const { view } = event;
      if (view?.kind === "status" && view.message === prompt) break;
    }
    const [, id] = this.told.find(([asked]) => asked === prompt) ?? [];
    return id ?? assert.fail(`${prompt} was not asked`);
  }

  /** What the job made of its answers. */
  async result(): Promise<unknown> {
    while (await this.#next());
    return (await this.job.done).result;
  }

  /** Undefined when there are no more. */
  async #next(): Promise<ReceivedEvent | undefined> {
    const next = within(patienceMs, this.#events.next(), "an event of the job");
    const { value: event, done } = await next;
    if (done === true) return undefined;
    if (event.kind === "x-vendor.runctx.question") {
      const { prompt, question_id } = event.body as { prompt: string; question_id: string };
      this.told.push([prompt, question_id]);
    }
    return event;
  }
}

/** An agent that nobody has offered yet is refused. */
async function submitWhenOffered(client: ARCPClient, agent: string): Promise<Asked> {
  for (;;) {
    try {
      return new Asked(await client.submit({ agent, input: null }));
    } catch (error) {
      assert.equal((error as { code?: string }).code, "AGENT_NOT_AVAILABLE");
      await sleep(20);
    }
  }
}

/** Its job has failed, and whoever answers it learns why it is closed. */
async function assertWithdrawn({ job }: Asked, id: string): Promise<void> {
  await assert.rejects(job.done, { code: "INTERNAL_ERROR" });
  await assert.rejects(job.answer(id, "late"), (error) => {
    assert(isARCPError(error));
    const { original_code, outcome } = error.details ?? {};
    assert.deepEqual([original_code, outcome], ["question_closed", "cannot_run_again"]);
    return true;
  });
}

test("a runtime is killed after an answer, and again while a question is open", async (context) => {
  await using directory = await temporaryDirectory();
  await using runtime = await KilledRuntime.start(directory.path);
  await using _worker = new Program("remote-worker.ts", [], { ARCP_URL: runtime.url });
  await using client = await ARCPClient.connect(runtime.url, { token });
  const again = await submitWhenOffered(client, "asks-here");
  const once = await submitWhenOffered(client, "asks-here-once");
  const elsewhere = await submitWhenOffered(client, "asks-once");
  const withdrawn = await once.waitsFor("First?");
  const going = [again, elsewhere];
  for (const asked of going) await asked.job.answer(await asked.waitsFor("First?"), "one");
  // The answers were acknowledged, whether the jobs have them by now or not.
  await runtime.killAndRestart();
  const open = await Promise.all(going.map((asked) => asked.waitsFor("Second?")));
  await runtime.killAndRestart();
  for (const [at, asked] of going.entries()) await asked.job.answer(open[at] ?? "", "blue");
  await context.test(
    "a job that runs again has the stored answer and the same open question",
    async () => {
      assert.deepEqual(await again.result(), ["one", "blue"]);
      assert.equal(again.told.length, 2);
    },
  );
  // It cannot run again: the attempt that asked gets the answers.
  await context.test("a worker elsewhere went on waiting, and has both answers", async () => {
    assert.deepEqual(await elsewhere.result(), ["one", "blue"]);
    assert.equal(elsewhere.told.length, 2);
  });
  await context.test("the question of a job that cannot run again is closed with that reason", () =>
    assertWithdrawn(once, withdrawn),
  );
});

test("when a worker is killed while it waits, the next one gets the stored answer and waits for the same question", async () => {
  await using server = await ARCPServer.open({ bearer, mayWork: () => true, workerGraceMs: 100 });
  const { url } = await server.listen({ port: 0 });
  await using worker = new Program("remote-worker.ts", [], { ARCP_URL: url });
  await using client = await ARCPClient.connect(url, { token });
  const asked = await submitWhenOffered(client, "asks");
  await asked.job.answer(await asked.waitsFor("First?"), "one");
  const second = await asked.waitsFor("Second?");
  const once = await submitWhenOffered(client, "asks-once");
  const first = await once.waitsFor("First?");
  await worker.kill();
  await using _next = new Program("remote-worker.ts", [], { ARCP_URL: url });
  assert.equal(await asked.waitsFor("Second?"), second);
  await asked.job.answer(second, "red");
  assert.deepEqual(await asked.result(), ["one", "red"]);
  assert.equal(asked.told.length, 2);
  await assertWithdrawn(once, first);
});

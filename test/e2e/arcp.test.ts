/**
 * Jobs, while the runtime, a worker or the disk is taken away under them: whoever was told something finds it
 * again, every word comes once and in order, and nothing runs twice that may not. CRASH_SEED asks for the choices
 * of an earlier run (its timing cannot be had again).
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectWorker } from "../../src/arcp-server.ts";
import { ARCPClient, isARCPError, type JobHandle } from "../../src/client/arcp/index.ts";
import { Random } from "../../src/testing/random.ts";
import {
  type PythonSdk,
  preparePythonSdk,
  runExampleClient,
  start,
} from "../interop/arcp/python-sdk.ts";
import { freePort, patienceMs, scratch, tipstaff, until, warningsIn, within } from "./processes.ts";

const seed = Number(process.env["CRASH_SEED"] ?? Date.now() % 1_000_000);
const token = "demo-token";
/** It takes a second of a processor before it begins, and then waits for a job. */
const pythonMs = 60_000;

/** A process of ours that says in its first line that it is there. */
class Process implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly exited: Promise<readonly [number | null, NodeJS.Signals | null]>;
  stdout = "";
  stderr = "";

  static async start(command: string, words: readonly string[], isUp: RegExp): Promise<Process> {
    const started = new Process(command, words);
    await until(() => isUp.test(started.stdout) || started.#hasEnded, `${words[0]} to be up`);
    if (!started.#hasEnded) return started;
    throw new Error(`it ended: ${started.stderr}`);
  }

  private constructor(command: string, words: readonly string[]) {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    env["NODE_COMPILE_CACHE"] = resolve("node_modules/.cache/tipstaff/compiled");
    this.#child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"], env });
    children.add(this.#child);
    const { stdout, stderr } = this.#child;
    if (stdout)
      createInterface({ input: stdout }).on("line", (line) => (this.stdout += `${line}\n`));
    stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.exited = once(this.#child, "close").then(([code, signal]) => {
      children.delete(this.#child);
      return [code, signal];
    });
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await within(patienceMs, this.exited, "a process to be gone");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Should this process be stopped, nothing is left behind. */
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

type Place = { readonly directory: string; readonly port: number; readonly effects: string };

function startRuntime({ directory, port, effects }: Place): Promise<Process> {
  const words = ["test/fixtures/arcp-runtime.ts", directory, String(port), effects];
  return Process.start(process.execPath, words, /^listening on /m);
}

function startWorker({ port, effects }: Place): Promise<Process> {
  const words = ["test/fixtures/arcp-worker.ts", `ws://127.0.0.1:${port}/arcp`, effects];
  return Process.start(process.execPath, words, /^at work as /m);
}

async function placeIn(path: string): Promise<Place> {
  return { directory: join(path, "data"), port: await freePort(), effects: join(path, "effects") };
}

/** Everything that a handle tells, until it ends. */
type Heard = {
  readonly name: string;
  readonly agent: string;
  readonly words: string[];
  end?: { readonly result?: unknown; readonly code?: string };
};

async function follow(heard: Heard, job: JobHandle): Promise<void> {
  for await (const { view } of job.events({ buffer: "all" })) {
    if (view?.kind === "log") heard.words.push(view.message);
  }
  heard.end = await job.done.then(
    ({ result }) => ({ result }),
    (error) => ({ code: isARCPError(error) ? error.code : String(error) }),
  );
}

function effectsOf({ effects }: Place): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const text = existsSync(effects) ? readFileSync(effects, "utf8") : "";
  for (const line of text.split("\n")) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** What was heard of each job agrees with what was done for it, and with what may be done again. */
function judge(heards: readonly Heard[], place: Place, to: number): void {
  const effects = effectsOf(place);
  for (const { name, agent, words, end } of heards) {
    assert(end, `${name} never ended`);
    const begun = effects.get(`${name} begins`) ?? 0;
    const whole = Array.from({ length: to }, (_, at) => `${name} ${at + 1}`);
    if (!agent.endsWith("again")) assert(begun <= 1, `${name} was run ${begun} times`);
    if (end.code === undefined) {
      assert.deepEqual(end.result, { name, to });
      assert.deepEqual(words.slice(-to), whole, `${name}: all words of the last run`);
      assert((effects.get(`${name} ends`) ?? 0) >= 1, `${name} ended before it did`);
    } else {
      assert.equal(end.code, "INTERNAL_ERROR", name);
      assert(!agent.endsWith("again"), `${name} may be repeated, and was given up`);
    }
    // Each run from its beginning, without a gap, as far as it got.
    let expected = 1;
    for (const word of words) {
      const at = Number(word.slice(name.length + 1));
      if (at === 1) expected = 1;
      assert.equal(at, expected, `${name}: ${words.join(", ")}`);
      expected += 1;
    }
    if (begun <= 1) assert.deepEqual(words, whole.slice(0, words.length));
  }
}

// Each has a directory and a port of its own, and most of its time waits for a process to be there, or back.
describe("jobs that survive what happens to those who run them", { concurrency: 3 }, () => {
  test("a runtime that is killed again and again loses no word of its jobs, and runs none twice that may not", async (context) => {
    context.diagnostic(`CRASH_SEED=${seed}`);
    using directory = scratch();
    const random = new Random(seed);
    const place = await placeIn(directory.path);
    await using crew = new AsyncDisposableStack();
    let runtime = crew.use(await startRuntime(place));
    await using client = await ARCPClient.connect(`ws://127.0.0.1:${place.port}/arcp`, { token });
    await using other = await ARCPClient.connect(`ws://127.0.0.1:${place.port}/arcp`, { token });
    const numbers: number[] = [];
    for (const type of ["job.event", "job.result", "job.error"]) {
      client.on(type, ({ eventSeq }) => void (eventSeq !== undefined && numbers.push(eventSeq)));
    }
    const heards: Heard[] = [];
    const watched: Heard[] = [];
    const following: Promise<void>[] = [];
    for (let round = 0; round < 4; round += 1) {
      const submitting = Array.from({ length: 4 }, async (_, index) => {
        const agent = index % 2 === 0 ? "count" : "count-again";
        const heard: Heard = { name: `job-${round}-${index}`, agent, words: [] };
        heards.push(heard);
        const input = { name: heard.name, to: 40 };
        // With a key, so that it can be asked for again whatever becomes of the connection.
        const job = await client.submit({ agent, input, idempotencyKey: heard.name });
        following.push(follow(heard, job));
        const same = await other.subscribe(job.jobId, { history: true });
        const watching: Heard = { name: heard.name, agent, words: [] };
        watched.push(watching);
        following.push(follow(watching, same));
      });
      await sleep(random.between(10, 120));
      await runtime.kill();
      runtime = crew.use(await startRuntime(place));
      await within(patienceMs, Promise.all(submitting), "all jobs to be accepted");
    }
    await within(patienceMs, Promise.all(following), "all jobs to end");
    judge(heards, place, 40);
    judge(watched, place, 40);
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, at) => at + 1),
      "every number once, in order",
    );
    const ends = Map.groupBy(heards, ({ end }) => end?.code ?? "success");
    context.diagnostic(
      `${numbers.length} events; ${[...ends].map(([how, { length }]) => `${how}: ${length}`)}`,
    );
  });

  test("neither a worker that is killed nor the runtime under it loses a job or doubles one", async (context) => {
    context.diagnostic(`CRASH_SEED=${seed}`);
    using directory = scratch();
    const random = new Random(seed + 1);
    const place = await placeIn(directory.path);
    await using crew = new AsyncDisposableStack();
    let runtime = crew.use(await startRuntime(place));
    let worker = crew.use(await startWorker(place));
    await using client = await ARCPClient.connect(`ws://127.0.0.1:${place.port}/arcp`, { token });
    const heards: Heard[] = [];
    const following: Promise<void>[] = [];
    for (let round = 0; round < 4; round += 1) {
      const submitting = Array.from({ length: 4 }, async (_, index) => {
        const agent = index % 2 === 0 ? "far" : "far-again";
        const heard: Heard = { name: `far-${round}-${index}`, agent, words: [] };
        heards.push(heard);
        const input = { name: heard.name, to: 40 };
        const job = await client.submit({ agent, input, idempotencyKey: heard.name });
        following.push(follow(heard, job));
      });
      await Promise.all(submitting);
      await sleep(random.between(10, 150));
      if (round < 2) {
        await runtime.kill();
        runtime = crew.use(await startRuntime(place));
      } else {
        await worker.kill();
        worker = crew.use(await startWorker(place));
      }
      // The worker has to be back before more is asked of it.
      await until(async () => {
        await using look = await ARCPClient.connect(`ws://127.0.0.1:${place.port}/arcp`, { token });
        return look.agents.some(({ name }) => name === "far");
      }, "the worker to be back");
    }
    await within(30_000, Promise.all(following), "all jobs to end");
    judge(heards, place, 40);
    const ends = Map.groupBy(heards, ({ end }) => end?.code ?? "success");
    // Only what was at the worker when that was killed is lost; a runtime that is killed loses nothing.
    for (const { name, end } of heards) {
      const wasWorker = name.startsWith("far-2") || name.startsWith("far-3");
      if (!wasWorker) assert.equal(end?.code, undefined, `${name} was lost with the runtime`);
    }
    context.diagnostic(`${[...ends].map(([how, { length }]) => `${how}: ${length}`)}`);
  });

  test("a disk without room stops the runtime, and what it acknowledged is there after", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    const port = await freePort();
    const url = `ws://127.0.0.1:${port}/arcp`;
    const words = (limit: string): readonly string[] => [
      "-c",
      `${limit} exec "$0" "$@"`,
      resolve("bin/tipstaff"),
      "up",
      `--data-dir=${dataDirectory}`,
      "--grpc=127.0.0.1:0",
      "--http=",
      `--arcp=127.0.0.1:${port}`,
    ];
    // Blocks of 512 or 1024 bytes, as the shell has it: one or two megabytes.
    await using full = await Process.start("/bin/sh", words("ulimit -f 2048 &&"), /ARCP/);
    const local = readFileSync(join(dataDirectory, "token"), "utf8").trim();
    const worker = await connectWorker(url, {
      token: local,
      offers: [{ name: "fill", handler: fill }],
    });
    await using client = await ARCPClient.connect(url, { token: local });
    const told: { readonly jobId: string; readonly words: string[]; isDone: boolean }[] = [];
    const filling = (async () => {
      for (let name = 0; ; name += 1) {
        const job = await client.submit({ agent: "fill", input: { name, to: 10 } });
        const heard = { jobId: job.jobId, words: [] as string[], isDone: false };
        told.push(heard);
        for await (const { view } of job.events()) {
          if (view?.kind === "log") heard.words.push(view.message);
        }
        await job.done;
        heard.isDone = true;
      }
    })().catch(() => {});
    const exit = await within(patienceMs, full.exited, "the runtime to stop");
    assert.deepEqual(exit, [4, null], full.stderr);
    assert.match(full.stderr, /fatal stopped; everything acknowledged before is kept: /);
    assert(told.length > 5, `it stopped after ${told.length} jobs`);

    await using roomy = await Process.start("/bin/sh", words(""), /ARCP/);
    await until(() => client.isConnected, "the client to be back");
    for (const { jobId, words: seen, isDone } of told) {
      const job = await client.subscribe(jobId, { history: true });
      if (!isDone) continue;
      const again: string[] = [];
      for await (const { view } of job.events()) if (view?.kind === "log") again.push(view.message);
      assert.deepEqual(again, seen);
      await job.done;
    }
    await client.close();
    await filling;
    await worker[Symbol.asyncDispose]();
    assert.deepEqual(warningsIn(roomy.stderr), []);
    await roomy.kill();
    const { stdout } = await tipstaff("doctor", "--data-dir", dataDirectory);
    assert.match(stdout, /^no check failed/m);
  });

  test("[PYA-6] Python examples in a row are not disturbed by what a killed runtime had of earlier ones", async (context) => {
    const sdk = await preparePythonSdk();
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    using directory = scratch();
    const place = await placeIn(directory.path);
    for (const name of [
      "list_jobs",
      "idempotent_retry",
      "list_jobs",
      "progress",
      "submit_and_stream",
    ]) {
      await using runtime = await startRuntime(place);
      const { code, output } = await runExampleClient(sdk, name, place.port);
      assert.equal(code, 0, `${name}: ${output}`);
      await runtime.kill();
    }
  });

  test("[PYR-22] a Python client resumes a session of a runtime that was killed, and follows its job to the end", async (context) => {
    const sdk = await preparePythonSdk();
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    using directory = scratch();
    const place = await placeIn(directory.path);
    await using runtime = await startRuntime(place);
    const point = await runPython(sdk, before, place);
    await runtime.kill();
    await using _again = await startRuntime(place);
    const seen = await runPython(sdk, after, place, point);
    assert.deepEqual(JSON.parse(seen), { result: { name: "snake", to: 100 }, last: 100 });
  });
});

async function fill(
  input: unknown,
  context: { log(level: "info", message: string): Promise<void> },
): Promise<void> {
  const { name, to } = input as { readonly name: number; readonly to: number };
  for (let at = 1; at <= to; at += 1)
    await context.log("info", `${name}:${at} ${"x".repeat(2_000)}`);
}

const preamble = `
import asyncio, json, sys
from arcp import ClientInfo, SessionResume, WebSocketTransport
from arcp.client import ARCPClient
url, point = sys.argv[1], sys.argv[2]
client = ARCPClient(client=ClientInfo(name="p", version="1"), token="demo-token", features=("subscribe",))
`;

/** Leaves while its job runs, and says where it was. */
const before = `${preamble}
async def main():
    transport = await WebSocketTransport.connect(url)
    welcome = await client.connect(transport)
    job = await client.submit(agent="count-again", input={"name": "snake", "to": 100})
    seen = 0
    async for event in job.events():
        seen += 1
        if seen == 5: break
    print(json.dumps([welcome.session_id, welcome.resume_token, client.latest_event_seq, job.job_id]))
    await transport.close()
asyncio.run(main())
`;

const after = `${preamble}
async def main():
    session_id, resume_token, last, job_id = json.loads(point)
    resume = SessionResume(session_id=session_id, resume_token=resume_token, last_event_seq=last)
    await client.resume(await WebSocketTransport.connect(url), resume=resume)
    job = (await client.subscribe(job_id, history=True)).handle
    words = []
    async for event in job.events():
        if event["kind"] == "log": words.append(int(event["body"]["message"].split()[1]))
    result = await job.done
    await client.close()
    print(json.dumps({"result": result.result, "last": words[-1]}))
asyncio.run(main())
`;

async function runPython(
  sdk: PythonSdk,
  program: string,
  { port }: Place,
  point = "",
): Promise<string> {
  await using running = start(sdk, ["-c", program, `ws://127.0.0.1:${port}/arcp`, point]);
  try {
    await within(pythonMs, once(running.child, "close"), "the Python program to end");
  } catch (cause) {
    throw new Error(`it has said: ${running.output()}`, { cause });
  }
  assert.equal(running.child.exitCode, 0, running.output());
  // Beside that, it complains of what it left open.
  return (
    running
      .output()
      .split("\n")
      .find((line) => /^[[{]/.test(line)) ?? ""
  );
}

function skip(context: TestContext, reason: string): void {
  assert.notEqual(process.env["CI"], "true", reason);
  context.skip(reason);
}

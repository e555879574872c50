/**
 * One storm over workers elsewhere, all of it in this process but with a real log: every choice follows from the
 * seed. What handlers do is written down as they do it, and compared in the end with what the log says.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WorkerProgram } from "../../src/client/worker/worker-program.ts";
import { type JobId, type Question, type QuestionId, sessionId } from "../../src/core/index.ts";
import { type Entry, SqliteLog } from "../../src/log/index.ts";
import { Plane } from "../../src/plane/index.ts";
import type { Handler } from "../../src/runtime/in-process.ts";
import { RemoteWorkers } from "../../src/runtime/remote/remote-workers.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import { Cable } from "../../src/testing/cable.ts";
import { openSession } from "../../src/testing/commands.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import { Random } from "../../src/testing/random.ts";
import { turns } from "../../src/testing/test-plane.ts";

const graceMs = 60_000;

/** One execution by a handler. */
type Execution = {
  readonly jobId: string;
  readonly process: Process;
  readonly runtimes: number;
  words: number;
  isDone: boolean;
};

/** A worker's process: killed, it says nothing more, though its promises go on in ours. */
type Process = {
  readonly program: WorkerProgram;
  readonly waiting: (() => void)[];
  cables: Cable[];
  isKilled: boolean;
};

/** The runtime's process. */
type Server = {
  readonly log: SqliteLog;
  readonly plane: Plane;
  readonly runtime: Runtime;
  readonly workers: RemoteWorkers;
  hasCrashed: boolean;
  pendingCommits: number;
};

export class WorkerStorm implements AsyncDisposable {
  readonly seen: Map<string, number> = new Map();
  readonly #random: Random;
  readonly #clock = new ManualClock();
  readonly #directory: { readonly path: string } & AsyncDisposable;
  readonly #executions: Execution[] = [];
  /** Of processes that were killed. Their ends at the runtime are noticed some time. */
  readonly #stumps: Cable[] = [];
  readonly #cancelled = new Set<string>();
  readonly #stalled = new Set<Cable>();
  /** Answers of people that the runtime acknowledged, by the question. */
  readonly #acknowledged = new Map<QuestionId, string>();
  #processes: Process[] = [];
  #server!: Server;
  #servers = 0;
  #ids = 0;

  static async open(seed: number): Promise<WorkerStorm> {
    const storm = new WorkerStorm(seed, await quickDirectory());
    await storm.#startServer();
    const { plane } = storm.#server;
    await plane.submit(openSession("ada"), { actor: "test" }, () => undefined);
    storm.#processes = [storm.#newProcess(), storm.#newProcess(), storm.#newProcess()];
    return storm;
  }

  private constructor(seed: number, directory: { readonly path: string } & AsyncDisposable) {
    this.#random = new Random(seed);
    this.#directory = directory;
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      this.#passFrames(this.#random.below(6));
      if (this.#random.chance(70)) await turns(1);
    }
    await this.#calm();
    await this.#check();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const what = random.weighted({
      submit: 25,
      open: 25,
      answer: 5,
      connect: 14,
      cut: 8,
      stall: 4,
      twice: 3,
      kill: 2,
      cancel: 2,
      stop: 1.5,
      crash: 2.5,
      pass: 5,
      away: 0.7,
    });
    const process = random.pickAny(this.#processes);
    assert(process);
    switch (what) {
      case "submit":
        return this.#submit();
      case "open":
        process.waiting.splice(random.below(process.waiting.length), 1)[0]?.();
        return;
      case "answer":
        return this.#answer(this.#random.pickAny(this.#openQuestions()));
      case "connect":
        if (!process.cables.some((cable) => cable.isWhole)) this.#connect(process);
        return;
      case "cut": {
        const ends = random.pick(cuts);
        const cable = random.pickAny(process.cables.filter(({ isWhole }) => isWhole));
        if (cable) this.#see(`cut, and ${ends.noticed} noticed`);
        cable?.cut(ends);
        return;
      }
      case "stall": {
        // Frames wait, and neither end knows; the next connection of this process comes while it does.
        const cable = process.cables.at(-1);
        if (!cable?.isWhole) return;
        this.#see("stalled");
        this.#stalled.add(cable);
        return;
      }
      case "twice":
        if (process.cables.some((cable) => cable.isWhole)) this.#see("connected twice");
        this.#connect(process);
        return;
      case "kill":
        return this.#kill(process);
      case "cancel":
        return this.#cancel();
      case "stop":
        return await this.#restart({ isCrash: false });
      case "crash":
        return await this.#restart({ isCrash: true });
      case "pass":
        return this.#pass(random.between(10, 5_000));
      case "away":
        this.#see("away for too long");
        return this.#pass(graceMs);
    }
  }

  #submit(): void {
    const random = this.#random;
    const agent = random.pick(["once", "again"]);
    const words = random.below(6);
    this.#ids += 1;
    void this.#server.runtime.submit({
      agent,
      input: JSON.stringify({
        words,
        waits: random.below(3),
        isPatient: random.chance(50),
        asks: random.chance(40),
      }),
      sessionId: sessionId("sess_ada"),
      principal: "ada",
      requestId: `request_${this.#ids}`,
      traceId: "1".repeat(32),
      capabilities: { "tool.call": ["ask"], "cost.budget": ["USD:10"] },
    });
  }

  #openQuestions(): readonly QuestionId[] {
    return this.#server.plane.peek(({ questions }) => [...questions.open]);
  }

  /** Each answer is another one, so that it is known which one a job got. */
  #answer(questionId: QuestionId | undefined): void {
    if (questionId === undefined) return;
    this.#ids += 1;
    const answer = JSON.stringify(`answer ${this.#ids}`);
    const command = { type: "question.answer", questionId, answer, by: { name: "bob" } } as const;
    const { plane } = this.#server;
    void plane
      .submit(command, { actor: "test" }, () => undefined)
      .then(({ refusal }) => {
        if (!refusal) this.#acknowledged.set(questionId, answer);
      });
  }

  /** Says its words in order, waiting and asking a person now and then, and answers with how many there were. */
  #handlerOf(process: () => Process): Handler {
    return async (input, context) => {
      const { words, waits, isPatient, asks } = input as {
        words: number;
        waits: number;
        isPatient: boolean;
        asks: boolean;
      };
      const execution: Execution = {
        jobId: context.jobId,
        process: process(),
        runtimes: this.#servers,
        words: 0,
        isDone: false,
      };
      const mark = this.#executions.push(execution) - 1;
      const pause = (): Promise<void> =>
        new Promise((resolve, reject) => {
          process().waiting.push(resolve);
          context.signal.addEventListener("abort", () => reject(context.signal.reason));
        });
      const answer = asks ? await context.ask("Sure?", { timeoutMs: 3 * graceMs }) : undefined;
      for (let word = 1; word <= words; word += 1) {
        execution.words = word;
        const said = context.log("info", `${mark}:${word}`);
        if (isPatient) await said;
        if (word <= waits) await pause();
        if (word === 2) await context.authorize("tool.call", "ask");
      }
      if (words === 0) await pause();
      context.signal.throwIfAborted();
      execution.isDone = true;
      return { mark, words, answer };
    };
  }

  #newProcess(): Process {
    const handler = this.#handlerOf(() => process);
    const offers = [
      { name: "once", handler },
      { name: "again", handler, isIdempotent: true },
    ];
    const program = new WorkerProgram({ offers, jobsAtOnce: 3 });
    const process: Process = { program, waiting: [], cables: [], isKilled: false };
    return process;
  }

  #connect(process: Process): void {
    process.cables = process.cables.slice(-3);
    process.cables.push(new Cable(this.#server.workers, process.program, { isFlowing: false }));
  }

  #passFrames(most: number): void {
    for (const process of this.#processes) {
      // A connection that was replaced may have something to say for a long time.
      for (const cable of process.cables) {
        if (this.#random.chance(5)) this.#stalled.delete(cable);
        if (this.#stalled.has(cable)) continue;
        if (cable !== process.cables.at(-1) && this.#random.chance(70)) continue;
        for (let frame = 0; frame < most; frame += 1) {
          cable.pass(this.#random.pick(["up", "down"]));
        }
      }
    }
  }

  /** As SIGKILL does: what was under way arrives or does not, and nothing comes after. */
  #kill(process: Process): void {
    this.#see("killed a worker");
    process.isKilled = true;
    for (const cable of process.cables) {
      if (this.#random.chance(50)) while (cable.pass("up"));
      cable.cut(this.#random.chance(70) ? undefined : { runtime: false, worker: true });
    }
    this.#stumps.push(...process.cables);
    process.program.abandon(new Error("killed"));
    this.#processes = this.#processes.map((each) => (each === process ? this.#newProcess() : each));
  }

  #cancel(): void {
    const { plane } = this.#server;
    const chosen = plane.peek(({ jobs }) => {
      const running = [...jobs.byId.values()].filter(({ state }) => state !== "ended");
      return this.#random.pickAny(running)?.id;
    });
    if (chosen === undefined) return;
    this.#see("cancelled");
    this.#cancelled.add(chosen);
    const command = { type: "job.cancel", jobId: chosen, reason: "no", graceMs: 30_000 } as const;
    void plane.submit(command, { actor: "test" }, () => undefined);
  }

  #pass(ms: number): void {
    this.#clock.leap(ms);
    this.#server.plane.tick();
  }

  async #startServer(): Promise<void> {
    this.#servers += 1;
    const log = SqliteLog.open(this.#directory.path);
    const server = { log, hasCrashed: false, pendingCommits: 0 } as Server;
    const afterTurn = (run: () => void): void => {
      server.pendingCommits += 1;
      // A disk that is slow now and then: much may happen between what is decided and what is kept.
      void turns(this.#random.chance(60) ? 1 : this.#random.between(2, 6)).then(() => {
        server.pendingCommits -= 1;
        if (!server.hasCrashed) run();
      });
    };
    const clock = this.#clock;
    const onFault = (fault: unknown): void => {
      throw fault;
    };
    const plane = await Plane.open({ log, clock, onFault, afterTurn });
    const newId = (kind: string): string => `${kind}_${++this.#ids}`;
    const runtime = new Runtime({ plane, newId, onFault });
    const workers = new RemoteWorkers(runtime, { mayWork: () => true, graceMs, clock });
    this.#server = Object.assign(server, { plane, runtime, workers });
  }

  async #restart({ isCrash }: { readonly isCrash: boolean }): Promise<void> {
    const server = this.#server;
    const { log, plane, runtime, workers } = server;
    this.#see(isCrash ? "crashed the runtime" : "stopped the runtime");
    if (isCrash && server.pendingCommits > 0) {
      this.#see("crashed the runtime with something decided and not kept");
    }
    server.hasCrashed = isCrash;
    workers[Symbol.dispose]();
    for (const process of this.#processes) {
      for (const cable of process.cables) {
        // What was sent before arrives, or does not.
        if (this.#random.chance(50)) while (cable.pass("down"));
        cable.cut();
      }
      process.cables = [];
    }
    if (!isCrash) {
      runtime[Symbol.dispose]();
      await plane[Symbol.asyncDispose]();
    }
    await log[Symbol.asyncDispose]();
    if (this.#random.chance(30)) this.#clock.leap(2 * graceMs);
    await this.#startServer();
  }

  /** The storm is over: everyone is connected, nobody waits, and time goes on until all is done. */
  async #calm(): Promise<void> {
    for (const cable of this.#stumps) cable.cut();
    for (let round = 0; round < 200; round += 1) {
      for (const process of this.#processes) {
        if (!process.cables.some((cable) => cable.isWhole && cable.refused.length === 0)) {
          this.#connect(process);
        }
        for (const cable of process.cables) {
          if (round === 0 && cable !== process.cables.at(-1)) cable.cut();
          while (cable.pass("up") || cable.pass("down"));
        }
        for (const go of process.waiting.splice(0)) go();
      }
      for (const questionId of this.#openQuestions()) this.#answer(questionId);
      await turns(2);
      const left = await this.#server.plane.read(
        ({ jobs }) => [...jobs.byId.values()].filter(({ state }) => state !== "ended").length,
      );
      if (left === 0 && this.#processes.every(({ program }) => program.size === 0)) return;
      if (round % 10 === 9) this.#pass(graceMs);
    }
    assert.fail("some jobs never end, or their workers never hear of it");
  }

  async #check(): Promise<void> {
    const jobs = await this.#server.plane.read((state) => [...state.jobs.byId.values()]);
    const entries = await this.#history();
    for (const job of jobs) {
      const isOfJob = ({ event }: Entry): boolean =>
        ("jobId" in event && event.jobId === job.id) || ("job" in event && event.job.id === job.id);
      this.#checkJob(job.id, {
        isRepeatable: job.agent === "again",
        entries: entries.filter(isOfJob),
      });
    }
    this.#checkQuestions(entries);
  }

  /** A job asks once, one answer wins, and the job that ends well has that answer. */
  #checkQuestions(entries: readonly Entry[]): void {
    const questions = new Map<string, Question>();
    for (const { event } of entries) {
      if (event.type === "job.ended" && event.outcome.status === "success") {
        const { answer } = JSON.parse(event.outcome.result ?? "") as { answer?: string };
        const question = questions.get(event.jobId);
        const won = question?.state === "answered" ? JSON.parse(question.answer) : undefined;
        assert.equal(answer, won, `${event.jobId} has the answer that won`);
        if (answer !== undefined) this.#see("ended with an answer");
      }
      if (!("question" in event) || event.question.asker.of !== "job") continue;
      const { question } = event;
      const { jobId } = event.question.asker;
      const before = questions.get(jobId);
      assert.equal(question.id, before?.id ?? question.id, `${jobId} asked its question twice`);
      assert(before === undefined || before.state === "open", `${jobId}: closed is final`);
      if (before && event.type === "question.asked")
        this.#see("kept its question when it ran again");
      if (question.state === "closed") this.#see(`question ${question.reason}`);
      questions.set(jobId, question);
    }
    for (const [id, answer] of this.#acknowledged) {
      const question = questions.values().find((each) => each.id === id);
      assert(question?.state === "answered", `the answer to ${id} was acknowledged, and lost`);
      assert.equal(question.answer, answer);
    }
  }

  async #history(): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    for (;;) {
      const more = await this.#server.plane.history(entries.at(-1)?.sequence ?? 0, 1_000);
      if (more.length === 0) return entries;
      entries.push(...more);
    }
  }

  #checkJob(
    jobId: JobId,
    {
      isRepeatable,
      entries,
    }: { readonly isRepeatable: boolean; readonly entries: readonly Entry[] },
  ): void {
    const executions = this.#executions.filter((each) => each.jobId === jobId);
    const ends: string[] = [];
    let result: { mark: number; words: number } | undefined;
    /** Words of the attempt under way. */
    let words: string[] = [];
    let orphanedAtMs = Number.POSITIVE_INFINITY;
    let lostAfterMs = 0;
    for (const { event, atMs } of entries) {
      this.#seeEvent(event.type);
      switch (event.type) {
        case "job.started":
          words = [];
          orphanedAtMs = Number.POSITIVE_INFINITY;
          break;
        case "job.orphaned":
          orphanedAtMs = Math.min(orphanedAtMs, atMs);
          break;
        case "job.reclaimed":
          orphanedAtMs = Number.POSITIVE_INFINITY;
          break;
        case "job.offered":
          lostAfterMs = Math.max(lostAfterMs, atMs - orphanedAtMs);
          break;
        case "job.emitted": {
          if (event.kind !== "log") break;
          const { message } = JSON.parse(event.body) as { message: string };
          const [mark] = message.split(":");
          words.push(message);
          assert.equal(message, `${mark}:${words.length}`, `${jobId}: every word once, in order`);
          assert(ends.length === 0, `${jobId}: nothing is said after the end`);
          break;
        }
        case "job.ended": {
          const { outcome } = event;
          ends.push(outcome.status);
          this.#see(`ended ${outcome.status}`);
          if (outcome.status === "success") result = JSON.parse(outcome.result ?? "");
          else lostAfterMs = Math.max(lostAfterMs, atMs - orphanedAtMs);
          break;
        }
        default:
      }
    }
    assert.equal(ends.length, 1, `${jobId} ends once`);
    if (!isRepeatable) assert(executions.length <= 1, `${jobId} was started twice`);
    if (executions.length > 1) this.#see("ran again");
    if (result) {
      assert.equal(words.length, result.words, `${jobId}: all words of the one that ended it`);
      assert(words.every((word) => word.startsWith(`${result.mark}:`)));
      const by = this.#executions[result.mark];
      if (by && by.runtimes < this.#servers)
        this.#see("went on after the runtime was started anew");
    }
    // Who lives and was not away for too long has not worked for nothing.
    const wasDone = executions.some(({ isDone, process }) => isDone && !process.isKilled);
    const isExcused = this.#cancelled.has(jobId) || lostAfterMs >= graceMs;
    if (wasDone && !isExcused) assert.equal(ends[0], "success", `${jobId}: a result was lost`);
  }

  #seeEvent(type: string): void {
    if (["job.orphaned", "job.reclaimed", "job.offered"].includes(type)) this.#see(type);
  }

  #see(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { log, plane, runtime, workers } = this.#server;
    workers[Symbol.dispose]();
    runtime[Symbol.dispose]();
    await plane[Symbol.asyncDispose]();
    await log[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

/** Nobody pulls the plug of this machine: what is kept need not reach its disk, which would take most of the time. */
async function quickDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const memory = "/dev/shm";
  const path = await mkdtemp(join(existsSync(memory) ? memory : tmpdir(), "tipstaff-storm-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

type Cut = { readonly runtime: boolean; readonly worker: boolean; readonly noticed: string };
const cuts: readonly [Cut, ...Cut[]] = [
  { runtime: true, worker: true, noticed: "both" },
  { runtime: true, worker: false, noticed: "only the runtime" },
  { runtime: false, worker: true, noticed: "only the worker" },
];

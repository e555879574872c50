/**
 * One storm over ARCP sessions, all of it in this process, but with the real client, the real door, the real
 * transport and a real log: every choice follows from the seed. What is true is kept by the referee.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARCPServer, type Handler, type JobContext } from "../../src/arcp-server.ts";
import {
  ARCPClient,
  type ClientOptions,
  features,
  isARCPError,
  type JobHandle,
  type Timekeeper,
  type Transport,
} from "../../src/client/arcp/index.ts";
import { type Question, sessionId } from "../../src/core/index.ts";
import { questionHandlers } from "../../src/doors/http/operations/questions.ts";
import { type Entry, SqliteLog } from "../../src/log/index.ts";
import { Plane } from "../../src/plane/index.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import { Random } from "../../src/testing/random.ts";
import { turns } from "../../src/testing/test-plane.ts";
import { type Held, type Overheard, Referee, textOf, wordIn } from "./arcp-referee.ts";
import { type Cut, type Noticed, Wire } from "./wire.ts";

const windowSec = 600;
/** Of a question. */
const timeoutMs = 20_000;

/** The runtime's process. */
type Server = {
  readonly log: SqliteLog;
  readonly plane: Plane;
  readonly work: ARCPServer;
  /** Handlers that wait for somebody to let them go on. */
  readonly waiting: (() => void)[];
  hasCrashed: boolean;
  pendingCommits: number;
};

type Connected = { readonly wire: Wire; readonly heard: Overheard; isStalled: boolean };

/** A client's process. */
type Program = {
  readonly principal: string;
  readonly options: ClientOptions;
  connections: Connected[];
  client?: ARCPClient;
  /** Whether the first connection failed, or it was closed. */
  isOver: boolean;
  /** While it reads nothing. */
  pause?: { readonly over: Promise<void>; readonly end: () => void };
  /** Submissions that it has asked for, or follows. */
  readonly asked: Set<number>;
  /** The last number that it was handed. */
  last: number;
  sessionId?: string;
};

/** Time for clients. Where they would draw lots, the storm does. */
class StormTime implements Timekeeper {
  readonly #random: Random;
  readonly #timers = new Set<{ readonly atMs: number; readonly run: () => void }>();
  #nowMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  later(run: () => void, ms: number): () => void {
    const timer = { atMs: this.#nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(_ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = this.later(resolve, this.#random.between(1, 2_000));
    signal.addEventListener("abort", () => {
      stop();
      reject(signal.reason);
    });
    return promise;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#timers].toSorted((one, other) => one.atMs - other.atMs)) {
      if (timer.atMs <= this.#nowMs && this.#timers.delete(timer)) timer.run();
    }
  }
}

type Input = {
  readonly submission: number;
  readonly words: number;
  readonly waits: number;
  /** Characters of each word. */
  readonly width: number;
  readonly isPatient: boolean;
};

export class ArcpStorm implements AsyncDisposable {
  readonly seen: Map<string, number> = new Map();
  readonly #random: Random;
  readonly #time: StormTime;
  readonly #clock = new ManualClock();
  readonly #directory: { readonly path: string } & AsyncDisposable;
  readonly #referee = new Referee();
  readonly #programs: Program[] = [];
  readonly #faults: unknown[] = [];
  #server: Server | undefined;
  #servers = 0;
  #submissions = 0;
  /** Those that are not quite gone. */
  #connections: Connected[] = [];
  readonly #floods = new Set<number>();
  readonly #seed: number;
  /** Sessions that more than one program is after. */
  readonly #raced = new Set<string>();
  #hasLeapt = false;

  static async open(seed: number): Promise<ArcpStorm> {
    const storm = new ArcpStorm(seed, await quickDirectory());
    await storm.#start();
    for (let count = 0; count < 4; count += 1) storm.#newProgram();
    return storm;
  }

  private constructor(seed: number, directory: { readonly path: string } & AsyncDisposable) {
    this.#seed = seed;
    this.#random = new Random(seed);
    this.#time = new StormTime(this.#random);
    this.#directory = directory;
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      this.#passBytes();
      await turns(this.#random.between(1, 3));
      this.#look();
    }
    await this.#calm();
    await this.#check();
  }

  get #living(): readonly Program[] {
    return this.#programs.filter(({ isOver }) => !isOver);
  }

  async #step(): Promise<void> {
    const random = this.#random;
    if (!this.#server) {
      if (random.chance(30)) await this.#start();
      else this.#pass(random.between(10, 500));
      return;
    }
    const what = random.weighted({
      submit: 22,
      open: 22,
      cut: 9,
      stall: 4,
      pass: 10,
      doze: 2,
      subscribe: 6,
      cancel: 5,
      answer: 10,
      again: 5,
      read: 4,
      elsewhere: 1.5,
      leave: 1,
      arrive: 3,
      stop: 0.8,
      kill: 2.5,
      flood: 2,
      away: 0.2,
    });
    const program = random.pickAny(this.#living.filter(({ client }) => client));
    switch (what) {
      case "submit":
        return program && this.#submit(program);
      case "again":
        return program && this.#submitAgain(program);
      case "answer":
        return this.#answer(this.#server);
      case "flood":
        return program && this.#flood(program);
      case "open": {
        const { waiting } = this.#server;
        for (const go of waiting.splice(random.below(waiting.length), random.between(1, 3))) go();
        return;
      }
      case "cut":
        return this.#cut();
      case "stall": {
        const connected = program?.connections.at(-1);
        if (connected?.wire.isWhole) this.#see("stalled");
        if (connected) connected.isStalled = true;
        return;
      }
      case "pass":
        return this.#pass(random.between(10, 2_000));
      case "doze":
        // Longer than two heartbeats.
        this.#see("silent for long");
        return this.#pass(random.between(30_000, 90_000));
      case "subscribe":
        return program && this.#subscribe(program);
      case "cancel":
        return program && this.#cancel(program);
      case "read":
        return program && this.#pauseOrRead(program);
      case "elsewhere":
        return program && this.#resumeElsewhere(program);
      case "leave":
        if (!program || this.#living.length < 3) return;
        this.#see("left");
        program.isOver = true;
        void program.client?.close();
        return;
      case "arrive":
        if (this.#living.length < 5) this.#newProgram();
        return;
      case "stop":
        return await this.#stop();
      case "kill":
        return await this.#kill();
      case "away":
        if (random.chance(50)) return;
        this.#see("away for too long");
        this.#hasLeapt = true;
        return this.#pass(windowSec * 1_000 + 1);
    }
  }

  // Clients.

  #newProgram(): void {
    const random = this.#random;
    const principal = random.pick(["ada", "ada", "ben"]);
    const left = random.pick<readonly string[]>([
      [],
      [],
      ["ack"],
      ["result_chunk"],
      ["progress", "heartbeat"],
    ]);
    const program = this.#programOf(principal, {
      features: features.filter((name) => !left.includes(name)),
      autoAck: random.pick([true, false, { intervalMs: 100, minSeqDelta: 3 }]),
    });
    const opening = ARCPClient.connect(() => this.#dial(program), program.options);
    this.#begin(program, opening);
  }

  #programOf(principal: string, more: Partial<ClientOptions>): Program {
    const watch = (envelope: { readonly eventSeq?: number | undefined }): void => {
      const { eventSeq } = envelope;
      if (eventSeq === undefined) return;
      assert.equal(eventSeq, program.last + 1, "a client is handed every number once, in order");
      program.last = eventSeq;
    };
    const options: ClientOptions = {
      token: principal,
      time: this.#time,
      on: { "job.event": watch, "job.result": watch, "job.error": watch },
      onGap: ({ cause, sessionId: lost }) => {
        this.#see(`told of a gap: ${cause.code}`);
        program.last = 0;
        this.#guard(() => assert(this.#isExcused(program, lost), `${lost} was lost without need`));
      },
      onProtocolError: (problem) => {
        // What a cut leaves of a frame is no frame.
        assert.match(problem, /is not JSON/, problem);
        this.#see("half a frame");
      },
      ...more,
    };
    const program: Program = {
      principal,
      options,
      connections: [],
      isOver: false,
      asked: new Set(),
      last: 0,
    };
    this.#programs.push(program);
    return program;
  }

  /**
   * A session is lost if it was away for too long, if another has taken it over, or if the welcome that would have
   * told the newest token was lost itself.
   */
  #isExcused({ connections }: Program, lost: string): boolean {
    const wasUnheard = connections.some(({ wire, heard }) => {
      const { resumes, helloBytes, welcomeBytes = 1 } = heard;
      // Of the last line of all, the end may be missing.
      const wasAsked = resumes === lost && wire.up.passed >= helloBytes - 1;
      return wasAsked && wire.down.passed < welcomeBytes;
    });
    return this.#hasLeapt || this.#raced.has(lost) || wasUnheard;
  }

  #begin(program: Program, opening: Promise<ARCPClient>): void {
    opening.then(
      (client) => {
        program.client = client;
      },
      (error) => {
        this.#see(`not connected: ${isARCPError(error) ? error.code : "no link"}`);
        program.isOver = true;
      },
    );
  }

  async #dial(program: Program): Promise<Transport> {
    const server = this.#server;
    if (!server) throw new Error("nobody is there");
    const heard = this.#referee.overhear();
    const wire = new Wire((direction, line) =>
      this.#guard(() => this.#referee.hear(heard, direction, line)),
    );
    const connected = { wire, heard, isStalled: false };
    program.connections.push(connected);
    this.#connections.push(connected);
    server.work.accept(wire.runtime);
    return wire.client;
  }

  /** What is wrong is told at the next step: whoever calls back must not be thrown at. */
  #guard(look: () => void): void {
    try {
      look();
    } catch (fault) {
      this.#faults.push(fault);
    }
  }

  #submit(program: Program): void {
    const random = this.#random;
    const agent = random.pick([
      "once",
      "again",
      "again",
      "pieces",
      "again-pieces",
      "asks",
      "again-asks",
    ]);
    const key = random.chance(40) ? `key-${this.#submissions + 1}` : undefined;
    this.#send(program, agent, key, {
      submission: ++this.#submissions,
      words: random.below(7),
      waits: random.below(4),
      width: random.chance(10) ? 5_000 : 0,
      isPatient: random.chance(50),
    });
  }

  readonly #keyed: {
    readonly principal: string;
    readonly agent: string;
    readonly key: string;
    readonly input: Input;
  }[] = [];

  /** The same key from this program or another one of the same principal. */
  #submitAgain(program: Program): void {
    const mine = this.#keyed.filter(({ principal }) => principal === program.principal);
    const { agent, key, input } = this.#random.pickAny(mine) ?? {};
    if (!agent || !key || !input) return;
    this.#see("asked again with the same key");
    this.#send(program, agent, key, input);
  }

  /** More than is queued for one connection, and more than is kept for who is behind. */
  #flood(program: Program): void {
    // In turn, beginning with either kind: left to chance, one of them is often missing in six storms.
    const isWide = (this.#seed + this.#floods.size) % 2 === 0;
    this.#see(isWide ? "flood of long words" : "flood of short words");
    const connected = program.connections.at(-1);
    if (connected) connected.isStalled = true;
    this.#floods.add(this.#submissions + 1);
    this.#send(program, "once", undefined, {
      submission: ++this.#submissions,
      words: isWide ? 36 : 1_500,
      waits: 1,
      width: isWide ? 500_000 : 0,
      isPatient: false,
    });
  }

  #send(program: Program, agent: string, key: string | undefined, input: Input): void {
    const { client, principal } = program;
    if (!client || client.isClosed) return;
    const { submission } = input;
    const held: Held = { submission, key, how: "submitted", words: [], isRead: false };
    program.asked.add(submission);
    this.#referee.held.push(held);
    if (key !== undefined) this.#keyed.push({ principal, agent, key, input });
    const options = { agent, input, ...(key !== undefined && { idempotencyKey: key }) };
    client.submit(options).then(
      (handle) => this.#hold(program, held, handle),
      (error) => {
        held.refused = codeOf(error);
        this.#see(`not submitted: ${held.refused}`);
      },
    );
  }

  #hold(program: Program, held: Held, handle: JobHandle): void {
    held.jobId = handle.jobId;
    this.#handles.push(handle);
    void this.#read(program, held, handle);
    const isStreamed = handle.agent.endsWith("pieces");
    const text = isStreamed ? handle.collectChunks() : Promise.resolve("");
    text.catch(() => {});
    handle.done.then(
      async (done) => {
        this.#see("done");
        if (isStreamed) {
          try {
            held.text = String(await text);
          } catch (error) {
            held.text = String(error);
          }
        }
        const result = isStreamed ? undefined : done.result;
        held.end = { status: "success", ...(isResult(result) && { result }) };
      },
      (error) => {
        const code = codeOf(error);
        const isLost = code === "RESUME_WINDOW_EXPIRED" || program.client?.isClosed === true;
        this.#see(isLost ? `handle lost: ${code}` : `job failed: ${code}`);
        held.end = { status: isLost ? "lost" : "failed", code };
      },
    );
  }

  readonly #handles: JobHandle[] = [];

  /** Several people answer an open question, at the HTTP API and in sessions that follow the job. */
  #answer({ plane }: Server): void {
    const open = plane.peek(({ questions }) =>
      [...questions.open].flatMap((id) => questions.byId.get(id) ?? []),
    );
    const question = this.#random.pickAny(open);
    if (!question) return;
    for (let count = this.#random.between(1, 3); count > 0; count -= 1) {
      const answer = this.#random.pick(["red", "blue"]);
      const handle = this.#random.pickAny(this.#handles.filter((one) => isOf(question, one)));
      if (handle && this.#random.chance(60)) this.#answerInSession(handle, question, answer);
      else void this.#answerOverHttp(plane, question, answer);
    }
  }

  #answerInSession(handle: JobHandle, { id }: Question, answer: string): void {
    handle.answer(id, answer).then(
      () => {
        this.#see("answered in a session");
        this.#referee.acknowledged.push({ id, answer });
      },
      (error) => {
        const details = isARCPError(error) ? error.details : undefined;
        this.#see(`not answered in a session: ${details?.["original_code"] ?? codeOf(error)}`);
        const { outcome, by } = details ?? {};
        if (outcome === "answered") this.#referee.late.push({ id, by: String(by) });
      },
    );
  }

  async #answerOverHttp(plane: Plane, { id }: Question, answer: string): Promise<void> {
    const { signal } = new AbortController();
    const call = { caller: { actor: "local" }, signal, closing: signal, maySee: true };
    const input = { questionId: id, answer, by: "local" };
    const handlers = questionHandlers(plane);
    const reply = await handlers.answerQuestion(input, { ...call, mayWrite: true });
    this.#see(`answered over HTTP: ${reply.refusal?.code ?? "first"}`);
    if (!reply.refusal) this.#referee.acknowledged.push({ id, answer });
    const by = reply.refusal?.question?.answeredBy;
    if (by !== undefined) this.#referee.late.push({ id, by });
  }

  async #read(program: Program, held: Held, handle: JobHandle): Promise<void> {
    try {
      for await (const event of handle.events({ buffer: "all" })) {
        if (event.droppedBefore > 0) {
          // More than is kept for nobody came in one piece with the answer; the count says so.
          assert(
            event.droppedBefore > 0 && held.words.length === 0 && this.#floods.has(held.submission),
          );
          this.#see("dropped, and said so");
          held.hasDropped = true;
        }
        if (event.view?.kind === "log") held.words.push(wordIn(event.view.message));
        await program.pause?.over;
      }
    } catch (error) {
      if (!isARCPError(error)) this.#faults.push(error);
    }
    held.isRead = true;
  }

  #subscribe(program: Program): void {
    const { client } = program;
    if (!client || client.isClosed || !client.features.includes("subscribe")) return;
    const others = this.#referee.held.filter(
      ({ jobId, how }) => jobId !== undefined && how === "submitted",
    );
    const chosen = this.#random.pickAny(others);
    if (!chosen?.jobId) return;
    // A past whose announcement was lost cannot be told from what happens by who follows the job already.
    const history = this.#random.chance(60) && !program.asked.has(chosen.submission);
    program.asked.add(chosen.submission);
    const held: Held = {
      submission: chosen.submission,
      key: undefined,
      how: history ? "history" : "live",
      words: [],
      isRead: false,
    };
    this.#referee.held.push(held);
    client.subscribe(chosen.jobId, { history }).then(
      (handle) => {
        this.#see("subscribed");
        this.#hold(program, held, handle);
      },
      (error) => {
        held.refused = codeOf(error);
        this.#see(`not subscribed: ${held.refused}`);
      },
    );
  }

  #cancel(program: Program): void {
    const { client } = program;
    const mine = this.#referee.held.filter(({ jobId, end }) => jobId !== undefined && !end);
    const chosen = this.#random.pickAny(mine);
    if (!client || client.isClosed || !chosen?.jobId) return;
    client.cancelJob(chosen.jobId).then(
      () => this.#see("cancelled"),
      (error) => this.#see(`not cancelled: ${codeOf(error)}`),
    );
  }

  #pauseOrRead(program: Program): void {
    if (program.pause) {
      program.pause.end();
      delete program.pause;
      return;
    }
    this.#see("stopped reading");
    const { promise, resolve } = Promise.withResolvers<void>();
    program.pause = { over: promise, end: resolve };
  }

  /** Another process takes the session up, whether or not the first one is still at it. */
  #resumeElsewhere(program: Program): void {
    const { client } = program;
    if (!client || client.isClosed) return;
    this.#see(client.isConnected ? "taken over" : "raced for");
    const from = client.resumeFrom;
    this.#raced.add(from.session_id);
    const other = this.#programOf(program.principal, {
      features: program.options.features,
      autoAck: program.options.autoAck,
    });
    for (const submission of program.asked) other.asked.add(submission);
    other.last = from.last_event_seq;
    this.#begin(
      other,
      ARCPClient.resume(() => this.#dial(other), from, other.options),
    );
  }

  /** Who has ended is replaced. */
  #look(): void {
    for (const program of this.#living) {
      const { client } = program;
      if (!client) continue;
      if (client.isClosed) {
        this.#see("ended");
        program.isOver = true;
      }
    }
    if (this.#living.length < 2) this.#newProgram();
    this.#connections = this.#connections.filter(({ wire }) => !wire.isGone);
    const [fault] = this.#faults;
    if (fault) throw fault;
  }

  // Links.

  #cut(): void {
    const random = this.#random;
    const connected = random.pickAny(this.#connections.filter(({ wire }) => wire.isWhole));
    if (!connected) return;
    const { wire } = connected;
    // Some of what is under way arrives, and not at the end of a frame.
    for (const direction of ["up", "down"] as const) {
      if (random.chance(60)) wire.pass(direction, random.between(1, 400));
    }
    const noticed = random.pick(notices);
    this.#see(`cut, and ${noticed.who} noticed`);
    wire.cut({ ...noticed, isAbrupt: random.chance(60) });
  }

  #passBytes(): void {
    const random = this.#random;
    for (const connected of this.#connections) {
      const { wire } = connected;
      if (random.chance(6)) connected.isStalled = false;
      if (connected.isStalled) continue;
      if (wire.isHaunted && random.chance(5)) wire.cut(both);
      const most = random.pick([7, 100, 1_000, 100_000, 100_000]);
      for (let count = random.below(4); count > 0; count -= 1) {
        wire.pass(random.pick(["up", "down"]), most);
      }
    }
  }

  #pass(ms: number): void {
    this.#clock.leap(ms);
    this.#time.pass(ms);
    if (this.#server && !this.#server.hasCrashed) this.#server.plane.tick();
  }

  // The runtime.

  async #start(): Promise<void> {
    this.#servers += 1;
    const log = SqliteLog.open(this.#directory.path);
    const server = { log, waiting: [], hasCrashed: false, pendingCommits: 0 } as unknown as Server;
    const afterTurn = (run: () => void): void => {
      server.pendingCommits += 1;
      setImmediate(() => {
        server.pendingCommits -= 1;
        if (!server.hasCrashed) run();
      });
    };
    const clock = this.#clock;
    const onFault = (fault: unknown): void => {
      if (!server.hasCrashed) this.#faults.push(fault);
    };
    const plane = await Plane.open({ log, clock, onFault, afterTurn });
    const work = new ARCPServer(plane, clock, {
      bearer: { ada: "ada", ben: "ben" },
      resumeWindowSec: windowSec,
      backPressureEvents: 50,
      authorizeObserve: () => true,
      onFault,
    });
    Object.assign(server, { plane, work });
    for (const name of ["once", "again", "pieces", "again-pieces", "asks", "again-asks"]) {
      const isIdempotent = name.startsWith("again");
      work.registerAgent(name, this.#handlerOf(server, name), { isIdempotent });
    }
    this.#server = server;
  }

  /** Says its words in order, waiting now and then; a process that was killed says nothing more. */
  #handlerOf(server: Server, name: string): Handler {
    const referee = this.#referee;
    return async (input, context) => {
      const { submission, words, waits, width, isPatient } = input as Input;
      const { jobId } = context;
      const execution = { submission, jobId, servers: this.#servers, words: 0, isDone: false };
      const mark = referee.executions.push(execution) - 1;
      const padding = " ".padEnd(width, "x");
      for (let word = 1; word <= words; word += 1) {
        execution.words = word;
        const said = context.log("info", `${mark}:${word}${padding}`);
        if (isPatient) await alive(server, said);
        if (word % 3 === 0) void context.progress(word, { total: words });
        if (word <= waits) await alive(server, pauseOf(server, context, isPatient));
      }
      if (name.endsWith("asks")) {
        const asked = context.ask(`colour of ${submission}?`, {
          choices: ["red", "blue"],
          timeoutMs,
        });
        referee.answers.push({ jobId, answer: await alive(server, asked) });
        this.#see("an asker has its answer");
      }
      if (words === 0) await alive(server, pauseOf(server, context, isPatient));
      if (!name.endsWith("pieces")) {
        context.signal.throwIfAborted();
        execution.isDone = true;
        return { mark, words };
      }
      const stream = context.streamResult();
      const text = textOf(submission);
      for (let at = 0; at < text.length; at += 10) {
        await alive(server, stream.write(text.slice(at, at + 10)));
        if (at === 20) await alive(server, pauseOf(server, context, isPatient));
      }
      context.signal.throwIfAborted();
      execution.isDone = true;
      return undefined;
    };
  }

  /** As SIGKILL does: what is decided and not kept is gone, and so is everybody's connection. */
  async #kill(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#see("killed the runtime");
    if (this.#random.chance(60)) await this.#rush();
    if (server.pendingCommits > 0) this.#see("killed it with something decided and not kept");
    if (server.waiting.length > 0) this.#see("killed it with jobs running");
    server.hasCrashed = true;
    this.#server = undefined;
    for (const { wire } of this.#connections) {
      // What it had said may still arrive, or a part of it.
      if (this.#random.chance(50)) wire.pass("down", this.#random.between(1, 2_000));
      wire.cut({ client: this.#random.chance(80), runtime: true, isAbrupt: true });
    }
    await server.log[Symbol.asyncDispose]();
  }

  /** What is under way arrives and is answered, all within this turn: before anything more can be kept. */
  async #rush(): Promise<void> {
    for (let tick = 0; tick < 8; tick += 1) {
      for (const { wire, isStalled } of this.#connections) if (!isStalled) passAll(wire);
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#see("stopped the runtime");
    this.#server = undefined;
    for (const { wire } of this.#connections) if (wire.isHaunted) wire.cut(both);
    let isClosed = false;
    const closing = server.work.close().finally(() => {
      isClosed = true;
    });
    while (!isClosed) {
      for (const { wire } of this.#connections) passAll(wire);
      for (const go of server.waiting.splice(0)) go();
      await turns(1);
    }
    await closing;
    server.hasCrashed = true;
    await server.plane[Symbol.asyncDispose]();
    await server.log[Symbol.asyncDispose]();
  }

  /** The storm is over: everybody is let go on, and time passes until all is done. */
  async #calm(): Promise<void> {
    for (const program of this.#programs) {
      program.pause?.end();
      delete program.pause;
    }
    for (let round = 0; round < 400; round += 1) {
      if (!this.#server) await this.#start();
      for (const connected of this.#connections) {
        connected.isStalled = false;
        if (connected.wire.isHaunted) connected.wire.cut(both);
        passAll(connected.wire);
      }
      for (const go of this.#server?.waiting.splice(0) ?? []) go();
      if (this.#server) this.#answer(this.#server);
      await turns(2);
      this.#look();
      if (round % 5 === 4) this.#pass(500);
      if (round > 20 && (await this.#isQuiet())) return;
    }
    this.#judgeQuietly();
    assert.fail("the storm never ends");
  }

  async #isQuiet(): Promise<boolean> {
    const isHeld = this.#referee.held.every(({ jobId, refused, end, isRead }) =>
      jobId === undefined ? refused : end && isRead,
    );
    if (!isHeld) return false;
    const left = await this.#server?.plane.read(
      ({ jobs }) => [...jobs.byId.values()].filter(({ state }) => state !== "ended").length,
    );
    const areBack = this.#living.every(({ client }) => client?.isConnected);
    return left === 0 && areBack && this.#living.every((program) => this.#hasAll(program));
  }

  #hasAll({ client }: Program): boolean {
    const last = client && this.#lastOf(client.sessionId);
    return client?.lastEventSeq === last;
  }

  #lastOf(session: string): number | undefined {
    return this.#server?.plane.peek(({ sessions }) =>
      sessions.lastEventSequences.get(sessionId(session)),
    );
  }

  /** Why it is not quiet, in the referee's words. */
  #judgeQuietly(): void {
    const open = this.#referee.held.filter(({ jobId, refused, end }) =>
      jobId === undefined ? !refused : !end,
    );
    assert.deepEqual(open, [], "these handles never settle");
    for (const { client } of this.#living) {
      assert(client?.isConnected, "a client never finds back");
      assert.equal(client.lastEventSeq, this.#lastOf(client.sessionId), "a client misses events");
    }
  }

  async #check(): Promise<void> {
    const entries: Entry[] = [];
    const plane = this.#server?.plane;
    for (;;) {
      const more = (await plane?.history(entries.at(-1)?.sequence ?? 0, 1_000)) ?? [];
      if (more.length === 0) break;
      entries.push(...more);
    }
    this.#referee.judge(entries);
    for (const { event } of entries) {
      if (event.type === "job.ended") this.#see(`ended ${event.outcome.status}`);
      if (event.type === "job.offered") this.#see("ran again");
      const isClosed = event.type === "question.closed" && event.question.state === "closed";
      if (isClosed) this.#see(`question ${event.question.reason}`);
      if (event.type === "session.resumed") this.#see("resumed");
      if (event.type === "session.acknowledged") this.#see("acknowledged");
    }
  }

  #see(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { wire } of this.#connections) wire.cut(both);
    for (const { client } of this.#programs) void client?.close();
    const server = this.#server;
    if (server) {
      server.hasCrashed = true;
      await server.log[Symbol.asyncDispose]();
    }
    await this.#directory[Symbol.asyncDispose]();
  }
}

function passAll(wire: Wire): void {
  while (wire.pass("up", 1_000_000) || wire.pass("down", 1_000_000));
}

/** Goes on only if the process is still there. */
async function alive<Value>(server: Server, promise: Promise<Value>): Promise<Value> {
  try {
    return await promise;
  } finally {
    if (server.hasCrashed) await new Promise(() => {});
  }
}

/** Whoever is slow to unwind waits once more when it is told to stop. */
function pauseOf(server: Server, { signal }: JobContext, isSlow: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    server.waiting.push(resolve);
    signal.addEventListener("abort", () => {
      const unwind = (): void => reject(signal.reason);
      if (isSlow) server.waiting.push(unwind);
      else unwind();
    });
  });
}

function isOf({ asker }: Question, { jobId }: JobHandle): boolean {
  return asker.of === "job" && asker.jobId === jobId;
}

function codeOf(error: unknown): string {
  return isARCPError(error) ? error.code : String(error);
}

function isResult(value: unknown): value is { mark: number; words: number } {
  return typeof value === "object" && value !== null && "mark" in value;
}

/** Nobody pulls the plug of this machine: what is kept need not reach its disk, which would take most of the time. */
async function quickDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const memory = "/dev/shm";
  const path = await mkdtemp(join(existsSync(memory) ? memory : tmpdir(), "tipstaff-storm-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

type Notice = Noticed & { readonly who: string };

const both: Cut = { client: true, runtime: true, isAbrupt: true };
const notices: readonly [Notice, ...Notice[]] = [
  { client: true, runtime: true, who: "both" },
  { client: true, runtime: false, who: "only the client" },
  { client: false, runtime: true, who: "only the runtime" },
];

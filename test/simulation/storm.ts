/**
 * One storm: a plane on a disk that forgets, clients that ask for everything, agents that fall silent,
 * watchers that come and go, a process that is killed at any moment. All chance comes from the seed, and
 * nothing happens but in steps that the storm itself takes, so that the seed is the whole story.
 *
 * After each step it looks whether everything still holds that must hold; the first thing that does not
 * ends the storm, with the seed and the last steps before it.
 */
import assert from "node:assert/strict";
import {
  type AcquireLease,
  type AgentId,
  agentId,
  type ClaimTask,
  type Command,
  capture,
  check,
  claimByKey,
  covers,
  describe,
  dismissalOf,
  type Event,
  emptyState,
  evolve,
  type OwnState,
  observedId,
  printEvent,
  questionId,
  type Refusal,
  type State,
  type Stretch,
  sessionId,
  stretchesAfter,
} from "../../src/core/index.ts";
import { type Entry, LogError } from "../../src/log/index.ts";
import {
  type Keep,
  type Outcome,
  Plane,
  type WaitingCommand,
  type Watch,
} from "../../src/plane/index.ts";
import * as say from "../../src/testing/commands.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import { Random } from "../../src/testing/random.ts";
import { SimulatedDisk } from "../../src/testing/simulated-disk.ts";
import { SimulatedLog } from "../../src/testing/simulated-log.ts";
import {
  AnyQuestion,
  forecastQuestion,
  isQuestionCommand,
  type QuestionPresent,
} from "./any-question.ts";
import { AnyWork, type Present } from "./any-work.ts";
import { claimUnder, fitting, forecast, judge } from "./forecast.ts";
import { Ledger, type Said, type Told } from "./ledger.ts";
import { type AskCall, type DoorReply, QuestionDoors } from "./question-doors.ts";
import { askerOf, attemptOf, closingOf, QuestionLedger, reasonOf } from "./question-ledger.ts";
import { Referee } from "./referee.ts";
import { either, forecastWork, isWork } from "./work-forecast.ts";

/** One run of the process, from its start to its end. */
type Life = {
  readonly log: SimulatedLog;
  readonly plane: Plane;
  readonly clock: ManualClock;
  /** The state that the plane works on, as a view sees it: it may be ahead of the log. */
  readonly state: State;
  /** How much the plane's time is ahead of the clock, because the log was. */
  readonly aheadMs: number;
  readonly doors: QuestionDoors;
};

/** What a client believes to hold, because it was told so. */
type Belief = { readonly taskId: string; readonly holder: AgentId; readonly token: bigint };

/** A place in line, and the calls of everyone who listens. */
type Place = {
  readonly command: WaitingCommand;
  readonly calls: Set<AbortController>;
  /** When the last one hung up, if it may come back. */
  leftAtMs: number | undefined;
};

type Watcher = {
  /** All entries, or only those that are published. */
  readonly isFiltered: boolean;
  afterSequence: number;
  watch: Watch | undefined;
  isReading: boolean;
};

/** What one command saw: it may be answered when all of that is durable. */
/** What an agent asked for, or was granted, under a key. */
type Wish = { readonly agentId: AgentId; readonly key: string | undefined };

type Sight = { events: readonly Event[]; firstSequence: number; sequence: number };

const traceLength = 30;
const tools = ["x", "y"] as const;
const names = {
  leases: ["l1", "l2", "l3"],
  groups: ["g1", "g2"],
  policies: ["p1", "p2", "p3", "p4"],
  patterns: ["*", "a", "a*", "*b", "ab"],
  words: ["a", "b", "ab", "aab", "*"],
  outputs: ["", "b25l"],
  types: ["p", "q"],
  doings: ["thinking", "waiting for a person", "waiting for a reply"],
  keys: ["k1", "k2", "k3"],
} as const;
/** How long a place is kept. */
const placeKeptMs = 10_000;

export class Storm {
  readonly seed: number;
  /** How often each kind of thing happened, to see that the storm is a storm. */
  readonly seen: Map<string, number> = new Map();
  readonly #random: Random;
  readonly #disk: SimulatedDisk;
  /** In some storms history is short. */
  readonly #keep: Keep;
  readonly #trace: string[] = [];
  /** What waits for its turn: commits, steps of the disk, reads of the log. */
  #turns: (() => void)[] = [];
  #life: Life | undefined;
  #wallMs = 1_700_000_000_000;
  #step = 0;
  #violation: unknown;

  // What is known to be durable, and what follows from it.
  readonly #referee = new Referee();
  readonly #durable: string[] = [];
  readonly #busSequences: number[] = [];
  readonly #written: { readonly atMs: number; readonly bytes: number }[] = [];
  readonly #folded: OwnState = emptyState();
  /** What was handed to the log last, by sequence. It may or may not have arrived. */
  readonly #attempted = new Map<number, string>();
  readonly #heard = new Map<string, { readonly atMs: number; readonly sequence: number }[]>();

  // What clients know, because they were told.
  #agents: AgentId[] = [];
  #beliefs: Belief[] = [];
  #tasks: string[] = [];
  #silent = new Set<AgentId>();
  #unanswered = 0;
  /** Everyone who waits, in the order in which they came. */
  #line: Place[] = [];
  readonly #holders = new Map<string, string>();
  /** What was registered and created, to be asked for again. */
  #made: Command[] = [];
  readonly #watchers: readonly Watcher[] = [
    { isFiltered: false, afterSequence: 0, watch: undefined, isReading: false },
    { isFiltered: false, afterSequence: 0, watch: undefined, isReading: false },
    { isFiltered: true, afterSequence: 0, watch: undefined, isReading: false },
  ];
  #minted = 0;
  readonly #anyWork: AnyWork;
  readonly #anyQuestion: AnyQuestion;
  /** Jobs and sessions as they are in the plane: what is written down of them may be behind. */
  #ledger = new Ledger();
  /** The same for questions and dismissals. */
  #questions = new QuestionLedger();
  /** Askers that wait for an answer. */
  #asking = new Set<AskCall>();
  /** Answers of which somebody was told that they count, by question. */
  readonly #acknowledged = new Map<string, string>();
  /** Question id and key of each acknowledged answer that had a key. A retry with the same key must not be refused. */
  readonly #acknowledgedKeys = new Set<string>();
  #hasBurst = false;
  readonly #damaged = new Set<string>();
  #oldestSequence = 1;
  #isDiskBroken = false;
  #isStopped = false;
  #isClosing = false;

  constructor(seed: number) {
    this.seed = seed;
    this.#random = new Random(seed);
    this.#disk = new SimulatedDisk(`disk-${seed}`);
    this.#anyWork = new AnyWork(this.#random);
    this.#anyQuestion = new AnyQuestion(this.#random);
    this.#keep = {
      ms: this.#random.pick([20_000, 300_000, 2_592_000_000]),
      bytes: this.#random.pick([5_000, 50_000, 4_000_000_000]),
    };
  }

  async run(steps: number): Promise<void> {
    try {
      while (this.#step < steps) {
        this.#step += 1;
        if (this.#life) await this.#act(this.#life);
        else await this.#start();
        this.#inspect();
      }
      await this.#calm();
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      const told = this.#trace.map((line) => `  ${line}`).join("\n");
      throw new Error(`seed ${this.seed}, step ${this.#step}: ${message}\n${told}`, { cause });
    }
  }

  /** The last steps, for people to read; equal for equal seeds. */
  get trace(): readonly string[] {
    return this.#trace;
  }

  async #act(life: Life): Promise<void> {
    if (this.#isStopped) return this.#crash("after the disk failed");
    const kind = this.#random.weighted({
      command: 40,
      work: 40,
      words: 6,
      question: 12,
      ask: 7,
      answer: 9,
      hangUp: 2,
      retell: 5,
      // So much that a session says how far it has got; it takes its time, and seldom happens.
      burst: this.seed % 25 === 0 && !this.#hasBurst ? 3 : 0,
      turn: 45,
      claim: 8,
      acquire: 6,
      return: 3,
      withdraw: 0.7,
      time: 10,
      late: 4,
      beats: 8,
      watch: 10,
      read: 5,
      abort: 3,
      snapshot: 1,
      suspend: 1,
      crash: 1.5,
      close: 0.3,
      breakDisk: 0.3,
    });
    switch (kind) {
      case "command":
        this.#submit(life, this.#anyCommand());
        break;
      case "work":
        this.#submit(life, this.#anyWork.command(this.#present(life)));
        break;
      case "words":
        for (let count = this.#random.between(1, 8); count > 0; count--) {
          const command = this.#anyWork.word(this.#present(life));
          if (command) this.#submit(life, command);
        }
        break;
      case "question":
        this.#submit(life, this.#anyQuestion.command(this.#questionPresent(life)));
        break;
      case "ask":
        this.#ask(life);
        break;
      case "answer":
        this.#answer(life);
        break;
      case "hangUp":
        this.#hangUp();
        break;
      case "retell":
        this.#retell(life);
        break;
      case "burst":
        this.#burst(life);
        break;
      case "turn":
        for (let count = this.#random.between(1, 4); count > 0; count--) await this.#takeTurn();
        return;
      case "claim":
        this.#wait(life, this.#anyClaim());
        break;
      case "acquire":
        this.#wait(life, this.#anyAcquire());
        break;
      case "return":
        this.#return(life);
        break;
      case "withdraw":
        this.#withdraw(life);
        break;
      case "time":
        this.#tell(`time passes: ${this.#pass(life, this.#anyTime(life))} ms`);
        break;
      case "late":
        this.#submitLate(life);
        break;
      case "beats":
        for (const id of this.#agents) {
          if (this.#silent.has(id)) continue;
          const doing = this.#random.chance(30) ? this.#random.pick(names.doings) : undefined;
          this.#submit(life, say.heartbeat(id, doing));
        }
        if (this.#random.chance(30)) this.#silent = new Set(this.#someAgents(30));
        break;
      case "watch":
        this.#watch(life, this.#random.pick(this.#watchers as [Watcher, ...Watcher[]]));
        break;
      case "read":
        this.#read(life);
        break;
      case "abort":
        this.#abort(life);
        break;
      case "snapshot":
        this.#snapshot(life);
        break;
      case "suspend":
        this.#sleep(life);
        break;
      case "crash":
        return this.#crash("at any moment");
      case "close":
        return this.#close(life);
      case "breakDisk":
        this.#tell("the disk begins to fail");
        this.#isDiskBroken = true;
        break;
    }
    await this.#drain();
  }

  async #start(): Promise<void> {
    const log = SimulatedLog.open({
      disk: this.#disk,
      later: (run) => this.#turns.push(run),
      fails: () => this.#isDiskBroken && this.#random.chance(25),
    });
    if (log.warnings.length > 0) this.#note("torn tail dropped");
    // What the last life wrote but did not live to see synced is there, but lasts only once the
    // opening, which comes after it in the same file, is synced as well.
    const found = await this.#checkDisk(log);
    let isOpening = true;
    const append = log.append.bind(log);
    log.append = async (entries, expectedSequence) => {
      for (const entry of entries) this.#attempted.set(entry.sequence, textOf(entry));
      await append(entries, expectedSequence);
      if (isOpening) this.#outlive(found);
      isOpening = false;
      this.#witness(entries);
    };
    const clock = new ManualClock(this.#wallMs);
    let state: State | undefined;
    let sequence = 0;
    const probe = {
      reset: (whole: State) => {
        state = whole;
        sequence = whole.lastSequence;
        this.#ledger = this.#referee.work.ledger.copy();
        for (const { event, sequence } of found) this.#ledger.apply(event, sequence);
        this.#questions = this.#referee.questions.ledger.copy();
        for (const { event } of found) this.#questions.apply(event);
        this.#holders.clear();
        for (const { taskId, holder } of whole.leases.held.values()) {
          this.#holders.set(taskId, holder);
        }
      },
      apply: (event: Event) => {
        this.#note(event.type);
        if (state) this.#judgeLine(state, event);
        sequence += 1;
        this.#enter(event, sequence);
      },
    };
    const opening = Plane.open({
      log,
      clock,
      views: [probe],
      keep: this.#keep,
      onSnapshotFailure: (fault) => this.#excuse(fault),
      onCutFailure: (fault) => this.#excuse(fault),
      afterTurn: (run) => this.#turns.push(run),
      onFault: (fault) => this.#stop(fault),
    });
    let plane: Plane | undefined;
    opening.then(
      (opened) => {
        plane = opened;
      },
      (fault: unknown) => this.#stop(fault),
    );
    await this.#drain();
    while (!plane && !this.#isStopped) {
      if (this.#random.chance(1)) return this.#crash("while opening");
      assert(this.#turns.length > 0, "opening never ends");
      await this.#takeTurn();
    }
    if (this.#isStopped) return this.#crash("because the disk failed while opening");
    assert(plane && state, "a plane that opened has a state");
    if (log.warnings.some((warning) => warning.startsWith("snapshot"))) {
      this.#note("damaged snapshot passed over");
    }
    this.#tell(`opened at entry ${plane.lastSequence}`);
    assert.equal(describe(state), describe(this.#folded), "the log gives back the state");
    const doors = new QuestionDoors(plane, (prefix) => this.#mint(prefix));
    this.#life = { log, plane, clock, state, aheadMs: this.#aheadMs(plane, clock), doors };
    this.#judgeTold(this.#life);
    this.#judgeQuestions(this.#life);
  }

  /** The process ends, and takes with it whatever was not synced. */
  async #crash(when: string): Promise<void> {
    this.#tell(`crash ${when}`);
    this.#note("crashed");
    if (this.#turns.length > 0) this.#note("crashed with work under way");
    this.#disk.crash(this.#random);
    if (this.#random.chance(10)) this.#damageSnapshot();
    this.#end();
  }

  /** Of a log that was cut, one snapshot must be left: what only a backup could mend is not tried. */
  #damageSnapshot(): void {
    const names = this.#disk.names.filter((name) => name.endsWith(".snapshot"));
    const intact = names.filter((name) => !this.#damaged.has(name));
    const isCut = this.#disk.names.includes("cut");
    const name = this.#random.pickAny(isCut && intact.length < 2 ? [] : intact);
    if (name === undefined) return;
    this.#tell(`${name} is damaged`);
    this.#damaged.add(name);
    this.#disk.damage(name, this.#random);
    if (isCut) this.#note("a snapshot of a cut log damaged");
  }

  async #close(life: Life): Promise<void> {
    this.#tell("closes");
    this.#isClosing = true;
    let isClosed = false;
    const closing = life.plane[Symbol.asyncDispose]();
    Promise.resolve(closing).then(
      () => {
        isClosed = true;
      },
      (fault: unknown) => this.#blame(fault),
    );
    await this.#drain();
    while (!isClosed && !this.#isStopped) {
      assert(this.#turns.length > 0, "closing never ends");
      await this.#takeTurn();
    }
    await this.#runOut();
    if (!this.#isStopped) {
      assert.equal(this.#unanswered, 0, "everyone is answered before the plane is closed");
      const listening = this.#line.filter(({ calls }) => calls.size > 0);
      assert.deepEqual(listening, [], "also those who waited");
      assert.equal(this.#asking.size, 0, "also those who asked");
      this.#note("closed");
    }
    this.#end();
  }

  #end(): void {
    this.#turns = [];
    this.#life = undefined;
    this.#isStopped = false;
    this.#isClosing = false;
    this.#isDiskBroken = false;
    this.#unanswered = 0;
    this.#line = [];
    this.#asking = new Set();
    for (const watcher of this.#watchers) {
      watcher.watch = undefined;
      watcher.isReading = false;
    }
    const away = this.#random.weighted({ short: 60, long: 30, day: 4, back: 6 });
    const awayMs = {
      short: this.#random.between(0, 3_000),
      long: this.#random.between(3_000, 400_000),
      day: 90_000_000,
      back: -this.#random.between(1, 60_000),
    };
    this.#wallMs += awayMs[away];
    this.#note(`away: ${away}`);
  }

  /** The storm is over: everything that was begun comes to its end. */
  async #calm(): Promise<void> {
    this.#tell("the storm is over");
    this.#isDiskBroken = false;
    if (this.#isStopped) await this.#crash("after the disk failed");
    while (!this.#life) await this.#start();
    this.#pass(this.#life, 1);
    await this.#runOut();
    assert.equal(this.#unanswered, 0, "everyone is answered in the end");
    this.#inspect();
    assert.equal(describe(this.#life.state), describe(this.#folded));
    for (const watcher of this.#watchers) {
      // Its answer may be that it comes too late, as long as there is something to cut.
      const isBehind = (): boolean =>
        !watcher.watch || (!watcher.isFiltered && watcher.afterSequence < this.#durable.length);
      for (let tries = 0; tries < 500 && (tries === 0 || isBehind()); tries++) {
        this.#watch(this.#life, watcher);
        await this.#runOut();
      }
      if (watcher.isFiltered) continue;
      assert.equal(watcher.afterSequence, this.#durable.length, "a watcher sees all, in the end");
    }
    await this.#close(this.#life);
  }

  #anyCommand(): Command {
    const random = this.#random;
    const id = this.#anyAgent();
    const lease = random.pick(names.leases);
    const group = random.pick(names.groups);
    const task = this.#random.pickAny(this.#tasks.slice(-6)) ?? "t0";
    const belief = random.pickAny(this.#beliefs);
    const own = belief && random.chance(80) ? belief : undefined;
    const presented = own?.token ?? this.#random.pickAny(this.#beliefs)?.token ?? 1n;
    const kind = random.weighted({
      register: this.#livingCount() < 4 ? 25 : 1,
      deregister: 1,
      acquire: 10,
      renew: 6,
      release: 4,
      campaign: 5,
      resign: 3,
      setPolicy: 3,
      deletePolicy: 1,
      createTask: 6,
      claim: 3,
      unclaim: 1,
      complete: 4,
      fail: 3,
      extend: 3,
      cancel: 1,
      requeue: 2,
      observe: 2,
      lose: 1,
      again: 2,
    });
    switch (kind) {
      case "register": {
        const ttlMs = random.pick([1_000, 3_000, 10_000, 100_000]);
        const offered = tools.filter(() => random.chance(60));
        const reconnectsSoon = random.chance(50);
        const options = { ttlMs, tools: offered, reconnectsSoon };
        return this.#make(say.register(this.#mint("a"), options));
      }
      case "again":
        return this.#anythingAgain();
      case "observe":
        return say.observe(random.pick(names.keys), random.pick(["working on", "waiting", "idle"]));
      case "lose":
        return { type: "observed.leave", observedId: observedId(random.pick(names.keys)) };
      case "deregister":
        return say.deregister(id);
      case "acquire":
        return this.#anyAcquire();
      case "renew": {
        const ttlMs = random.chance(50) ? random.between(1, 20_000) : undefined;
        return say.renew(own?.taskId ?? lease, own?.holder ?? id, presented, ttlMs);
      }
      case "release":
        return say.release(own?.taskId ?? lease, own?.holder ?? id, presented);
      case "campaign":
        return say.campaign(group, id);
      case "resign":
        return say.resign(group, id);
      case "setPolicy": {
        const part = (): string => random.pick(names.patterns);
        const effect = random.chance(50) ? "allow" : "deny";
        return say.setPolicy(random.pick(names.policies), effect, `${part()} ${part()} ${part()}`);
      }
      case "deletePolicy":
        return say.deletePolicy(random.pick(names.policies));
      case "createTask":
        return this.#make(
          say.createTask(this.#mint("t"), {
            taskType: random.pick(names.types),
            input: random.chance(50) ? "aW4=" : "",
            requiredTools: tools.filter(() => random.chance(30)),
            maxRetries: random.below(3),
            claimMs: random.pick([1_000, 10_000]),
            priority: random.chance(30) ? random.between(-2, 2) : 0,
            deliveriesMax: random.chance(60) ? random.between(1, 3) : 0,
            delayMs: random.chance(20) ? random.between(1, 5_000) : 0,
          }),
        );
      case "claim":
        return this.#anyClaim();
      case "unclaim":
        return say.unclaim(task, id, this.#anyToken(task).claimToken ?? 1);
      case "extend":
        return say.extend(task, this.#claimantOf(task) ?? id, this.#anyToken(task));
      case "complete": {
        const output = random.pick(names.outputs);
        return say.complete(task, this.#claimantOf(task) ?? id, output, this.#anyToken(task));
      }
      case "fail": {
        const pause = random.chance(20) ? { retryAfterMs: random.between(1, 3_000) } : {};
        const under = { ...this.#anyToken(task), ...pause };
        return say.fail(task, this.#claimantOf(task) ?? id, "boom", under);
      }
      case "cancel":
        return say.cancel(task);
      case "requeue":
        return say.requeue(this.#anyDeadLetter() ?? task);
    }
  }

  #anyAcquire(): AcquireLease {
    const random = this.#random;
    const lease = random.pick(names.leases);
    const ttlMs = random.pick([500, 5_000, 60_000]);
    const key = random.chance(50) ? random.pick(names.keys) : undefined;
    return say.acquire(lease, this.#anyAgent(), ttlMs, key);
  }

  #anyClaim(): ClaimTask {
    const random = this.#random;
    const types = names.types.filter(() => random.chance(60));
    const wish = random.chance(30) ? { types } : {};
    // A key is for one wish: who asks for something else with it is given what it has.
    const key = `${random.pick(names.keys)} ${wish.types ?? "any"}`;
    return say.claim(this.#anyAgent(), random.chance(40) ? { ...wish, key } : wish);
  }

  /** Often the claim's own, sometimes the one before, sometimes none. */
  #anyToken(task: string): { readonly claimToken?: number } {
    const found = [...(this.#life?.state.tasks.byId.values() ?? [])].find(({ id }) => id === task);
    if (!found || this.#random.chance(40)) return {};
    return { claimToken: found.deliveries - (this.#random.chance(25) ? 1 : 0) };
  }

  #anyDeadLetter(): string | undefined {
    const tasks = [...(this.#life?.state.tasks.byId.values() ?? [])];
    const gone = tasks.filter(({ state }) => state === "dead" || state === "cancelled");
    return this.#random.pickAny(gone)?.id;
  }

  #make<Made extends Command>(command: Made): Made {
    this.#made = [...this.#made, command].slice(-6);
    return command;
  }

  /** A reply that was lost is asked for again; sometimes what is asked for has changed. */
  #anythingAgain(): Command {
    const command = this.#random.pickAny(this.#made) ?? say.heartbeat(this.#anyAgent());
    if (!this.#random.chance(30)) return command;
    switch (command.type) {
      case "agent.register":
        return { ...command, ttlMs: command.ttlMs + 1 };
      case "task.create":
        return { ...command, maxRetries: command.maxRetries + 1 };
      default:
        return command;
    }
  }

  #submit(life: Life, command: Command): void {
    // What is overdue ends first, so that the forecast sees what the command will see.
    life.plane.tick();
    const expected = this.#forecast(life, command);
    const sight: Sight = { events: [], firstSequence: 0, sequence: 0 };
    const before = life.plane.lastSequence;
    const answer = life.plane.submit(command, { actor: "client" }, (_, events) => {
      this.#look(life, sight, events);
      if (command.type === "agent.heartbeat") this.#hear(life, command.agentId);
    });
    sight.sequence = life.plane.lastSequence;
    this.#tell(`${inShort(command)} (${before} -> ${sight.sequence}, ${expected ?? "accepted"})`);
    this.#await(life, answer, sight, (outcome) => {
      const code = outcome.refusal?.code;
      if (expected === either) assert(code === undefined || code === "session_gone", `${code}`);
      else assert.equal(code, expected, `${inShort(command)}: the other outcome`);
      this.#note(code ?? command.type);
      const isNew = command.type === "lease.acquire" && command.key === undefined;
      if (isNew && !outcome.refusal) assert.equal(sight.events.length, 1, "a new token each time");
      if (command.type === "question.answer") this.#judgeAnswered(command, outcome.refusal);
      for (const event of sight.events) this.#learn(command, event);
    });
  }

  #forecast(life: Life, command: Command): string | undefined {
    if (isQuestionCommand(command)) {
      return forecastQuestion(command, this.#questionPresent(life));
    }
    if (!isWork(command)) return forecast(life.state, command);
    return forecastWork(command, {
      ...this.#present(life),
      oldestSequence: life.log.oldestSequence,
    });
  }

  #present({ clock, aheadMs }: Life): Present {
    const nowMs = clock.nowMs() + aheadMs;
    return { ledger: this.#ledger, nowMs, mint: (prefix) => this.#mint(prefix) };
  }

  #enter(event: Event, sequence: number): void {
    try {
      this.#ledger.apply(event, sequence);
      this.#questions.apply(event);
      if (event.type === "question.closed") this.#note(`closed: ${reasonOf(event.question)}`);
      const isAskedAgain = event.type === "question.asked" && attemptOf(event.question) > 1;
      if (isAskedAgain) this.#note("asked by a later attempt");
    } catch (fault) {
      this.#blame(fault);
    }
  }

  #questionPresent(life: Life): QuestionPresent {
    const { nowMs, mint } = this.#present(life);
    const { agents } = life.state.registry;
    return {
      questions: this.#questions,
      work: this.#ledger,
      agents: this.#agents,
      livenessOf: (id) => agents.get(agentId(id))?.liveness,
      nowMs,
      mint,
    };
  }

  /** A job or an agent asks, and mostly waits for the answer. */
  #ask(life: Life): void {
    life.plane.tick();
    const wish = this.#anyQuestion.wish(this.#questionPresent(life));
    const { asker, key } = wish;
    if (asker.of === "agent" && wish.expects.of === "scope") return;
    const isPatient = this.#random.chance(80);
    const call =
      asker.of === "job"
        ? life.doors.askAsJob({ ...wish, asker })
        : life.doors.askAsAgent({ ...wish, asker }, { isPatient });
    this.#tell(`${asker.of} ${asker.of === "job" ? asker.jobId : asker.agentId} asks ${key}`);
    this.#asking.add(call);
    const judged = call.done.then((reply) => {
      assert.equal(life, this.#life, "the dead do not answer");
      const isWaiting = isPatient && reply.state === "open" && !reply.code;
      assert(!isWaiting || call.hasHungUp() || this.#isClosing, "an asker waits in vain");
      this.#judgeReply(reply);
      this.#note(`${asker.of} asked: ${reply.code ?? reply.state}`);
    });
    judged
      .catch((fault: unknown) => {
        if (fault !== hungUp) this.#blame(fault);
        else this.#note("asker hung up");
      })
      .finally(() => this.#asking.delete(call));
  }

  #hangUp(): void {
    const call = this.#random.pickAny([...this.#asking]);
    const withdraws = this.#random.chance(50);
    this.#tell(`an asker ${withdraws ? "withdraws" : "hangs up"}: ${call?.wish.key ?? "nobody"}`);
    call?.hangUp(hungUp, { withdraws });
  }

  /** Somebody answers at one of the doors; often several people do, before any of them is told. */
  #answer(life: Life): void {
    life.plane.tick();
    if (this.#questions.byId.size === 0) return;
    const first = this.#anyQuestion.answer(this.#questionPresent(life));
    for (let count = this.#random.between(1, 3); count > 0; count--) {
      const other = this.#anyQuestion.answer(this.#questionPresent(life));
      // The same question, whatever the others answer.
      const said = count === 1 ? first : { ...other, question: first.question };
      const isHttp = this.#random.chance(50);
      const principal = this.#random.pick(["ada", "eve"]);
      const maySee = this.#random.chance(50);
      const by = isHttp ? said.name : principal;
      this.#tell(`${by} answers ${said.question.id} over ${isHttp ? "HTTP" : "ARCP"}`);
      this.#unanswered += 1;
      const reply = isHttp
        ? life.doors.answerOverHttp(said)
        : life.doors.answerOverArcp(said, { principal, maySee });
      const judged = reply.then((told) => {
        this.#unanswered -= 1;
        assert.equal(life, this.#life, "the dead do not answer");
        this.#judgeReply(told);
        this.#note(`answered over ${isHttp ? "HTTP" : "ARCP"}: ${told.code ?? "first"}`);
        const keyed = `${said.question.id} ${said.key}`;
        if (told.code === "question_closed") {
          assert(!this.#acknowledgedKeys.has(keyed), `a retry of ${keyed} was refused`);
        }
        if (told.code === undefined && said.key !== undefined) this.#acknowledgedKeys.add(keyed);
        if (told.code === undefined) {
          this.#acknowledge(said.question.id, JSON.stringify(said.value));
          const mine = `answered ${JSON.stringify(said.value)} by ${by} at`;
          const closing = this.#referee.questions.closing(said.question.id);
          // A retry under the same key may come through another door.
          const isRetry = said.key !== undefined;
          assert(closing?.startsWith(mine) || isRetry, `${mine}, but it is ${closing}`);
        }
      });
      judged.catch((fault: unknown) => this.#blame(fault));
    }
  }

  /** Whatever a door says of a closing is in the log, and is durable. */
  #judgeReply({ code, id, state, answer, by, reason }: DoorReply): void {
    if (code === "unavailable") return;
    const isClosed = (state !== undefined && state !== "open") || code === "question_closed";
    if (!isClosed) return;
    assert(id !== undefined, `which question is not told: ${code}`);
    const closing = this.#referee.questions.closing(id);
    assert(closing !== undefined, `${id} is told as closed, and that is not durable`);
    const [how] = closing.split(" ");
    assert.equal(reason ?? "answered", how, `${id}: ${closing}`);
    if (how !== "answered") return;
    assert(by !== undefined, `${id}: who answered is not told`);
    assert(closing.includes(` by ${by} at `), `${id} was answered by ${by}: ${closing}`);
    const isSame = answer === undefined || closing.startsWith(`answered ${answer} by `);
    assert(isSame, `${id} is told as ${answer}: ${closing}`);
  }

  /** The same for an answer that came past all doors. */
  #judgeAnswered(
    command: Command & { readonly type: "question.answer" },
    refusal: Refusal | undefined,
  ): void {
    const { questionId: id, answer } = command;
    if (!refusal) return this.#acknowledge(id, answer);
    if (refusal.code !== "question_closed") return;
    const { question, message } = refusal;
    assert(question, "how it closed is not told");
    assert.equal(closingOf(question), this.#referee.questions.closing(id), "another closing");
    if (question.state === "answered") assert(message.includes(question.by), message);
  }

  /** Exactly one answer wins. */
  #acknowledge(id: string, answer: string): void {
    const before = this.#acknowledged.get(id);
    assert(before === undefined || before === answer, `${id}: ${before} and ${answer} both won`);
    this.#acknowledged.set(id, answer);
    const closing = this.#referee.questions.closing(id);
    assert(closing?.startsWith(`answered ${answer} by `), `${id}: ${answer}, but ${closing}`);
  }

  /** The state has what the ledger has, and every answer that was acknowledged. */
  #judgeQuestions({ state, plane, clock, aheadMs }: Life): void {
    const found = [...state.questions.byId.values()].map((one) => `${one.id} ${closingOf(one)}`);
    const known = [...this.#questions.byId.values()].map(({ id, closing }) => `${id} ${closing}`);
    assert.deepEqual(found.sort(), known.sort(), "the same questions");
    for (const [id, answer] of this.#acknowledged) {
      const question = state.questions.byId.get(questionId(id));
      if (!question) continue;
      const isKept = closingOf(question).startsWith(`answered ${answer} by `);
      assert(isKept, `${id}: the answer ${answer} was acknowledged and is lost`);
    }
    const nowMs = clock.nowMs() + aheadMs;
    for (const dismissal of this.#questions.dismissals.values()) {
      const { sinceMs, untilMs = Number.POSITIVE_INFINITY } = dismissal;
      const isHidden = (since: number): boolean =>
        dismissalOf(state.needs, { ...dismissal, sinceMs: since }, nowMs) !== undefined;
      assert.equal(isHidden(sinceMs), untilMs > nowMs, `${dismissal.id} is shown again`);
      assert(!isHidden(sinceMs + 1), "an item that happens again is shown");
    }
    if (plane.lastSequence !== plane.durableSequence) return;
    for (const { wish } of this.#asking) {
      const question = this.#questions.underKey(askerOf(wish), wish.key);
      assert(question?.state === "open", `who asked ${question?.id} is never told`);
    }
  }

  /** A command that comes before anyone has looked at what is overdue. */
  #submitLate(life: Life): void {
    const ms = this.#anyTime(life);
    const command = this.#random.chance(40)
      ? this.#anyWork.command(this.#present(life))
      : this.#anyCommand();
    this.#wallMs += ms;
    life.clock.leap(ms);
    const sight: Sight = { events: [], firstSequence: 0, sequence: 0 };
    const answer = life.plane.submit(command, { actor: "client" }, (_, events) => {
      this.#look(life, sight, events);
      if (command.type === "agent.heartbeat") this.#hear(life, command.agentId);
    });
    const nowMs = life.clock.nowMs();
    sight.sequence = life.plane.lastSequence;
    this.#tell(`after ${ms} ms: ${inShort(command)}`);
    this.#await(life, answer, sight, ({ refusal }) => {
      const held = refusal?.lease;
      assert(!held || held.expiresAtMs > nowMs, "a lease that has expired is in nobody's way");
      for (const event of sight.events) this.#learn(command, event);
      this.#note("late");
    });
  }

  #wait(life: Life, command: WaitingCommand): void {
    life.plane.tick();
    const before = this.#line.find(({ command: other }) => isSamePlace(other, command));
    const expected = forecast(life.state, command);
    // Who comes back to its place waits there, whatever it would get if it were new.
    const mayWait = before !== undefined || expected === "no_task" || expected === "lease_held";
    const calling = new AbortController();
    const wasAway = before?.leftAtMs !== undefined;
    // Before it asks: what nobody else wanted while it was away it has at once.
    before?.calls.add(calling);
    if (before) before.leftAtMs = undefined;
    const sight: Sight = { events: [], firstSequence: 0, sequence: 0 };
    let isDecided = false;
    const look = (_: State, events: readonly Event[]): void => {
      isDecided = true;
      this.#look(life, sight, events);
      this.#judgeGrant(life, command, events);
    };
    const { signal } = calling;
    const answer = life.plane.wait(command, { actor: "client" }, look, { signal });
    sight.sequence ||= life.plane.lastSequence;
    this.#tell(`${inShort(command)} (${mayWait ? "waits" : (expected ?? "accepted")})`);
    const place = before ?? { command, calls: new Set(), leftAtMs: undefined };
    if (mayWait) {
      if (before) this.#note(wasAway ? "came back" : "listens too");
      else this.#line.push(place);
      place.calls.add(calling);
      if (wasAway && isDecided) {
        // Now, or already: it may have asked without waiting while its place was kept.
        this.#note("had it when it was back");
        this.#line = this.#line.filter((other) => other !== place);
      }
    } else {
      assert.equal(isDecided, expected === undefined, "what can be decided is");
    }
    this.#await(
      life,
      answer,
      sight,
      ({ refusal }) => {
        place.calls.delete(calling);
        const ends = ["agent_dead", "agent_not_found", "unavailable"];
        const codes = mayWait ? [...ends, "no_task", "lease_held"] : [expected];
        if (refusal) assert(codes.includes(refusal.code), `${command.type}: ${refusal.code}`);
        const isWithdrawn = refusal?.code === "no_task" || refusal?.code === "lease_held";
        if (isWithdrawn) assert(!this.#line.includes(place), "nobody has withdrawn it");
        const what = command.type === "task.claim" ? "claim" : "lease";
        this.#note(`${what}: ${refusal ? refusal.code : mayWait ? "waited" : "at once"}`);
        for (const event of sight.events) this.#learn(command, event);
        // The client was gone before it could be told.
        const [event] = sight.events;
        if (event?.type !== "task.claimed" || !this.#random.chance(15)) return;
        if (!this.#isStopped && !this.#isClosing) {
          this.#submit(life, say.unclaim(event.task.id, command.agentId, event.task.deliveries));
        }
      },
      { mayWait },
    );
  }

  /** Whoever was told that it has something has it. */
  #judgeGrant({ state }: Life, command: WaitingCommand, events: readonly Event[]): void {
    const { agentId, key } = command;
    if (command.type === "task.claim") {
      const [event] = events;
      const task = event && "task" in event ? event.task : claimUnder(state, command);
      assert(task?.state === "claimed" && task.claimant === agentId, "the task went to another");
      assert.equal(task.claimKey, key);
    } else {
      const lease = state.leases.held.get(command.taskId);
      assert.equal(lease?.holder, agentId, "the lease went to another");
      assert.equal(lease?.key, key);
    }
  }

  /**
   * Everything that is handed out goes to the first in line who can have it, also while it is away; and
   * past the line only where nobody in it could.
   */
  #judgeLine(state: State, event: Event): void {
    try {
      switch (event.type) {
        case "lease.acquired": {
          const { taskId, holder, key } = event.lease;
          const isAgain = this.#holders.get(taskId) === holder;
          this.#holders.set(taskId, holder);
          if (isAgain) return;
          this.#serve(
            ({ command }) => command.type === "lease.acquire" && command.taskId === taskId,
            { agentId: holder, key },
          );
          return;
        }
        case "lease.released":
        case "lease.expired":
          this.#holders.delete(event.lease.taskId);
          return;
        case "task.claimed": {
          const { task } = event;
          assert(task.state === "claimed");
          const couldHave = ({ command }: Place): boolean => {
            if (command.type !== "task.claim") return false;
            const agent = state.registry.agents.get(command.agentId);
            const isWanted = command.types === undefined || command.types.includes(task.type);
            const suffices = task.requiredTools.every((tool) => agent?.card.tools.includes(tool));
            return agent?.liveness === "alive" && isWanted && suffices;
          };
          this.#serve(couldHave, { agentId: task.claimant, key: task.claimKey });
          return;
        }
        case "agent.died":
          this.#line = this.#line.filter(({ command }) => command.agentId !== event.agent.id);
          return;
        default:
          return;
      }
    } catch (fault) {
      this.#blame(fault);
    }
  }

  #serve(
    couldHave: (place: Place) => boolean,
    granted: { readonly agentId: AgentId; readonly key: string | undefined },
  ): void {
    this.#forgetLeft();
    // Nothing is given to who is away.
    const able = this.#line.filter(couldHave);
    const first = able.find(({ calls }) => calls.size > 0);
    if (!first) return;
    if (first !== able[0]) this.#note("passed over");
    const { agentId, key } = first.command;
    assert.deepEqual({ agentId, key }, granted, `${agentId} has waited longer`);
    this.#line = this.#line.filter((place) => place !== first);
  }

  #forgetLeft(): void {
    const nowMs = this.#life ? this.#life.clock.nowMs() + this.#life.aheadMs : 0;
    this.#line = this.#line.filter(
      ({ leftAtMs }) => leftAtMs === undefined || leftAtMs + placeKeptMs > nowMs,
    );
  }

  /** Someone waits again with its key, or a second time beside itself. */
  #return(life: Life): void {
    life.plane.tick();
    this.#forgetLeft();
    const keyed = this.#line.filter(({ command }) => command.key !== undefined);
    const away = keyed.filter(({ calls }) => calls.size === 0);
    const place = this.#random.pickAny(this.#random.chance(80) ? away : keyed);
    if (place) this.#wait(life, place.command);
  }

  #withdraw(life: Life): void {
    life.plane.tick();
    const { leases, tasks } = life.state;
    const granted: Wish[] = [
      ...leases.held.values().map(({ holder: agentId, key }) => ({ agentId, key })),
      ...tasks.byId
        .values()
        .filter((task) => task.state === "claimed")
        .map(({ claimant: agentId, claimKey: key }) => ({ agentId, key })),
    ];
    const asked = this.#line.map(({ command: { agentId, key } }): Wish => ({ agentId, key }));
    const wishes = this.#random.chance(50) ? asked : granted;
    const { agentId, key } = this.#random.pickAny(wishes) ?? {};
    if (agentId === undefined || key === undefined) return;
    this.#tell(`${agentId} withdraws ${key}`);
    const isFact = granted.some((wish) => wish.agentId === agentId && wish.key === key);
    this.#note(isFact ? "gave back" : "withdrew");
    const before = life.plane.lastSequence;
    this.#line = this.#line.filter(
      ({ command }) => command.agentId !== agentId || command.key !== key,
    );
    const sight: Sight = { events: [], firstSequence: 0, sequence: 0 };
    const answer = life.plane.withdraw({ agentId, key }, { actor: "client" });
    sight.sequence = life.plane.lastSequence;
    assert.equal(
      sight.sequence > before,
      isFact,
      "to give back is a fact, to give up a place is none",
    );
    const mine = leases.byHolder.get(agentId) ?? new Set();
    assert(![...mine].some((id) => leases.held.get(id)?.key === key), "it was given back");
    assert.equal(claimByKey(tasks, agentId, key), undefined, "it was given back");
    this.#await(life, answer, sight, ({ refusal }) => assert.equal(refusal, undefined));
  }

  /** A caller is back, and is told what it missed: read from the log, job by job, while all goes on. */
  #retell(life: Life): void {
    life.plane.tick();
    const { sessions } = this.#ledger;
    const curious = [...sessions.values()].filter(({ told }) => told.length > 0);
    const session = this.#random.pickAny(
      this.#random.chance(80) ? curious : [...sessions.values()],
    );
    const command = this.#anyWork.resume(this.#present(life), session);
    if (!session || command.type !== "session.resume") return;
    const after = command.afterEventSequence;
    const expected = this.#forecast(life, command);
    const wasDetached = session.detachedAtMs !== undefined;
    const told = session.told.slice(after);
    const isBehindCut = told.some(({ sequence }) => sequence < life.log.oldestSequence);
    if (isBehindCut && expected === "session_gone") this.#note("resume: what it wants was cut");
    let stretches: readonly Stretch[] = [];
    const sight: Sight = { events: [], firstSequence: 0, sequence: 0 };
    const answer = life.plane.submit(command, { actor: "client" }, (state, events) => {
      this.#look(life, sight, events);
      const journal = state.sessions.journals.get(command.sessionId);
      const upToSequence = life.plane.lastSequence;
      if (journal) stretches = stretchesAfter(journal, { after, upToSequence });
    });
    sight.sequence = life.plane.lastSequence;
    this.#tell(`${inShort(command)} and is told (${told.length}, ${expected ?? "accepted"})`);
    this.#await(life, answer, sight, ({ refusal }) => {
      if (expected !== either) assert.equal(refusal?.code, expected, "the other outcome");
      if (refusal) return;
      this.#note(wasDetached ? "resume: was away" : "resume: took over");
      if (life.log.oldestSequence > 1) this.#note("resume: after a cut");
      this.#readTold(life, stretches, { after, told }).catch((fault: unknown) =>
        this.#blame(fault),
      );
    });
  }

  async #readTold(
    life: Life,
    stretches: readonly Stretch[],
    { after, told }: { readonly after: number; readonly told: readonly Told[] },
  ): Promise<void> {
    const read: number[] = [];
    for (const stretch of stretches) {
      const sequences: number[] = [];
      for (const id of stretch.follows) {
        const { afterSequence } = stretch;
        for await (const { event, sequence } of life.plane.stream(`job/${id}`, { afterSequence })) {
          if (sequence > stretch.upToSequence) break;
          const isEnd = event.type === "job.ended" || event.type === "session.rejected";
          const isSaid = event.type === "job.emitted" && !stretch.skips.includes(event.kind);
          if (isEnd || isSaid) sequences.push(sequence);
        }
      }
      sequences.sort((one, other) => one - other);
      read.push(...sequences.slice(Math.max(0, after - stretch.eventSequence)));
    }
    if (life !== this.#life) return;
    const { oldestSequence } = life.log;
    // Who reads a stretch of which the beginning is gone cannot tell any more which number is which.
    const isCut = stretches.some(({ afterSequence }) => afterSequence + 1 < oldestSequence);
    if (isCut && told.length > 0) return this.#note("told again: cut in between");
    assert.deepEqual(
      read,
      told.map(({ sequence }) => sequence),
      "what was told is told again",
    );
    this.#note(told.length > 0 ? "told again" : "told again: nothing was missed");
  }

  /** More at once than fits between two marks of a journal. */
  #burst(life: Life): void {
    const { jobs, sessions } = this.#ledger;
    const job = [...jobs.values()].find(
      ({ id, state }) =>
        state === "running" && [...sessions.values()].some(({ follows }) => follows.has(id)),
    );
    if (!job) return;
    this.#hasBurst = true;
    life.plane.tick();
    if (job.state !== "running") return;
    for (let count = 0; count < 1_100; count++) {
      const command = say.emit(job.id, { attempt: job.attempt, body: String(count) });
      const { refusal } = life.plane.carryOut(command, { actor: "client" }, () => undefined);
      assert.equal(refusal, undefined);
    }
    this.#tell(`${job.id} says a lot`);
    for (const { id, told } of [...sessions.values()]) {
      const eventSequence = told.length + this.#random.pick([-50, -1, 0, 2_000]);
      this.#submit(life, { type: "session.acknowledge", sessionId: sessionId(id), eventSequence });
    }
  }

  /** What the journals give, from every number on, is what was told. */
  #judgeTold({ state, log }: Life): void {
    const { sessions } = state;
    const { oldestSequence } = log;
    const ids = [...this.#ledger.sessions.keys()].sort();
    assert.deepEqual([...sessions.byId.keys()].sort(), ids, "the same sessions");
    for (const { id, told, acknowledged, begin, follows } of this.#ledger.sessions.values()) {
      const journal = sessions.journals.get(sessionId(id));
      const last = sessions.lastEventSequences.get(sessionId(id));
      assert.equal(last, told.length, `${id} has other numbers`);
      assert(journal && last !== undefined);
      assert.deepEqual(new Set<string>(journal.follows), follows, `${id} follows others`);
      const isWhole = told.slice(begin).every((one) => one.neededSequence >= oldestSequence);
      for (let after = 0; after <= last; after += 1 + (last >> 6)) {
        if (!covers(journal, { after, last, oldestSequence })) {
          assert(after < acknowledged || !isWhole, `${id} cannot be resumed from ${after}`);
          continue;
        }
        const stretches = stretchesAfter(journal, { after, upToSequence: state.lastSequence });
        const again = tellAgain(stretches, this.#ledger.said, { after, oldestSequence });
        const sequences = told.slice(after).map(({ sequence }) => sequence);
        assert.deepEqual(again, sequences, `${id} is told something else after ${after}`);
      }
    }
    this.#note("journals: as they were told");
  }

  #abort({ clock, aheadMs }: Life): void {
    const place = this.#random.pickAny(this.#line.filter(({ calls }) => calls.size > 0));
    const calling = this.#random.pickAny([...(place?.calls ?? [])]);
    if (!place || !calling) return;
    this.#tell(`${place.command.agentId} hangs up`);
    place.calls.delete(calling);
    calling.abort(hungUp);
    this.#note("hung up");
    if (place.calls.size > 0) return;
    if (place.command.key !== undefined) place.leftAtMs = clock.nowMs() + aheadMs;
    else this.#line = this.#line.filter((other) => other !== place);
  }

  #read(life: Life): void {
    const word = (): string => this.#random.pick(names.words);
    const question = { subject: word(), action: word(), resource: word() };
    const sight: Sight = { events: [], firstSequence: 0, sequence: 0 };
    const answer = life.plane.read((state) => {
      sight.sequence = life.plane.lastSequence;
      const { policies } = state.entitlements;
      const answer = check(state.entitlements, question);
      assert.deepEqual(answer, judge(policies.values(), question), "deny wins");
      this.#note(answer.decidedBy ? `policy: ${answer.decidedBy.effect}` : "policy: none");
      return answer;
    });
    this.#tell(`reads (up to ${sight.sequence})`);
    const outcome = answer.then((value) => ({ value }));
    this.#await(life, outcome, sight, () => this.#note("read"));
  }

  #watch(life: Life, watcher: Watcher): void {
    if (watcher.isReading) {
      // A watcher that waits may be called away, and come back later to where it was.
      if (!this.#random.chance(10) || !watcher.watch) return;
      watcher.watch.close();
      this.#tell("a watcher leaves");
      return;
    }
    const wants = ({ busSequence }: Entry): boolean => !watcher.isFiltered || busSequence > 0;
    const { afterSequence } = watcher;
    const watch = watcher.watch ?? life.plane.watch({ afterSequence, wants });
    if (!watcher.watch) this.#note(afterSequence > 0 ? "watch resumed" : "watch begun");
    watcher.watch = watch;
    watcher.isReading = true;
    this.#tell(`a watcher reads on after ${afterSequence}`);
    watch.next().then(
      ({ entries, end }) => {
        watcher.isReading = false;
        for (const entry of entries ?? []) this.#show(watcher, entry);
        if (!end) return;
        watcher.watch = undefined;
        if (end.code === "out_of_range") this.#skip(watcher, end.oldestSequence);
        else if (end.code !== "closed" && end.code !== "unavailable") {
          this.#blame(new Error(`a watch ended: ${JSON.stringify(end)}`));
        }
      },
      (fault: unknown) => this.#blame(fault),
    );
  }

  /** What it wanted was cut: it is told from where on it can have the rest. */
  #skip(watcher: Watcher, oldestSequence: number): void {
    this.#tell(`a watcher after ${watcher.afterSequence} is told of ${oldestSequence}`);
    this.#note("watch told of the cut");
    try {
      assert(oldestSequence > watcher.afterSequence + 1, "what it wanted was there");
      assert(oldestSequence <= this.#durable.length, "there is something left");
    } catch (fault) {
      this.#blame(fault);
    }
    watcher.afterSequence = oldestSequence - 1;
  }

  #snapshot({ log, plane, state }: Life): void {
    if (plane.lastSequence !== plane.durableSequence) return;
    const sequence = plane.lastSequence;
    this.#tell(`a snapshot is made at ${sequence}`);
    log.saveSnapshot({ sequence, sections: capture(state) }).then(
      () => this.#note("snapshot made"),
      (fault: unknown) => {
        if (!this.#isDiskBroken) this.#blame(fault);
      },
    );
  }

  /** Once these entries are durable, and before anyone is told. */
  #witness(entries: readonly Entry[]): void {
    try {
      for (const entry of entries) {
        this.#referee.judge(entry, (id, sequence) => this.#heardAtMs(id, sequence));
        evolve(this.#folded, entry.event);
        this.#durable.push(textOf(entry));
        this.#busSequences.push(entry.busSequence);
        this.#written.push({ atMs: entry.atMs, bytes: entry.body.length });
        if (entry.event.type !== "agent.registered") continue;
        this.#heard.set(entry.event.agent.id, [{ atMs: entry.atMs, sequence: entry.sequence - 1 }]);
      }
      this.#referee.judgeEndOfAppend();
    } catch (fault) {
      this.#blame(fault);
    }
  }

  /** What the last life left behind lasts now, and what it only knew is forgotten. */
  #outlive(found: readonly Entry[]): void {
    if (found.length > 0) this.#note("durable, though nobody was told");
    this.#witness(found);
    // Beats are not kept: of them nothing can be expected after a restart.
    for (const times of this.#heard.values()) times.length = Math.min(1, times.length);
  }

  /**
   * After a crash: all that was durable is there, and nothing that was never written. Answers what is
   * there although nobody was told.
   */
  async #checkDisk(log: SimulatedLog): Promise<readonly Entry[]> {
    const found = SimulatedLog.open({ disk: this.#disk });
    assert.equal(found.lastSequence, log.lastSequence);
    const entries = await found.read(0, Number.POSITIVE_INFINITY);
    if (log.oldestSequence > 1) this.#note("opened after a cut");
    for (const [index, entry] of entries.entries()) {
      assert.equal(entry.sequence, log.oldestSequence + index);
      const text = textOf(entry);
      assert.equal(
        text,
        this.#attempted.get(entry.sequence),
        `${entry.sequence} was never written`,
      );
      const before = this.#durable[entry.sequence - 1];
      if (before !== undefined) assert.equal(text, before, `${entry.sequence} has changed`);
    }
    assert(found.lastSequence >= this.#durable.length, "what was acknowledged is lost");
    assert(log.oldestSequence >= this.#oldestSequence, "what was cut is back");
    this.#oldestSequence = log.oldestSequence;
    return entries.filter(({ sequence }) => sequence > this.#durable.length);
  }

  #inspect(): void {
    this.#throwViolation();
    if (!this.#life || this.#isStopped) return;
    const { plane, state, clock, log } = this.#life;
    plane.tick();
    if (log.oldestSequence > this.#oldestSequence) {
      this.#note("cut");
      this.#judgeCut(log, clock.nowMs() + this.#life.aheadMs);
    }
    this.#forgetLeft();
    for (const { command, calls } of this.#line) {
      if (calls.size === 0) continue;
      const { agentId } = command;
      if (command.type === "task.claim") {
        assert.equal(fitting(state, command), 0, `${agentId} waits, though there is a task for it`);
      } else {
        assert(state.leases.held.has(command.taskId), `${agentId} waits for what nobody holds`);
      }
    }
    const nowMs = clock.nowMs();
    for (const { expiresAtMs, taskId, holder } of state.leases.held.values()) {
      assert(expiresAtMs > nowMs, `${taskId} has expired, and is held`);
      assert.notEqual(state.registry.agents.get(holder)?.liveness ?? "dead", "dead", taskId);
    }
    assert(plane.nextDueAtMs() > nowMs, "nothing is overdue");
    assert(plane.durableSequence <= this.#durable.length, "nothing is shown that is not durable");
    const isSettled = plane.lastSequence === this.#durable.length;
    if (isSettled && this.#random.chance(10)) {
      assert.equal(describe(state), describe(this.#folded), "the log gives the state");
      this.#referee.work.judgeTime(nowMs + this.#life.aheadMs);
      this.#referee.questions.judgeTime(nowMs + this.#life.aheadMs);
      this.#judgeTold(this.#life);
      this.#judgeQuestions(this.#life);
    }
  }

  /** What is gone was too old or too much, and two snapshots have it. */
  #judgeCut(log: SimulatedLog, nowMs: number): void {
    const { oldestSequence } = log;
    const neededSequence = this.#ledger.neededSequence();
    let bytes = log.size().entriesBytes;
    for (let sequence = oldestSequence - 1; sequence >= this.#oldestSequence; sequence--) {
      const written = this.#written[sequence - 1];
      assert(written, `${sequence} was cut, and was never durable`);
      bytes += written.bytes;
      const isOld = written.atMs < nowMs - this.#keep.ms && sequence < neededSequence;
      const isMuch = bytes > this.#keep.bytes;
      if (isMuch && sequence >= neededSequence) this.#note("cut by size, though it was needed");
      assert(isOld || isMuch, `${sequence} was cut, and is neither old nor too much`);
      this.#note(isOld ? "cut by age" : "cut by size");
    }
    this.#oldestSequence = oldestSequence;
    const snapshots = this.#disk.names.filter(
      (name) => name.endsWith(".snapshot") && !this.#damaged.has(name),
    );
    const behind = snapshots.filter((name) => Number.parseInt(name, 10) >= oldestSequence - 1);
    assert(behind.length >= 2, `cut up to ${oldestSequence - 1}, snapshots ${snapshots}`);
  }

  #show(watcher: Watcher, entry: Entry): void {
    const { sequence } = entry;
    const expected = watcher.isFiltered
      ? this.#busSequences.findIndex((bus, at) => at >= watcher.afterSequence && bus > 0) + 1
      : watcher.afterSequence + 1;
    watcher.afterSequence = sequence;
    try {
      assert.equal(sequence, expected, "a watcher misses nothing and sees nothing twice");
      assert.equal(textOf(entry), this.#durable[sequence - 1], "a watcher sees what is durable");
    } catch (fault) {
      this.#blame(fault);
    }
  }

  /** Called when a command was decided. */
  #look(life: Life, sight: Sight, events: readonly Event[]): void {
    sight.events = events;
    sight.sequence = life.plane.lastSequence;
    sight.firstSequence = sight.sequence - events.length + 1;
  }

  /** Waits for an answer, and sees that it does not come too soon. */
  #await(
    life: Life,
    answer: Promise<Outcome<unknown>>,
    sight: Sight,
    onAnswer: (outcome: Outcome<unknown>) => void,
    { mayWait = false }: { readonly mayWait?: boolean } = {},
  ): void {
    if (!mayWait) this.#unanswered += 1;
    const judged = answer.then((outcome) => {
      if (!mayWait) this.#unanswered -= 1;
      assert.equal(life, this.#life, "the dead do not answer");
      const { length } = this.#durable;
      // That the plane shuts down may be told at any time: it says nothing about the world.
      const isTooSoon = length < sight.sequence && outcome.refusal?.code !== "unavailable";
      assert(!isTooSoon, `answered when ${length} was durable, but saw ${sight.sequence}`);
      sight.events.forEach((event, index) => {
        const text = this.#durable[sight.firstSequence + index - 1];
        const expected = `${event.type} ${printEvent(event)} `;
        assert(text?.startsWith(expected), `${sight.firstSequence + index} is not what was told`);
      });
      onAnswer(outcome);
    });
    judged.catch((fault: unknown) => {
      if (fault !== hungUp) this.#blame(fault);
    });
  }

  /** A client was told of an event that it caused. */
  #learn(command: Command, event: Event): void {
    switch (event.type) {
      case "agent.registered":
        this.#agents = [...this.#agents, event.agent.id].slice(-8);
        return;
      case "lease.acquired": {
        const { taskId, holder, token, acquiredAtMs } = event.lease;
        for (const other of this.#beliefs) {
          if (other.taskId !== taskId || other.holder === holder) continue;
          const held = this.#referee.leases.get(taskId);
          assert.notEqual(held?.token, other.token, `${taskId} has two holders at ${acquiredAtMs}`);
          assert(other.token < token, "the later holder has the larger token");
        }
        this.#beliefs = [...this.#beliefs, { taskId, holder, token }].slice(-10);
        return;
      }
      case "lease.renewed":
      case "lease.released":
        if (command.type !== "lease.renew" && command.type !== "lease.release") return;
        assert.equal(event.lease.token, command.token, "the token that was presented");
        assert.equal(event.lease.holder, command.agentId);
        return;
      case "task.created":
        this.#tasks.push(event.task.id);
        return;
      case "question.closed": {
        if (command.type !== "question.withdraw") return;
        const [own, its] = [attemptOf(command), attemptOf(event.question)];
        assert.equal(own, its, "an attempt withdraws what a later one waits for");
        return;
      }
      case "need.dismissed": {
        if (command.type !== "need.dismiss") return;
        const { atMs, untilMs } = event.dismissal;
        const end = command.forMs === undefined ? undefined : atMs + command.forMs;
        assert.equal(untilMs, end, "dismissed for another time");
        return;
      }
      default:
        return;
    }
  }

  #hear({ clock, aheadMs, plane }: Life, id: AgentId): void {
    this.#heard.get(id)?.push({ atMs: clock.nowMs() + aheadMs, sequence: plane.lastSequence });
  }

  #heardAtMs(id: string, sequence: number): number {
    const times = (this.#heard.get(id) ?? []).filter((heard) => heard.sequence < sequence);
    return Math.max(0, ...times.map(({ atMs }) => atMs));
  }

  /** Something that waited for its turn has it now; any of them, because nothing says which comes first. */
  async #takeTurn(): Promise<void> {
    const at = this.#random.below(this.#turns.length);
    const [turn] = this.#turns.splice(at, 1);
    turn?.();
    await this.#drain();
  }

  async #runOut(): Promise<void> {
    await this.#drain();
    while (this.#turns.length > 0 && !this.#isStopped) await this.#takeTurn();
  }

  /** Lets promises settle. Nothing else can happen in the meantime. */
  async #drain(): Promise<void> {
    await new Promise(setImmediate);
    this.#throwViolation();
  }

  #pass(life: Life, ms: number): number {
    this.#wallMs += ms;
    life.clock.leap(ms);
    life.plane.tick();
    return ms;
  }

  #aheadMs(plane: Plane, clock: ManualClock): number {
    let aheadMs = 0;
    const looking = plane.read((_, nowMs) => {
      aheadMs = nowMs - clock.nowMs();
    });
    looking.catch((fault: unknown) => this.#blame(fault));
    return aheadMs;
  }

  /** Often to a deadline, or to just before one: that is where things go wrong. */
  #anyTime(life: Life): number {
    const dueInMs = life.plane.nextDueAtMs() - life.clock.nowMs();
    const isNear = dueInMs > 1 && dueInMs <= 5_000;
    if (isNear && this.#random.chance(40)) return dueInMs - this.#random.below(2);
    return this.#random.between(1, 4_000);
  }

  #sleep(life: Life): void {
    const alive = (): number =>
      [...life.state.registry.agents.values()].filter(({ liveness }) => liveness === "alive")
        .length;
    const before = alive();
    this.#tell(`the machine sleeps: ${this.#pass(life, this.#random.between(5_001, 400_000))} ms`);
    assert.equal(alive(), before, "nobody is given up because the machine slept");
    this.#note("suspended");
  }

  #stop(fault: unknown): void {
    this.#tell(`the plane stops: ${fault instanceof Error ? fault.message : fault}`);
    if (fault instanceof LogError && fault.code === "cannot_write" && this.#isDiskBroken) {
      this.#isStopped = true;
      this.#note("stopped because the disk failed");
    } else {
      this.#blame(fault);
    }
  }

  /** What a failing disk may do: nothing is lost by it. */
  #excuse(fault: unknown): void {
    if (!this.#isDiskBroken) this.#blame(fault);
    this.#note("housekeeping failed");
  }

  #blame(fault: unknown): void {
    this.#violation ??= fault;
  }

  #throwViolation(): void {
    if (this.#violation !== undefined) throw this.#violation;
  }

  /** Mostly one that lives, sometimes one that does not, seldom one that never was. */
  #anyAgent(): AgentId {
    const known = this.#life?.state.registry.agents;
    const living = this.#agents.filter((id) => known?.get(id)?.liveness !== "dead");
    const among = this.#random.chance(88) ? living : this.#agents;
    if (this.#random.chance(3)) return agentId("nobody");
    return this.#random.pickAny(among) ?? agentId("nobody");
  }

  #livingCount(): number {
    const known = this.#life?.state.registry.agents.values() ?? [];
    return [...known].filter(({ liveness }) => liveness !== "dead").length;
  }

  #someAgents(percent: number): readonly AgentId[] {
    return this.#agents.filter(() => this.#random.chance(percent));
  }

  /** Who has the claim, four times in five: otherwise hardly any task would ever end. */
  #claimantOf(task: string): AgentId | undefined {
    const found = [...(this.#life?.state.tasks.byId.values() ?? [])].find(({ id }) => id === task);
    if (!found || !("claimant" in found) || this.#random.chance(20)) return undefined;
    return found.claimant;
  }

  #mint(prefix: string): string {
    this.#minted += 1;
    return `${prefix}${this.#minted}`;
  }

  #note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  #tell(text: string): void {
    // The ids that the HTTP door makes up are not of the seed.
    const named = text.replaceAll(
      /q_[0-9a-f]{12}/g,
      (id) => `question ${this.#questions.byId.get(id)?.place ?? "forgotten"}`,
    );
    this.#trace.push(`${this.#step}: ${named}`);
    if (this.#trace.length > traceLength) this.#trace.shift();
  }
}

const hungUp = new Error("the client hung up");

function textOf({ event, body, actor, atMs, busSequence }: Entry): string {
  return `${event.type} ${body} by ${actor} at ${atMs} bus ${busSequence}`;
}

/** As a door does it, from the entries that are left. */
function tellAgain(
  stretches: readonly Stretch[],
  said: readonly Said[],
  { after, oldestSequence }: { readonly after: number; readonly oldestSequence: number },
): readonly number[] {
  return stretches.flatMap(({ eventSequence, follows, skips, ...range }) => {
    const jobs = new Set<string>(follows);
    const sequences = said
      .filter(({ jobId }) => jobs.has(jobId))
      .filter(({ kind }) => kind === undefined || !skips.includes(kind))
      .map(({ sequence }) => sequence)
      .filter((sequence) => sequence >= oldestSequence)
      .filter((sequence) => sequence > range.afterSequence && sequence <= range.upToSequence);
    return sequences.slice(Math.max(0, after - eventSequence));
  });
}

/** The same place in line, by the same key. */
function isSamePlace(one: WaitingCommand, other: WaitingCommand): boolean {
  if (one.key === undefined || one.key !== other.key || one.agentId !== other.agentId) return false;
  if (one.type === "lease.acquire") {
    return other.type === "lease.acquire" && one.taskId === other.taskId;
  }
  const typesOf = ({ types = [] }: ClaimTask): string => types.join();
  return other.type === "task.claim" && typesOf(one) === typesOf(other);
}

function inShort(command: Command): string {
  const words = Object.entries(command).map(([key, value]) => {
    if (key === "card" && "card" in command) return command.card.tools.join("+");
    const isList = typeof value === "object" && value !== null;
    return isList ? Object.values(value).join(",") : String(value);
  });
  return words.filter((word) => word !== "").join(" ");
}

/**
 * The one writer. A command is decided and evolved at once, with nothing in between; its entries join
 * those of the same turn of the event loop, are appended together, and only when they are durable do
 * watchers see them and callers get their answers. Answers to reads, of the state and of views, wait
 * just so.
 *
 * State runs ahead of the log, so an append that fails cannot be undone: the plane stops.
 */
import assert from "node:assert/strict";
import {
  type AgentId,
  type Command,
  type Decision,
  decide,
  type Event,
  evolve,
  neededSequence,
  nextDueAtMs,
  note,
  type OwnState,
  overdue,
  printEvent,
  type Question,
  type QuestionId,
  type Refusal,
  type State,
  streamOf,
  topics,
} from "../core/index.ts";
import type { Entry, Log } from "../log/index.ts";
import { type BusPosition, findOnBus } from "./bus.ts";
import type { Clock } from "./clock.ts";
import { type ClosingListener, Closings } from "./closings.ts";
import { Feed, type Watch, type WatchOptions } from "./feed.ts";
import { limits } from "./limits.ts";
import { type Recovered, recover } from "./recover.ts";
import { type Keep, type Retained, Retention } from "./retention.ts";
import { Snapshots } from "./snapshots.ts";
import { Turns } from "./turns.ts";
import { isNotNow, type Listener, type WaitingCommand, WaitingRoom } from "./waiting.ts";

/** Who asks. Stored with every entry that follows. */
export type Caller = { readonly actor: string };

export type Outcome<Value> =
  | { readonly value: Value; readonly refusal?: never }
  | { readonly refusal: Refusal; readonly value?: never };

/** Something that can be looked up quickly, folded from events as the state is. Look from within `read`. */
export interface View {
  /** Starts over from a whole state. */
  reset(state: State): void;
  apply(event: Event): void;
}

export type PlaneOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly views?: readonly View[];
  /** How much history is kept. By default, 30 days and 4 GB. */
  readonly keep?: Keep;
  /** How long workers elsewhere have to come back after a restart; as long as usual, if absent. */
  readonly workerGraceMs?: number | undefined;
  /** Told how long each commit took. */
  readonly onCommit?: (commit: { readonly entries: number; readonly ms: number }) => void;
  /** The log cannot be written, or we were wrong: the process must stop. */
  readonly onFault: (fault: unknown) => void;
  /** A snapshot could not be written. Nothing is lost; opening will take longer. */
  readonly onSnapshotFailure?: (cause: unknown) => void;
  /** The log could not be cut. Nothing is lost; it grows. */
  readonly onCutFailure?: (cause: unknown) => void;
  /** Called when a part of the log is damaged that only history needs. The current state does not depend on it. */
  readonly onDamage?: (problem: string) => void;
  /** Runs something when this turn of the event loop is over. */
  readonly afterTurn?: (run: () => void) => void;
};

const system: Caller = { actor: "system" };
const shuttingDown: Refusal = { code: "unavailable", message: "the plane is shutting down" };

export class Plane {
  readonly #options: PlaneOptions;
  readonly #log: Log;
  readonly #views: readonly View[];
  readonly #state: OwnState;
  readonly #feed: Feed;
  readonly #snapshots: Snapshots;
  readonly #retention: Retention;
  /** When to verify more of the log. */
  #checkAtMs = 0;
  readonly #turns = new Turns();
  readonly #waitingRoom = new WaitingRoom();
  readonly #closings = new Closings();
  /** What is added to the clock: a log may come from a machine whose clock was ahead of ours. */
  readonly #aheadMs: number;
  #nowMs: number;
  /** Decided, not yet handed to the log. */
  #undurable: Entry[] = [];
  /** Answers that wait for what they may have seen. */
  #answers: (() => void)[] = [];
  #committing: Promise<void> | undefined;
  #isClosed = false;
  #isOpened = false;
  #hasFailed = false;
  #closing: Promise<void> | undefined;

  /** Rebuilds the state from the log, and records that it was opened. Rejects if the log is damaged. */
  static async open(options: PlaneOptions): Promise<Plane> {
    const recovered = await recover(options.log);
    const plane = new Plane(options, recovered);
    const command = {
      type: "plane.open",
      wallMicros: plane.#nowMs * 1_000,
      isKept: options.log.isKept,
      workerGraceMs: options.workerGraceMs,
    } as const;
    for (const view of plane.#views) view.reset(plane.#state);
    plane.#apply(command, system);
    await plane.settled();
    plane.#isOpened = true;
    return plane;
  }

  private constructor(options: PlaneOptions, { state, since }: Recovered) {
    this.#options = options;
    this.#log = options.log;
    this.#views = options.views ?? [];
    this.#state = state;
    this.#feed = new Feed(options.log);
    const { log, keep = { ms: limits.keepMs, bytes: limits.keepBytes } } = options;
    this.#snapshots = new Snapshots({ log, since, keep, onFailure: options.onSnapshotFailure });
    this.#retention = new Retention({
      log,
      keep,
      neededSequence: () => neededSequence(state),
      onFailure: options.onCutFailure,
    });
    const clockMs = options.clock.nowMs();
    // One more than the last entry: what was heard then was heard before the plane began to listen.
    this.#aheadMs = Math.max(0, options.log.lastAtMs + 1 - clockMs);
    this.#nowMs = clockMs + this.#aheadMs;
  }

  /**
   * Carries out a command. `look` is called once, right after it was decided, with the state and the
   * events as they are then; the promise resolves with what it saw when all of that is durable.
   */
  submit<Value>(
    command: Command,
    caller: Caller,
    look: (state: State, events: readonly Event[]) => Value,
  ): Promise<Outcome<Value>> {
    if (this.#isClosed) return Promise.resolve({ refusal: shuttingDown });
    return this.#whenDurable(this.carryOut(command, caller, look));
  }

  /**
   * As `submit`, but answers at once, before it is durable. For those only who see to it that nothing of the
   * answer leaves before that: see `tap`.
   */
  carryOut<Value>(
    command: Command,
    caller: Caller,
    look: (state: State, events: readonly Event[]) => Value,
  ): Outcome<Value> {
    if (this.#isClosed) return { refusal: shuttingDown };
    this.#catchUp();
    const decision = this.#apply(command, caller);
    if (decision.refusal) return decision;
    try {
      return { value: look(this.#state, decision.events) };
    } finally {
      // Also when the caller cannot make sense of it: others wait for what was decided.
      this.#stirWaiting(decision.events);
    }
  }

  /**
   * Like `submit`, but where there is nothing to claim, or another holds the lease, it waits in line
   * until it has it, until the agent dies, or until the signal aborts (then it rejects with the signal's
   * reason). With a key its place is kept for a while: who waits again with the same key takes it over. If
   * it was granted something and did not hear of it, `look` finds no events and the grant in the state.
   */
  wait<Value>(
    command: WaitingCommand,
    caller: Caller,
    look: (state: State, events: readonly Event[]) => Value,
    {
      signal,
      isTrusted = true,
    }: {
      readonly signal: AbortSignal;
      /** Callers that are not trusted share half of the places. True if absent. */
      readonly isTrusted?: boolean;
    },
  ): Promise<Outcome<Value>> {
    if (this.#isClosed) return Promise.resolve({ refusal: shuttingDown });
    if (signal.aborted) return Promise.reject(signal.reason);
    this.#catchUp();
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<Value>>();
    const hear: Listener["hear"] = (decision) => {
      signal.removeEventListener("abort", giveUp);
      // A refusal because of the shutdown does not depend on the log, so it need not wait until the log is durable.
      const { refusal } = decision;
      if (refusal?.code === "unavailable") return resolve({ refusal });
      try {
        const outcome = decision.refusal ? decision : { value: look(this.#state, decision.events) };
        this.#release(outcome, resolve);
      } catch (fault) {
        // Whoever asked hears of it, not whoever happened to wake it.
        reject(fault);
      }
    };
    const listener = { hear, isTrusted };
    const giveUp = (): void => {
      if (place) this.#waitingRoom.leave(place, listener, this.#clockMs());
      reject(signal.reason);
    };
    let place = this.#waitingRoom.find(command);
    const isBack = place !== undefined;
    if (!place) {
      const ask = (): Decision<Event> => this.#apply(command, caller);
      const decision = ask();
      if (!isNotNow(decision.refusal)) {
        hear(decision);
        return promise;
      }
      place = { command, ask, listeners: new Set(), refusal: decision.refusal };
    }
    const refusal = this.#waitingRoom.refusal({ isBack, isTrusted });
    if (refusal) return Promise.resolve({ refusal });
    signal.addEventListener("abort", giveUp);
    if (isBack) this.#waitingRoom.rejoin(place, listener, this.#state);
    else this.#waitingRoom.join(place, listener);
    return promise;
  }

  /**
   * Resolves with the question when it is closed and that is durable, with undefined if it does not exist, and with a
   * refusal if the plane closes first. Rejects with the signal's reason.
   */
  untilClosed(
    id: QuestionId,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Outcome<Question | undefined>> {
    if (this.#isClosed) return Promise.resolve({ refusal: shuttingDown });
    if (signal.aborted) return Promise.reject(signal.reason);
    this.#catchUp();
    const question = this.#state.questions.byId.get(id);
    if (question?.state !== "open") return this.#whenDurable({ value: question });
    if (this.#closings.size >= limits.waitingMax) {
      const message = `the limit of ${limits.waitingMax} calls that wait for a question to close is reached; try again later`;
      return Promise.resolve({ refusal: { code: "limit_reached", message } });
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<Question | undefined>>();
    const listener: ClosingListener = (outcome) => {
      signal.removeEventListener("abort", giveUp);
      // A refusal because of the shutdown does not depend on the log, so it need not wait until the log is durable.
      if (outcome.refusal) resolve(outcome);
      else this.#release(outcome, resolve);
    };
    const giveUp = (): void => {
      this.#closings.leave(id, listener);
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#closings.join(id, listener);
    return promise;
  }

  /**
   * Gives up the places in line that an agent has under a key, and gives back what it was granted there,
   * at once: nothing is granted in between. Resolves when that is durable.
   */
  withdraw(
    { agentId, key }: { readonly agentId: AgentId; readonly key: string },
    caller: Caller,
  ): Promise<Outcome<Record<never, never>>> {
    if (this.#isClosed) return Promise.resolve({ refusal: shuttingDown });
    // First: nothing that is given back may go to who gives it back.
    this.#waitingRoom.withdraw(agentId, key);
    return this.submit({ type: "key.withdraw", agentId, key }, caller, () => ({}));
  }

  /** What `look` sees now, when everything it may have seen is durable. */
  read<Value>(look: (state: State, nowMs: number) => Value): Promise<Value> {
    if (!this.#isClosed) this.#catchUp();
    return this.#whenDurable(look(this.#state, this.#nowMs));
  }

  /** As `read`, but answers at once: see `carryOut`. */
  peek<Value>(look: (state: State, nowMs: number) => Value): Value {
    if (!this.#isClosed) this.#catchUp();
    return look(this.#state, this.#nowMs);
  }

  /** Entries in their order, from any sequence on. */
  watch(options: WatchOptions = {}): Watch {
    return this.#feed.watch({ ...options, newestSequence: this.#state.lastSequence });
  }

  /**
   * Hands over what becomes durable from now on, in order, before anybody gets an answer that may have seen it.
   * Whoever taps must be quick and never throw. Disposing it ends it.
   */
  tap(take: (entries: readonly Entry[]) => void): Disposable {
    return this.#feed.tap(take);
  }

  /** The last entry that was decided. It may not be durable yet. */
  get lastSequence(): number {
    return this.#state.lastSequence;
  }

  /** The last entry that is durable and was shown to watchers. */
  get durableSequence(): number {
    return this.#feed.lastSequence;
  }

  /** Whether what happens outlives the process. */
  get isKept(): boolean {
    return this.#log.isKept;
  }

  /** The oldest entry that is kept. */
  get oldestSequence(): number {
    return this.#log.oldestSequence;
  }

  /** Durable entries after one, in their order: at most so many, and fewer where they are long. */
  async history(afterSequence: number, count: number): Promise<readonly Entry[]> {
    const entries = await this.#log.read(afterSequence, count);
    return entries.filter(({ sequence }) => sequence <= this.durableSequence);
  }

  /** The durable events of one stream, after an entry, in their order. */
  async *stream(
    stream: string,
    { afterSequence = 0 }: { readonly afterSequence?: number } = {},
  ): AsyncGenerator<Entry> {
    let after = afterSequence;
    let unitsInTurn = 0;
    for (;;) {
      if (unitsInTurn > limits.turnUnits) {
        await this.#turns.next();
        unitsInTurn = 0;
      }
      const entries = await this.#log.readStream(stream, after, limits.historyEntries);
      for (const entry of entries) {
        if (entry.sequence > this.durableSequence) return;
        unitsInTurn += entry.body.length + limits.entryBytes;
        yield entry;
      }
      const last = entries.at(-1);
      if (!last) return;
      after = last.sequence;
    }
  }

  /** Durable events of one stream before an entry, the newest first: at most so many, and fewer where long. */
  async streamBack(
    stream: string,
    { beforeSequence, count }: { readonly beforeSequence: number; readonly count: number },
  ): Promise<readonly Entry[]> {
    const before = Math.min(beforeSequence, this.durableSequence + 1);
    return await this.#log.readStreamBack(stream, before, count);
  }

  /** After which entry to watch, to see what follows a sequence on the bus; or that it is too far back. */
  async findOnBus(busSequence: number): Promise<BusPosition> {
    return await findOnBus(this.#log, busSequence, this.#state.lastBusSequence);
  }

  /** How many calls wait, and places in line are kept. */
  get waiting(): number {
    return this.#waitingRoom.size;
  }

  get watchers(): number {
    return this.#feed.watchers;
  }

  /** How far back history reaches, what it takes, and what it may take. */
  retained(): Retained {
    return this.#retention.retained();
  }

  /** When something falls due next. */
  nextDueAtMs(): number {
    return this.#isClosed ? Number.POSITIVE_INFINITY : nextDueAtMs(this.#state) - this.#aheadMs;
  }

  /** Ends what is overdue, and keeps house. Called by the one timer. */
  tick(): void {
    if (!this.#isClosed) this.#catchUp();
    if (this.#committing === undefined) this.#keepHouse();
  }

  /** Resolves when everything decided so far is durable; rejects if it never will be. */
  async settled(): Promise<void> {
    await this.#committing;
  }

  /** Refuses what comes, answers who waits, and commits what was decided. The log stays open. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#waitingRoom.close(shuttingDown);
    this.#closings.close(shuttingDown);
    // What went wrong with the log was told when it did.
    await this.settled().catch(() => {});
    this.#feed.close();
    await this.#snapshots.close();
    await this.#retention.close();
  }

  /** Brings time up to date, and ends what is overdue, one thing at a time: each sees the last one's end. */
  #catchUp(): void {
    const nowMs = this.#clockMs();
    const wasSuspended = nowMs - this.#nowMs > limits.lateMsMax;
    this.#nowMs = nowMs;
    this.#waitingRoom.expire(nowMs);
    if (wasSuspended) this.#apply({ type: "plane.resume" }, system);
    const ended: Event[] = [];
    for (;;) {
      const due = overdue(this.#state, this.#nowMs);
      if (!due) break;
      const decision = this.#apply({ type: "tick", due }, system);
      assert(!decision.refusal && decision.events.length > 0, "what is overdue must end");
      ended.push(...decision.events);
    }
    // Only now: whoever waits is decided on a state in which nothing is overdue.
    this.#stirWaiting(ended);
  }

  #clockMs(): number {
    return Math.max(this.#nowMs, this.#options.clock.nowMs() + this.#aheadMs);
  }

  #apply(command: Command, caller: Caller): Decision<Event> {
    this.#state.oldestSequence = this.#log.oldestSequence;
    const decision = decide(this.#state, command, this.#nowMs);
    if (decision.refusal) return decision;
    try {
      for (const event of decision.events) this.#record(event, caller);
      note(this.#state, command, this.#nowMs);
    } catch (fault) {
      this.#stop(fault);
      throw fault;
    }
    return decision;
  }

  #record(event: Event, { actor }: Caller): void {
    evolve(this.#state, event);
    for (const view of this.#views) view.apply(event);
    this.#undurable.push({
      sequence: this.#state.lastSequence,
      busSequence: topics[event.type] === "" ? 0 : this.#state.lastBusSequence,
      atMs: this.#nowMs,
      actor,
      stream: streamOf(event),
      event,
      body: printEvent(event),
    });
    this.#scheduleCommit();
  }

  #stirWaiting(events: readonly Event[]): void {
    this.#closings.hear(events);
    if (this.#waitingRoom.size === 0) return;
    this.#waitingRoom.hear(this.#state, events);
  }

  #whenDurable<Value>(value: Value): Promise<Value> {
    return new Promise((resolve) => this.#release(value, resolve));
  }

  /** Answers go out in the order in which they were decided. */
  #release<Value>(value: Value, answer: (value: Value) => void): void {
    // What it saw may not be in the log, and never will be.
    if (this.#hasFailed) return;
    if (this.#committing === undefined) answer(value);
    else this.#answers.push(() => answer(value));
  }

  /** All that is decided before the turn ends shares one append. */
  #scheduleCommit(): void {
    if (this.#committing !== undefined) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#committing = promise;
    const { afterTurn = setImmediate } = this.#options;
    afterTurn(() => {
      this.#commit().then(resolve, reject);
    });
    promise.catch((fault: unknown) => this.#stop(fault));
  }

  async #commit(): Promise<void> {
    while (this.#undurable.length > 0 || this.#answers.length > 0) {
      const entries = this.#undurable;
      const answers = this.#answers;
      this.#undurable = [];
      this.#answers = [];
      if (entries.length > 0) await this.#append(entries);
      for (const answer of answers) answer();
    }
    this.#committing = undefined;
    this.#keepHouse();
  }

  /** Called when everything decided is in the log. */
  #keepHouse(): void {
    if (this.#isClosed) return;
    this.#snapshots.consider(this.#state, {
      sequence: this.#state.lastSequence,
      nowMs: this.#nowMs,
    });
    this.#retention.consider(this.#nowMs);
    this.#checkLog();
  }

  /** The part of a large log that was not verified when it was opened is verified a little at a time. */
  #checkLog(): void {
    if (this.#nowMs < this.#checkAtMs) return;
    const { isDone, problem } = this.#log.checkMore?.() ?? { isDone: true };
    this.#checkAtMs = isDone ? Number.POSITIVE_INFINITY : this.#nowMs + limits.checkPauseMs;
    if (problem !== undefined) this.#options.onDamage?.(problem);
  }

  /** From here on nothing is answered: what was decided may not be in the log. */
  #stop(fault: unknown): void {
    this.#isClosed = true;
    // Half a decision must not reach the log, nor a snapshot of it the disk.
    this.#undurable = [];
    this.#answers = [];
    this.#hasFailed = true;
    // Until it is open, whoever opens it is told instead.
    if (this.#isOpened) this.#options.onFault(fault);
  }

  async #append(entries: readonly Entry[]): Promise<void> {
    const startedMs = performance.now();
    await this.#log.append(entries, this.#feed.lastSequence);
    this.#options.onCommit?.({ entries: entries.length, ms: performance.now() - startedMs });
    this.#snapshots.count(entries);
    this.#feed.offer(entries);
  }
}

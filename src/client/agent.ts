/**
 * An agent as its own process sees it: registered, kept alive by heartbeats, and told when it is dead. Only the
 * daemon declares it dead. While no daemon answers, heartbeats are retried, because a daemon that was away keeps
 * its agents for a while. What the agent holds does not wait for that: leases, claims and leadership end by our
 * own clock, because somebody else may have them by then.
 */
import type { ActivityState, Agent as AgentInfo, Card } from "../wire/api/index.ts";
import type { Calls, Cancellable } from "./calls.ts";
import { newKey, readText, readTtl } from "./calls.ts";
import { type Candidacy, campaign, type LeadWork, lead } from "./candidacy.ts";
import { type ClaimedTask, type ClaimOptions, claimTask } from "./claim.ts";
import { elapsedMs, later, type Moment, now } from "./deadline.ts";
import { hasCode, TipstaffError } from "./errors.ts";
import type { Hold } from "./hold.ts";
import { type AcquireOptions, acquireLease, type Lease } from "./lease.ts";
import { limits } from "./limits.ts";
import type { News } from "./news.ts";
import { type AskOptions, ask } from "./question.ts";
import { pauseMs } from "./retry.ts";

export type RegisterOptions = Partial<Card> &
  Pick<Card, "name"> & {
    /** How long it may be silent before it is unreachable, and again before it is dead. 30 s by default. */
    readonly ttlMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  };

export type Report = {
  readonly state: ActivityState;
  /** In your own words; for `waiting`, what for. */
  readonly note?: string | undefined;
};

/** What leases, claims and candidacies need of their agent. */
export type AgentContext = {
  readonly calls: Calls;
  readonly news: News;
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly isAlive: () => boolean;
  /** A caller's signal together with the agent's life. */
  readonly signalFor: (signal: AbortSignal | undefined) => AbortSignal;
  /** Lost when the agent dies. Returns how to let go of it. */
  readonly adopt: (hold: Hold) => () => void;
  /** Leases by task: whoever acquires one again has fenced off its older copy. */
  readonly leases: Map<string, Hold>;
  /** Calls back after each heartbeat, and whenever the clock is looked at. */
  readonly onLook: (look: (hasBeaten: boolean) => void) => () => void;
  /** Something that goes on by itself, and is waited for when the agent leaves. */
  readonly background: (work: Promise<unknown>) => void;
  /** Gives up a place in line, or what was granted there. */
  readonly withdraw: (key: string) => void;
};

export type AgentParts = {
  readonly calls: Calls;
  readonly news: News;
  readonly onEnd: (agent: Agent) => void;
};

/** Asked again with the same key, the daemon answers about the same agent. */
export async function register(
  parts: AgentParts,
  { ttlMs = limits.agentTtlMs, signal, ...card }: RegisterOptions,
): Promise<Agent> {
  const since = now(parts.calls.clock);
  const key = newKey();
  const { processId: process } = parts.calls;
  const info = await parts.calls.call("registerAgent", { card, ttlMs, process }, { signal, key });
  return new Agent({ ...parts, name: card.name }, info, since);
}

export class Agent implements AsyncDisposable {
  readonly id: string;
  readonly name: string;
  readonly ttlMs: number;
  /** Resolves with the reason when the daemon has declared it dead; not when it leaves by itself. */
  readonly died: Promise<TipstaffError>;
  readonly #calls: Calls;
  readonly #news: News;
  readonly #context: AgentContext;
  readonly #onEnd: (agent: Agent) => void;
  readonly #tellDeath: (reason: TipstaffError) => void;
  readonly #gone = new AbortController();
  readonly #holds = new Set<Hold>();
  readonly #lookers = new Set<(hasBeaten: boolean) => void>();
  readonly #leftovers = new Set<Promise<unknown>>();
  /** Before the last heartbeat that was answered was sent. */
  #heardSince: Moment;
  #beatAfterMs: number;
  #failures = 0;
  #isBeating = false;
  #callOff: () => void = () => {};
  #left: Promise<void> | undefined;

  constructor(parts: AgentParts & { readonly name: string }, info: AgentInfo, since: Moment) {
    this.id = readText(info.id, "id of the agent");
    this.name = parts.name;
    this.ttlMs = readTtl(info.ttlMs, "ttl of the agent");
    const { promise, resolve } = Promise.withResolvers<TipstaffError>();
    this.died = promise;
    this.#tellDeath = resolve;
    this.#calls = parts.calls;
    this.#news = parts.news;
    this.#onEnd = parts.onEnd;
    this.#heardSince = since;
    this.#beatAfterMs = this.ttlMs / limits.renewalsPerTtl;
    this.#context = this.#makeContext();
    this.#watch();
  }

  /** Aborts when the agent is dead or has left. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether the daemon cannot have declared it dead: by our own clock, at this moment. */
  get isAlive(): boolean {
    return !this.#gone.signal.aborted && !this.#isOverdue();
  }

  /** Says what it is doing, for people who look on. Counts as a heartbeat. */
  async report({ state, note }: Report, { signal }: Cancellable = {}): Promise<void> {
    const since = now(this.#calls.clock);
    const activity = note === undefined ? { state } : { state, note };
    await this.#calls.call("heartbeat", { agentId: this.id, activity }, { signal });
    this.#hasBeaten(since);
  }

  /**
   * Holds a task, alone, until the block ends. Rejects with `lease_held` if another has it (`error.lease`
   * says who): a lease that is not there must not look like one, and `await using` takes `undefined`.
   */
  acquire(taskId: string, options: AcquireOptions = {}): Promise<Lease> {
    return acquireLease(this.#context, taskId, options);
  }

  /** Stands for election in a group until the block ends. */
  campaign(group: string, options: Cancellable = {}): Promise<Candidacy> {
    return campaign(this.#context, group, options);
  }

  /**
   * Stands for election and does the work while it leads. Its signal aborts when leadership is lost; once
   * the work has stopped it begins anew with the next term. Resolves with what the work returns while it
   * leads, rejects with what it throws, with the signal's reason, or when the agent dies.
   */
  onLeadership<Result>(
    group: string,
    work: LeadWork<Result>,
    options: Cancellable = {},
  ): Promise<Result> {
    return lead(this.#context, group, work, options);
  }

  /** Claims a task; undefined if there is none. Left without an end, it fails with the block. */
  claim(options: ClaimOptions = {}): Promise<ClaimedTask | undefined> {
    return claimTask(this.#context, options);
  }

  /**
   * Asks a person, and resolves with the answer: a text, or with `schema` any JSON that it allows. It may come after
   * a restart of the daemon. Rejects with `ask_timeout` if nobody answers within `timeoutMs`, with
   * `question_closed` if the question ends otherwise, and with the signal's reason: then the question is withdrawn.
   */
  ask(
    prompt: string,
    options: AskOptions & { readonly schema: Readonly<Record<string, unknown>> },
  ): Promise<unknown>;
  ask(prompt: string, options?: AskOptions): Promise<string>;
  ask(prompt: string, options: AskOptions = {}): Promise<unknown> {
    return ask(this.#context, prompt, options);
  }

  /** @internal For what the client does on behalf of an agent. */
  get context(): AgentContext {
    return this.#context;
  }

  /** Leaves: whatever it held is free at once. */
  deregister({ signal }: Cancellable = {}): Promise<void> {
    this.#left ??= this.#leave({ signal });
    return this.#left;
  }

  /** As `deregister`, but does not insist: who is silent is found out. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#left ??= this.#leave({ patienceMs: this.isAlive ? limits.closingMs : 0 });
    await this.#left.catch(() => {});
  }

  async #leave(options: Cancellable & { readonly patienceMs?: number }): Promise<void> {
    this.#callOff();
    await Promise.allSettled(this.#leftovers);
    this.#end(new TipstaffError("closed", `agent ${this.name} has left`));
    try {
      await this.#calls.call("deregisterAgent", { agentId: this.id }, options);
    } catch (error) {
      if (!hasCode(error, "agent_dead", "agent_not_found")) throw error;
    }
  }

  #isOverdue(): boolean {
    return elapsedMs(this.#calls.clock, this.#heardSince) >= 2 * this.ttlMs;
  }

  #watch(): void {
    if (this.#gone.signal.aborted || this.#left) return;
    const elapsed = elapsedMs(this.#calls.clock, this.#heardSince);
    if (!this.#isBeating && elapsed >= this.#beatAfterMs) void this.#beat();
    for (const look of this.#lookers) look(false);
    const ms = Math.max(this.#beatAfterMs - elapsed, limits.lookEveryMsMin);
    this.#callOff = later(() => this.#watch(), Math.min(ms, limits.lookEveryMs));
  }

  async #beat(): Promise<void> {
    this.#isBeating = true;
    const since = now(this.#calls.clock);
    const attemptMs = Math.min(this.ttlMs / limits.renewalsPerTtl, limits.attemptMs);
    const options = { patienceMs: 0, attemptMs, signal: this.#gone.signal };
    try {
      await this.#calls.call("heartbeat", { agentId: this.id }, options);
      this.#hasBeaten(since);
    } catch (error) {
      this.#hasNotBeaten(error);
    } finally {
      this.#isBeating = false;
    }
  }

  #hasBeaten(since: Moment): void {
    if (this.#gone.signal.aborted) return;
    // Answers may overtake each other.
    if (since.monotonicMs > this.#heardSince.monotonicMs) this.#heardSince = since;
    this.#beatAfterMs = this.ttlMs / limits.renewalsPerTtl;
    this.#failures = 0;
    for (const look of this.#lookers) look(true);
  }

  #hasNotBeaten(error: unknown): void {
    if (this.#gone.signal.aborted || this.#calls.isClosed) return;
    if (hasCode(error, "agent_dead", "agent_not_found")) {
      return this.#die(`agent ${this.name} was declared dead`, error);
    }
    this.#failures += 1;
    const pause = Math.min(pauseMs(this.#failures), this.ttlMs / limits.renewalsPerTtl);
    this.#beatAfterMs = elapsedMs(this.#calls.clock, this.#heardSince) + pause;
  }

  #die(message: string, cause: unknown): void {
    const reason = new TipstaffError("agent_dead", message, { cause });
    this.#end(reason);
    this.#tellDeath(reason);
  }

  #end(reason: TipstaffError): void {
    this.#callOff();
    this.#gone.abort(reason);
    for (const hold of this.#holds) hold.lose(reason);
    for (const look of this.#lookers) look(false);
    this.#onEnd(this);
  }

  #goOn(work: Promise<unknown>): void {
    const leftover = work.catch(() => {}).finally(() => this.#leftovers.delete(leftover));
    this.#leftovers.add(leftover);
  }

  #makeContext(): AgentContext {
    const own = this.#gone.signal;
    return {
      calls: this.#calls,
      news: this.#news,
      agentId: this.id,
      signal: own,
      isAlive: () => this.isAlive,
      signalFor: (signal) => (signal ? AbortSignal.any([signal, own]) : own),
      leases: new Map(),
      adopt: (hold) => {
        this.#holds.add(hold);
        return () => this.#holds.delete(hold);
      },
      onLook: (look) => {
        this.#lookers.add(look);
        return () => this.#lookers.delete(look);
      },
      background: (work) => this.#goOn(work),
      withdraw: (key) => {
        const options = { patienceMs: limits.closingMs };
        this.#goOn(this.#calls.call("withdraw", { agentId: this.id, key }, options));
      },
    };
  }
}

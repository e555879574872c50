/**
 * Standing for election in a group. Who leads stays leader until it resigns or dies, and it cannot have
 * died as long as its last heartbeat is young enough: by that clock an agent knows, without asking, that
 * it leads. When it cannot know, it does not lead.
 */
import type { Election } from "../wire/api/index.ts";
import type { AgentContext } from "./agent.ts";
import { type Cancellable, readCounter } from "./calls.ts";
import { TipstaffError } from "./errors.ts";
import { limits } from "./limits.ts";

export type Leadership = {
  /** Counts the changes of the group's leader. Of two leaders the later has the larger term. */
  readonly term: bigint;
  /** The id of the agent that leads, if one does. */
  readonly leader: string | undefined;
  /** Whether that is us, for certain. */
  readonly isLeader: boolean;
};

export type LeadWork<Result> = (term: bigint, signal: AbortSignal) => Promise<Result> | Result;

export async function campaign(
  context: AgentContext,
  group: string,
  { signal }: Cancellable,
): Promise<Candidacy> {
  const { calls, agentId } = context;
  const election = await calls.call("campaign", { group, agentId }, { signal });
  return new Candidacy(context, election);
}

/** See `Agent.onLeadership`. */
export async function lead<Result>(
  context: AgentContext,
  group: string,
  work: LeadWork<Result>,
  { signal }: Cancellable,
): Promise<Result> {
  await using candidacy = await campaign(context, group, { signal });
  for (;;) {
    const term = await candidacy.untilLeading(context.signalFor(signal));
    const office = candidacy.hold(term, signal);
    try {
      const result = await work(term, office.signal);
      if (!office.signal.aborted) return result;
    } catch (error) {
      if (!office.signal.aborted) throw error;
    } finally {
      office.end();
    }
    signal?.throwIfAborted();
  }
}

export class Candidacy implements AsyncDisposable {
  readonly group: string;
  readonly #context: AgentContext;
  readonly #stop: () => void;
  readonly #wakers = new Set<() => void>();
  #term: bigint;
  #leader: string | undefined;
  #isAsking = false;
  #resigned: Promise<void> | undefined;

  constructor(context: AgentContext, election: Election) {
    this.group = election.group;
    this.#context = context;
    this.#term = readCounter(election.term, "term");
    this.#leader = election.leader;
    const unfollow = context.news.follow({
      hear: (entry) => {
        if (entry.type === "leader.changed" && entry.group === this.group) this.#learn(entry);
      },
      missed: () => void this.#ask(),
    });
    const unwatch = context.onLook((hasBeaten) => {
      if (hasBeaten && !context.news.isLive) void this.#ask();
      this.#wake();
    });
    this.#stop = () => {
      unfollow();
      unwatch();
    };
  }

  get term(): bigint {
    return this.#term;
  }

  /** The id of the agent that leads, as far as we have heard. */
  get leader(): string | undefined {
    return this.#leader;
  }

  /** By our own clock, at this moment; false as soon as we could have been declared dead. */
  get isLeader(): boolean {
    const { agentId } = this.#context;
    return this.#leader === agentId && this.#resigned === undefined && this.#context.isAlive();
  }

  /**
   * How it stands, and then each time that changes. Whoever is slow sees the latest, not every one; it ends
   * when the candidacy does, or its agent.
   */
  async *changes({ signal }: Cancellable = {}): AsyncGenerator<Leadership, void, undefined> {
    for (let last: Leadership | undefined; ; ) {
      const { term, leader, isLeader } = this;
      const isSame = last?.term === term && last.leader === leader && last.isLeader === isLeader;
      if (!isSame) {
        last = { term, leader, isLeader };
        yield last;
      } else if (this.#isOver()) {
        return;
      } else {
        await this.#somethingNew(signal);
      }
    }
  }

  /** Resolves with the term once we lead. Rejects when the agent dies, or with the signal's reason. */
  async untilLeading(signal?: AbortSignal): Promise<bigint> {
    while (!this.isLeader) {
      signal?.throwIfAborted();
      if (this.#isOver())
        throw new TipstaffError("closed", `no longer a candidate of ${this.group}`);
      await this.#somethingNew(signal);
    }
    return this.#term;
  }

  /** A signal that aborts as soon as we do not lead in that term any more. */
  hold(term: bigint, parent: AbortSignal | undefined): Office {
    const lost = new AbortController();
    const look = (): void => {
      if (parent?.aborted) return lost.abort(parent.reason);
      if (this.isLeader && this.#term === term) return;
      const message = `no longer the leader of ${this.group} in term ${term}`;
      lost.abort(new TipstaffError("leadership_lost", message));
    };
    this.#wakers.add(look);
    parent?.addEventListener("abort", look);
    const end = (): void => {
      this.#wakers.delete(look);
      parent?.removeEventListener("abort", look);
    };
    look();
    return { signal: lost.signal, end };
  }

  /** Leaves the group; if we led, the next in line does. */
  resign({ signal }: Cancellable = {}): Promise<void> {
    this.#resigned ??= this.#resign({ signal });
    return this.#resigned;
  }

  /** As `resign`, but does not insist: a candidate that is gone is found out. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#resigned ??= this.#resign({ patienceMs: limits.closingMs });
    await this.#resigned.catch(() => {});
  }

  async #resign(options: Cancellable & { readonly patienceMs?: number }): Promise<void> {
    const { calls, agentId } = this.#context;
    this.#stop();
    queueMicrotask(() => this.#wake());
    if (this.#context.signal.aborted) return;
    await calls.call("resign", { group: this.group, agentId }, options);
  }

  #isOver(): boolean {
    return this.#resigned !== undefined || this.#context.signal.aborted;
  }

  #learn({ term, leader }: { readonly term: string; readonly leader?: string }): void {
    const heard = readCounter(term, "term");
    // What we know may be newer than what we hear.
    if (heard <= this.#term) return;
    this.#term = heard;
    this.#leader = leader;
    this.#wake();
  }

  /** Where there is no news, or there was none for a while. */
  async #ask(): Promise<void> {
    if (this.#isAsking || this.#isOver()) return;
    this.#isAsking = true;
    try {
      this.#learn(await this.#context.calls.call("getElection", { group: this.group }));
    } catch {
      // It is asked again after the next heartbeat.
    } finally {
      this.#isAsking = false;
    }
  }

  #wake(): void {
    for (const wake of this.#wakers) wake();
  }

  #somethingNew(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => reject(signal?.reason);
    if (signal?.aborted) abort();
    this.#wakers.add(resolve);
    signal?.addEventListener("abort", abort, { once: true });
    return promise.finally(() => {
      this.#wakers.delete(resolve);
      signal?.removeEventListener("abort", abort);
    });
  }
}

type Office = { readonly signal: AbortSignal; readonly end: () => void };

/**
 * A better model of language, if one was given: keeps the vectors of those alive up to date, and asks for
 * the vector of a query. It folds events as a view does, and does the slow part in its own time; what it
 * learns goes into `FindView`, and no search ever waits for it but for a bounded moment.
 *
 * While the model is down it is asked again after a pause that doubles. Searches do not wait meanwhile:
 * they are answered by the table, and say so.
 */
import type { Agent, AgentId, Card, Event, State } from "../../core/index.ts";
import { limits } from "../limits.ts";
import type { View } from "../view.ts";

/** Rejects if there is no answer. `isRefusal` on the error: these texts will never have one. */
export type Embedder = {
  embed(
    texts: readonly string[],
    options: { readonly signal: AbortSignal },
  ): Promise<readonly Float32Array[]>;
};

type Clock = {
  nowMs(): number;
  until(atMs: number, signal: AbortSignal): Promise<void>;
};

/** What the model makes of a query, or why it makes nothing of it. */
export type Asked =
  | { readonly vector: Float32Array; readonly reason?: never }
  | { readonly reason: string; readonly vector?: never };

export type ModelOptions = {
  readonly embedder: Embedder;
  readonly clock: Clock;
  /** Takes what was learned. */
  readonly learn: (agent: Agent, vector: Float32Array) => void;
  /** When the model goes away, and when it is back. Not for every attempt. */
  readonly warn: (message: string, cause?: unknown) => void;
};

export class Model implements View, AsyncDisposable {
  readonly #options: ModelOptions;
  readonly #closing = new AbortController();
  /** Those without a vector, in the order in which they came. */
  readonly #waiting = new Map<AgentId, Agent>();
  #working: Promise<void> | undefined;
  /** Why the model is not asked at present. */
  #trouble: string | undefined;
  /** Why the last question had no answer. The next one is asked all the same. */
  #unanswered: string | undefined;
  #failures = 0;
  #isTooSlowUntilMs = 0;
  #questions = 0;
  /** One at a time, after the server would not take several: whose text it was is then known. */
  #isCareful = false;
  #hasLearned = false;

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  reset(state: State): void {
    this.#waiting.clear();
    for (const agent of state.registry.agents.values()) {
      if (agent.liveness === "alive") this.#waiting.set(agent.id, agent);
    }
    this.#start();
  }

  apply(event: Event): void {
    switch (event.type) {
      case "agent.registered":
      case "agent.recovered":
        this.#waiting.set(event.agent.id, event.agent);
        this.#start();
        return;
      case "agent.unreachable":
      case "agent.died":
        this.#waiting.delete(event.agent.id);
        return;
      case "agent.forgotten":
        this.#waiting.delete(event.agentId);
        return;
    }
  }

  /** Why it would not be asked now, or did not answer when it was. */
  get trouble(): string | undefined {
    return this.#trouble ?? this.#unanswered;
  }

  /** Never rejects, and never takes longer than the limit. */
  async ask(query: string): Promise<Asked> {
    const { embedder, clock } = this.#options;
    if (query.trim() === "") return { reason: "the query is blank" };
    if (this.#trouble !== undefined) return { reason: this.#trouble };
    if (clock.nowMs() < this.#isTooSlowUntilMs) return { reason: "the model is too slow" };
    if (this.#questions >= limits.modelQuestionsMax) return { reason: "the model is busy" };
    const late = AbortSignal.timeout(limits.modelQueryMs);
    this.#questions += 1;
    try {
      const signal = AbortSignal.any([late, this.#closing.signal]);
      const [vector] = await embedder.embed([query.slice(0, limits.queryCharactersMax)], {
        signal,
      });
      if (!vector) return this.#missed("the model gave no vector");
      this.#recover();
      return { vector };
    } catch (error) {
      if (!late.aborted) return this.#missed(reasonOf(error), error);
      this.#isTooSlowUntilMs = clock.nowMs() + limits.modelSlowPauseMs;
      return this.#missed(`the model took longer than ${limits.modelQueryMs} ms`);
    } finally {
      this.#questions -= 1;
    }
  }

  #missed(reason: string, cause?: unknown): { readonly reason: string } {
    if (this.trouble === undefined && !this.#closing.signal.aborted)
      this.#tellTrouble(reason, cause);
    this.#unanswered = reason;
    return { reason };
  }

  #tellTrouble(reason: string, cause?: unknown): void {
    this.#options.warn(`${reason}: find goes on with its table`, cause);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  #start(): void {
    if (this.#closing.signal.aborted) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Until nobody waits. Begins in a later turn, so that those who come together go together. */
  async #work(): Promise<void> {
    const { signal } = this.#closing;
    await Promise.resolve();
    while (this.#waiting.size > 0 && !signal.aborted) {
      const batch = this.#waiting
        .values()
        .take(this.#isCareful ? 1 : limits.modelBatchMax)
        .toArray();
      try {
        const late = AbortSignal.timeout(limits.modelBatchMs);
        await this.#learn(batch, AbortSignal.any([late, signal]));
        this.#recover();
      } catch (error) {
        if (signal.aborted) return;
        if (this.#isHopeless(error, batch)) continue;
        await this.#pause(error);
      }
    }
    this.#isCareful = false;
    // Nobody waits: whether the model answers is for the next question to find out.
    this.#trouble = undefined;
  }

  async #learn(batch: readonly Agent[], signal: AbortSignal): Promise<void> {
    const byText = Map.groupBy(batch, ({ card }) => textOf(card));
    const vectors = await this.#options.embedder.embed([...byText.keys()], { signal });
    for (const [place, agents] of [...byText.values()].entries()) {
      const vector = vectors[place];
      if (!vector) throw new Error("the model gave too few vectors");
      for (const agent of agents) this.#settle(agent, vector);
    }
    this.#hasLearned = true;
  }

  /** It may have gone, or come anew, while we waited. */
  #settle(agent: Agent, vector: Float32Array): void {
    if (this.#waiting.get(agent.id) !== agent) return;
    this.#waiting.delete(agent.id);
    this.#options.learn(agent, vector);
  }

  /** One text that the model will never take must not keep the others waiting. */
  #isHopeless(error: unknown, batch: readonly Agent[]): boolean {
    const [only, ...others] = batch;
    if (!isRefusal(error) || !only || !this.#hasLearned) return false;
    this.#isCareful = true;
    if (others.length === 0) this.#settle(only, new Float32Array(0));
    return true;
  }

  #recover(): void {
    if (this.trouble !== undefined) this.#options.warn("the model answers again: find uses it");
    this.#trouble = undefined;
    this.#unanswered = undefined;
    this.#failures = 0;
  }

  async #pause(error: unknown): Promise<void> {
    const { clock } = this.#options;
    const reason = reasonOf(error);
    if (this.trouble === undefined) this.#tellTrouble(reason, error);
    this.#trouble = reason;
    const pauseMs = Math.min(limits.modelPauseMs * 2 ** this.#failures, limits.modelPauseMsMax);
    this.#failures += 1;
    await clock.until(clock.nowMs() + pauseMs, this.#closing.signal).catch(() => {});
  }
}

/** The whole card, what matters most first. */
function textOf({ name, description, capabilities, tools }: Card): string {
  const parts = [`${name}. ${description}`];
  for (const each of capabilities) parts.push(`${each.name}. ${each.description}`);
  parts.push(tools.slice(0, limits.modelToolsMax).join(", "));
  return parts.join("\n").slice(0, limits.modelCharactersMax);
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === "TimeoutError") return "the model does not answer";
  return error instanceof Error ? `the model: ${error.message}` : "the model does not answer";
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && "isRefusal" in error && error.isRefusal === true;
}

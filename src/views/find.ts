/**
 * Who can do this? Looks up agents that are alive by what they say of themselves. Tools are a hard filter;
 * the query only orders: by meaning, and by the words that card and query share. An agent that is nothing
 * like it still fills the list. Equals are ordered by registration, newest first, then by id.
 *
 * An agent that becomes unreachable is taken out, and put back in its place when it recovers.
 */
import assert from "node:assert/strict";
import type { Agent, AgentId, Event, State } from "../core/index.ts";
import { limits } from "./limits.ts";
import { MeaningIndex } from "./meaning/meaning-index.ts";
import type { Asked } from "./meaning/model.ts";
import { ModelIndex } from "./meaning/model-index.ts";
import type { Vectors } from "./meaning/vectors.ts";
import { Postings } from "./postings.ts";
import { Scores } from "./scores.ts";
import { type Block, backwards, SortedNumbers } from "./sorted-numbers.ts";
import { type Scored, Top } from "./top.ts";
import type { View } from "./view.ts";
import { WordIndex } from "./word-index.ts";
import { type AskedWords, askedWords } from "./words.ts";

export type FindQuery = {
  /** Free text. Blank: all are equal. */
  readonly query: string;
  /** An agent must have every one of them, spelled exactly so. */
  readonly tools: readonly string[];
  /** At most so many. */
  readonly limit: number;
};

export type FindHit = {
  readonly agentId: AgentId;
  /** Higher is better. Comparable within one answer only; 0 for all when the query is blank. */
  readonly score: number;
  /** Those words of the query that the card has, as they were asked for. */
  readonly matched: readonly string[];
};

export type Found = {
  /** Best first. */
  readonly hits: readonly FindHit[];
  /** What knew the meanings: the table that comes with the program, or the model that was given. */
  readonly ranking: "table" | "model";
  /** Why it was not the model, if there is one. */
  readonly reason?: string;
};

/**
 * What shared words add to a cosine, by the share of the query that they are. Few of many words are a hint;
 * a query that is nothing but words of the card means that card, whatever it sounds like.
 */
const hint = 0.05;
const literal = 0.9;

export type FindOptions = {
  /** Runs something when this turn of the event loop is over. Absent: cards are read when someone searches. */
  readonly afterTurn?: (run: () => void) => void;
};

export class FindView implements View {
  readonly #afterTurn: FindOptions["afterTurn"];
  #index = new AgentIndex();
  #isReading = false;

  constructor({ afterTurn }: FindOptions = {}) {
    this.#afterTurn = afterTurn;
  }

  reset(state: State): void {
    this.#index = new AgentIndex();
    for (const agent of state.registry.agents.values()) {
      if (agent.liveness === "alive") this.#index.add(agent);
    }
    this.#readSoon();
  }

  /** An event that the state had already at the reset changes nothing. */
  apply(event: Event): void {
    switch (event.type) {
      case "agent.registered":
      case "agent.recovered":
        this.#index.delete(event.agent.id);
        this.#index.add(event.agent);
        this.#readSoon();
        return;
      case "agent.unreachable":
      case "agent.died":
        this.#index.delete(event.agent.id);
        return;
      case "agent.forgotten":
        this.#index.delete(event.agentId);
        return;
    }
  }

  /** With what a model makes of the query, if one was asked. */
  search(query: FindQuery, asked?: Asked): Found {
    // Where cards are read by and by, a search does not wait for more than a few.
    this.#index.settle(this.#afterTurn ? limits.cardsReadBySearch : Number.POSITIVE_INFINITY);
    return this.#index.search(query, asked);
  }

  /** Reads cards a few at a time, so that others get their turn, until none waits. */
  #readSoon(): void {
    if (!this.#afterTurn || this.#isReading) return;
    this.#isReading = true;
    this.#afterTurn(() => {
      this.#isReading = false;
      if (!this.#index.settle(limits.cardsReadAtOnce)) this.#readSoon();
    });
  }

  /** By what a search would rank now, with a model that is in this trouble or in none. */
  ranking(trouble: string | undefined): Omit<Found, "hits"> {
    const reason = trouble ?? this.#index.unknown;
    return reason === undefined ? { ranking: "model" } : { ranking: "table", reason };
  }

  /** What a model makes of an agent's card. Of an agent that is gone nothing is kept. */
  learn(agent: Agent, vector: Float32Array): void {
    this.#index.learn(agent, vector);
  }
}

/**
 * Agents by number. A number is used again when its agent is gone, so that tables stay as small as the
 * registry.
 */
class AgentIndex {
  readonly #numbers = new Map<AgentId, number>();
  readonly #agents: (Agent | undefined)[] = [];
  readonly #unused: number[] = [];
  /** Beside the agents, because ties are common and following a reference for each is slow. */
  #registeredAtMs = new Float64Array(0);
  /** Oldest first: who registers now goes to the end. */
  readonly #byAge = new SortedNumbers((one, other) => this.#isNewer(other, one));
  readonly #byTool = new Postings();
  readonly #words = new WordIndex();
  readonly #meaning = new MeaningIndex();
  readonly #model = new ModelIndex();
  readonly #scores = new Scores();

  add(agent: Agent): void {
    const number = this.#unused.pop() ?? this.#agents.length;
    this.#reserve(number);
    this.#numbers.set(agent.id, number);
    this.#agents[number] = agent;
    this.#registeredAtMs[number] = agent.registeredAtMs;
    this.#byAge.add(number);
    for (const tool of new Set(agent.card.tools)) this.#byTool.add(tool, number);
    this.#words.add(number, agent.card);
    this.#meaning.add(number, agent.card);
  }

  delete(id: AgentId): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    const agent = this.#agents[number];
    assert(agent, "a number in use has an agent");
    this.#words.delete(number, agent.card);
    this.#meaning.delete(number);
    this.#model.delete(number);
    for (const tool of new Set(agent.card.tools)) this.#byTool.delete(tool, number);
    this.#byAge.delete(number);
    this.#agents[number] = undefined;
    this.#numbers.delete(id);
    this.#unused.push(number);
  }

  settle(cards: number): boolean {
    return this.#meaning.settle(cards);
  }

  /** Whom the model does not know, in words. */
  get unknown(): string | undefined {
    return this.#model.unknown(this.#numbers.size);
  }

  learn({ id, card }: Agent, vector: Float32Array): void {
    const number = this.#numbers.get(id);
    if (number === undefined || this.#agents[number]?.card !== card) return;
    this.#model.add(number, vector);
  }

  search({ query, tools, limit }: FindQuery, asked?: Asked): Found {
    const words = askedWords(query);
    const top = new Top(limit, (one, other) => this.#isNewer(one, other));
    const isBlank = words.size === 0;
    this.#scores.clear();
    if (!isBlank) this.#words.score(this.#weigh(words), this.#scores);
    const model = isBlank || !asked ? undefined : this.#model.score(asked, this.#numbers.size);
    const vectors = isBlank ? undefined : (model?.vectors ?? this.#meaning.score(query));
    if (tools.length > 0) {
      for (const block of this.#with(new Set(tools))) this.#offer(block, vectors, top);
    } else {
      for (const block of backwards(this.#byAge.blocks)) {
        // Equals come newest first: whoever comes later does not get in.
        if (isBlank && top.bar === 0) break;
        this.#offer(block, vectors, top);
      }
    }
    return {
      hits: this.#explain(words, top.sorted()),
      ranking: model?.vectors ? "model" : "table",
      ...(model?.reason === undefined ? {} : { reason: model.reason }),
    };
  }

  /** Backwards, because the newest are likely to be last, and those after them lose at once. */
  #offer({ values, length }: Block, vectors: Vectors | undefined, top: Top): void {
    const cosines = vectors?.cosines(values, length);
    const words = this.#scores.values;
    let bar = top.bar;
    for (let index = length - 1; index >= 0; index--) {
      const number = values[index] ?? 0;
      const share = words[number] ?? 0;
      const score = (cosines?.[index] ?? 0) + (share === 0 ? 0 : worthOf(share));
      if (score < bar) continue;
      top.offer(number, score);
      bar = top.bar;
    }
  }

  /** Those that have every tool, in blocks. Looks only at those that have the rarest. */
  *#with(tools: ReadonlySet<string>): Generator<Block> {
    const [rarest = "", ...others] = [...tools].sort(
      (one, other) => this.#byTool.count(one) - this.#byTool.count(other),
    );
    for (const block of backwards(this.#byTool.blocks(rarest))) {
      if (others.length === 0) {
        yield block;
        continue;
      }
      const values = block.values
        .subarray(0, block.length)
        .filter((number) => others.every((tool) => this.#byTool.has(tool, number)));
      yield { values, length: values.length };
    }
  }

  #weigh(asked: AskedWords): ReadonlyMap<string, number> {
    const weights = new Map<string, number>();
    for (const [spelled, words] of asked) {
      const weight = this.#meaning.weightOf(spelled);
      for (const word of words) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
    }
    return weights;
  }

  #explain(words: AskedWords, found: readonly Scored[]): FindHit[] {
    const asked = [...words];
    return found.map(({ item, score }) => ({
      agentId: this.#idOf(item),
      score,
      matched: asked
        .filter(([, words]) => words.some((word) => this.#words.has(item, word)))
        .map(([spelled]) => spelled),
    }));
  }

  #isNewer(one: number, other: number): boolean {
    const difference = (this.#registeredAtMs[one] ?? 0) - (this.#registeredAtMs[other] ?? 0);
    return difference === 0 ? this.#idOf(one) < this.#idOf(other) : difference > 0;
  }

  #idOf(number: number): AgentId {
    const agent = this.#agents[number];
    assert(agent, "what is indexed is there");
    return agent.id;
  }

  /** Tables double, so that growing costs each agent the same in the end. */
  #reserve(number: number): void {
    assert(number < limits.documentsMax, "the core bounds the living agents");
    if (number < this.#registeredAtMs.length) return;
    const room = Math.max(64, 2 * number);
    const registeredAtMs = new Float64Array(room);
    registeredAtMs.set(this.#registeredAtMs);
    this.#registeredAtMs = registeredAtMs;
    this.#words.reserve(room);
    this.#meaning.reserve(room);
    this.#model.reserve(room);
    this.#scores.reserve(room);
  }
}

function worthOf(share: number): number {
  const within = Math.min(share, 1);
  return hint * within + literal * within ** 4;
}

/**
 * Who can do this? Looks up agents that are alive by what they say of themselves. Tools are a hard filter;
 * words only order: an agent that is nothing like the query still fills the list. Equals are ordered by
 * registration, newest first, then by id.
 *
 * An agent that becomes unreachable is taken out, and put back in its place when it recovers.
 */
import assert from "node:assert/strict";
import type { Agent, AgentId, Event, State } from "../core/index.ts";
import { limits } from "./limits.ts";
import { Postings } from "./postings.ts";
import { Scores } from "./scores.ts";
import { backwards, SortedNumbers } from "./sorted-numbers.ts";
import { Top } from "./top.ts";
import type { View } from "./view.ts";
import { WordIndex } from "./word-index.ts";

export type FindQuery = {
  /** Free text. Blank: all are equal. */
  readonly query: string;
  /** An agent must have every one of them, spelled exactly so. */
  readonly tools: readonly string[];
  /** At most so many. */
  readonly limit: number;
};

export class FindView implements View {
  #index = new AgentIndex();

  reset(state: State): void {
    this.#index = new AgentIndex();
    for (const agent of state.registry.agents.values()) {
      if (agent.liveness === "alive") this.#index.add(agent);
    }
  }

  /** An event that the state had already at the reset changes nothing. */
  apply(event: Event): void {
    switch (event.type) {
      case "agent.registered":
      case "agent.recovered":
        this.#index.delete(event.agent.id);
        this.#index.add(event.agent);
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

  /** Best first. */
  search(query: FindQuery): readonly AgentId[] {
    return this.#index.search(query);
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
  }

  delete(id: AgentId): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    const agent = this.#agents[number];
    assert(agent, "a number in use has an agent");
    this.#words.delete(number, agent.card);
    for (const tool of new Set(agent.card.tools)) this.#byTool.delete(tool, number);
    this.#byAge.delete(number);
    this.#agents[number] = undefined;
    this.#numbers.delete(id);
    this.#unused.push(number);
  }

  search({ query, tools, limit }: FindQuery): AgentId[] {
    this.#scores.clear();
    this.#words.score(query, this.#scores);
    const found = tools.length === 0 ? this.#best(limit) : this.#bestWith(new Set(tools), limit);
    return found.map((number) => this.#idOf(number));
  }

  /** Those that are alike; if these are too few, then the newest of the others. */
  #best(limit: number): number[] {
    const top = this.#top(limit);
    for (const number of this.#scores.alike) top.offer(number);
    const found = top.sorted();
    for (const { values, length } of backwards(this.#byAge.blocks)) {
      for (let index = length - 1; index >= 0; index--) {
        if (found.length >= limit) return found;
        const number = values[index] ?? 0;
        if (this.#scores.of(number) === 0) found.push(number);
      }
    }
    return found;
  }

  /** Looks only at those that have the rarest of the tools. */
  #bestWith(tools: ReadonlySet<string>, limit: number): number[] {
    const [rarest = "", ...others] = [...tools].sort(
      (one, other) => this.#byTool.count(one) - this.#byTool.count(other),
    );
    const top = this.#top(limit);
    for (const { values, length } of backwards(this.#byTool.blocks(rarest))) {
      for (let index = length - 1; index >= 0; index--) {
        const number = values[index] ?? 0;
        if (!top.admits(number)) continue;
        if (others.every((tool) => this.#byTool.has(tool, number))) top.offer(number);
      }
    }
    return top.sorted();
  }

  #top(limit: number): Top {
    return new Top(limit, (one, other) => {
      const difference = this.#scores.of(one) - this.#scores.of(other);
      return difference === 0 ? this.#isNewer(one, other) : difference > 0;
    });
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
    this.#scores.reserve(room);
  }
}

/**
 * What a connection has been told of elections, so that a change between its Campaign and its
 * WatchElection is not lost, and one it knows of is not told again. AgentKeeper contract 2.6.6.
 */
import type { AgentId, GroupName, Term } from "../../core/index.ts";
import { limits } from "./limits.ts";

export class KnownTerms {
  readonly #terms = new Map<GroupName, Map<AgentId, Term>>();
  #size = 0;

  /** A Campaign reply told this agent the term. */
  learn(group: GroupName, agentId: AgentId, term: Term): void {
    const agents = this.#terms.get(group) ?? new Map<AgentId, Term>();
    if (!agents.has(agentId)) this.#size += 1;
    agents.set(agentId, term);
    // At the end of the line: who has not campaigned for the longest time is forgotten first.
    this.#terms.delete(group);
    this.#terms.set(group, agents);
    if (this.#size > limits.knownTermsMax) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const [oldest] = this.#terms;
    if (!oldest) return;
    const [group, agents] = oldest;
    const [agentId] = agents.keys();
    if (agentId !== undefined) agents.delete(agentId);
    if (agents.size === 0) this.#terms.delete(group);
    this.#size -= 1;
  }

  /** An event on any stream of the connection told the term to everyone behind it. */
  raise(group: GroupName, term: Term): void {
    const agents = this.#terms.get(group);
    if (!agents) return;
    for (const [agentId, known] of agents) if (known < term) agents.set(agentId, term);
  }

  /** Whether someone behind the connection campaigned, and has not heard of this term. */
  isBehind(group: GroupName, term: Term): boolean {
    for (const known of this.#terms.get(group)?.values() ?? []) if (known < term) return true;
    return false;
  }
}

/** What agents are called. Entries of the log have ids only; who is not known yet is asked for, a few at a time. */
import { signal } from "@preact/signals";
import { type Agent, call } from "./api.ts";
import { limits } from "./limits.ts";

const known = new Map<string, string>();
const wanted = new Set<string>();
let asking = 0;

/** Moves when a name was learned. */
const learned = signal(0);

export function learnName(id: string, name: string | undefined): void {
  if (name === undefined || known.get(id) === name) return;
  known.set(id, name);
  if (known.size > limits.namesMax) {
    for (const oldest of known.keys().take(known.size - limits.namesMax)) known.delete(oldest);
  }
  learned.value += 1;
}

export function learnAgent(agent: Pick<Agent, "id" | "card">): void {
  learnName(agent.id, agent.card.name);
}

/** Read inside a component or a computed, it follows. Until the name is known, the head of the id. */
export function nameOf(id: string): string {
  learned.value;
  const name = known.get(id);
  if (name !== undefined) return name || shortId(id);
  wanted.add(id);
  queueMicrotask(askNext);
  return shortId(id);
}

/** A job by its agent, if that was told: it is not asked for. */
export function jobName(id: string): string {
  learned.value;
  return known.get(id) || shortId(id);
}

/** The head of an id, without what all of its kind begin with; of those that begin with a time, the end. */
export function shortId(id: string): string {
  const [, kind, rest] = /^([a-z]+_)(\w{12,})$/.exec(id) ?? [];
  if (kind !== undefined && rest !== undefined) return `…${rest.slice(-6)}`;
  return id.length > 12 ? id.slice(0, 8) : id;
}

export function forgetNames(): void {
  known.clear();
  wanted.clear();
}

function askNext(): void {
  for (const id of wanted) {
    if (asking >= limits.nameLookupsMax) return;
    wanted.delete(id);
    if (known.has(id)) continue;
    asking += 1;
    call("getAgent", { agentId: id })
      .then(learnAgent)
      // Forgotten by the daemon, or not reachable: it goes by its id.
      .catch(() => learnName(id, ""))
      .finally(() => {
        asking -= 1;
        askNext();
      });
  }
}

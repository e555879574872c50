/**
 * What was seen while the view was open: the last hour of each agent, and what happened. A daemon remembers
 * more and better; this is for where none runs.
 */
import type { Sighting } from "../../wire/api/index.ts";
import type { Stretch } from "../history.ts";
import { toneOf } from "../sighting-words.ts";
import { limits } from "./limits.ts";
import type { About, Happening } from "./model.ts";

export class Chronicle {
  #states: ReadonlyMap<string, Sighting> | undefined;
  readonly #stretches = new Map<string, readonly Stretch[]>();
  #happenings: readonly (Happening & { readonly id: string })[] = [];

  /** What is there now. The first look is how it was, not what happened. */
  observe(agents: readonly Sighting[], nowMs: number): void {
    const before = this.#states;
    this.#states = new Map(agents.map((agent) => [agent.id, agent]));
    for (const agent of before?.values() ?? []) {
      if (this.#states.has(agent.id)) continue;
      this.#stretches.delete(agent.id);
      this.#note(agent, { atMs: nowMs, text: `${agent.name} has left`, tone: "dim" });
    }
    for (const agent of agents) {
      const known = before?.get(agent.id);
      if (known?.state === agent.state) continue;
      this.#begin(agent, nowMs);
      if (known)
        this.#note(agent, { atMs: nowMs, text: becomes(agent), tone: toneOf[agent.state] });
      else if (before)
        this.#note(agent, { atMs: nowMs, text: `${agent.name} is here`, tone: "good" });
    }
  }

  get happenings(): readonly Happening[] {
    return this.#happenings;
  }

  about(id: string, nowMs: number): About {
    const begun = this.#stretches.get(id) ?? [];
    const stretches = begun.map((stretch, index) => ({
      ...stretch,
      toMs: begun[index + 1]?.fromMs ?? nowMs,
    }));
    const happenings = this.#happenings.filter((happening) => happening.id === id);
    return { id, stretches, happenings, facts: [] };
  }

  #begin({ id, state, sinceMs, doing = "" }: Sighting, nowMs: number): void {
    const before = this.#stretches.get(id) ?? [];
    // Sources tell since when; what they say cannot be before what was seen to be otherwise.
    const fromMs = Math.max(sinceMs ?? nowMs, before.at(-1)?.fromMs ?? Number.NEGATIVE_INFINITY);
    const kept = before.filter(
      (_, index) => (before[index + 1]?.fromMs ?? nowMs) > nowMs - limits.stripMs,
    );
    const stretches = [...kept, { state, note: doing, fromMs, toMs: nowMs }];
    this.#stretches.set(id, stretches.slice(-limits.stretchesMax));
  }

  #note({ id }: Sighting, happening: Happening): void {
    this.#happenings = [...this.#happenings, { ...happening, id }].slice(-limits.happeningsMax);
  }
}

function becomes({ name, state, doing }: Sighting): string {
  return doing === undefined ? `${name} is ${state}` : `${name} is ${state}: ${doing}`;
}

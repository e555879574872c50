/**
 * The loop without a disk: decide, evolve, remember. What is overdue ends before a command is decided,
 * just as the plane does it, so that rules can be tested with nothing but values.
 */
import assert from "node:assert/strict";
import {
  type Command,
  type Decision,
  decide,
  type Event,
  emptyState,
  evolve,
  nextDueAtMs,
  note,
  type OwnState,
  overdue,
} from "../core/index.ts";

export class BareLoop {
  readonly state: OwnState;
  /** Everything that happened, in order. */
  readonly events: Event[] = [];
  nowMs = 0;

  constructor(state: OwnState = emptyState()) {
    this.state = state;
  }

  /** Moves time, and answers what fell due until then, inclusive. */
  at(nowMs: number): readonly Event[] {
    assert(nowMs >= this.nowMs, "time does not go back");
    this.nowMs = nowMs;
    const before = this.events.length;
    for (;;) {
      const due = overdue(this.state, nowMs);
      if (!due) return this.events.slice(before);
      const { refusal } = this.decide({ type: "tick", due });
      assert.equal(refusal, undefined);
    }
  }

  /** Lets time pass, so that everything ends at its own time; answers what did, and when. */
  pass(untilMs: number): readonly { readonly atMs: number; readonly type: string }[] {
    const ended: { atMs: number; type: string }[] = [];
    for (;;) {
      const atMs = Math.max(this.nowMs, Math.min(nextDueAtMs(this.state), untilMs));
      for (const { type } of this.at(atMs)) ended.push({ atMs, type });
      if (atMs >= untilMs) return ended;
    }
  }

  /** Decides and evolves now, whatever may be overdue. */
  decide(command: Command): Decision<Event> {
    const decision = decide(this.state, command, this.nowMs);
    if (decision.refusal) return decision;
    for (const event of decision.events) {
      evolve(this.state, event);
      this.events.push(event);
    }
    note(this.state, command, this.nowMs);
    return decision;
  }

  /** The events of a command that must be accepted. */
  accept(command: Command): readonly Event[] {
    this.at(this.nowMs);
    const decision = this.decide(command);
    assert(!decision.refusal, `refused: ${decision.refusal?.message}`);
    return decision.events;
  }

  /** The code with which a command is refused. */
  refusal(command: Command): string | undefined {
    this.at(this.nowMs);
    return this.decide(command).refusal?.code;
  }
}

export function types(events: readonly Event[]): readonly string[] {
  return events.map((event) => event.type);
}

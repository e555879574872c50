/**
 * Commands that were told "not now" and wait in line, fairly: claims in the order in which they came,
 * acquires in the order in which they came for the same task. A place in line outlives who stands in it
 * if it has a key: whoever comes back in time, with the same key, finds it again. But nothing is given to a
 * place to which nobody listens, since whoever left may be dead; the next in line is asked.
 */
import {
  type AcquireLease,
  type AgentId,
  type ClaimTask,
  type Decision,
  type Event,
  type Refusal,
  type State,
  stirOf,
  type TaskId,
} from "../core/index.ts";
import { limits } from "./limits.ts";

export type WaitingCommand = ClaimTask | AcquireLease;

/** One call that waits at a place. */
export type Listener = {
  /** Called once, with what was decided. */
  readonly hear: (decision: Decision<Event>) => void;
  /** Callers that are not trusted share half of the places. */
  readonly isTrusted: boolean;
};

/** A place in line. Several may listen: who asks again may come before we notice that it had left. */
export type Place = {
  readonly command: WaitingCommand;
  /** Carries out the command now. */
  readonly ask: () => Decision<Event>;
  readonly listeners: Set<Listener>;
  /** What was in the way when it was last asked. */
  refusal: Refusal;
};

export class WaitingRoom {
  readonly #claims = new Set<Place>();
  readonly #byTask = new Map<TaskId, Set<Place>>();
  readonly #byAgent = new Map<AgentId, Set<Place>>();
  readonly #byKey = new Map<string, Place>();
  /** Places to which nobody listens: who left last, and when. In the order of that time. */
  readonly #left = new Map<Place, Pick<Listener, "isTrusted"> & { readonly atMs: number }>();
  #listeners = 0;
  /** How many listeners, and places that were left, belong to callers that are not trusted. */
  #strangers = 0;

  /** How many listen, and how many places are kept for who has left. */
  get size(): number {
    return this.#listeners + this.#left.size;
  }

  /** Why one more call may not wait; undefined if it may. */
  refusal({
    isBack,
    isTrusted,
  }: {
    /** Whether the call returns to a place that it already had. */
    readonly isBack: boolean;
    readonly isTrusted: boolean;
  }): Refusal | undefined {
    // A call that returns was counted before, and we may not have seen yet that its last connection is gone.
    const most = isBack ? limits.listenersMax : limits.waitingMax;
    if (this.size >= most) {
      return { code: "limit_reached", message: `${most} calls are waiting already` };
    }
    if (isTrusted || this.#strangers < most / 2) return undefined;
    const message = `${most / 2} calls without the token are waiting already; send the token`;
    return { code: "limit_reached", message };
  }

  /** The place that was taken before under the same key. */
  find(command: WaitingCommand): Place | undefined {
    return command.key === undefined ? undefined : this.#byKey.get(nameOf(command, command.key));
  }

  /**
   * Someone listens at a place that was found. What nobody else wanted while it was away it has now: that
   * passes over nobody.
   */
  rejoin(place: Place, listener: Listener, state: State): void {
    const { command, listeners } = place;
    const wasLeft = listeners.size === 0;
    this.join(place, listener);
    if (wasLeft && isThereFor(command, state)) this.#ask(place);
  }

  /** Someone listens, at a place at the end of the line if it is a new one. */
  join(place: Place, listener: Listener): void {
    place.listeners.add(listener);
    this.#listeners += 1;
    if (!listener.isTrusted) this.#strangers += 1;
    this.#return(place);
    const { command } = place;
    if (command.key !== undefined) this.#byKey.set(nameOf(command, command.key), place);
    fileUnder(this.#byAgent, command.agentId, place);
    if (command.type === "task.claim") this.#claims.add(place);
    else fileUnder(this.#byTask, command.taskId, place);
  }

  /** Someone no longer listens. Without a key nobody could come back. */
  leave(place: Place, listener: Listener, nowMs: number): void {
    if (!place.listeners.delete(listener)) return;
    const { isTrusted } = listener;
    this.#listeners -= 1;
    if (!isTrusted) this.#strangers -= 1;
    if (place.listeners.size > 0) return;
    if (place.command.key === undefined) return this.#forget(place);
    this.#left.set(place, { isTrusted, atMs: nowMs });
    if (!isTrusted) this.#strangers += 1;
  }

  /** The place no longer counts as left. */
  #return(place: Place): void {
    const left = this.#left.get(place);
    if (!left) return;
    this.#left.delete(place);
    if (!left.isTrusted) this.#strangers -= 1;
  }

  /** Gives up the places that were left too long ago. */
  expire(nowMs: number): void {
    for (const [place, { atMs }] of this.#left) {
      if (atMs + limits.placeKeptMs > nowMs) return;
      this.#forget(place);
    }
  }

  /** Gives up the places of an agent under a key; whoever still listens is told what was in the way. */
  withdraw(agentId: AgentId, key: string): void {
    for (const place of this.#byAgent.get(agentId) ?? []) {
      const { command, refusal } = place;
      if (command.key === key) this.#answer(place, { refusal });
    }
  }

  /** Events may be what someone waits for. The one who has waited longest is asked first. */
  hear(state: State, events: readonly Event[]): void {
    let mayClaim = false;
    for (const event of events) {
      const stir = stirOf(event);
      switch (stir?.of) {
        case "tasks":
          mayClaim = true;
          break;
        case "lease":
          this.#passOn(stir.taskId);
          break;
        case "recovered":
          for (const place of this.#byAgent.get(stir.agentId) ?? []) {
            if (place.command.type === "task.claim") this.#offer(place);
          }
          break;
        case "dead":
          for (const place of this.#byAgent.get(stir.agentId) ?? []) this.#ask(place);
          break;
        case undefined:
          break;
      }
    }
    if (!mayClaim) return;
    for (const place of this.#claims) {
      if (state.tasks.queues.size === 0) return;
      this.#offer(place);
    }
  }

  close(refusal: Refusal): void {
    for (const places of this.#byAgent.values()) {
      for (const place of places) this.#answer(place, { refusal });
    }
  }

  /** To the first in line who can have it. */
  #passOn(taskId: TaskId): void {
    for (const place of this.#byTask.get(taskId) ?? []) {
      // Who died in the same moment does not keep the others waiting.
      if (this.#offer(place)) return;
    }
  }

  /** Answers whether it was taken. */
  #offer(place: Place): boolean {
    return place.listeners.size > 0 && !this.#ask(place).refusal;
  }

  #ask(place: Place): Decision<Event> {
    const decision = place.ask();
    if (isNotNow(decision.refusal)) place.refusal = decision.refusal;
    else this.#answer(place, decision);
    return decision;
  }

  #answer(place: Place, decision: Decision<Event>): void {
    this.#forget(place);
    const { listeners } = place;
    for (const { hear } of listeners) hear(decision);
    this.#listeners -= listeners.size;
    for (const { isTrusted } of listeners) if (!isTrusted) this.#strangers -= 1;
    listeners.clear();
  }

  #forget(place: Place): void {
    const { command } = place;
    this.#return(place);
    if (command.key !== undefined) this.#byKey.delete(nameOf(command, command.key));
    unfile(this.#byAgent, command.agentId, place);
    if (command.type === "task.claim") this.#claims.delete(place);
    else unfile(this.#byTask, command.taskId, place);
  }
}

/** Whether to wait is better than to be told. */
export function isNotNow(refusal: Refusal | undefined): refusal is Refusal {
  return refusal?.code === "no_task" || refusal?.code === "lease_held";
}

/** A lease that its holder asks for again would fence it off: then there is nothing for it. */
function isThereFor(command: WaitingCommand, { leases, tasks }: State): boolean {
  return command.type === "task.claim" ? tasks.queues.size > 0 : !leases.held.has(command.taskId);
}

/** The same agent, the same thing and the same key make the same place. */
function nameOf(command: WaitingCommand, key: string): string {
  const what = command.type === "task.claim" ? (command.types ?? []) : command.taskId;
  return JSON.stringify([command.type, command.agentId, key, what]);
}

function fileUnder<Key>(places: Map<Key, Set<Place>>, key: Key, place: Place): void {
  const known = places.get(key);
  if (known) known.add(place);
  else places.set(key, new Set([place]));
}

function unfile<Key>(places: Map<Key, Set<Place>>, key: Key, place: Place): void {
  const known = places.get(key);
  known?.delete(place);
  if (known?.size === 0) places.delete(key);
}

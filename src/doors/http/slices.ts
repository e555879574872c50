/**
 * Long looks at the state run on the writer's thread. They are written as generators, which may be
 * interrupted wherever they yield, and done in slices, one slice a turn of the event loop, whoever it is
 * for, so that nobody else waits for long.
 */
import { performance } from "node:perf_hooks";
import type { State } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import { limits } from "./limits.ts";
import type { Reply } from "./operations.ts";

/** A look at the state. What it sees may change where it yields. */
export type Look<Value> = Generator<undefined, Value>;

/** Resolves when it is this look's turn to do one slice; rejects with the signal's reason. */
export type Turn = () => Promise<void>;

/** What a long look sees in the end, when everything that it may have seen is durable. */
export function lookInSlices<Value>(
  plane: Plane,
  signal: AbortSignal,
  look: (state: State, nowMs: number) => Look<Value>,
): Promise<Reply<Value>> {
  return lookInTurns(plane, signal, (turn) => slices(plane, turn, look));
}

/** The slices of a look that has its place in the queue. */
export async function slices<Value>(
  plane: Plane,
  turn: Turn,
  look: (state: State, nowMs: number) => Look<Value>,
): Promise<Value> {
  let steps: Look<Value> | undefined;
  for (;;) {
    await turn();
    const step = await plane.read((state, nowMs) => {
      steps ??= look(state, nowMs);
      return doSlice(steps);
    });
    if (step.done) return step.value;
  }
}

/**
 * A look that says itself where it may be interrupted. When its caller is gone it ends at its next turn,
 * and is answered to nobody. Refused where too many look already.
 */
export async function lookInTurns<Value>(
  plane: Plane,
  signal: AbortSignal,
  look: (turn: Turn) => Promise<Value>,
): Promise<Reply<Value>> {
  const queue = queueOf(plane);
  if (queue.looks >= limits.longLooksMax) {
    const message = `${limits.longLooksMax} others are looking through lists already; ask again`;
    return { refusal: { code: "limit_reached", message } };
  }
  queue.looks += 1;
  try {
    const value = await look(async () => {
      signal.throwIfAborted();
      await nextTurn(queue);
      signal.throwIfAborted();
    });
    return { value };
  } catch (reason) {
    if (!signal.aborted || reason !== signal.reason) throw reason;
    return { refusal: { code: "unavailable", message: "whoever asked is gone" } };
  } finally {
    queue.looks -= 1;
  }
}

function doSlice<Value>(steps: Look<Value>): IteratorResult<undefined, Value> {
  const endMs = performance.now() + limits.sliceMs;
  for (;;) {
    const step = steps.next();
    if (step.done || performance.now() > endMs) return step;
  }
}

/** Those who look at one plane. */
type Queue = { looks: number; last: Promise<void> };

const queues = new WeakMap<Plane, Queue>();

function queueOf(plane: Plane): Queue {
  const known = queues.get(plane);
  if (known) return known;
  const queue = { looks: 0, last: Promise.resolve() };
  queues.set(plane, queue);
  return queue;
}

function nextTurn(queue: Queue): Promise<void> {
  queue.last = queue.last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return queue.last;
}

/**
 * Long looks at the state run on the writer's thread. They are written as generators, which may be
 * interrupted wherever they yield, and done in slices, one slice a turn of the event loop, whoever it is
 * for, so that nobody else waits for long.
 */
import { performance } from "node:perf_hooks";
import type { State } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import { limits } from "./limits.ts";

/** A look at the state. What it sees may change where it yields. */
export type Look<Value> = Generator<undefined, Value>;

/** What a long look sees in the end, when everything that it may have seen is durable. */
export async function lookInSlices<Value>(
  plane: Plane,
  look: (state: State, nowMs: number) => Look<Value>,
): Promise<Value> {
  let steps: Look<Value> | undefined;
  for (;;) {
    await nextSlice();
    const step = await plane.read((state, nowMs) => {
      steps ??= look(state, nowMs);
      return doSlice(steps);
    });
    if (step.done) return step.value;
  }
}

function doSlice<Value>(steps: Look<Value>): IteratorResult<undefined, Value> {
  const endMs = performance.now() + limits.sliceMs;
  for (;;) {
    const step = steps.next();
    if (step.done || performance.now() > endMs) return step;
  }
}

let last: Promise<void> = Promise.resolve();

/** Resolves when it is the caller's turn to do one slice. */
export function nextSlice(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}

/**
 * Work on many files that can be interrupted. It is written as a generator that yields after each file, so that a
 * command can do it at once and a program with other things to do can do it in slices.
 */
import { limits } from "./limits.ts";

/** Yields wherever it may be interrupted. */
export type Steps<Value> = Generator<undefined, Value, undefined>;

export function runAtOnce<Value>(steps: Steps<Value>): Value {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** One slice for each turn of the event loop. */
export async function runInSlices<Value>(steps: Steps<Value>): Promise<Value> {
  for (;;) {
    const endMs = performance.now() + limits.sliceMs;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (performance.now() < endMs);
    await new Promise(setImmediate);
  }
}

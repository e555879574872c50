/**
 * Long looks at the state run on the writer's thread. They are done in slices, one slice a turn of the
 * event loop, whoever they are for, so that nobody else waits for long.
 */
import { performance } from "node:perf_hooks";
import { limits } from "./limits.ts";

let last: Promise<void> = Promise.resolve();

/** Resolves when it is the caller's turn to do one slice. */
export function nextSlice(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}

/** Says when a slice has lasted long enough. To ask costs next to nothing. */
export function sliceEnd(): () => boolean {
  const endMs = performance.now() + limits.sliceMs;
  let asked = 0;
  return () => {
    asked += 1;
    return asked % 64 === 0 && performance.now() > endMs;
  };
}

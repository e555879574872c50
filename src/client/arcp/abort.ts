export type Abortable = {
  /** Ends the wait: the call rejects with its reason. What was sent may be carried out nevertheless. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Waits no longer than a signal lets it: then `giveUp` is called, and it rejects with the signal's reason. Either that,
 * or what was waited for: nothing in between.
 */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  giveUp: () => void,
): Promise<Value> {
  if (!signal) return promise;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => {
    reject(signal.reason);
    giveUp();
  };
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([promise.finally(() => signal.removeEventListener("abort", abort)), aborted]);
}

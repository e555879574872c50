/** Waits no longer than a signal lets it: then `giveUp` is called, and it rejects with the signal's reason. */
export async function orAborted<Value>(
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
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** An answer of the daemon that a component shows, kept up to date while it is shown. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  type Answer,
  call,
  type Entry,
  type Input,
  type OperationName,
  TipstaffError,
} from "./api.ts";
import { epoch, listen } from "./live.ts";
import { Refresh } from "./refresh.ts";

export type Asked<Value> = {
  /** The last answer, also while a next one is on its way. */
  readonly value: Value | undefined;
  readonly problem: TipstaffError | undefined;
};

export type Freshness = {
  /** Whether something that happened makes the answer out of date. */
  readonly concerns?: ((entry: Entry) => boolean) | undefined;
  /** For what changes without an event. */
  readonly everyMs?: number | undefined;
};

/** `undefined` as input asks nothing. */
export function useAnswer<Name extends OperationName>(
  name: Name,
  input: Input<Name> | undefined,
  { concerns, everyMs }: Freshness = {},
): Asked<Answer<Name>> {
  const asked = useSignal<Asked<Answer<Name>> & { readonly key: string }>({
    key: "",
    value: undefined,
    problem: undefined,
  });
  const key = input === undefined ? "" : JSON.stringify(input);
  useEffect(() => {
    if (input === undefined) return;
    const gone = new AbortController();
    const refresh = new Refresh(async () => {
      try {
        const value = await call(name, input, { signal: gone.signal });
        asked.value = { key, value, problem: undefined };
      } catch (problem) {
        if (gone.signal.aborted || !(problem instanceof TipstaffError)) return;
        // What was seen stays while the daemon is away.
        const isAway = problem.code === "unreachable" || problem.code === "unavailable";
        const value = isAway && asked.value.key === key ? asked.value.value : undefined;
        asked.value = { key, value, problem };
      }
    });
    refresh.request();
    const stopFollowing = follow(refresh, { concerns, everyMs });
    return () => {
      gone.abort();
      refresh.close();
      stopFollowing();
    };
    // The key stands for the input: another object with the same content is the same question.
  }, [name, key]);
  return asked.value.key === key || input === undefined
    ? asked.value
    : { value: undefined, problem: undefined };
}

/** Requests a refresh when an entry concerns it, when time is up, and when everything may have changed. */
export function follow(refresh: Refresh, { concerns, everyMs }: Freshness): () => void {
  const stopListening = listen((entries) => {
    if (concerns && entries.some(concerns)) refresh.request();
  });
  let seen = epoch.peek();
  const stopEpoch = epoch.subscribe((moved) => {
    if (moved !== seen) refresh.request();
    seen = moved;
  });
  const timer = everyMs === undefined ? undefined : setInterval(() => refresh.request(), everyMs);
  return () => {
    stopListening();
    stopEpoch();
    clearInterval(timer);
  };
}

/** Entries whose type begins with one of these. */
export function ofTypes(...prefixes: readonly string[]): (entry: Entry) => boolean {
  return (entry) => prefixes.some((prefix) => entry.type.startsWith(prefix));
}

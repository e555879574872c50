/**
 * Whether what callers saw of one task's lease can be explained by one order of their calls, each
 * taking effect at some moment between its start and its end. The search is Wing and Gong's: take any
 * call that may come next, see whether a lease would have answered so, go on from there; what was
 * tried from the same place is not tried again.
 *
 * Time is part of it. A lease ends by itself when its time has come, give or take `slackMs` for the
 * distance between the clocks of callers and server; not before, and it is not held after. The moment
 * of each call is taken as early as its place in the order allows: whatever has to come later can still
 * do so.
 *
 * Leases that end otherwise (their holder dies) are not modelled: keep the holders alive.
 */

/** What the caller asked for; tokens as the caller presented them. */
export type Asked =
  | { readonly type: "acquire"; readonly holder: string; readonly ttlMs: number }
  | {
      readonly type: "renew";
      readonly holder: string;
      readonly token: bigint;
      readonly ttlMs: number;
    }
  | { readonly type: "release"; readonly holder: string; readonly token: bigint };

export type Seen =
  /** An acquisition or a renewal that succeeded. */
  | { readonly type: "leased"; readonly token: bigint; readonly expiresAtMs: number }
  /** An acquisition that found another's lease. */
  | {
      readonly type: "held";
      readonly holder: string;
      readonly token: bigint;
      readonly expiresAtMs: number;
    }
  | { readonly type: "released" }
  /** A renewal or release for which there was no lease. */
  | { readonly type: "not_found" }
  /** A renewal or release whose token or holder was not the lease's. */
  | { readonly type: "mismatch" }
  /** No answer came: it may have taken effect once, or never. */
  | { readonly type: "unknown" };

export type LeaseCall = {
  readonly asked: Asked;
  readonly seen: Seen;
  /** When it was called and when it was answered, on the clock that leases expire by. */
  readonly startedAtMs: number;
  /**
   * For a call without an answer: after this it cannot have taken effect any more (its server was
   * dead). Infinity if nobody knows.
   */
  readonly endedAtMs: number;
};

export type CheckOptions = {
  readonly slackMs: number;
  /** Places of the search; beyond that it throws. Ordinary histories need a few for each call. */
  readonly placesMax?: number;
};

/** Undefined if the calls can be explained; else how far the best attempt came, for people to read. */
export function findViolation(
  history: readonly LeaseCall[],
  { slackMs, placesMax = 2_000_000 }: CheckOptions,
): string | undefined {
  const calls = [...history].sort((one, other) => one.startedAtMs - other.startedAtMs);
  const answered = calls.filter((call) => call.seen.type !== "unknown");
  const unanswered = calls.filter((call) => call.seen.type === "unknown");
  const start: Place = {
    first: 0,
    beyond: [],
    applied: [],
    atMs: Number.NEGATIVE_INFINITY,
    lease: { lastToken: 0n },
  };
  const known = new Map<string, number>();
  const open: Place[] = [start];
  let best = start;
  while (open.length > 0) {
    const place = open.pop() ?? start;
    if (place.first === answered.length) return undefined;
    if (isKnown(known, place)) continue;
    if (known.size > placesMax) throw new Error(`no answer after ${placesMax} places`);
    if (explained(place) > explained(best)) best = place;
    // The last that is pushed is tried first: answered calls in the order in which they began.
    for (const next of successors(place, { answered, unanswered, slackMs })) open.push(next);
  }
  return explain(best, answered, slackMs);
}

/** What is left of a lease: as much as the calls so far tell. */
type Held = {
  readonly holder: string;
  /** Undefined: it was acquired by a call without an answer. Above `lastToken - 1` in any case. */
  readonly token: bigint | undefined;
  /** The end lies between these; they differ after a call without an answer. */
  readonly endsFromMs: number;
  readonly endsUntilMs: number;
};
type LeaseState = {
  readonly held?: Held;
  /** No token was given out above this one, except one that nobody saw. */
  readonly lastToken: bigint;
};

/** Some calls are explained, in some order; this is where that leads. */
type Place = {
  /** All answered calls before this one are explained, and this one is not. */
  readonly first: number;
  /** Answered calls after `first` that are explained, ascending. */
  readonly beyond: readonly number[];
  /** Calls without an answer that took effect, ascending. */
  readonly applied: readonly number[];
  /** The earliest moment at which the last of them can have taken effect. */
  readonly atMs: number;
  readonly lease: LeaseState;
};

type Calls = {
  readonly answered: readonly LeaseCall[];
  readonly unanswered: readonly LeaseCall[];
  readonly slackMs: number;
};

/** The same place, reached no later: nothing that follows from here is new. */
function isKnown(known: Map<string, number>, place: Place): boolean {
  const { held, lastToken } = place.lease;
  const lease = held && [held.holder, held.token, held.endsFromMs, held.endsUntilMs].join();
  const key = `${place.first};${place.beyond};${place.applied};${lastToken};${lease}`;
  const beforeMs = known.get(key);
  if (beforeMs !== undefined && beforeMs <= place.atMs) return true;
  known.set(key, place.atMs);
  return false;
}

function explained({ first, beyond }: Place): number {
  return first + beyond.length;
}

/** Every place to which one more call leads; the likeliest last. */
function successors(place: Place, { answered, unanswered, slackMs }: Calls): Place[] {
  const { indexes, untilMs } = candidates(place, answered);
  const next: Place[] = [];
  unanswered.forEach((call, index) => {
    if (place.applied.includes(index)) return;
    const applied = [...place.applied, index].sort((one, other) => one - other);
    for (const moment of moments(place, call, Math.min(untilMs, call.endedAtMs), slackMs)) {
      const lease = affect(moment, call);
      if (lease) next.push({ ...place, applied, lease, atMs: moment.atMs });
    }
  });
  for (const index of indexes.reverse()) {
    const call = answered[index];
    if (!call) continue;
    for (const moment of moments(place, call, untilMs, slackMs)) {
      const lease = answer(moment, call, slackMs);
      if (lease) next.push({ ...advance(place, index), lease, atMs: moment.atMs });
    }
  }
  return next;
}

/** The answered calls that may come next: none that is left ended before they began. */
function candidates(
  { first, beyond }: Place,
  answered: readonly LeaseCall[],
): { readonly indexes: number[]; readonly untilMs: number } {
  const indexes: number[] = [];
  let untilMs = Number.POSITIVE_INFINITY;
  for (let index = first; index < answered.length; index += 1) {
    const call = answered[index];
    if (!call || call.startedAtMs > untilMs) break;
    if (beyond.includes(index)) continue;
    indexes.push(index);
    untilMs = Math.min(untilMs, call.endedAtMs);
  }
  return { indexes, untilMs };
}

function advance(place: Place, index: number): Place {
  const beyond = [...place.beyond, index].sort((one, other) => one - other);
  let { first } = place;
  while (beyond[0] === first) {
    beyond.shift();
    first += 1;
  }
  return { ...place, first, beyond };
}

/** The lease as a call may find it, and the earliest moment at which it may. */
type Moment = {
  readonly atMs: number;
  readonly held: Held | undefined;
  readonly lastToken: bigint;
};

/** A lease whose time has about come is found held by one call and ended by the next: try both. */
function moments(place: Place, call: LeaseCall, untilMs: number, slackMs: number): Moment[] {
  const { held, lastToken } = place.lease;
  const atMs = Math.max(place.atMs, call.startedAtMs);
  if (atMs > untilMs) return [];
  if (!held) return [{ atMs, held, lastToken }];
  const found: Moment[] = [];
  const endedAtMs = Math.max(atMs, held.endsFromMs - slackMs);
  if (endedAtMs <= untilMs) found.push({ atMs: endedAtMs, held: undefined, lastToken });
  if (atMs < held.endsUntilMs + slackMs) found.push({ atMs, held, lastToken });
  return found;
}

/** The lease after a call that was answered as seen; undefined if no lease would answer so. */
function answer(
  moment: Moment,
  { asked, seen }: LeaseCall,
  slackMs: number,
): LeaseState | undefined {
  const { held, lastToken } = moment;
  switch (seen.type) {
    case "leased": {
      const { token, expiresAtMs } = seen;
      const ends = { endsFromMs: expiresAtMs, endsUntilMs: expiresAtMs };
      if (asked.type === "acquire") {
        const isFree = !held || held.holder === asked.holder;
        if (!isFree || token <= lastToken) return undefined;
        return { held: { holder: asked.holder, token, ...ends }, lastToken: token };
      }
      if (asked.type !== "renew" || token !== asked.token) return undefined;
      if (!held || !matches(moment, asked)) return undefined;
      return { held: { ...held, token, ...ends }, lastToken: larger(lastToken, token) };
    }
    case "held": {
      const { holder, token, expiresAtMs } = seen;
      if (!held || asked.type !== "acquire" || holder === asked.holder) return undefined;
      if (!matches(moment, { holder, token })) return undefined;
      const isKnown = held.endsFromMs === held.endsUntilMs;
      const isRight = isKnown
        ? held.endsFromMs === expiresAtMs
        : expiresAtMs >= held.endsFromMs - slackMs && expiresAtMs <= held.endsUntilMs + slackMs;
      if (!isRight) return undefined;
      const ends = { endsFromMs: expiresAtMs, endsUntilMs: expiresAtMs };
      return { held: { holder, token, ...ends }, lastToken: larger(lastToken, token) };
    }
    case "released":
      return asked.type === "release" && matches(moment, asked) ? { lastToken } : undefined;
    case "not_found":
      return held ? undefined : { lastToken };
    case "mismatch": {
      if (!held || asked.type === "acquire") return undefined;
      const isSure = held.token !== undefined && matches(moment, asked);
      return isSure ? undefined : { held, lastToken };
    }
    case "unknown":
      return undefined;
  }
}

/** The lease after a call without an answer that took effect; undefined if it had none to take. */
function affect(moment: Moment, { asked, endedAtMs }: LeaseCall): LeaseState | undefined {
  const { held, lastToken, atMs } = moment;
  switch (asked.type) {
    case "acquire": {
      if (held && held.holder !== asked.holder) return undefined;
      const ends = { endsFromMs: atMs + asked.ttlMs, endsUntilMs: endedAtMs + asked.ttlMs };
      const lease = { holder: asked.holder, token: undefined, ...ends };
      return { held: lease, lastToken: lastToken + 1n };
    }
    case "renew": {
      if (!held || !matches(moment, asked)) return undefined;
      const { token, ttlMs } = asked;
      const ends = { endsFromMs: atMs + ttlMs, endsUntilMs: endedAtMs + ttlMs };
      return { held: { ...held, token, ...ends }, lastToken: larger(lastToken, token) };
    }
    case "release":
      return matches(moment, asked) ? { lastToken } : undefined;
  }
}

function matches(
  { held, lastToken }: Moment,
  presented: { readonly holder: string; readonly token: bigint },
): boolean {
  if (held?.holder !== presented.holder) return false;
  return held.token === undefined ? presented.token >= lastToken : held.token === presented.token;
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function explain(best: Place, answered: readonly LeaseCall[], slackMs: number): string {
  const { held, lastToken } = best.lease;
  const { indexes } = candidates(best, answered);
  const lease = held
    ? `held by ${held.holder} with token ${held.token ?? "unseen"} until ${held.endsFromMs}`
    : "free";
  const stuck = indexes.flatMap((index) => answered[index] ?? []).map(printCall);
  return [
    `${explained(best)} of ${answered.length} answered calls can be explained (slack ${slackMs} ms).`,
    `Then the lease is ${lease}, the last token ${lastToken}, and none of these can come next:`,
    ...stuck.map((line) => `  ${line}`),
  ].join("\n");
}

function printCall({ asked, seen, startedAtMs, endedAtMs }: LeaseCall): string {
  const print = (_: string, value: unknown): unknown =>
    typeof value === "bigint" ? String(value) : value;
  return `${startedAtMs}..${endedAtMs} ${JSON.stringify(asked, print)} -> ${JSON.stringify(seen, print)}`;
}

/** A grant of any task, for the order of tokens. */
export type Granted = {
  readonly token: bigint;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
};

/**
 * Tokens come from one counter for all tasks: none is given twice, and of two acquisitions of which
 * one ended before the other began, the later has the larger. Undefined if that holds.
 */
export function findTokenViolation(grants: readonly Granted[]): string | undefined {
  const byToken = [...grants].sort((one, other) => (one.token < other.token ? -1 : 1));
  let latest: Granted | undefined;
  let before: Granted | undefined;
  for (const grant of byToken) {
    if (before?.token === grant.token) return `token ${grant.token} was given twice`;
    if (latest && grant.endedAtMs < latest.startedAtMs) {
      return `token ${grant.token} was given at ${grant.endedAtMs}, before the smaller ${latest.token} was asked for at ${latest.startedAtMs}`;
    }
    if (!latest || grant.startedAtMs > latest.startedAtMs) latest = grant;
    before = grant;
  }
  return undefined;
}

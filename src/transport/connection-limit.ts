/**
 * How many connections a server has at a time, and which one is closed for another. Callers that have not shown a
 * token may use half of them; the other half is kept for those that have, and for callers of a Unix socket.
 *
 * A new connection is accepted even at the limit, because it may be about to show its token: the connection that
 * has been idle longest is closed instead. One that never made a request counts as idle since for ever.
 *
 * A connection of a trusted caller is not closed for another while it has a request in progress: if all of them have,
 * the new one is refused. Of the other callers, those with a request in progress are closed last, and those with an
 * open watch are not closed, unless more than seven of eight have one. Otherwise they could refuse every newcomer.
 */
export type ConnectionLimitOptions = { readonly connectionsMax: number };

export class ConnectionLimit {
  readonly #connectionsMax: number;
  /** Connections of callers that have not shown the token, and how many of these may keep theirs by a watch. */
  readonly #strangersMax: number;
  readonly #watchersMax: number;
  /** In the order in which they came. */
  readonly #seats = new Set<ConnectionSeat>();
  #strangers = 0;
  /** Counts requests, so that no clock is needed to tell which of two connections was used later. */
  #requests = 0;

  constructor({ connectionsMax }: ConnectionLimitOptions) {
    this.#connectionsMax = connectionsMax;
    this.#strangersMax = Math.ceil(connectionsMax / 2);
    this.#watchersMax = Math.floor((this.#strangersMax * 7) / 8);
  }

  get size(): number {
    return this.#seats.size;
  }

  /** Admits one more connection, for which another may be closed. Undefined if none can be closed. */
  admit({
    close,
    isTrusted,
  }: {
    readonly close: () => void;
    readonly isTrusted: boolean;
  }): ConnectionSeat | undefined {
    if (!isTrusted && this.#strangers >= this.#strangersMax) this.#closeStranger();
    if (this.#seats.size >= this.#connectionsMax && !this.#closeStranger() && !this.#closeIdle()) {
      return undefined;
    }
    const seat = new ConnectionSeat(this, close, isTrusted);
    this.#seats.add(seat);
    if (!isTrusted) this.#strangers += 1;
    return seat;
  }

  /** For seats only. */
  nextRequest(): number {
    this.#requests += 1;
    return this.#requests;
  }

  /** For seats only. */
  trusted(): void {
    this.#strangers -= 1;
  }

  /** For seats only. */
  leave(seat: ConnectionSeat): void {
    if (this.#seats.delete(seat) && !seat.isTrusted) this.#strangers -= 1;
  }

  /** Answers whether a connection was closed. */
  #closeStranger(): boolean {
    let idlest: ConnectionSeat | undefined;
    let lastWatcher: ConnectionSeat | undefined;
    let watchers = 0;
    for (const seat of this.#seats) {
      if (seat.isTrusted) continue;
      if (!seat.isWatching) idlest = idlerOf(idlest, seat);
      else {
        watchers += 1;
        lastWatcher = seat;
      }
    }
    const closed = watchers > this.#watchersMax ? lastWatcher : idlest;
    closed?.evict();
    return closed !== undefined;
  }

  /** The same for connections of trusted callers. */
  #closeIdle(): boolean {
    let idlest: ConnectionSeat | undefined;
    for (const seat of this.#seats) {
      if (seat.isTrusted && !seat.isBusy) idlest = idlerOf(idlest, seat);
    }
    idlest?.evict();
    return idlest !== undefined;
  }
}

function idlerOf(one: ConnectionSeat | undefined, other: ConnectionSeat): ConnectionSeat {
  if (!one) return other;
  if (one.isBusy !== other.isBusy) return one.isBusy ? other : one;
  return other.lastRequest < one.lastRequest ? other : one;
}

/** One connection's place among those that a server has. */
export class ConnectionSeat {
  readonly #limit: ConnectionLimit;
  readonly #close: () => void;
  #isTrusted: boolean;
  #requests = 0;
  #watches = 0;
  #lastRequest = 0;

  constructor(limit: ConnectionLimit, close: () => void, isTrusted: boolean) {
    this.#limit = limit;
    this.#close = close;
    this.#isTrusted = isTrusted;
  }

  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  /** Whether a request is in progress. */
  get isBusy(): boolean {
    return this.#requests > 0;
  }

  get isWatching(): boolean {
    return this.#watches > 0;
  }

  /** Tells which of two connections was used later; 0 if it made no request. */
  get lastRequest(): number {
    return this.#lastRequest;
  }

  /** The connection makes a request: its headers are complete. */
  beginRequest(): void {
    this.#requests += 1;
    this.#lastRequest = this.#limit.nextRequest();
  }

  /** The request is over, and its caller has read the answer. */
  endRequest(): void {
    this.#requests -= 1;
    this.#lastRequest = this.#limit.nextRequest();
  }

  /** The caller has shown the token. */
  trust(): void {
    if (this.#isTrusted) return;
    this.#isTrusted = true;
    this.#limit.trusted();
  }

  /** One of its requests is a watch, or waits for something to happen. */
  beginWatch(): void {
    this.#watches += 1;
  }

  endWatch(): void {
    this.#watches -= 1;
  }

  /** The connection is closed. */
  leave(): void {
    this.#limit.leave(this);
  }

  /** For the limit only. */
  evict(): void {
    this.leave();
    this.#close();
  }
}

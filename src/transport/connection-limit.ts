/**
 * How many connections a server has at a time, and which one is closed for another. Callers that have not shown a
 * token may use half of them; the other half is kept for those that have, and for callers of a Unix socket.
 *
 * A new connection is accepted even at the limit, because it may be about to show its token: the connection that
 * has been idle longest is closed instead. One that never made a request counts as idle since for ever. A
 * connection with an open watch (an event stream, a session) is in use and is not closed for another.
 */
export type ConnectionLimitOptions = { readonly connectionsMax: number };

export class ConnectionLimit {
  readonly #connectionsMax: number;
  /** In the order in which they came. */
  readonly #seats = new Set<ConnectionSeat>();
  #strangers = 0;
  /** Counts requests, so that no clock is needed to tell which of two connections was used later. */
  #requests = 0;

  constructor({ connectionsMax }: ConnectionLimitOptions) {
    this.#connectionsMax = connectionsMax;
  }

  get size(): number {
    return this.#seats.size;
  }

  /**
   * Admits one more connection, for which another may be closed. Undefined if every connection that could be closed
   * has an open watch.
   */
  admit({
    close,
    isTrusted,
  }: {
    readonly close: () => void;
    readonly isTrusted: boolean;
  }): ConnectionSeat | undefined {
    const strangersMax = Math.ceil(this.#connectionsMax / 2);
    if (!isTrusted && this.#strangers >= strangersMax && !this.#closeIdlest({ isTrusted: false })) {
      return undefined;
    }
    if (
      this.#seats.size >= this.#connectionsMax &&
      !this.#closeIdlest({ isTrusted: false }) &&
      !this.#closeIdlest({ isTrusted: true })
    ) {
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

  #closeIdlest({ isTrusted }: { readonly isTrusted: boolean }): boolean {
    let idlest: ConnectionSeat | undefined;
    for (const seat of this.#seats) {
      if (seat.isTrusted !== isTrusted || seat.isWatching) continue;
      if (!idlest || seat.lastRequest < idlest.lastRequest) idlest = seat;
      // A connection that never made a request is the most idle: stop at the first.
      if (idlest.lastRequest === 0) break;
    }
    idlest?.evict();
    return idlest !== undefined;
  }
}

/** One connection's place among those that a server has. */
export class ConnectionSeat {
  readonly #limit: ConnectionLimit;
  readonly #close: () => void;
  #isTrusted: boolean;
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

  get isWatching(): boolean {
    return this.#watches > 0;
  }

  /** The number of its last request among all requests; 0 if it made none. */
  get lastRequest(): number {
    return this.#lastRequest;
  }

  /** The connection makes a request: its headers are complete. */
  request(): void {
    this.#lastRequest = this.#limit.nextRequest();
  }

  /** The caller has shown the token. */
  trust(): void {
    if (this.#isTrusted) return;
    this.#isTrusted = true;
    this.#limit.trusted();
  }

  /** The caller has opened a watch. */
  beginWatch(): void {
    this.#watches += 1;
  }

  endWatch(): void {
    this.#watches -= 1;
    this.request();
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

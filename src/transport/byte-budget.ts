/**
 * Memory that peers make us hold: replies they have not read, and requests they have not finished. All connections
 * of all doors share one budget for each of the two, so that the sum has a bound however many connect.
 *
 * Each connection has an account. A door adds to it what it holds for that connection, and removes it again when
 * the peer has taken it, or has sent the rest. When the sum exceeds the budget, connections are closed until it no
 * longer does. A budget with `stalledMs` also closes a connection whose peer takes nothing for that long.
 *
 * Adding and removing are a few integer operations: they happen for every reply. Whatever takes longer runs once a
 * second, or when the budget is exceeded.
 */
import type { Socket } from "node:net";
import { limits } from "./limits.ts";

export type ByteBudgetOptions = {
  /** Bytes for all connections together. */
  readonly bytesMax: number;
  /** Bytes for one connection: a door does not produce more for it, or accept more from it. */
  readonly shareBytes: number;
  /** A connection that holds something, and whose peer takes almost nothing for this long, is closed. */
  readonly stalledMs?: number;
  /** What a peer must take within `stalledMs`, unless it takes everything. */
  readonly progressBytes?: number;
  /**
   * Which connection is closed when the budget is exceeded. `largest`: the one that holds the most. `stalled`: of
   * those whose peers have taken almost nothing for a second or longer, the one that holds the most; if there are
   * none, the one that holds the most of all.
   */
  readonly closes: "largest" | "stalled";
  /** How often connections are checked; a second if absent. */
  readonly checkMs?: number;
};

/** The two budgets that all doors of a process share. */
export type ByteBudgets = {
  /** Replies that callers have not read. */
  readonly unread: ByteBudget;
  /** Requests that are not complete. */
  readonly unfinished: ByteBudget;
};

export function makeByteBudgets(): ByteBudgets {
  return {
    unread: new ByteBudget({
      bytesMax: limits.unreadBytesTotal,
      shareBytes: limits.unreadBytesShare,
      stalledMs: limits.stalledMs,
      progressBytes: limits.progressBytes,
      closes: "stalled",
    }),
    unfinished: new ByteBudget({
      bytesMax: limits.unfinishedBytesTotal,
      shareBytes: limits.unfinishedBytesShare,
      closes: "largest",
    }),
  };
}

/** Why the budget closed a connection. */
export type ByteBudgetReason = "budget_exceeded" | "stalled";

export type ByteAccountOptions = {
  /** Closes the connection. What the account holds no longer counts. */
  readonly close: (reason: ByteBudgetReason) => void;
  /** A number that grows with what the peer takes; if absent, what is removed from the account counts. */
  readonly takenBytes?: () => number;
  /** Drops what the peer does not read, where that is possible without closing the connection. */
  readonly giveUp?: () => void;
};

export class ByteBudget {
  readonly options: ByteBudgetOptions;
  readonly #accounts = new Set<ByteAccount>();
  #heldBytes = 0;
  /** Counts the checks. This is cheaper than a clock, and time in which the process was suspended does not count. */
  #check = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastTurn = Promise.resolve();

  constructor(options: ByteBudgetOptions) {
    this.options = options;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether so much is held that connections should be handed no more than they need. */
  get isTight(): boolean {
    return this.#heldBytes > this.options.bytesMax / 2;
  }

  /**
   * Resolves when a door may print the next piece of a long reply: one piece in each turn of the event loop, for all
   * connections, in the order of asking. Other callers are answered in between.
   */
  turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#lastTurn;
  }

  /** Until it is closed. */
  open(options: ByteAccountOptions): ByteAccount {
    const account = new ByteAccount(this, options, this.#check);
    this.#accounts.add(account);
    this.#timer ??= setInterval(() => this.check(), this.options.checkMs ?? 1_000).unref();
    return account;
  }

  /** For accounts only. */
  count(account: ByteAccount, bytes: number): void {
    this.#heldBytes += bytes;
    if (bytes > 0 && this.#heldBytes > this.options.bytesMax) this.#makeRoom(account);
  }

  /** For accounts only. */
  forget(account: ByteAccount): void {
    if (!this.#accounts.delete(account)) return;
    this.#heldBytes -= account.heldBytes;
    if (this.#accounts.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Closes connections whose peers take nothing. The timer calls it. */
  check(): void {
    this.#check += 1;
    const { stalledMs, checkMs = 1_000, progressBytes = 1 } = this.options;
    const checksMax = (stalledMs ?? Number.POSITIVE_INFINITY) / checkMs;
    for (const account of this.#accounts) {
      if (account.hasRested) account.rest(this.#check);
      else if (account.hasTaken(progressBytes)) account.mark(this.#check);
      else if (this.#check - account.markedAt >= checksMax) account.stall(this.#check);
    }
  }

  #makeRoom(newest: ByteAccount): void {
    while (this.#heldBytes > this.options.bytesMax) {
      const worst = this.#worst() ?? newest;
      worst.evict("budget_exceeded");
      if (worst === newest) return;
    }
  }

  #worst(): ByteAccount | undefined {
    let largest: ByteAccount | undefined;
    let stalled: ByteAccount | undefined;
    for (const account of this.#accounts) {
      const { heldBytes } = account;
      if (heldBytes > (largest?.heldBytes ?? 0)) largest = account;
      // Skips an account that was marked at the last check or later: its bytes may have been added only a moment ago.
      if (this.#check - account.markedAt < 2) continue;
      if (heldBytes > (stalled?.heldBytes ?? 0)) stalled = account;
    }
    return this.options.closes === "stalled" ? (stalled ?? largest) : largest;
  }
}

/** What one connection makes us hold. */
export class ByteAccount {
  readonly #budget: ByteBudget;
  readonly #close: (reason: ByteBudgetReason) => void;
  readonly #takenBytes: () => number;
  readonly #giveUp: (() => void) | undefined;
  #heldBytes = 0;
  /** Whether nothing was held at some time since the last check. */
  #hasRested = true;
  #removedBytes = 0;
  /** Undefined while nothing is held: most connections rest, and looking at all of them takes time. */
  #takenAtMark: number | undefined;
  #markedAt: number;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(budget: ByteBudget, options: ByteAccountOptions, check: number) {
    this.#budget = budget;
    this.#close = options.close;
    this.#giveUp = options.giveUp;
    this.#takenBytes = options.takenBytes ?? (() => this.#removedBytes);
    this.#markedAt = check;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** As of the budget. */
  turn(): Promise<void> {
    return this.#budget.turn();
  }

  /** Whether the door may hold more for this connection. While the budget is tight, `littleBytes` are enough. */
  hasRoom(littleBytes: number): boolean {
    if (this.#heldBytes <= littleBytes) return true;
    return this.#heldBytes < this.#budget.options.shareBytes && !this.#budget.isTight;
  }

  /** Whether more is held than one connection may. */
  get isOverShare(): boolean {
    return this.#heldBytes > this.#budget.options.shareBytes;
  }

  /** Adding bytes may close this connection, or another. */
  add(bytes: number): void {
    if (this.#isClosed) return;
    this.#heldBytes += bytes;
    this.#budget.count(this, bytes);
  }

  remove(bytes: number): void {
    if (this.#isClosed) return;
    this.#heldBytes -= bytes;
    this.#removedBytes += bytes;
    if (this.#heldBytes === 0) this.#hasRested = true;
    this.#budget.count(this, -bytes);
    if (this.#waiting.length > 0 && !this.isOverShare) this.#release();
  }

  /** For doors that know the total that they hold rather than the change. */
  set(bytes: number): void {
    const more = bytes - this.#heldBytes;
    if (more > 0) this.add(more);
    else if (more < 0) this.remove(-more);
  }

  /** Resolves when less than the share is held, or the connection is closed. */
  untilUnderShare(): Promise<void> | undefined {
    if (!this.isOverShare || this.#isClosed) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  /** The connection is gone. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#budget.forget(this);
    this.#heldBytes = 0;
    this.#release();
  }

  /** For the budget only. */
  evict(reason: ByteBudgetReason): void {
    if (this.#isClosed) return;
    this.close();
    this.#close(reason);
  }

  /** For the budget only: the peer took all that was held, since the last check or before. */
  get hasRested(): boolean {
    return this.#hasRested;
  }

  /** For the budget only. */
  rest(check: number): void {
    this.#hasRested = this.#heldBytes === 0;
    this.#markedAt = check;
    this.#takenAtMark = undefined;
  }

  /** For the budget only: the peer read almost nothing for `stalledMs`. */
  stall(check: number): void {
    if (!this.#giveUp) return this.evict("stalled");
    this.rest(check);
    this.#giveUp();
  }

  /** For the budget only: records how many bytes the peer has read so far, and the number of the current check. */
  mark(check: number): void {
    this.#markedAt = check;
    this.#takenAtMark = this.#takenBytes();
  }

  /** The number of the check at which `mark` or `rest` was last called. */
  get markedAt(): number {
    return this.#markedAt;
  }

  /** For the budget only: whether the peer has read so many bytes since `mark`. True if it was never marked. */
  hasTaken(bytes: number): boolean {
    return this.#takenAtMark === undefined || this.#takenBytes() - this.#takenAtMark >= bytes;
  }

  #release(): void {
    const released = this.#waiting;
    this.#waiting = [];
    for (const resolve of released) resolve();
  }
}

/**
 * How much the kernel has taken of what was written to a socket. Node reports a write only when all of it is done,
 * and a reply of 4 MB is one write. The length of the queue below that is not documented, but it is what the
 * timeouts of Node's own sockets look at. Without it, a large write counts when it is done.
 */
export function bytesTakenFrom(socket: Socket): number {
  const { writtenBytes, queuedBytes } = queueOf(socket);
  return writtenBytes - queuedBytes;
}

/** Whether the kernel takes no more for now: the peer does not read from the connection at all. */
export function isStuck(socket: Socket): boolean {
  return queueOf(socket).queuedBytes > 0;
}

function queueOf(socket: Socket): { readonly writtenBytes: number; readonly queuedBytes: number } {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (typeof handle === "object" && handle !== null) {
    const writtenBytes: unknown = Reflect.get(handle, "bytesWritten");
    const queuedBytes: unknown = Reflect.get(handle, "writeQueueSize");
    if (typeof writtenBytes === "number" && typeof queuedBytes === "number") {
      return { writtenBytes, queuedBytes };
    }
  }
  return { writtenBytes: socket.bytesWritten, queuedBytes: socket.writableLength };
}

/**
 * Notices peers that are gone without a word: a machine that lost its power closes no socket. Whoever is
 * silent for a while is pinged; whoever misses several pings in a row is lost. One timer for all.
 */
import { limits } from "../limits.ts";

export interface Watched {
  /** Grows with everything that comes in, parts of a message included. */
  readonly bytesRead: number;
  /** Silent because we do not read. */
  readonly isPaused: boolean;
  ping(): void;
  lose(): void;
}

type Record = { bytesRead: number; pings: number };

export class Pulse implements Disposable {
  readonly #intervalMs: number;
  readonly #nowMs: () => number;
  readonly #records = new Map<Watched, Record>();
  readonly #timer: NodeJS.Timeout;
  #beatAtMs: number;

  constructor(intervalMs: number, nowMs: () => number = () => performance.now()) {
    this.#intervalMs = intervalMs;
    this.#nowMs = nowMs;
    this.#beatAtMs = nowMs();
    this.#timer = setInterval(() => this.beat(), intervalMs).unref();
  }

  watch(watched: Watched): void {
    this.#records.set(watched, { bytesRead: watched.bytesRead, pings: 0 });
  }

  unwatch(watched: Watched): void {
    this.#records.delete(watched);
  }

  /** The timer calls it. */
  beat(): void {
    const nowMs = this.#nowMs();
    // After a stall the answers lie in sockets that nobody has read yet: it was us who were away.
    const isLate = nowMs - this.#beatAtMs > this.#intervalMs * 1.5;
    this.#beatAtMs = nowMs;
    if (isLate) return;
    for (const [watched, record] of this.#records) {
      if (watched.bytesRead !== record.bytesRead || watched.isPaused) {
        record.bytesRead = watched.bytesRead;
        record.pings = 0;
      } else if (record.pings < limits.pingsMissedMax) {
        record.pings += 1;
        watched.ping();
      } else {
        watched.lose();
      }
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#records.clear();
  }
}

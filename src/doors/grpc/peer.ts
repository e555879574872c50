/**
 * One HTTP/2 connection as the server sees it: what is held for it, whether it is in use, which streams it opened,
 * and the calls with long replies that wait until earlier ones were read.
 */
import { constants, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import {
  type ByteAccount,
  type ByteBudgets,
  bytesTakenFrom,
  type ConnectionSeat,
  isStuck,
} from "../../transport/index.ts";
import { limits } from "./limits.ts";

/** The calls with long replies that run now, on all connections. Each may need megabytes before it is answered. */
export class LongCalls {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  /** Whether one more may run; if not, `retry` is called when that may have changed. */
  enter(retry: () => void): boolean {
    if (this.#running >= limits.longCallsTotal) {
      this.#waiting.add(retry);
      return false;
    }
    this.#running += 1;
    return true;
  }

  leave(): void {
    this.#running -= 1;
    for (const retry of this.#waiting) {
      if (this.#running >= limits.longCallsTotal) return;
      // A connection that is gone by now has nothing to run.
      this.#waiting.delete(retry);
      retry();
    }
  }
}

/** A call that waits. `run` does nothing if the call is over by then. */
type LongCall = { readonly bytes: number; readonly run: () => Promise<void> };

export class Peer<Connection> {
  readonly connection: Connection;
  readonly seat: ConnectionSeat;
  /** Replies that the caller has not read. */
  readonly unread: ByteAccount;
  /** Requests that are not complete, and complete ones that wait for their turn. */
  readonly unfinished: ByteAccount;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #longCallsOfAll: LongCalls;
  readonly #longCalls: LongCall[] = [];
  #longCallsRunning = 0;
  #isWaitingForReader = false;
  #streamsSeen = 0;
  #lastStreamId = 0;
  /** A stream that was opened, and that we were not told of when last looked at. */
  #suspectStreamId = 0;

  constructor(parts: {
    readonly session: ServerHttp2Session;
    readonly socket: Socket;
    readonly connection: Connection;
    readonly seat: ConnectionSeat;
    readonly budgets: ByteBudgets;
    readonly longCalls: LongCalls;
    /** Ends the calls that are answered, and whose answers the caller does not read. */
    readonly endUnread: () => void;
  }) {
    this.#longCallsOfAll = parts.longCalls;
    this.#session = parts.session;
    this.#socket = parts.socket;
    this.connection = parts.connection;
    this.seat = parts.seat;
    const close = (): void => this.cutOff();
    const takenBytes = (): number => bytesTakenFrom(parts.socket);
    const giveUp = (): void => (isStuck(parts.socket) ? this.cutOff() : parts.endUnread());
    this.unread = parts.budgets.unread.open({ close, takenBytes, giveUp });
    this.unfinished = parts.budgets.unfinished.open({ close });
  }

  /** The connection is gone. */
  leave(): void {
    this.seat.leave();
    this.unread.close();
    this.unfinished.close();
    this.#longCalls.length = 0;
  }

  /** Callers of the connection see UNAVAILABLE. */
  cutOff(): void {
    cutOff(this.#session, this.#socket);
  }

  /** A stream was opened, and its headers are complete. */
  see(streamId: number): void {
    this.#streamsSeen += 1;
    this.#lastStreamId = streamId;
    // A caller may leave out identifiers (RFC 9113 §5.1.1), but no client leaves out many.
    const streamsUnseen = (streamId + 1) / 2 - this.#streamsSeen;
    if (streamsUnseen > limits.unseenStreamsMax) this.cutOff();
  }

  /**
   * Closes the connection if it opened a stream that we were not told of for a while. Node resets a stream by itself
   * when its headers are malformed, or unpack to more than is allowed (an HPACK bomb), and lets the connection
   * go on. Called once a second.
   */
  checkStreams(): void {
    const { lastProcStreamID: last = 0 } = this.#session.state;
    if (last <= this.#lastStreamId) return;
    // Not at the first look: the rest of the headers may be on its way.
    if (last === this.#suspectStreamId) this.cutOff();
    else this.#suspectStreamId = last;
  }

  /**
   * Runs a call whose reply may be long: a few at a time, and none while the caller leaves much unread. Otherwise a
   * hundred bytes of requests would ask for megabytes of replies each.
   */
  runLong(bytes: number, run: () => Promise<void>): void {
    this.#longCalls.push({ bytes, run });
    this.unfinished.add(bytes);
    this.#runNext();
  }

  readonly #runNext = (): void => {
    while (this.#longCalls.length > 0 && this.#longCallsRunning < limits.longCallsMax) {
      if (this.#isWaitingForReader || this.#waitForReader()) return;
      if (!this.#longCallsOfAll.enter(this.#runNext)) return;
      const next = this.#longCalls.shift();
      this.unfinished.remove(next?.bytes ?? 0);
      this.#longCallsRunning += 1;
      void next?.run().finally(() => {
        this.#longCallsRunning -= 1;
        this.#longCallsOfAll.leave();
        this.#runNext();
      });
    }
  };

  /** Whether the caller must read first. */
  #waitForReader(): boolean {
    const read = this.unread.untilUnderShare();
    if (!read) return false;
    this.#isWaitingForReader = true;
    void read.then(() => {
      this.#isWaitingForReader = false;
      this.#runNext();
    });
    return true;
  }
}

/** Closes a connection now, with a GOAWAY that asks for less. */
export function cutOff(session: ServerHttp2Session, socket: Socket): void {
  const code = constants.NGHTTP2_ENHANCE_YOUR_CALM;
  session.destroy(new Error("the connection takes more than its share"), code);
  // A session that is destroyed still waits for its peer; a socket does not.
  setImmediate(() => socket.destroy());
}

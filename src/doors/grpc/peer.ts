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
import type { ServerCall } from "./server.ts";

/** A call that waits, and the memory that it takes meanwhile. */
type LongCall = { readonly bytes: number; readonly run: () => Promise<void> };

export class Peer<Connection> {
  readonly connection: Connection;
  readonly seat: ConnectionSeat;
  /** Replies that the caller has not read. */
  readonly unread: ByteAccount;
  /** Requests that are not complete, and complete ones that wait for their turn. */
  readonly unfinished: ByteAccount;
  /** The calls whose streams are open. */
  readonly calls: Set<ServerCall<Connection>> = new Set();
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  /** In the order of arrival. */
  readonly #longCalls = new Map<ServerCall<Connection>, LongCall>();
  #longCallsRunning = 0;
  #isWaitingForReader = false;
  #streamsSeen = 0;
  #lastStreamId = 0;
  /** The id of the last stream that was open at the last check. Node may not have reported it yet. */
  #suspectStreamId = 0;

  constructor(parts: {
    readonly session: ServerHttp2Session;
    readonly socket: Socket;
    readonly connection: Connection;
    readonly seat: ConnectionSeat;
    readonly budgets: ByteBudgets;
  }) {
    this.#session = parts.session;
    this.#socket = parts.socket;
    this.connection = parts.connection;
    this.seat = parts.seat;
    const close = (): void => this.cutOff();
    const takenBytes = (): number => bytesTakenFrom(parts.socket);
    const giveUp = (): void => (isStuck(parts.socket) ? this.cutOff() : void this.#endUnread());
    this.unread = parts.budgets.unread.open({ close, takenBytes, giveUp });
    this.unfinished = parts.budgets.unfinished.open({ close });
  }

  /** The connection is gone. */
  leave(): void {
    this.seat.leave();
    this.unread.close();
    this.unfinished.close();
    this.#longCalls.clear();
  }

  /**
   * Ends the answered calls whose answers the caller does not read. One connection in each turn of the event loop,
   * because thousands of calls may stall together.
   */
  async #endUnread(): Promise<void> {
    await this.unread.turn();
    for (const call of this.calls) call.giveUp();
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
    // Only at the second check: at the first, the rest of the headers may still be on its way.
    if (this.#suspectStreamId > this.#lastStreamId) return this.cutOff();
    this.#suspectStreamId = this.#session.state.lastProcStreamID ?? 0;
  }

  /**
   * Runs a call whose reply may be long: a few at a time, and none while the caller leaves much unread. A call runs
   * until its caller has read the reply. A call that would wait is refused if the connection is over its share.
   */
  runLong(call: ServerCall<Connection>, requestBytes: number, run: () => Promise<void>): void {
    const bytes = limits.callBytes + requestBytes;
    this.#longCalls.set(call, { bytes, run });
    this.unfinished.add(bytes);
    this.#runNext();
    if (!this.#longCalls.has(call) || !this.unfinished.isOverShare) return;
    const message = "too many calls of this connection wait for earlier replies to be read";
    call.end("RESOURCE_EXHAUSTED", message);
  }

  /** The call no longer waits: it runs, or it is over. */
  stopWaiting(call: ServerCall<Connection>): void {
    const waiting = this.#longCalls.get(call);
    if (!waiting) return;
    this.#longCalls.delete(call);
    this.unfinished.remove(waiting.bytes);
  }

  readonly #runNext = (): void => {
    for (const [call, { run }] of this.#longCalls) {
      if (this.#longCallsRunning >= limits.longCallsMax) return;
      if (this.#isWaitingForReader || this.#waitForReader()) return;
      this.stopWaiting(call);
      this.#longCallsRunning += 1;
      void run().finally(() => {
        this.#longCallsRunning -= 1;
        this.#runNext();
      });
    }
  };

  /** Whether the caller must read replies before more calls run. */
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

/** Closes a connection now, with a GOAWAY of code ENHANCE_YOUR_CALM. */
export function cutOff(session: ServerHttp2Session, socket: Socket): void {
  const code = constants.NGHTTP2_ENHANCE_YOUR_CALM;
  session.destroy(new Error("the connection exceeded a limit"), code);
  // A session that is destroyed still waits for its peer; a socket does not.
  setImmediate(() => socket.destroy());
}

/**
 * One HTTP connection: what is held for it, whether it is in use, and its requests, of which one is answered at a
 * time. A caller may send the next request before it has the answer to the last (pipelining); it waits here, because
 * each answer may be megabytes long.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import {
  type ByteAccount,
  type ByteBudgets,
  bytesTakenFrom,
  type ConnectionSeat,
} from "../../transport/index.ts";
import { limits } from "./limits.ts";

type Waiting = { readonly outgoing: ServerResponse; readonly answer: () => Promise<void> };

export class Peer {
  readonly seat: ConnectionSeat;
  /** Bytes of the answer that the caller has not read. */
  readonly unread: ByteAccount;
  /** The received part of a request body that is not complete. */
  readonly unfinished: ByteAccount;
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #isAnswering = false;

  constructor(socket: Socket, seat: ConnectionSeat, budgets: ByteBudgets) {
    this.#socket = socket;
    this.seat = seat;
    const close = (): void => this.cutOff();
    this.unread = budgets.unread.open({ close, takenBytes: () => bytesTakenFrom(socket) });
    this.unfinished = budgets.unfinished.open({ close });
    socket.once("close", () => this.#leave());
  }

  /** Closes the connection now. The caller sees that it was reset. */
  cutOff(): void {
    this.#socket.destroy();
  }

  /** `answer` resolves when the answer is written; the caller may take longer to read it. */
  take(outgoing: ServerResponse, answer: () => Promise<void>): void {
    this.seat.beginRequest();
    outgoing.once("close", () => this.seat.endRequest());
    if (this.#waiting.length >= limits.pipelinedMax) return this.cutOff();
    this.#waiting.push({ outgoing, answer });
    this.#answerNext();
  }

  #answerNext(): void {
    if (this.#isAnswering) return;
    const next = this.#waiting.shift();
    if (!next) return;
    const { outgoing, answer } = next;
    this.#isAnswering = true;
    outgoing.once("close", () => {
      this.#isAnswering = false;
      this.unread.set(0);
      this.#answerNext();
    });
    void answer().then(() => {
      if (!outgoing.writableFinished) this.unread.set(outgoing.writableLength);
    });
  }

  #leave(): void {
    this.#waiting.length = 0;
    this.seat.leave();
    this.unread.close();
    this.unfinished.close();
  }
}

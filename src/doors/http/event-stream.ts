/**
 * One caller's stream of entries, as server-sent events. It is read, never pushed: the next text is
 * made when the connection has taken the last, and until then entries wait in the bounded queue of the
 * watch. A reader that lags so far that the queue overflows is ended; it comes back and resumes by id.
 */
import { topics } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane, Watch } from "../../plane/index.ts";
import { encodeEntry, encodeMessage } from "./encode.ts";
import type { Telling } from "./encode-job.ts";
import { limits } from "./limits.ts";
import { isPersonal } from "./personal.ts";

export type EventStreamOptions = {
  readonly planeId: string;
  /** Give entries after this one; by default, those that come from now on. */
  readonly afterSequence?: number | undefined;
  /**
   * Prefixes of topics, or of types where there is no topic; `job/` and an id is the stream of that job, with what
   * it says. None: everything, without that.
   */
  readonly topics: readonly string[];
  /** Whether to tell of what is the user's alone. */
  readonly maySee: boolean;
  readonly onEnd: () => void;
  /** Called with the number of bytes that were written to the connection. */
  readonly onSend?: (bytes: number) => void;
  /** Called when the connection can accept more. */
  readonly onPull?: () => void;
  /** The log cannot be read. */
  readonly onFault: (fault: unknown) => void;
};

const utf8 = new TextEncoder();

export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #plane: Plane;
  readonly #options: EventStreamOptions;
  #watch: Watch;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** What the watch gave, and how many of it were sent. */
  #entries: readonly Entry[] = [];
  #sent = 0;
  /** The last id that was sent. */
  #told: number;
  #isWaiting = false;
  #isOver = false;

  constructor(plane: Plane, options: EventStreamOptions) {
    this.#plane = plane;
    this.#options = options;
    const { planeId, afterSequence = plane.durableSequence, maySee: isTrusted } = options;
    this.#watch = plane.watch({ afterSequence, wants: this.#wants, isTrusted });
    this.#told = afterSequence;

    const hello = JSON.stringify({ planeId, sequence: plane.durableSequence });
    const opening = `retry: ${limits.retryMs}\n${encodeMessage({ event: "hello", id: afterSequence, data: hello })}`;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          this.#send(opening);
        },
        pull: () => this.#pull(),
        cancel: () => this.#forget(),
      },
      { highWaterMark: 0 },
    );
  }

  get maySee(): boolean {
    return this.#options.maySee;
  }

  /** Shows that the connection lives, and how far it came, unless something else is on its way. */
  comment(): void {
    if (!this.#isWaiting || this.#controller?.desiredSize !== 0) return;
    const at = this.#watch.afterSequence;
    // What nobody asked for has passed too: whoever comes back later need not go through it again.
    if (at > this.#told) this.#send(encodeMessage({ event: "at", id: at, data: "{}" }));
    else this.#send(": keep-alive\n\n");
    this.#told = at;
  }

  /** Closes the stream after what was sent. Ending it twice is fine. */
  end(): void {
    if (this.#isOver) return;
    this.#forget();
    this.#controller?.close();
  }

  /** The reader can take more: sends at least one message, or ends. */
  async #pull(): Promise<void> {
    this.#options.onPull?.();
    try {
      if (this.#sent === this.#entries.length) await this.#refill();
      if (!this.#isOver && this.#sent < this.#entries.length) this.#send(this.#nextChunk());
    } catch (fault) {
      this.#options.onFault(fault);
      this.end();
    }
  }

  async #refill(): Promise<void> {
    // What was sent is let go: a reader that takes nothing more would hold on to it.
    this.#entries = [];
    this.#sent = 0;
    this.#isWaiting = true;
    const { entries, end } = await this.#watch.next();
    this.#isWaiting = false;
    if (this.#isOver) return;
    if (entries) {
      this.#entries = entries;
      return;
    }
    switch (end.code) {
      case "out_of_range":
        return this.#startOver(end.oldestSequence);
      case "limit_reached":
      case "lagged":
      case "unavailable":
      case "closed":
        return this.end();
    }
  }

  /** Goes on from now. What the caller knew is worth nothing: it must look at the state again. */
  #startOver(oldestSequence: number): void {
    this.#watch = this.#plane.watch({ wants: this.#wants, isTrusted: this.maySee });
    const data = JSON.stringify({ oldestSequence });
    this.#send(encodeMessage({ event: "reset", id: this.#plane.durableSequence, data }));
  }

  readonly #wants = ({ event, stream }: Entry): boolean => {
    const { topics: prefixes, maySee } = this.#options;
    if (!maySee && isPersonal(event)) return false;
    const topic = topics[event.type] || event.type;
    return (
      prefixes.length === 0 ||
      prefixes.some((prefix) => prefix === stream || topic.startsWith(prefix))
    );
  };

  #nextChunk(): string {
    let text = "";
    while (text.length < limits.chunkBytes) {
      const entry = this.#entries[this.#sent];
      if (!entry) break;
      const row = encodeEntry(entry, this.#tellingOf(entry));
      text += encodeMessage({ id: entry.sequence, data: JSON.stringify(row) });
      this.#told = entry.sequence;
      this.#sent += 1;
    }
    return text;
  }

  #tellingOf({ stream }: Entry): Telling {
    const { maySee, topics: prefixes } = this.#options;
    return { maySee, hasBodies: stream !== undefined && prefixes.includes(stream) };
  }

  #send(text: string): void {
    const bytes = utf8.encode(text);
    this.#controller?.enqueue(bytes);
    this.#options.onSend?.(bytes.length);
  }

  #forget(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch.close();
    this.#entries = [];
    this.#sent = 0;
    this.#options.onEnd();
  }
}

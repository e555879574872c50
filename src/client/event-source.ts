/**
 * Server-sent events, read by hand from the body of an answer: `EventSource` cannot send headers, hides
 * why it failed, and reads ahead without bound. Lines end with LF or CRLF. Nothing is read before it is
 * asked for, so that a slow consumer slows the sender down.
 */
import { TipstaffError } from "./errors.ts";
import { limits } from "./limits.ts";

export type Message = {
  /** Empty where none is named. */
  readonly event: string;
  readonly data: string;
  readonly id: string;
};

/** Text in, whole messages out. What has no end yet waits, up to a bound. */
export class MessageParser {
  #rest = "";
  #searched = 0;
  #event = "";
  #data: string[] = [];
  #dataLength = 0;
  #id = "";

  /** Throws `bad_answer` if a message becomes too long. */
  push(text: string): readonly Message[] {
    const messages: Message[] = [];
    this.#rest += text;
    let start = 0;
    for (;;) {
      const end = this.#rest.indexOf("\n", Math.max(start, this.#searched));
      if (end === -1) break;
      const line = this.#rest.slice(start, this.#rest[end - 1] === "\r" ? end - 1 : end);
      start = end + 1;
      const message = this.#takeLine(line);
      if (message) messages.push(message);
    }
    this.#rest = this.#rest.slice(start);
    // A long line that comes in many pieces is not searched from its beginning each time.
    this.#searched = this.#rest.length;
    if (this.#rest.length + this.#dataLength > limits.messageLengthMax) {
      const message = `an event is longer than ${limits.messageLengthMax} characters`;
      throw new TipstaffError("bad_answer", message);
    }
    return messages;
  }

  /** An empty line ends a message; one without data is none. */
  #takeLine(line: string): Message | undefined {
    if (line === "") {
      const message = { event: this.#event, data: this.#data.join("\n"), id: this.#id };
      const isNone = this.#data.length === 0;
      this.#event = "";
      this.#data = [];
      this.#dataLength = 0;
      return isNone ? undefined : message;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    switch (field) {
      case "event":
        this.#event = value;
        break;
      case "data":
        this.#data.push(value);
        this.#dataLength += value.length + 1;
        break;
      case "id":
        this.#id = value;
        break;
    }
    // Comments and fields that we do not know say nothing.
    return undefined;
  }
}

/** The request that a body belongs to. */
export type Exchange = {
  /** Breaks it off. */
  readonly abort: (reason: unknown) => void;
  /** It is over. */
  readonly end: () => void;
};

/** The messages of one answer, as many at a time as came together. */
export class MessageReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #parser = new MessageParser();
  readonly #exchange: Exchange;

  constructor(body: ReadableStream<Uint8Array>, exchange: Exchange) {
    this.#reader = body.getReader();
    this.#exchange = exchange;
  }

  /** At least one message; undefined when the stream has ended. Rejects when it broke or fell silent. */
  async next(): Promise<readonly Message[] | undefined> {
    try {
      for (;;) {
        const { value, done } = await this.#read();
        if (done) break;
        const messages = this.#parser.push(this.#decoder.decode(value, { stream: true }));
        if (messages.length > 0) return messages;
      }
    } catch (error) {
      this.#exchange.abort(error);
      throw error;
    }
    this.#exchange.end();
    return undefined;
  }

  /** No more is wanted. */
  close(): void {
    this.#exchange.abort(new TipstaffError("closed", "the stream is closed"));
  }

  async #read(): ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]> {
    const silent = setTimeout(() => {
      const message = `nothing came for ${limits.silenceMs / 1_000} s`;
      this.#exchange.abort(new TipstaffError("unreachable", message));
    }, limits.silenceMs);
    try {
      return await this.#reader.read();
    } finally {
      clearTimeout(silent);
    }
  }
}

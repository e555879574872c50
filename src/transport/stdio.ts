/**
 * One frame a line, over a pair of streams (ARCP 1.1 §4): standard input and output of this process, those
 * of a child, or any two. Nothing but frames is ever written.
 */
import { isUtf8 } from "node:buffer";
import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { type Carrier, Channel } from "./channel.ts";
import { limits } from "./limits.ts";
import { Lines } from "./lines.ts";
import { type Closing, Malformed, type Transport, TransportError } from "./transport.ts";

export type StdioOptions = {
  /** Longer lines are skipped and told as malformed. */
  readonly frameBytesMax?: number;
};

/** Takes both streams over: closing the transport ends the output and destroys the input. */
export function fromStreams(
  { input, output }: { readonly input: Readable; readonly output: Writable },
  options: StdioOptions = {},
): Transport {
  return open({ input, output }, options);
}

/** For a process that speaks on its standard output: hand it `process`. */
export function fromProcess(
  { stdin, stdout }: { readonly stdin: Readable; readonly stdout: Writable },
  options: StdioOptions = {},
): Transport {
  return open({ input: stdin, output: stdout }, options);
}

/**
 * For a child that was started with pipes. A child that is killed or exits with a failure is an abnormal
 * end; closing the transport ends the child's input, and does not kill it.
 */
export function fromChild(child: ChildProcess, options: StdioOptions = {}): Transport {
  const { stdin, stdout } = child;
  if (!stdin || !stdout) {
    throw new TransportError("cannot_connect", "the child has no pipes for input and output");
  }
  return open({ input: stdout, output: stdin, child }, options);
}

type Pipes = {
  readonly input: Readable;
  readonly output: Writable;
  readonly child?: ChildProcess;
};

function open(pipes: Pipes, options: StdioOptions): Transport {
  const link = { kind: "stdio", isPrivate: true } as const;
  return new Channel(link, (channel) => new Stdio(channel, pipes, options));
}

const goodbye: Closing = { code: 1000, reason: "" };
const gone: Closing = { code: 1006, reason: "" };

class Stdio implements Carrier {
  readonly #channel: Channel;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #child: ChildProcess | undefined;
  readonly #lines: Lines;
  #isCorked = false;
  #isEnding = false;
  /** Why something that was queued cannot be written any more. */
  #loss: TransportError | undefined;

  constructor(channel: Channel, { input, output, child }: Pipes, options: StdioOptions) {
    this.#channel = channel;
    this.#input = input;
    this.#output = output;
    this.#child = child;
    this.#lines = new Lines(options.frameBytesMax ?? limits.frameBytesMax, this.#receive);
    input.on("data", this.#read);
    input.on("end", () => this.#inputEnded());
    input.on("error", (cause) => this.#lose(cause));
    input.on("close", () => {
      if (!input.readableEnded && !this.#isEnding) this.#lose(new Error("the input is closed"));
    });
    output.on("error", (cause) => this.#lose(cause));
    output.on("close", () => {
      if (!this.#isEnding) this.#hearOut(lost("the peer takes nothing more"));
    });
    child?.on("error", (cause) => this.#lose(cause));
  }

  get isOpen(): boolean {
    return this.#output.writable && this.#loss === undefined;
  }

  get queuedBytes(): number {
    return this.#output.writableLength;
  }

  write(text: string): void {
    // Printed JSON has line breaks only between its parts, where a space says the same.
    const line = text.includes("\n") ? text.replaceAll("\n", " ") : text;
    this.#cork();
    this.#output.write(`${line}\n`, this.#wrote);
  }

  pause(): void {
    this.#input.pause();
  }

  resume(): void {
    this.#input.resume();
  }

  end(): void {
    this.#isEnding = true;
    this.#output.end(() => {
      this.#letGo();
      this.#channel.ended(undefined, goodbye);
    });
  }

  destroy(error: TransportError): void {
    this.#isEnding = true;
    this.#output.destroy();
    this.#letGo();
    this.#channel.ended(error, gone);
  }

  readonly #read = (chunk: Buffer | string): void => {
    this.#lines.add(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  };

  readonly #receive = (line: Buffer | undefined): void => {
    if (line === undefined) {
      this.#channel.receive(new Malformed("too_big", "the line is longer than allowed"));
    } else if (!isUtf8(line)) {
      this.#channel.receive(new Malformed("not_utf8", "the line is not UTF-8"));
    } else {
      const text = line.toString();
      if (!isBlank(text)) this.#channel.receive(text);
    }
  };

  readonly #wrote = (): void => this.#channel.wrote();

  /** All frames of one turn go out in one write. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#output.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#output.uncork();
    });
  }

  #lose(cause: Error): void {
    if (this.#loss) return;
    this.#loss = lost("the peer is gone", cause);
    // Whoever is gone takes nothing of what is queued: closing has nothing left to wait for.
    if (this.#isEnding) this.destroy(this.#loss);
    else this.#hearOut(this.#loss);
  }

  /** Nothing can be said any more, but what the peer said before may still be in the pipe. */
  #hearOut(error: TransportError): void {
    this.#channel.wrote();
    if (this.#input.destroyed && !this.#input.readableEnded) this.destroy(error);
    else this.#later(limits.closeMs, () => this.destroy(error));
  }

  #inputEnded(): void {
    if (this.#isEnding) return;
    this.#lines.end();
    const child = this.#child;
    if (!child || hasExited(child)) {
      this.#finish(child);
      return;
    }
    // How a child exits says whether its output was meant to end.
    const finish = (): void => this.#finish(child);
    child.once("exit", finish);
    this.#later(limits.exitMs, finish);
  }

  #finish(child: ChildProcess | undefined): void {
    if (this.#isEnding) return;
    const error = this.#loss ?? failureOf(child);
    if (error) {
      this.destroy(error);
      return;
    }
    this.#isEnding = true;
    this.#output.end();
    this.#letGo();
    this.#channel.ended(undefined, goodbye);
  }

  #letGo(): void {
    this.#input.off("data", this.#read);
    if (!this.#child) {
      this.#input.destroy();
      return;
    }
    // A child may have last words; they are nobody's, but it should not fail over them.
    this.#input.resume();
    this.#later(limits.closeMs, () => this.#input.destroy());
  }

  #later(ms: number, run: () => void): void {
    setTimeout(run, ms).unref();
  }
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function failureOf(child: ChildProcess | undefined): TransportError | undefined {
  if (!child) return undefined;
  const { exitCode, signalCode } = child;
  if (signalCode) return lost(`the child was ended by ${signalCode}`);
  return exitCode ? lost(`the child exited with ${exitCode}`) : undefined;
}

function lost(message: string, cause?: Error): TransportError {
  return new TransportError("lost", message, cause && { cause });
}

function isBlank(text: string): boolean {
  return text === "" || text.trim() === "";
}

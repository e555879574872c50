/**
 * What one session reads of what happens: each entry that it is told, as the frame that goes to it. `numbered.ts` says
 * what a frame says; here is what depends on who reads it: its dialect, how much it can read at once, and whether it
 * may see a secret.
 */
import type { JobId, SessionId } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import type { Plane } from "../../plane/index.ts";
import { type Rotation, traceIdOf } from "../../runtime/index.ts";
import {
  type Dialect,
  deriveEventId,
  framePrinter,
  printEventPayload,
  printJobError,
  sessionRandomOf,
} from "../../wire/arcp/index.ts";
import {
  findTrace,
  type Listener,
  printNumbered,
  type ReadStream,
  type Said,
  sayEmitted,
  sayEntry,
} from "./numbered.ts";

/** Who reads it. */
export type Reader = {
  readonly sessionId: SessionId;
  readonly principal: string;
  readonly dialect: Dialect;
  readonly takesChunks: boolean;
  /** Whether it may be told secrets. */
  readonly takesCredentials: boolean;
  /** Some clients stop reading at the first message that is too long (PYR-18). */
  readonly messageBytesMax: number | undefined;
};

export type PrinterParts = {
  readonly plane: Plane;
  /** Newer values of credentials, by the entry that says so without them. */
  readonly rotations: ReadonlyMap<number, Rotation>;
  readonly sayOnce: SayOnce;
};

/** What is printed of a job's event, the same for all who are told. */
export type SayOnce = (entry: Entry) => Said | undefined;

/** Of one entry at a time: all who follow a job are told one after the other. */
export function sayingOnce(): SayOnce {
  let last: { readonly entry: Entry; readonly said: Said | undefined } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, said: sayEmitted(entry) };
    return last.said;
  };
}

type About = { readonly jobId: JobId; readonly traceId: string | undefined };

export class Printer {
  readonly #parts: PrinterParts;
  readonly #reader: Reader;
  readonly #listener: Listener;
  /** Part of the ids of all frames. */
  readonly #random: string;
  readonly #traces = new Map<JobId, string>();
  /** What prints the events of a job. */
  readonly #events = new Map<JobId, ReturnType<typeof framePrinter>>();
  /** Jobs of which this reader was told an end that is not theirs: what came was more than it can read. */
  readonly #cutShort = new Set<JobId>();

  constructor(parts: PrinterParts, reader: Reader) {
    const { dialect, takesChunks, sessionId } = reader;
    this.#parts = parts;
    this.#reader = reader;
    this.#listener = { dialect, takesChunks };
    this.#random = sessionRandomOf(sessionId);
  }

  /** One entry under its number. Answers a promise if it must be put together first; nothing, if it is not told. */
  print(entry: Entry, eventSeq: number): string | undefined | Promise<string | undefined> {
    const { event } = entry;
    switch (event.type) {
      case "session.rejected":
        return this.#printOf(entry, eventSeq, event);
      case "job.emitted":
      case "job.ended": {
        const { jobId } = event;
        const traceId = this.#traceOf(jobId);
        if (typeof traceId === "string") return this.#printOf(entry, eventSeq, { jobId, traceId });
        return traceId.then((found) => this.#printOf(entry, eventSeq, { jobId, traceId: found }));
      }
      default:
        return undefined;
    }
  }

  #printOf(
    entry: Entry,
    eventSeq: number,
    { jobId, traceId }: { readonly jobId: JobId; readonly traceId?: string | undefined },
  ): string | undefined | Promise<string | undefined> {
    const about = { jobId, traceId };
    const said = this.#said(entry);
    if (said instanceof Promise) {
      return said.then((found) => this.#number(entry, eventSeq, found, about));
    }
    return said && this.#number(entry, eventSeq, said, about);
  }

  #said(entry: Entry): Said | Promise<Said> | undefined {
    if (entry.event.type !== "job.emitted") return sayEntry(entry, this.#listener, this.#read);
    const rotation = this.#parts.rotations.get(entry.sequence);
    return (rotation && this.#sayValue(entry, rotation)) ?? this.#parts.sayOnce(entry);
  }

  readonly #read: ReadStream = (stream, options) => this.#parts.plane.stream(stream, options);

  #number(entry: Entry, eventSeq: number, said: Said, about: About): string | undefined {
    const { jobId } = about;
    const isCutShort = this.#cutShort.has(jobId);
    if (entry.event.type === "job.ended") this.#forget(jobId);
    if (isCutShort) return undefined;
    const text =
      said.type === "job.event"
        ? this.#printEvent(entry, eventSeq, said.payload, about)
        : this.#printNumbered(entry, eventSeq, said, about);
    return this.#isReadable(text) ? text : this.#cutOff(entry, eventSeq, about);
  }

  #forget(jobId: JobId): void {
    this.#traces.delete(jobId);
    this.#events.delete(jobId);
    this.#cutShort.delete(jobId);
  }

  #printNumbered(entry: Entry, eventSeq: number, said: Said, about: About): string {
    const { sessionId } = this.#reader;
    return printNumbered(entry, eventSeq, said, { sessionId, random: this.#random, ...about });
  }

  /** The same in half the time: events come by the thousand. */
  #printEvent(
    { atMs }: Entry,
    eventSeq: number,
    payload: string,
    { jobId, traceId }: About,
  ): string {
    let print = this.#events.get(jobId);
    if (!print) {
      const { sessionId } = this.#reader;
      print = framePrinter({ type: "job.event", sessionId, jobId, traceId });
      this.#events.set(jobId, print);
    }
    return print(deriveEventId(atMs, this.#random, eventSeq), eventSeq, payload);
  }

  #isReadable(text: string): boolean {
    const { messageBytesMax: max } = this.#reader;
    // No character takes more than three bytes.
    return max === undefined || text.length * 3 <= max || Buffer.byteLength(text) <= max;
  }

  /** In its stead, an end that can be read. What follows of the job is not told. */
  #cutOff(entry: Entry, eventSeq: number, about: About): string {
    if (entry.event.type !== "job.ended") this.#cutShort.add(about.jobId);
    const message = "what this job says is longer than this client can read";
    const failure = {
      finalStatus: "error",
      error: { code: "INTERNAL_ERROR", message },
      completedAtMs: entry.atMs,
    } as const;
    const payload = JSON.stringify(printJobError(failure, this.#reader.dialect));
    return this.#printNumbered(entry, eventSeq, { type: "job.error", payload }, about);
  }

  /** The value itself only to sessions of who asked for the job, and only as it happens (ARCP-172). */
  #sayValue({ event, atMs }: Entry, { jobId, value }: Rotation): Said | undefined {
    const { principal, takesCredentials } = this.#reader;
    const owner = this.#parts.plane.peek(({ jobs }) => jobs.byId.get(jobId)?.principal);
    const isTheirs = takesCredentials && owner === principal;
    if (!isTheirs || event.type !== "job.emitted") return undefined;
    const body = `${event.body.slice(0, -1)},"value":${JSON.stringify(value)}}`;
    return { type: "job.event", payload: printEventPayload(event.kind, atMs, body) };
  }

  /** Of a job that was forgotten, the log knows it. */
  #traceOf(jobId: JobId): string | Promise<string> {
    const known = this.#traces.get(jobId);
    if (known !== undefined) return known;
    const { plane } = this.#parts;
    const job = plane.peek(({ jobs }) => jobs.byId.get(jobId));
    if (job === undefined) return findTrace(this.#read, jobId);
    const traceId = traceIdOf(job);
    this.#traces.set(jobId, traceId);
    return traceId;
  }
}

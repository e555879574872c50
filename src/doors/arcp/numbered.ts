/**
 * What a session is told under numbers, out of the log. It is the same whenever it is told: as it happens, when
 * somebody comes back, or when somebody reads the log of a runtime that is gone.
 */
import type { JobId, Outcome, SessionId, Stretch } from "../../core/index.ts";
import type { Entry } from "../../log/index.ts";
import { assembleResult, traceIdOf } from "../../runtime/index.ts";
import {
  type Dialect,
  deriveEventId,
  encodeBase64,
  printEventPayload,
  printFrame,
  printJobError,
  printJobResult,
} from "../../wire/arcp/index.ts";
import { encodeEnd, withResult } from "./encode.ts";
import { errorOf } from "./errors.ts";
import { encodeEvent } from "./events.ts";
import { limits } from "./limits.ts";

/** The entries of one stream after one of them, in their order. */
export type ReadStream = (
  stream: string,
  options?: { readonly afterSequence?: number },
) => AsyncGenerator<Entry>;

/** What a frame says: its type, and its payload as JSON. */
export type Said = { readonly type: string; readonly payload: string };

/** For whom it is printed. */
export type Listener = {
  readonly dialect: Dialect;
  readonly takesChunks: boolean;
};

/** Answers a promise if it must be put together first; nothing, if it is not told. */
export function sayEntry(
  entry: Entry,
  { dialect, takesChunks }: Listener,
  read: ReadStream,
): Said | Promise<Said> | undefined {
  const { event } = entry;
  switch (event.type) {
    case "session.rejected": {
      const { failure, requestId } = event;
      const error = errorOf(failure);
      const parts = { finalStatus: "error", error, completedAtMs: event.atMs } as const;
      const payload = printJobError({ ...parts, requestId }, dialect);
      return { type: "job.error", payload: JSON.stringify(payload) };
    }
    case "job.emitted":
      return sayEmitted(entry);
    case "job.ended": {
      const { jobId, outcome } = event;
      const isWhole = outcome.status !== "success" || !outcome.streamed || takesChunks;
      if (isWhole) return encodeEnd(outcome, { atMs: event.atMs, dialect });
      return assemble(read, jobId, outcome, { completedAtMs: event.atMs, dialect });
    }
    default:
      return undefined;
  }
}

/** The same for whoever is told. */
export function sayEmitted({ event, atMs }: Entry): Said | undefined {
  if (event.type !== "job.emitted") return undefined;
  const { kind, body } = encodeEvent(event.kind, event.body);
  return { type: "job.event", payload: printEventPayload(kind, atMs, body) };
}

/** One frame. Its id follows from its number, so that it is the same when it is told again. */
export function printNumbered(
  entry: Entry,
  eventSeq: number,
  { type, payload }: Said,
  about: {
    readonly sessionId: SessionId;
    /** Part of the ids of all frames of this session. */
    readonly random: string;
    readonly jobId: JobId;
    readonly traceId: string | undefined;
  },
): string {
  const { sessionId, random, jobId, traceId } = about;
  const id = deriveEventId(entry.atMs, random, eventSeq);
  return printFrame({ id, sessionId, jobId, eventSeq, type, traceId }, payload);
}

/** Of a job that was forgotten, the log knows it. */
export async function findTrace(read: ReadStream, jobId: JobId): Promise<string> {
  for await (const { event } of read(`job/${jobId}`)) {
    if (event.type === "job.accepted") return traceIdOf(event.job);
  }
  return "";
}

/** A streamed result in one piece, for a session that takes no pieces (ARCP-54). */
async function assemble(
  read: ReadStream,
  jobId: JobId,
  { streamed, summary }: Outcome & { readonly status: "success" },
  { completedAtMs, dialect }: { readonly completedAtMs: number; readonly dialect: Dialect },
): Promise<Said> {
  const tooLong = (): Said => {
    const message = "the result is too long for a client that takes it in one piece only";
    const error = { code: "INTERNAL_ERROR", message } as const;
    const failure = { finalStatus: "error", error, completedAtMs } as const;
    return { type: "job.error", payload: JSON.stringify(printJobError(failure, dialect)) };
  };
  if (!streamed || streamed.bytes > limits.assembledBytesMax) return tooLong();
  const { value, problem } = await assembleResult(read(`job/${jobId}`), streamed.resultId);
  if (problem) return tooLong();
  const whole =
    typeof value === "string" ? value : { encoding: "base64", data: encodeBase64(value) };
  const payload = printJobResult({ summary, completedAtMs });
  return { type: "job.result", payload: withResult(payload, JSON.stringify(whole)) };
}

/** What was told of several jobs, in the order of the log. */
export async function* entriesOf(read: ReadStream, stretch: Stretch): AsyncGenerator<Entry> {
  const { follows, skips, afterSequence, upToSequence } = stretch;
  const streams = follows.map((job) => read(`job/${job}`, { afterSequence }));
  const heads = await Promise.all(streams.map((stream) => stream.next()));
  for (;;) {
    let first = -1;
    for (const [at, head] of heads.entries()) {
      if (head.done || head.value.sequence > upToSequence) continue;
      const best = heads[first];
      if (!best || best.done || head.value.sequence < best.value.sequence) first = at;
    }
    const head = heads[first];
    const stream = streams[first];
    if (!head || head.done || !stream) return;
    if (isTold(head.value, skips)) yield head.value;
    heads[first] = await stream.next();
  }
}

/** Whether an entry of a job's stream takes a number. */
function isTold({ event }: Entry, skips: readonly string[]): boolean {
  if (event.type === "job.emitted") return !skips.includes(event.kind);
  return event.type === "job.ended" || event.type === "session.rejected";
}

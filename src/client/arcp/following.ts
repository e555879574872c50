/** What one follower of a job has received and not yet taken, and how the job ended for it. */
import {
  ArcpError,
  Assembly,
  type Chunk,
  decodeBase64,
  decodedBytes,
  isObject,
  type JobOutcome,
  type JobResult,
  printTimestamp,
} from "../../wire/arcp/index.ts";
import type { ReceivedEvent } from "./event.ts";
import { Feed } from "./feed.ts";
import { limits } from "./limits.ts";

/** The payload of `job.result`: with a value, or with the id of one that was streamed. */
export type JobDone = {
  readonly final_status: "success";
  readonly result?: unknown;
  readonly result_id?: string;
  readonly result_size?: number;
  readonly summary?: string;
  readonly completed_at?: string;
};

export type EventsOptions = {
  /** Keep every event until it is read, however many there are. */
  readonly buffer?: "bounded" | "all";
};

export class Following {
  /** Settles in any case; that nobody looks is no fault of a program's (ARCP-208). */
  readonly done: Promise<JobDone>;
  /** Nobody wants the job on its account any more. */
  isAbandoned = false;
  /** Nothing has come of the job. */
  isSilent = true;
  readonly #done = Promise.withResolvers<JobDone>();
  readonly #feeds = new Set<Feed<ReceivedEvent>>();
  #chunks = chunkFeed();
  /** What came before anybody asked; the first who asks gets it. */
  #kept: Feed<ReceivedEvent> | undefined = eventFeed();
  #end: { readonly error: ArcpError | undefined } | undefined;
  #onEnd: (() => void)[] = [];
  /** While its subscribe has no answer, how the job ended is only noted: all may be told again after it. */
  #isAwaited = false;
  #noted: (() => void) | undefined;

  constructor() {
    this.done = this.#done.promise;
    this.done.catch(() => {});
    if (this.#kept) this.#feeds.add(this.#kept);
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** The number of the first event that a reader of ours has not come to yet. */
  get firstUnreadSeq(): number | undefined {
    let first: number | undefined;
    for (const feed of this.#feeds) {
      if (feed === this.#kept) continue;
      const seq = feed.head?.eventSeq;
      if (seq !== undefined && (first === undefined || seq < first)) first = seq;
    }
    return first;
  }

  take(event: ReceivedEvent): void {
    if (this.#end) return;
    this.isSilent = false;
    for (const feed of this.#feeds) if (!feed.push(event)) this.#feeds.delete(feed);
    if (event.kind !== "result_chunk") return;
    const { view } = event;
    if (view?.kind !== "result_chunk") return;
    // The last piece is not the end of them: a job that is run again makes its result again.
    this.#chunks.push(view);
  }

  /** Its subscribe is under way. */
  awaitAnswer(): void {
    this.#isAwaited = true;
  }

  answered(): void {
    this.#isAwaited = false;
    this.#noted?.();
  }

  /** The job has ended. */
  conclude(outcome: JobOutcome): void {
    const end = (): void => {
      if (outcome.status === "success") this.succeed(outcome);
      else this.fail(ArcpError.fromPayload(outcome.error));
    };
    if (this.#isAwaited) this.#noted = end;
    else end();
  }

  succeed(result: JobResult): void {
    if (this.#finish(undefined)) this.#done.resolve(printDone(result));
  }

  /** The job failed: its events are all there, and whoever reads them comes to their end. */
  fail(error: ArcpError): void {
    if (this.#finish(undefined)) this.#done.reject(error);
  }

  /** We cannot know how the job goes on: whoever reads its events is told, too. */
  breakOff(error: ArcpError): void {
    if (this.#finish(error)) this.#done.reject(error);
  }

  /** What has come so far will come again. */
  discard(): void {
    if (this.#end || !this.#kept) return;
    this.#feeds.delete(this.#kept);
    this.#kept = eventFeed();
    this.#feeds.add(this.#kept);
    this.#chunks = chunkFeed();
    this.#noted = undefined;
  }

  /** Called once, when it is over; at once, if it is. */
  whenOver(run: () => void): void {
    if (this.#end) run();
    else this.#onEnd.push(run);
  }

  events({
    buffer = "bounded",
  }: EventsOptions = {}): AsyncIterableIterator<ReceivedEvent, undefined> {
    const feed = this.#kept ?? this.#newFeed();
    this.#kept = undefined;
    if (buffer === "all") feed.widen(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    else feed.widen(limits.eventsUnreadMax, limits.resultBytesMax);
    return feed;
  }

  /** The pieces of a streamed result, each once; whoever takes one frees it. */
  chunks(): AsyncIterableIterator<Chunk, undefined> {
    return this.#chunks;
  }

  async collectChunks(): Promise<string | Uint8Array> {
    let assembly: Assembly | undefined;
    for await (const chunk of this.#chunks) {
      // Under another id, if the job is run again: what came before was never finished, and is no part of it.
      if (assembly?.resultId !== chunk.resultId) {
        assembly = new Assembly(chunk.resultId, limits.resultBytesMax);
      }
      const problem = assembly.add(chunk);
      if (problem) throw unreadable(problem.message);
    }
    const done = await this.done;
    if (!assembly) return readInline(done);
    const assembled = assembly.finish();
    if (assembled.problem) throw unreadable(assembled.problem.message);
    if (done.result_size !== undefined && done.result_size !== assembly.bytes) {
      throw unreadable(`it has ${assembly.bytes} bytes and should have ${done.result_size}`);
    }
    return assembled.value;
  }

  #newFeed(): Feed<ReceivedEvent> {
    const feed = eventFeed();
    if (this.#end) feed.end(this.#end.error);
    else this.#feeds.add(feed);
    return feed;
  }

  /** Whether this was the end. */
  #finish(error: ArcpError | undefined): boolean {
    if (this.#end) return false;
    this.#end = { error };
    for (const feed of this.#feeds) feed.end(error);
    this.#chunks.end(error);
    for (const run of this.#onEnd.splice(0)) run();
    return true;
  }
}

function eventFeed(): Feed<ReceivedEvent> {
  return new Feed({
    countMax: limits.eventsHeldMax,
    weightMax: limits.chunkCharactersHeldMax,
    weigh: weighEvent,
    mark: (event, dropped) => event.afterDropped(dropped),
  });
}

/** Only chunks are large; a look at the others would cost more than they do. */
function weighEvent(event: ReceivedEvent): number {
  if (event.kind !== "result_chunk") return 0;
  return event.view?.kind === "result_chunk" ? event.view.data.length : 0;
}

function chunkFeed(): Feed<Chunk> {
  return new Feed({
    countMax: Number.POSITIVE_INFINITY,
    weightMax: limits.resultBytesMax,
    weigh: ({ data, encoding }) => decodedBytes(data, encoding) ?? data.length,
  });
}

function printDone(ended: JobResult): JobDone {
  const { result, resultId, resultSize, summary, completedAtMs } = ended;
  return {
    final_status: "success",
    ...(resultId === undefined ? { result: result ?? null } : { result_id: resultId }),
    ...(resultSize !== undefined && { result_size: resultSize }),
    ...(summary !== undefined && { summary }),
    ...(completedAtMs !== undefined && { completed_at: printTimestamp(completedAtMs) }),
  };
}

/** To who did not ask for chunks, a streamed result comes whole (ARCP-54). */
function readInline({ result }: JobDone): string | Uint8Array {
  if (typeof result === "string") return result;
  if (isObject(result) && result["encoding"] === "base64" && typeof result["data"] === "string") {
    const { data } = result;
    if (decodedBytes(data, "base64") !== undefined) return decodeBase64(data);
  }
  throw new ArcpError("INVALID_REQUEST", "this job's result was not streamed; see done.result");
}

function unreadable(problem: string): ArcpError {
  return new ArcpError("INTERNAL_ERROR", `the streamed result is not whole: ${problem}`);
}

/**
 * What a session was told under numbers, once more, out of a log that somebody else writes or nobody any more:
 * the frames that a resume would send, and those that it would not because they were acknowledged or the
 * session is long over. It goes as far back as the log does.
 */
import {
  type Cost,
  costOf,
  type Event,
  evolve,
  type Job,
  type JobId,
  type OwnState,
  Restoring,
  type SessionId,
  type Stretch,
  stretchesAfter,
  jobId as toJobId,
  sessionId as toSessionId,
} from "../../core/index.ts";
import { type Entry, LogError, type LogReader } from "../../log/index.ts";
import { isMintedId, sessionRandomOf } from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import {
  entriesOf,
  findTrace,
  printNumbered,
  type ReadStream,
  type Said,
  sayEntry,
} from "./numbered.ts";

/** One frame, as it is or was sent, and what it is chosen by. */
export type ReplayedFrame = {
  readonly eventSeq: number;
  readonly type: string;
  readonly jobId: string;
  readonly text: string;
};

/** In the order of their numbers. Nothing, if the log knows of no such session. */
export async function* replaySession(
  log: LogReader,
  session: string,
  { afterEventSeq = 0 }: { readonly afterEventSeq?: number } = {},
): AsyncGenerator<ReplayedFrame> {
  if (!isMintedId("session", session)) return;
  const sessionId = toSessionId(session);
  const print = printerOf(log, sessionId);
  for await (const { entry, eventSeq, features } of toldEntries(log, sessionId)) {
    if (eventSeq > afterEventSeq) yield* print(entry, eventSeq, features);
  }
}

/** What a job said, and how it ended. Nothing, if the log does not know it, or no longer. */
export async function* replayJob(
  log: LogReader,
  job: string,
): AsyncGenerator<
  | { readonly accepted: Job }
  | { readonly said: Said; readonly entry: Entry; readonly eventSeq: number | undefined }
> {
  const read = streamOf(log);
  for await (const entry of read(`job/${toJobId(job)}`)) {
    const { event } = entry;
    if (event.type === "job.accepted") yield { accepted: event.job };
    const said = await sayEntry(entry, { dialect: "spec", takesChunks: true }, read);
    if (!said) continue;
    const eventSeq = event.type === "job.emitted" ? event.ownSequence : undefined;
    yield { said, entry, eventSeq };
  }
}

/**
 * What a job has cost by the end of the log, or by when it was forgotten, as the daemon counts it: folded from the
 * newest snapshot if the job is remembered there or began later, else from as far back as the log goes.
 */
export async function costInLog(log: LogReader, job: string): Promise<readonly Cost[]> {
  const jobId = toJobId(job);
  const restoring = new Restoring();
  const sequence = await log.loadSnapshot((name, row) => restoring.add(name, row));
  restoring.state.lastSequence = sequence;
  const [first] = log.readStream(`job/${jobId}`, 0, 1);
  const isLater = first !== undefined && first.sequence > sequence;
  const hasAll = isLater || restoring.state.jobs.byId.has(jobId);
  const { state } = hasAll ? restoring : await begin(log);
  for (const { event } of entriesAfter(log, state.lastSequence)) {
    if (event.type === "job.forgotten" && event.jobId === jobId) break;
    evolve(state, event);
  }
  return costOf(state.jobs, jobId);
}

/** All entries, without a gap. */
function* entriesAfter(log: LogReader, sequence: number): Generator<Entry> {
  for (let after = sequence; ; ) {
    const entries = log.read(after, limits.replayEntries);
    for (const entry of entries) {
      if (entry.sequence !== after + 1) throw cutMeanwhile(log.oldestSequence);
      after = entry.sequence;
      yield entry;
    }
    if (entries.length === 0) return;
  }
}

type Told = {
  readonly entry: Entry;
  readonly eventSeq: number;
  readonly features: readonly string[];
};

/**
 * Folds the log as a runtime does that opens it, and sees which entries take a number. A log that was cut
 * begins with a snapshot; what the session was told before that follows from its journal there.
 */
async function* toldEntries(log: LogReader, sessionId: SessionId): AsyncGenerator<Told> {
  const { state } = await begin(log);
  const journal = state.sessions.journals.get(sessionId);
  if (journal) {
    const features = featuresOf(state, sessionId);
    const after = journal.base.eventSequence;
    const upToSequence = state.lastSequence;
    for (const stretch of stretchesAfter(journal, { after, upToSequence })) {
      yield* toldIn(log, stretch, features);
    }
  }
  for (const entry of entriesAfter(log, state.lastSequence)) {
    yield* toldBy(log, state, sessionId, entry);
  }
}

/** Writes an entry into the state, and tells what that tells the session. */
async function* toldBy(
  log: LogReader,
  state: OwnState,
  sessionId: SessionId,
  entry: Entry,
): AsyncGenerator<Told> {
  const { sessions } = state;
  const features = featuresOf(state, sessionId);
  const before = sessions.lastEventSequences.get(sessionId) ?? 0;
  const skips = sessions.journals.get(sessionId)?.skips ?? [];
  evolve(state, entry.event);
  const last = sessions.lastEventSequences.get(sessionId) ?? 0;
  if (last <= before) return;
  const recalled = recalledBy(entry.event);
  if (!recalled) {
    yield { entry, eventSeq: last, features };
    return;
  }
  const { jobId, afterSequence } = recalled;
  const stretch = { isRecalled: true, follows: [jobId], skips, afterSequence } as const;
  const upToSequence = entry.sequence;
  yield* toldIn(log, { ...stretch, eventSequence: before, upToSequence }, features);
}

function recalledBy(
  event: Event,
): { readonly jobId: JobId; readonly afterSequence: number } | undefined {
  if (event.type !== "session.followed" || !event.recalled) return undefined;
  return { jobId: event.jobId, afterSequence: event.recalled.afterSequence };
}

async function* toldIn(
  log: LogReader,
  stretch: Stretch,
  features: readonly string[],
): AsyncGenerator<Told> {
  let eventSeq = stretch.eventSequence;
  for await (const entry of entriesOf(streamOf(log), stretch)) {
    eventSeq += 1;
    yield { entry, eventSeq, features };
  }
}

/** Nothing yet, if the log has its first entry; else what is true after its snapshot. */
async function begin(log: LogReader): Promise<{ readonly state: OwnState }> {
  const oldest = log.oldestSequence;
  if (oldest <= 1) return new Restoring();
  const restoring = new Restoring();
  const sequence = await log.loadSnapshot((name, row) => restoring.add(name, row));
  if (sequence + 1 < oldest) throw cutMeanwhile(oldest);
  restoring.state.lastSequence = sequence;
  return restoring;
}

function cutMeanwhile(oldest: number): LogError {
  const message = `what came before entry ${oldest} is gone from the log, and in no snapshot; try again`;
  return new LogError("damaged", message);
}

function featuresOf({ sessions }: OwnState, sessionId: SessionId): readonly string[] {
  return sessions.byId.get(sessionId)?.features ?? [];
}

function printerOf(log: LogReader, sessionId: SessionId) {
  const read = streamOf(log);
  const random = sessionRandomOf(sessionId);
  // Of the jobs it follows, and those are few at a time.
  const traces = new Map<JobId, string>();
  return async function* print(
    entry: Entry,
    eventSeq: number,
    features: readonly string[],
  ): AsyncGenerator<ReplayedFrame> {
    const { event } = entry;
    const takesChunks = features.includes("result_chunk");
    const said = await sayEntry(entry, { dialect: "spec", takesChunks }, read);
    if (!said || !("jobId" in event)) return;
    const { jobId } = event;
    const isRejected = event.type === "session.rejected";
    const traceId = isRejected
      ? event.traceId
      : (traces.get(jobId) ?? (await findTrace(read, jobId)));
    if (event.type === "job.ended") traces.delete(jobId);
    else if (traceId !== undefined && !isRejected) traces.set(jobId, traceId);
    const text = printNumbered(entry, eventSeq, said, { sessionId, random, jobId, traceId });
    yield { eventSeq, type: said.type, jobId, text };
  };
}

function streamOf(log: LogReader): ReadStream {
  return async function* read(stream, { afterSequence = 0 } = {}) {
    for (let after = afterSequence; ; ) {
      const entries = log.readStream(stream, after, limits.replayEntries);
      yield* entries;
      const last = entries.at(-1);
      if (!last) return;
      after = last.sequence;
    }
  };
}

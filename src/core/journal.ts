/**
 * What a session has been told, without keeping it: which jobs it followed, from where to where in the log,
 * and which kinds of event it passes over. From that and from the jobs' own entries all of it can be told
 * again, in the same order and under the same numbers.
 *
 * A journal begins at its base and goes on in changes. Each says where in the log it took effect, and how many
 * numbers had been given out until then. Marks change nothing: they are places to which the base can move.
 */
import type { JobId } from "./ids.ts";

export type Change = Place &
  (
    | { readonly type: "followed"; readonly jobId: JobId }
    | { readonly type: "left"; readonly jobId: JobId }
    /** So many entries of a job, from the past, took numbers at once. */
    | {
        readonly type: "recalled";
        readonly jobId: JobId;
        readonly afterSequence: number;
        readonly count: number;
      }
    | { readonly type: "skips"; readonly skips: readonly string[] }
    | { readonly type: "mark" }
  );

/** After this entry of the log, and after this number of the session. */
export type Place = { readonly sequence: number; readonly eventSequence: number };

export type Base = Place & {
  readonly follows: readonly JobId[];
  /** Kinds of event that the session is not told. */
  readonly skips: readonly string[];
};

export type Journal = { readonly base: Base; readonly changes: readonly Change[] };

/** A stretch of what was told. Its numbers begin after `eventSequence`. */
export type Stretch = {
  /** Whether it was the past when it was told. */
  readonly isRecalled: boolean;
  readonly eventSequence: number;
  readonly follows: readonly JobId[];
  readonly skips: readonly string[];
  /** Entries after the one, up to the other. */
  readonly afterSequence: number;
  readonly upToSequence: number;
};

/**
 * Whether all that came after a number can still be told, from a log that reaches back to `oldestSequence`;
 * `last` is the last number that was given out.
 */
export function covers(
  journal: Journal,
  {
    after,
    last,
    oldestSequence = 1,
  }: { readonly after: number; readonly last: number; readonly oldestSequence?: number },
): boolean {
  if (after < journal.base.eventSequence || after > last) return false;
  if (after === last) return true;
  // Where the log begins within a stretch, nobody knows any more which number stands where.
  return stretchesAfter(journal, { after, upToSequence: Number.POSITIVE_INFINITY }).every(
    ({ afterSequence }) => afterSequence + 1 >= oldestSequence,
  );
}

/** The oldest entry that something recalled comes from; infinite if there is nothing. */
export function recalledFrom(changes: readonly Change[]): number {
  const first = changes.map((change) =>
    change.type === "recalled" ? change.afterSequence + 1 : Number.POSITIVE_INFINITY,
  );
  return first.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
}

/** What was told after a number, in order, up to an entry of the log. Expects that it is covered. */
export function stretchesAfter(
  { base, changes }: Journal,
  { after, upToSequence }: { readonly after: number; readonly upToSequence: number },
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  const follows = new Set(base.follows);
  let { sequence, eventSequence, skips } = base;
  const close = (end: Place | undefined): void => {
    const hasNumbers = end === undefined || end.eventSequence > eventSequence;
    const isWanted = end === undefined || end.eventSequence > after;
    if (hasNumbers && isWanted && follows.size > 0) {
      stretches.push({
        isRecalled: false,
        eventSequence,
        follows: [...follows],
        skips,
        afterSequence: sequence,
        upToSequence: end?.sequence ?? upToSequence,
      });
    }
  };
  for (const change of changes) {
    close(change);
    ({ sequence, eventSequence } = change);
    switch (change.type) {
      case "followed":
        follows.add(change.jobId);
        break;
      case "left":
        follows.delete(change.jobId);
        break;
      case "skips":
        skips = change.skips;
        break;
      case "recalled": {
        const { jobId, afterSequence, count } = change;
        if (eventSequence + count > after) {
          stretches.push({
            isRecalled: true,
            eventSequence,
            follows: [jobId],
            skips,
            afterSequence,
            upToSequence: sequence,
          });
        }
        eventSequence += count;
        break;
      }
      case "mark":
        break;
    }
  }
  close(undefined);
  return stretches;
}

/** The same journal from a later base: as far on as it can be without passing a number. */
export function forget(
  { base, changes }: Journal,
  upToEventSequence: number,
): { readonly base: Base; readonly forgotten: number } {
  const follows = new Set(base.follows);
  let { sequence, eventSequence, skips } = base;
  let forgotten = 0;
  for (const change of changes) {
    const after = change.eventSequence + (change.type === "recalled" ? change.count : 0);
    if (after > upToEventSequence) break;
    forgotten += 1;
    sequence = change.sequence;
    eventSequence = after;
    if (change.type === "followed") follows.add(change.jobId);
    if (change.type === "left") follows.delete(change.jobId);
    if (change.type === "skips") skips = change.skips;
  }
  return { base: { sequence, eventSequence, follows: [...follows], skips }, forgotten };
}

/** The jobs that are followed in the end. */
export function followsIn(journal: Journal): readonly JobId[] {
  return forget(journal, Number.POSITIVE_INFINITY).base.follows;
}

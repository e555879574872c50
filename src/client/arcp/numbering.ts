/**
 * Which frames are looked at, and in which count they are numbered (ARCP-120): each number once, and none
 * before those that are missing have been asked for.
 */
import { ArcpError, type Envelope } from "../../wire/arcp/index.ts";
import { Cursors, own, type Series } from "./cursors.ts";
import type { Jobs } from "./jobs.ts";
import type { Pending } from "./pending.ts";

/** Whether the missing events will come; then those after them will come again, too. */
export type Heal = (cause: ArcpError, gap: { readonly wasAskedFor: boolean }) => boolean;

export class Numbering {
  readonly #jobs: Jobs;
  readonly #pending: Pending;
  readonly #heal: Heal;
  #areApart = false;
  #cursors = new Cursors(0, { areApart: false });
  /** A gap at this number was there after a resume, too: it will not be filled. */
  #gapFrom: number | undefined;

  constructor(jobs: Jobs, pending: Pending, heal: Heal) {
    this.#jobs = jobs;
    this.#pending = pending;
    this.#heal = heal;
  }

  get cursors(): Cursors {
    return this.#cursors;
  }

  /** Another session counts anew. */
  restart(lastEventSeq: number, { areApart }: { readonly areApart: boolean }): void {
    this.#areApart = areApart;
    this.#cursors = new Cursors(lastEventSeq, { areApart });
    this.#gapFrom = undefined;
  }

  /** The count that the frame is numbered in; undefined if it is not to be looked at. */
  take({ eventSeq, jobId }: Envelope): Series | undefined {
    if (eventSeq === undefined) return own;
    const series = this.#seriesOf(jobId, eventSeq);
    const verdict = this.#cursors.judge(eventSeq, series);
    if (verdict === "duplicate") return undefined;
    if (verdict === "gap" && this.#isHealed(eventSeq)) return undefined;
    this.#cursors.move(eventSeq, series);
    return series;
  }

  #seriesOf(jobId: string | undefined, eventSeq: number): Series {
    if (!this.#areApart) return own;
    const isAsking = jobId !== undefined && this.#pending.hasSubscribe(jobId);
    return this.#jobs.seriesOf(jobId, eventSeq, this.#cursors, isAsking);
  }

  #isHealed(eventSeq: number): boolean {
    const { resumeFrom } = this.#cursors;
    const message = `events ${resumeFrom + 1} to ${eventSeq - 1} are missing`;
    const cause = new ArcpError("INTERNAL_ERROR", message, { details: { lost: true } });
    const isHealed = this.#heal(cause, { wasAskedFor: this.#gapFrom === resumeFrom });
    if (isHealed) this.#gapFrom = resumeFrom;
    return isHealed;
  }
}

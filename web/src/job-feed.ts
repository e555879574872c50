/**
 * What one job says, as it says it, newest first. The past is asked for in pages; what comes is heard from the one
 * stream, which tells the words of the job that is followed. While the list is held nothing moves in it: what came
 * meanwhile waits.
 */
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { call, reasonOf, TipstaffError } from "./api.ts";
import { limits } from "./limits.ts";
import { epoch, followedJob, listen } from "./live.ts";
import { Refresh } from "./refresh.ts";
import { isJobEntry, type JobEntry } from "./words/job.ts";

export class JobFeed {
  readonly entries: Signal<readonly JobEntry[] | undefined> = signal(undefined);
  /** Newer ones that are not shown yet. */
  readonly waiting: Signal<readonly JobEntry[]> = signal([]);
  /** Before which the past goes on, if it does. */
  readonly next: Signal<number | undefined> = signal(undefined);
  readonly problem: Signal<string> = signal("");
  /** Why the past did not go on when it was asked for. */
  readonly olderProblem: Signal<string> = signal("");
  readonly #id: string;
  readonly #gone = new AbortController();
  readonly #refresh: Refresh;
  #isHeld = false;
  /** The newest one that was heard of. */
  #newest = 0;
  /** Whether the newest had to make room for older ones. */
  #isBack = false;

  constructor(id: string) {
    this.#id = id;
    this.#refresh = new Refresh(() => this.#look());
  }

  follow(): () => void {
    followedJob.value = this.#id;
    this.#refresh.request();
    const stopListening = listen((entries) => {
      const its = entries.filter(isJobEntry).filter((entry) => entry.id === this.#id);
      this.#take(its.filter(isWhole).reverse());
    });
    const stopEpoch = epoch.subscribe(() => this.#refresh.request());
    return () => {
      if (followedJob.value === this.#id) followedJob.value = "";
      stopListening();
      stopEpoch();
      this.#refresh.close();
      this.#gone.abort();
    };
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) this.show();
  }

  /** Shows what waits; from far back, that is to begin anew. */
  show(): void {
    if (this.waiting.value.length === 0) return;
    if (this.#isBack) {
      this.entries.value = undefined;
      this.#refresh.request();
      return;
    }
    const all = [...this.waiting.value, ...(this.entries.value ?? [])];
    this.entries.value = all.slice(0, limits.rowsHeldMax);
    if (all.length > limits.rowsHeldMax) this.next.value = this.entries.value.at(-1)?.sequence;
    this.waiting.value = [];
  }

  async older(): Promise<void> {
    const before = this.next.value;
    if (before === undefined) return;
    await this.#ask({ before }, ({ rows, next }) => {
      // Somebody who is quick has asked twice, and has these already.
      if (this.next.value !== before) return;
      const all = [...(this.entries.value ?? []), ...rows];
      // The newest make room: going further back has an end in memory, not in the log.
      this.#isBack ||= all.length > limits.rowsHeldMax;
      this.entries.value = all.slice(-limits.rowsHeldMax);
      this.next.value = next;
    });
  }

  async #look(): Promise<void> {
    await this.#ask({}, ({ rows, next }) => {
      const known = this.#newest;
      const hasGap = next !== undefined && rows.every(({ sequence }) => sequence > known);
      if (this.entries.value === undefined || hasGap) {
        // The first look, or more than a page was missed. What was heard meanwhile may be newer.
        const last = rows[0]?.sequence ?? 0;
        const newer = this.waiting.value.filter(({ sequence }) => sequence > last);
        this.entries.value = [...newer, ...rows];
        this.waiting.value = [];
        this.next.value = next;
        this.#isBack = false;
        this.#newest = Math.max(this.#newest, last);
      } else this.#take(rows);
    });
  }

  #take(newestFirst: readonly JobEntry[]): void {
    const fresh = newestFirst.filter(({ sequence }) => sequence > this.#newest);
    const [newest] = fresh;
    if (!newest) return;
    this.#newest = newest.sequence;
    this.waiting.value = [...fresh, ...this.waiting.value].slice(0, limits.rowsHeldMax);
    if (!this.#isHeld && this.entries.value !== undefined) this.show();
  }

  async #ask(
    where: { readonly before?: number },
    take: (page: { readonly rows: readonly JobEntry[]; readonly next: number | undefined }) => void,
  ): Promise<void> {
    const { signal } = this.#gone;
    try {
      const asked = { jobId: this.#id, limit: limits.jobEventsAsked, ...where };
      const page = await call("listJobEvents", asked, { signal });
      this.problem.value = "";
      this.olderProblem.value = "";
      take({ rows: page.rows.filter(isJobEntry), next: page.next });
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof TipstaffError)) throw problem;
      if (where.before !== undefined) this.olderProblem.value = reasonOf(problem);
      else if (this.entries.value === undefined) this.problem.value = reasonOf(problem);
    }
  }
}

/** The stream may still be the one from before the job was followed, which has no words. */
function isWhole({ type, body }: JobEntry): boolean {
  return type !== "job.emitted" || body !== undefined;
}

export function useJobFeed(id: string): JobFeed {
  const feed = useMemo(() => new JobFeed(id), [id]);
  useEffect(() => feed.follow(), [feed]);
  return feed;
}

/**
 * What one job says, as it says it, newest first. The past is asked for in pages; what comes is heard from the one
 * stream, which tells the words of the job that is followed. While the list is held nothing moves in it: what came
 * meanwhile waits.
 */
import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
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
  readonly #id: string;
  readonly #gone = new AbortController();
  readonly #refresh: Refresh;
  #isHeld = false;

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

  /** Shows what waits. */
  show(): void {
    if (this.waiting.value.length === 0) return;
    const all = [...this.waiting.value, ...(this.entries.value ?? [])];
    this.entries.value = all.slice(0, limits.rowsHeldMax);
    if (all.length > limits.rowsHeldMax) this.next.value = this.entries.value.at(-1)?.sequence;
    this.waiting.value = [];
  }

  async older(): Promise<void> {
    const before = this.next.value;
    if (before === undefined) return;
    await this.#ask({ before }, ({ rows, next }) => {
      // The newest make room: going further back has an end in memory, not in the log.
      this.entries.value = [...(this.entries.value ?? []), ...rows].slice(-limits.rowsHeldMax);
      this.next.value = next;
    });
  }

  async #look(): Promise<void> {
    await this.#ask({}, ({ rows, next }) => {
      const known = this.#newest();
      const hasGap = next !== undefined && rows.every(({ sequence }) => sequence > known);
      if (this.entries.value === undefined || hasGap) {
        // The first look, or more than a page was missed.
        const heard = this.waiting.value.filter(
          ({ sequence }) => sequence > (rows[0]?.sequence ?? 0),
        );
        this.entries.value = [...heard, ...rows];
        this.waiting.value = [];
        this.next.value = next;
      } else this.#take(rows);
    });
  }

  #take(newestFirst: readonly JobEntry[]): void {
    const known = this.#newest();
    const fresh = newestFirst.filter(({ sequence }) => sequence > known);
    if (fresh.length === 0) return;
    this.waiting.value = [...fresh, ...this.waiting.value].slice(0, limits.rowsHeldMax);
    if (!this.#isHeld && this.entries.value !== undefined) this.show();
  }

  #newest(): number {
    return this.waiting.value[0]?.sequence ?? this.entries.value?.[0]?.sequence ?? 0;
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
      take({ rows: page.rows.filter(isJobEntry), next: page.next });
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof TipstaffError)) throw problem;
      if (this.entries.value === undefined) this.problem.value = reasonOf(problem);
    }
  }
}

/** The stream may still be the one from before the job was followed, which has no words. */
function isWhole({ type, body }: JobEntry): boolean {
  return type !== "job.emitted" || body !== undefined;
}

export function useJobFeed(id: string): JobFeed {
  const feed = useSignal(new JobFeed(id));
  useEffect(() => feed.value.follow(), []);
  return feed.value;
}

/**
 * A long list of which only what is near the view is held: pages around it are asked for as it moves and
 * dropped when it has moved on. While the pointer rests on the list its order stands still: rows are
 * brought up to date in place, and what came or went is shown when the pointer leaves.
 */
import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type Page, TipstaffError } from "./api.ts";
import { type Freshness, follow } from "./ask.ts";
import { limits } from "./limits.ts";
import { Refresh } from "./refresh.ts";

type Range = { readonly offset: number; readonly limit: number };

export type FetchRows<Row> = (range: Range, signal: AbortSignal) => Promise<Page<Row>>;

export class RowWindow<Row> {
  /** Moves when there is something else to show. */
  readonly revision: Signal<number> = signal(0);
  readonly problem: Signal<TipstaffError | undefined> = signal(undefined);
  readonly #fetch: FetchRows<Row>;
  readonly #keyOf: (row: Row) => string;
  readonly #gone = new AbortController();
  readonly #pages = new Map<number, readonly Row[]>();
  readonly #asking = new Set<number>();
  readonly #refresh: Refresh;
  #firstPage = 0;
  #lastPage = 0;
  #total = 0;
  #isLoaded = false;
  #isHeld = false;
  #hasChanged = false;

  constructor(parts: {
    readonly fetch: FetchRows<Row>;
    readonly keyOf: (row: Row) => string;
  }) {
    this.#fetch = parts.fetch;
    this.#keyOf = parts.keyOf;
    this.#refresh = new Refresh(() => this.#askAgain());
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get total(): number {
    return this.#total;
  }

  /** How many rows are in memory. */
  get held(): number {
    let count = 0;
    for (const rows of this.#pages.values()) count += rows.length;
    return count;
  }

  /** Whether the list is not in the order in which it would be, because the pointer is on it. */
  get isBehind(): boolean {
    return this.#isHeld && this.#hasChanged;
  }

  row(index: number): Row | undefined {
    const page = Math.floor(index / limits.pageRows);
    return this.#pages.get(page)?.[index % limits.pageRows];
  }

  /** The rows that are in view, or nearly. */
  want(first: number, last: number): void {
    this.#firstPage = Math.max(0, Math.floor(first / limits.pageRows));
    this.#lastPage = Math.max(this.#firstPage, Math.floor(last / limits.pageRows));
    for (let page = this.#firstPage; page <= this.#lastPage; page += 1) {
      if (!this.#pages.has(page)) void this.#ask(page);
    }
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld || !this.#hasChanged) return;
    this.#hasChanged = false;
    this.#refresh.request();
  }

  follow(freshness: Freshness): () => void {
    return follow(this.#refresh, freshness);
  }

  refresh(): void {
    this.#refresh.request();
  }

  close(): void {
    this.#gone.abort();
    this.#refresh.close();
  }

  async #ask(page: number): Promise<void> {
    if (this.#asking.has(page)) return;
    this.#asking.add(page);
    const range = { offset: page * limits.pageRows, limit: limits.pageRows };
    try {
      const { rows, total } = await this.#fetchWhole(range);
      this.#take(page, rows, total);
      this.problem.value = undefined;
    } catch (problem) {
      if (this.#gone.signal.aborted) return;
      if (!(problem instanceof TipstaffError)) throw problem;
      this.problem.value = problem;
    } finally {
      this.#asking.delete(page);
    }
    this.#isLoaded = true;
    this.revision.value += 1;
  }

  /** A page of very long rows comes in pieces. */
  async #fetchWhole({ offset, limit }: Range): Promise<Pick<Page<Row>, "rows" | "total">> {
    const rows: Row[] = [];
    for (;;) {
      const range = { offset: offset + rows.length, limit: limit - rows.length };
      const piece = await this.#fetch(range, this.#gone.signal);
      rows.push(...piece.rows);
      const isWhole = rows.length >= limit || offset + rows.length >= piece.total;
      if (isWhole || piece.rows.length === 0) return { rows, total: piece.total };
    }
  }

  #take(page: number, rows: readonly Row[], total: number): void {
    const shown = this.#pages.get(page) ?? [];
    // What is added at the end moves nothing.
    const isMoved = shown.some((row, index) => !this.#isSame(row, rows[index]));
    if (this.#isHeld && isMoved) {
      this.#hasChanged = true;
      const fresh = new Map(rows.map((row) => [this.#keyOf(row), row]));
      const updated = shown.map((row) => fresh.get(this.#keyOf(row)) ?? row);
      this.#pages.set(page, updated);
      return;
    }
    this.#total = total;
    this.#pages.set(page, rows);
    this.#dropFarPages();
  }

  #isSame(row: Row, other: Row | undefined): boolean {
    return other !== undefined && this.#keyOf(row) === this.#keyOf(other);
  }

  #dropFarPages(): void {
    const pagesMax = limits.rowsHeldMax / limits.pageRows;
    if (this.#pages.size <= pagesMax) return;
    const middle = (this.#firstPage + this.#lastPage) / 2;
    const byDistance = [...this.#pages.keys()].sort(
      (one, other) => Math.abs(one - middle) - Math.abs(other - middle),
    );
    for (const page of byDistance.slice(pagesMax)) this.#pages.delete(page);
  }

  /** Pages in view are asked for again; what is known of others is out of date. */
  async #askAgain(): Promise<void> {
    if (!this.#isHeld) {
      for (const page of this.#pages.keys()) {
        if (page < this.#firstPage || page > this.#lastPage) this.#pages.delete(page);
      }
    }
    const pages: Promise<void>[] = [];
    for (let page = this.#firstPage; page <= this.#lastPage; page += 1) pages.push(this.#ask(page));
    await Promise.all(pages);
  }
}

/**
 * The rows that answer a question, `key`. When the question changes, the rows of the last one are shown
 * until the first of the new one are there, so that nothing flashes while someone types.
 */
export function useRows<Row>(
  key: string,
  parts: {
    readonly fetch: FetchRows<Row>;
    readonly keyOf: (row: Row) => string;
    readonly freshness: Freshness;
  },
): RowWindow<Row> {
  const asked = useMemo(() => new RowWindow<Row>(parts), [key]);
  const shown = useSignal(asked);
  useEffect(() => {
    asked.want(0, 0);
    const stopFollowing = asked.follow(parts.freshness);
    const stopWaiting = asked.revision.subscribe(() => {
      if (asked.isLoaded && shown.peek() !== asked) shown.value = asked;
    });
    return () => {
      stopFollowing();
      stopWaiting();
      asked.close();
    };
  }, [asked]);
  return shown.value;
}

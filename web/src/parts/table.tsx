/** A table of any length. Only the rows in view are in the document. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { reasonOf } from "../api.ts";
import { limits } from "../limits.ts";
import type { RowWindow } from "../rows.ts";
import { number } from "../words/time.ts";
import { Empty } from "./field.tsx";

export type Column<Row> = {
  readonly title: string;
  /** A class, for its width and look. */
  readonly look: string;
  readonly cell: (row: Row) => ComponentChildren;
};

/** Rows above and below the view that are drawn too: moving by key finds the next one there. */
const margin = 8;

export function RowTable<Row>({
  label,
  look,
  rows,
  columns,
  keyOf,
  isOpen,
  isOver,
  empty,
}: {
  readonly label: string;
  readonly look: string;
  readonly rows: RowWindow<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly isOpen?: (row: Row) => boolean;
  /** Drawn faintly. */
  readonly isOver?: (row: Row) => boolean;
  readonly empty: ComponentChildren;
}): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useSignal({ first: 0, count: 30 });
  const rowHeight = useSignal(37);
  rows.revision.value;
  const total = Math.min(rows.total, limits.rowsScrollableMax);

  const look_ = (): void => {
    const { current } = scroller;
    if (!current) return;
    const height = Number.parseFloat(
      getComputedStyle(current).getPropertyValue("--row-height") || "37",
    );
    const first = Math.floor(current.scrollTop / height);
    const count = Math.ceil(current.clientHeight / height) + 1;
    rowHeight.value = height;
    if (view.value.first !== first || view.value.count !== count) view.value = { first, count };
  };
  useEffect(() => {
    const { current } = scroller;
    if (!current) return;
    const observer = new ResizeObserver(look_);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    // Another question: its answer is read from the top.
    if (scroller.current) scroller.current.scrollTop = 0;
    look_();
  }, [rows]);

  const first = Math.max(0, Math.min(view.value.first, total) - margin);
  const last = Math.min(total, view.value.first + view.value.count + margin);
  useEffect(() => {
    if (total > 0) rows.want(first, last - 1);
  }, [rows, first, last, total]);

  const shown: JSX.Element[] = [];
  for (let index = first; index < last; index += 1) {
    const row = rows.row(index);
    shown.push(
      row === undefined ? (
        <tr key={`at ${index}`} class="waiting" aria-rowindex={index + 2}>
          <td colSpan={columns.length} />
        </tr>
      ) : (
        <tr
          key={keyOf(row)}
          aria-rowindex={index + 2}
          class={isOver?.(row) ? "over" : undefined}
          aria-selected={isOpen?.(row) ? true : undefined}
        >
          {columns.map(({ title, look, cell }) => (
            <td key={title} class={look}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ),
    );
  }
  const isEmpty = rows.isLoaded && total === 0;
  return (
    // The pointer only holds the order still; nothing can be done with it that keys cannot do.
    <div
      ref={scroller}
      class="scroller"
      onScroll={look_}
      onPointerEnter={() => rows.hold(true)}
      onPointerLeave={() => rows.hold(false)}
    >
      {isEmpty ? (
        <Empty>{rows.problem.value ? reasonOf(rows.problem.value) : empty}</Empty>
      ) : (
        <table
          class={`rows ${look}`}
          aria-label={label}
          aria-rowcount={total + 1}
          data-held={rows.held}
        >
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(({ title, look }) => (
                <th key={title} class={look} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Space rows={first} height={rowHeight.value} />
            {shown}
            <Space rows={total - last} height={rowHeight.value} />
          </tbody>
        </table>
      )}
      {rows.total > total && (
        <Empty>These are the first {number(total)}; search to find the others.</Empty>
      )}
    </div>
  );
}

function Space({
  rows,
  height,
}: {
  readonly rows: number;
  readonly height: number;
}): JSX.Element | null {
  if (rows <= 0) return null;
  return (
    <tr class="space">
      <td style={{ height: `${rows * height}px` }} />
    </tr>
  );
}

/** How many there are, and whether the list waits for the pointer to leave. */
export function Found<Row>({
  rows,
  isNarrowed,
  all = "in all",
}: {
  readonly rows: RowWindow<Row>;
  readonly isNarrowed: boolean;
  readonly all?: string;
}): JSX.Element {
  rows.revision.value;
  return (
    <p class="found soft" role="status">
      {rows.isLoaded && `${number(rows.total)} ${isNarrowed ? "found" : all}`}
      {rows.isBehind && " · changed; move the pointer away"}
    </p>
  );
}

/** Lists: all pages up to a limit, as a table for people or one document for machines. */
import { jsonOf, paint, print } from "../terminal/index.ts";
import type { Answer, Input, OperationName, Page } from "../wire/api/index.ts";
import { type Column, printColumns } from "./columns.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { mistake } from "./failure.ts";
import { limits } from "./limits.ts";
import { readPages } from "./read-pages.ts";
import type { Values } from "./table.ts";
import { countOf, grouped } from "./times.ts";
import { numberIn, textIn } from "./values.ts";

/** The operations that answer with a page. */
type ListName = {
  [Name in OperationName]: Answer<Name> extends Page<unknown> ? Name : never;
}[OperationName];
type RowOf<Name extends ListName> = Answer<Name>["rows"][number];

export type Listed<Row> = Page<Row> & {
  readonly rows: readonly Row[];
  /** How many there are whatever was asked for; absent unless nothing matches what was. */
  readonly totalOfAll?: number;
};

/** The rows that `--limit` and `--query` ask for. */
export async function collect<Name extends ListName>(
  values: Values,
  name: Name,
  order: Input<Name>,
  filter: Partial<Input<Name>> = {},
): Promise<Listed<RowOf<Name>>> {
  const limit = numberIn(values, "limit") ?? limits.rowsDefault;
  if (limit < 1) throw mistake("--limit is 1 or more");
  const query = textIn(values, "query");
  const asked = { ...order, ...filter, ...(query === undefined ? {} : { query }) };
  const { rows, total, sequence, nowMs } = await readPages(
    limit,
    (page) => call(values, name, { ...asked, ...page }) as Promise<Page<RowOf<Name>>>,
  );
  const isFiltered = query !== undefined || Object.keys(filter).length > 0;
  if (total > 0 || !isFiltered || values["json"]) return { rows, total, sequence, nowMs };
  const { total: totalOfAll } = await call(values, name, { ...order, limit: 1 });
  return { rows, total, sequence, nowMs, totalOfAll };
}

export type ListLook<Row> = {
  readonly columns: readonly Column<Row>[];
  /** What one and many are called. */
  readonly noun: readonly [one: string, many: string];
  /** Said when there is none. */
  readonly empty: string;
  /** More to count, such as `1 unreachable`; only of interest if all are shown. */
  readonly counts?: (rows: readonly Row[]) => readonly string[];
  /** What else stands out, a line each. */
  readonly notes?: (rows: readonly Row[]) => readonly string[];
};

export function printList<Row>(
  values: Values,
  listed: Listed<Row>,
  { columns, noun: [one, many], empty, counts, notes }: ListLook<Row>,
): number {
  const { rows, total, sequence, nowMs, totalOfAll = 0 } = listed;
  if (values["json"]) {
    print(`${jsonOf({ rows, total, sequence, nowMs })}\n`);
    return exits.ok;
  }
  if (rows.length === 0) {
    print(`${totalOfAll === 0 ? empty : noneOf(totalOfAll, one, many)}\n`);
    return exits.ok;
  }
  const isWhole = rows.length >= total;
  const last = isWhole
    ? [countOf(rows.length, one, many), ...(counts?.(rows) ?? [])]
    : [`${grouped(rows.length)} of ${countOf(total, one, many)}`, "--limit shows more"];
  const lines = [last.join(" · "), ...(notes?.(rows) ?? [])].map((line) => paint("dim", line));
  print(`${printColumns(rows, columns)}\n${lines.join("\n")}\n`);
  return exits.ok;
}

function noneOf(total: number, one: string, many: string): string {
  if (total === 1) return `the only ${one} does not match`;
  return `none of ${countOf(total, one, many)} match`;
}

/** How many of each kind there are, in the order of `names`, without those that are none. */
export function tally<Row, Kind extends string>(
  rows: readonly Row[],
  kindOf: (row: Row) => Kind,
  names: readonly Kind[],
): readonly string[] {
  return names.flatMap((name) => {
    const count = rows.filter((row) => kindOf(row) === name).length;
    return count === 0 ? [] : [`${grouped(count)} ${name}`];
  });
}

/** One document for machines, or what `forPeople` makes of it. */
export function printOne<Thing>(
  values: Values,
  thing: Thing,
  forPeople: (thing: Thing) => string,
): number {
  print(values["json"] ? `${jsonOf(thing)}\n` : forPeople(thing));
  return exits.ok;
}

/** Reads lists that may be longer than one page. A page has 1,000 rows at most, and ends early at some megabytes. */
import type { Input, Page, Question } from "../wire/api/index.ts";
import { limits } from "./limits.ts";

export type PageAsked = { readonly limit: number; readonly after?: string };

/** At most `rowsMax` rows, of as many pages as it takes. The other fields are those of the first page. */
export async function readPages<Row>(
  rowsMax: number,
  ask: (page: PageAsked) => Promise<Page<Row>>,
): Promise<Omit<Page<Row>, "next">> {
  let { rows, next, ...first } = await ask({ limit: Math.min(limits.pageMax, rowsMax) });
  while (next !== undefined && rows.length < rowsMax) {
    const limit = Math.min(limits.pageMax, rowsMax - rows.length);
    const page = await ask({ limit, after: next });
    rows = [...rows, ...page.rows];
    next = page.rows.length > 0 ? page.next : undefined;
  }
  return { ...first, rows };
}

/** All open questions, oldest first. */
export function readOpenQuestions(
  ask: (input: Input<"listQuestions">) => Promise<Page<Question>>,
): Promise<Omit<Page<Question>, "next">> {
  return readPages(limits.openQuestionsMax, (page) => ask({ state: ["open"], ...page }));
}

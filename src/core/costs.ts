/**
 * What jobs have cost: what each has spent itself, and what the jobs have spent that it delegated to, at every level.
 * Both parts are counted when the money is spent and are kept with the job, so they survive a restart, and what a
 * forgotten child has spent is still part of what its parent has cost.
 *
 * Nothing here is changed in place, as in `grants.ts`.
 */
import { add, type Decimal, parseDecimal, printDecimal, zero } from "./decimal.ts";
import type { Amount, Budget } from "./grants.ts";
import { limits } from "./limits.ts";

/** What a job has spent of one currency. */
export type Spending = {
  readonly currency: string;
  readonly own: Decimal;
  readonly children: Decimal;
};

/** In the order in which the currencies were first spent. */
export type Spendings = readonly Spending[];

/** What a job has cost in one currency, as every door and command shows it. */
export type Cost = {
  readonly currency: string;
  /** The sum of both parts. */
  readonly total: Decimal;
  /** The two parts are either both known or both unknown. */
  readonly own?: Decimal;
  readonly children?: Decimal;
  /** Only with a budget in this currency. */
  readonly cap?: Decimal;
  readonly reserved?: Decimal;
};

/**
 * Counts an amount in one of the parts. A job can report any number of currencies, so one without a budget is counted
 * only while there are few.
 */
export function withSpent(
  spendings: Spendings,
  { currency, value }: Amount,
  { part, budget }: { readonly part: "own" | "children"; readonly budget: Budget },
): Spendings {
  const at = spendings.findIndex((spending) => spending.currency === currency);
  const before = spendings[at];
  if (before) return spendings.with(at, { ...before, [part]: add(before[part], value) });
  const isCapped = (one: string): boolean => budget.some((counter) => counter.currency === one);
  const uncapped = spendings.filter((spending) => !isCapped(spending.currency));
  if (!isCapped(currency) && uncapped.length >= limits.currenciesMax) return spendings;
  return [...spendings, { currency, own: zero, children: zero, [part]: value }];
}

/**
 * The cost in each currency: first those of the budget, then the others. Without spendings, which a snapshot of
 * version 0.1.0 does not have, only the totals in the currencies of the budget are known.
 */
export function costIn(spendings: Spendings | undefined, budget: Budget): readonly Cost[] {
  const parts = new Map(spendings?.map((spending) => [spending.currency, spending]));
  const capped = budget.map(({ currency, cap, spent, reserved }): Cost => {
    const bounds = { cap, reserved };
    if (!spendings) return { currency, total: spent, ...bounds };
    const { own, children } = parts.get(currency) ?? { own: zero, children: zero };
    parts.delete(currency);
    return { currency, total: add(own, children), own, children, ...bounds };
  });
  const others = [...parts.values()].map((spending): Cost => {
    const { own, children } = spending;
    return { ...spending, total: add(own, children) };
  });
  return [...capped, ...others];
}

/** A spending as it is kept in a snapshot. */
export type SpendingRow = readonly [currency: string, own: string, children: string];

export function printSpending({ currency, own, children }: Spending): SpendingRow {
  return [currency, printDecimal(own), printDecimal(children)];
}

export function parseSpending([currency, own, children]: SpendingRow): Spending {
  return { currency, own: parsePart(own), children: parsePart(children) };
}

function parsePart(text: string): Decimal {
  const part = parseDecimal(text);
  if (!part) throw new Error(`what a job has spent is not a decimal number: ${text}`);
  return part;
}

/**
 * What a job may do, how long, and what it may spend (ARCP 1.1 contract, 9 and 10; its word is lease). A job that
 * was delegated has a grant that is no wider than that of its parent. Money is counted in the job that spends it
 * and in all that it descends from, so what children have is never set aside: the first to spend has it.
 *
 * Nothing here is changed in place: who keeps the budgets puts the new ones in their stead.
 */
import {
  type Capabilities,
  findWider,
  malformed,
  type Operation,
  permit,
  readCapabilities,
  type Surroundings,
  shorten,
} from "./capabilities.ts";
import {
  add,
  compare,
  type Decimal,
  decimalOf,
  parseDecimal,
  printDecimal,
  subtract,
  zero,
} from "./decimal.ts";
import { type Refused, refuse } from "./decision.ts";
import { limits } from "./limits.ts";

export type Grant = {
  readonly capabilities: Capabilities;
  /** As it was written, and what it means. Both or neither. */
  readonly expiresAt?: string;
  readonly expiresAtMs?: number;
};

export type Amount = {
  /** Upper and lower case differ. */
  readonly currency: string;
  readonly value: Decimal;
};

/** What a job may spend of one currency. */
export type Counter = {
  readonly currency: string;
  readonly cap: Decimal;
  /** Reported, or settled. What is reported cannot be refused, so it may be more than the cap. */
  readonly spent: Decimal;
  /** Set aside for what is under way. */
  readonly reserved: Decimal;
  /** What was spent when the rest was last told. */
  readonly told?: Decimal;
};

/** A counter for each currency, in the order in which the grant names them. */
export type Budget = readonly Counter[];

export type Granted = {
  readonly grant: Grant;
  readonly budget: Budget;
};

/** The job itself, then its parent, and so on. */
export type Chain = readonly [Granted, ...Granted[]];

/** Absent capabilities are none at all. Refuses with `invalid_argument`, naming the part. */
export function readGrant(
  asked: { readonly capabilities?: unknown; readonly expiresAt?: string | undefined },
  nowMs: number,
): (Granted & { readonly refusal?: never }) | Refused {
  const read = readCapabilities(asked.capabilities ?? {});
  if (read.refusal) return read;
  const { capabilities } = read;
  const money = readBudget(capabilities["cost.budget"] ?? []);
  if (money.refusal) return money;
  const { budget } = money;
  const tooLarge = budget.find(({ cap }) => findExcess(cap));
  if (tooLarge) {
    const message = `cost.budget: the amount of ${tooLarge.currency} ${findExcess(tooLarge.cap)}`;
    return malformed("cost.budget", message);
  }
  if (asked.expiresAt === undefined) return { grant: { capabilities }, budget };
  const { expiresAt } = asked;
  const expiresAtMs = parseInstant(expiresAt);
  if (expiresAtMs === undefined) {
    return malformed("expiresAt", "an expiry is a time like 2030-01-31T12:00:00Z");
  }
  if (expiresAtMs <= nowMs) return malformed("expiresAt", `${expiresAt} is over`);
  return { grant: { capabilities, expiresAt, expiresAtMs }, budget };
}

/**
 * The budget of a grant that was accepted before, with nothing spent. Limits are not checked again: a log may hold
 * grants from before there was a limit.
 */
export function budgetOf({ capabilities }: Grant): Budget {
  const read = readBudget(capabilities["cost.budget"] ?? []);
  return read.refusal ? [] : read.budget;
}

/** What its texts come to: whoever asks for a job says how long they are. */
export function lengthOf({ capabilities }: Grant): number {
  let length = 0;
  for (const [name, patterns] of Object.entries(capabilities)) {
    length += name.length;
    for (const pattern of patterns) length += pattern.length;
  }
  return length;
}

/** Remembers that the rest has been told. */
export function withTold(budget: Budget, currency: string): Budget {
  const [told = budget] = replaceAll([budget], currency, (counter) => ({
    ...counter,
    told: counter.spent,
  }));
  return told;
}

function readBudget(
  entries: readonly string[],
): { readonly budget: Budget; readonly refusal?: never } | Refused {
  const caps = new Map<string, Decimal>();
  for (const [at, entry] of entries.entries()) {
    const path = `cost.budget[${at}]`;
    const amount = parseAmount(entry);
    if (!amount) return malformed(path, `${path} is not an amount like USD:1.50`);
    caps.set(amount.currency, add(caps.get(amount.currency) ?? zero, amount.value));
  }
  const budget = [...caps].map(([currency, cap]) => ({
    currency,
    cap,
    spent: zero,
    reserved: zero,
  }));
  return { budget };
}

/** `currency:decimal`. */
export function parseAmount(text: string): Amount | undefined {
  const [, currency, digits] = /^([A-Za-z][A-Za-z0-9_-]*):([0-9.]+)$/.exec(text) ?? [];
  if (currency === undefined || digits === undefined) return undefined;
  const value = parseDecimal(digits);
  return value && { currency, value };
}

const currencyForm = /^[A-Za-z][A-Za-z0-9_-]*$/;

/** Whether the amount has a valid currency, is zero or more, and is within the limits for amounts. */
export function isAmount({ currency, value }: Amount): boolean {
  const isScale = Number.isInteger(value.scale) && value.scale >= 0;
  return currencyForm.test(currency) && value.units >= 0n && isScale && !findExcess(value);
}

/** How a value exceeds the limits for amounts, as the end of a sentence; undefined if it does not. */
function findExcess(value: Decimal): string | undefined {
  if (value.scale > limits.amountScaleMax) {
    return `has more than ${limits.amountScaleMax} digits after the decimal point`;
  }
  if (compare(value, { units: limits.amountMax, scale: 0 }) <= 0) return undefined;
  return `is above the limit of ${limits.amountMax}`;
}

export function printAmount({ currency, value }: Amount): string {
  return `${currency}:${printDecimal(value)}`;
}

/** A cost that a job reports as a number. Refuses with `invalid_argument` if it is negative, not finite or too large. */
export function readCost(
  currency: string,
  value: number,
): { readonly amount: Amount; readonly refusal?: never } | Refused {
  const decimal = decimalOf(value);
  if (!decimal || decimal.units < 0n) {
    return malformed("value", `a cost must be zero or more, not ${value}`);
  }
  const excess = findExcess(decimal);
  if (excess) return malformed("value", `the cost ${value} ${excess}`);
  return { amount: { currency, value: decimal } };
}

/** UTC, to the second or finer; a day that the calendar has. */
function parseInstant(text: string): number | undefined {
  const [, seconds] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const atMs = Date.parse(text);
  // Some days and hours that do not exist are read as later ones.
  const isReal = !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(seconds);
  return isReal ? atMs : undefined;
}

export type Rules = Surroundings & {
  /** Whether a grant that says nothing of models allows them all. Off unless the runtime was told so. */
  readonly allowsUnnamedModels?: boolean;
};

/**
 * Whether the job may do it now; if so, the target as it was compared, which is the one to use. Refuses, in this
 * order, with `grant_expired`, `budget_exhausted` (its own or one above) and `permission_denied`.
 */
export function authorise(
  chain: Chain,
  operation: Operation,
  nowMs: number,
  rules: Rules = {},
): { readonly target: string; readonly refusal?: never } | Refused {
  const [{ grant, budget }] = chain;
  const { capability, target } = operation;
  const expired = refuseExpired(grant, nowMs);
  if (expired) return expired;
  if (capability === "cost.budget") return permitSpending(budget, target);
  const exhausted = refuseExhausted(chain);
  if (exhausted) return exhausted;
  const isUnnamed = capability === "model.use" && !Object.hasOwn(grant.capabilities, capability);
  if (isUnnamed && rules.allowsUnnamedModels) return { target };
  return permit(grant.capabilities, operation, rules);
}

function refuseExpired({ expiresAt, expiresAtMs }: Grant, nowMs: number): Refused | undefined {
  if (expiresAtMs === undefined || nowMs < expiresAtMs) return undefined;
  return refuse("grant_expired", `what this job may do ended at ${expiresAt}; submit a new job`);
}

/** The target is a currency. To spend what is exhausted is no operation that is refused; it is counted. */
function permitSpending(budget: Budget, currency: string): ReturnType<typeof authorise> {
  if (budget.some((counter) => counter.currency === currency)) return { target: currency };
  return refuse("permission_denied", "this job has no budget in that currency");
}

/** What is set aside does not count here: it was set aside for the very things that are to be allowed now. */
function refuseExhausted(chain: Chain): Refused | undefined {
  for (const [above, { budget }] of chain.entries()) {
    for (const counter of budget) {
      if (compare(counter.spent, counter.cap) < 0) continue;
      const amount = remaining(counter);
      const { currency } = counter;
      const whose = above === 0 ? "this job" : "a job that this one descends from";
      const message = `${whose} has ${printDecimal(amount)} ${currency} left; end the work`;
      return refuse("budget_exhausted", message, { left: { currency, amount } });
    }
  }
  return undefined;
}

/** What is not spent; below zero if more than the cap was. */
export function remaining({ cap, spent }: Counter): Decimal {
  return subtract(cap, spent);
}

/** What is neither spent nor set aside. */
export function free(counter: Counter): Decimal {
  return subtract(remaining(counter), counter.reserved);
}

/**
 * Counts what was spent, in the job and in all above it: budgets as in a chain, and in the same order. Never
 * refused, it has happened. A budget without that currency is given back as it is.
 */
export function spend(budgets: readonly Budget[], { currency, value }: Amount): readonly Budget[] {
  return replaceAll(budgets, currency, (counter) => ({
    ...counter,
    spent: add(counter.spent, value),
  }));
}

/**
 * Sets amounts aside in the job and in all above it, or nothing anywhere: refused with `budget_exhausted` if
 * somewhere more would then be spent and reserved than the cap. A currency without a counter has no cap.
 */
export function reserve(
  budgets: readonly Budget[],
  amounts: readonly Amount[],
): { readonly budgets: readonly Budget[]; readonly refusal?: never } | Refused {
  let reserved = budgets;
  for (const amount of amounts) {
    const { currency, value } = amount;
    for (const budget of reserved) {
      const counter = findCounter(budget, currency);
      if (!counter || compare(free(counter), value) >= 0) continue;
      const left = { currency, amount: free(counter) };
      const message = `${printDecimal(left.amount)} ${currency} can be set aside, not ${printDecimal(value)}`;
      return refuse("budget_exhausted", message, { left });
    }
    reserved = replaceAll(reserved, currency, (counter) => ({
      ...counter,
      reserved: add(counter.reserved, value),
    }));
  }
  return { budgets: reserved };
}

/** What was set aside is free again, and what it came to is spent, be it more or less. */
export function settle(
  budgets: readonly Budget[],
  {
    reserved,
    actual,
  }: { readonly reserved: readonly Amount[]; readonly actual: readonly Amount[] },
): readonly Budget[] {
  let settled = budgets;
  for (const { currency, value } of reserved) {
    settled = replaceAll(settled, currency, (counter) => {
      if (compare(counter.reserved, value) < 0) throw new Error("settled what was not reserved");
      return { ...counter, reserved: subtract(counter.reserved, value) };
    });
  }
  for (const amount of actual) settled = spend(settled, amount);
  return settled;
}

/** The part of a reservation that a cost uses up, and what is left of it. */
export function draw(
  reserved: readonly Amount[],
  cost: readonly Amount[],
): { readonly used: readonly Amount[]; readonly left: readonly Amount[] } {
  const open = new Map<string, Decimal>();
  for (const { currency, value } of cost) {
    open.set(currency, add(open.get(currency) ?? zero, value));
  }
  const used = reserved.map(({ currency, value }): Amount => {
    const wanted = open.get(currency) ?? zero;
    const part = compare(wanted, value) < 0 ? wanted : value;
    open.set(currency, subtract(wanted, part));
    return { currency, value: part };
  });
  const left = reserved.map(({ currency, value }, at) => ({
    currency,
    value: subtract(value, used[at]?.value ?? zero),
  }));
  return { used, left };
}

export function release(
  budgets: readonly Budget[],
  reserved: readonly Amount[],
): readonly Budget[] {
  return settle(budgets, { reserved, actual: [] });
}

function findCounter(budget: Budget, currency: string): Counter | undefined {
  return budget.find((counter) => counter.currency === currency);
}

function replaceAll(
  budgets: readonly Budget[],
  currency: string,
  change: (counter: Counter) => Counter,
): readonly Budget[] {
  return budgets.map((budget) => {
    const at = budget.findIndex((counter) => counter.currency === currency);
    const counter = budget[at];
    return counter ? budget.with(at, change(counter)) : budget;
  });
}

/**
 * What is left of a currency, if that is to be told after so much was spent: the first time, when a twentieth of
 * the cap was spent since the last, and when nothing is left.
 */
export function restToTell(after: Budget, { currency, value }: Amount): Decimal | undefined {
  const counter = findCounter(after, currency);
  if (!counter || value.units === 0n) return undefined;
  const { cap, spent, told } = counter;
  const isEnding = compare(subtract(spent, value), cap) < 0 && compare(spent, cap) >= 0;
  const isMuch = told === undefined || isTwentieth(subtract(spent, told), cap);
  return isEnding || isMuch ? remaining(counter) : undefined;
}

function isTwentieth({ units, scale }: Decimal, whole: Decimal): boolean {
  return compare({ units: units * 20n, scale }, whole) >= 0;
}

/**
 * What a child gets of what it asked for: all of it, until its parent's grant expires. Refused with
 * `grant_too_wide` if it asks for what its parent has not, for more than is free anywhere above, or for longer.
 * A child without a budget may spend what those above it may.
 */
export function narrow(
  parents: Chain,
  asked: Granted,
  nowMs: number,
): (Granted & { readonly refusal?: never }) | Refused {
  const [parent] = parents;
  const expired = refuseExpired(parent.grant, nowMs);
  if (expired) return expired;
  const wider = findWider(parent.grant.capabilities, asked.grant.capabilities);
  if (wider) {
    const example =
      wider.example === undefined ? "" : `: it would allow "${shorten(wider.example)}"`;
    return refuse("grant_too_wide", `${wider.path} is wider than what the parent may do${example}`);
  }
  const poorer = refuseMoney(parents, asked.budget);
  if (poorer) return poorer;
  return limitTime(parent.grant, asked);
}

/**
 * What is allowed by one who may leave less of it than was asked for: fewer targets, less money, or a budget where
 * none was asked for. Nothing if it is no grant, or allows more than was asked for.
 */
export function reduce(asked: Capabilities, allowed: unknown): Capabilities | undefined {
  const [whole, less] = [asked, allowed].map((capabilities) =>
    readGrant({ capabilities }, Number.NEGATIVE_INFINITY),
  );
  if (!whole || whole.refusal || !less || less.refusal) return undefined;
  const { capabilities } = less.grant;
  if (findWider(asked, capabilities)) return undefined;
  const isCovered = whole.budget.every(({ currency, cap }) => {
    const counter = findCounter(less.budget, currency);
    return counter !== undefined && compare(counter.cap, cap) <= 0;
  });
  return isCovered ? capabilities : undefined;
}

function refuseMoney(parents: Chain, budget: Budget): Refused | undefined {
  for (const { currency, cap } of budget) {
    if (!findCounter(parents[0].budget, currency)) {
      return refuse("grant_too_wide", `cost.budget: the parent has no budget in ${currency}`);
    }
    for (const above of parents) {
      const counter = findCounter(above.budget, currency);
      if (!counter || compare(cap, free(counter)) <= 0) continue;
      const message = `cost.budget: ${printDecimal(free(counter))} ${currency} are left above it, not ${printDecimal(cap)}`;
      return refuse("grant_too_wide", message);
    }
  }
  return undefined;
}

function limitTime(parent: Grant, asked: Granted): ReturnType<typeof narrow> {
  const { expiresAt, expiresAtMs } = parent;
  if (expiresAt === undefined || expiresAtMs === undefined) return asked;
  if (asked.grant.expiresAtMs === undefined) {
    return { ...asked, grant: { ...asked.grant, expiresAt, expiresAtMs } };
  }
  if (asked.grant.expiresAtMs <= expiresAtMs) return asked;
  return refuse("grant_too_wide", `what the parent may do ends at ${expiresAt}, before this`);
}

/** A counter as JSON can carry it. */
export type CounterRow = {
  readonly currency: string;
  readonly cap: string;
  readonly spent: string;
  readonly reserved: string;
  readonly told?: string;
};

export function printCounter({ currency, cap, spent, reserved, told }: Counter): CounterRow {
  return {
    currency,
    cap: printDecimal(cap),
    spent: printDecimal(spent),
    reserved: printDecimal(reserved),
    ...(told && { told: printDecimal(told) }),
  };
}

/** The opposite. All of them are zero or more. */
export function parseCounter({ currency, told, ...row }: CounterRow): Counter {
  return {
    currency,
    cap: parseDecimal(row.cap) ?? zero,
    spent: parseDecimal(row.spent) ?? zero,
    reserved: parseDecimal(row.reserved) ?? zero,
    ...(told !== undefined && { told: parseDecimal(told) ?? zero }),
  };
}

/** Parts that several messages have: what a job may do, what it may spend, with which credentials. */
import { Fields, isObject, type JsonObject, type Problem, problemAt, type Read } from "./fields.ts";
import { limits } from "./limits.ts";

/** What the protocol calls a lease: capabilities and their patterns, or amounts. */
export type LeaseShape = Readonly<Record<string, readonly string[]>>;

export type LeaseConstraints = {
  /** As it was given: what forms are allowed is not decided here. */
  readonly expiresAt?: string | undefined;
};

/** An amount of one currency, its decimals as given: `{ currency: "USD", text: "1.50" }`. */
export type Amount = { readonly currency: string; readonly text: string };

export type Credential = {
  readonly id: string;
  readonly scheme: string;
  /** Secret. */
  readonly value: string;
  readonly endpoint: string;
  readonly profile?: string | undefined;
  readonly constraints?: CredentialConstraints | undefined;
};

export type CredentialConstraints = {
  readonly expiresAt?: string | undefined;
  readonly costBudget?: readonly string[] | undefined;
  readonly modelUse?: readonly string[] | undefined;
};

/**
 * Lists of texts that are not empty, under whatever names. Which names there are, and what a pattern may be,
 * is not decided here.
 */
export function readLease(value: unknown, path: string): Read<LeaseShape> {
  if (value === undefined || value === null) return { value: {} };
  if (!isObject(value)) return { problem: problemAt(path, "an object") };
  for (const [name, patterns] of Object.entries(value)) {
    const problem = judgePatterns(`${path}${printKey(name)}`, patterns);
    if (problem) return { problem };
  }
  // Every value has just been seen to be a list of texts.
  return { value: value as LeaseShape };
}

function judgePatterns(path: string, patterns: unknown): Problem | undefined {
  if (!Array.isArray(patterns)) return problemAt(path, "a list of texts");
  const wrong = patterns.findIndex((pattern) => typeof pattern !== "string" || pattern === "");
  return wrong === -1 ? undefined : problemAt(`${path}[${wrong}]`, "a text that is not empty");
}

/** A name from outside is shown only if it is short and harmless. */
function printKey(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? `["${name}"]` : "[…]";
}

/** What a peer says a lease is; what is no list of texts in it is left out. */
export function readAnyLease(value: unknown): LeaseShape {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, patterns]) =>
      Array.isArray(patterns) ? [[name, patterns.filter((each) => typeof each === "string")]] : [],
    ),
  );
}

export function readConstraints(fields: Fields): LeaseConstraints | undefined {
  const inside = fields.optionalInside("lease_constraints");
  if (!inside) return undefined;
  const expiresAt = inside.optionalText("expires_at");
  return expiresAt === undefined ? {} : { expiresAt };
}

/** Without a value that constrains, nothing is printed (ARCP-6). */
export function printConstraints(constraints: LeaseConstraints | undefined): JsonObject {
  if (constraints?.expiresAt === undefined) return {};
  return { lease_constraints: { expires_at: constraints.expiresAt } };
}

/** The nearest number that JSON has (ARCP-155). */
export function printAmounts(budget: readonly Amount[]): JsonObject {
  return Object.fromEntries(budget.map(({ currency, text }) => [currency, nearestNumber(text)]));
}

function nearestNumber(text: string): number {
  const value = Number(text);
  if (Number.isNaN(value)) throw new RangeError("not a decimal");
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

const decimal = /^-?\d{1,300}(?:\.\d{1,300})?$/;

/** Numbers, `"USD:5.00"` or `"5.00"` (ARCP-21). What is none of these is left out. */
export function readAmounts(value: unknown): readonly Amount[] | undefined {
  if (!isObject(value)) return undefined;
  return Object.entries(value).flatMap(([currency, amount]) => {
    const text = readAmount(currency, amount);
    return text !== undefined && decimal.test(text) ? [{ currency, text }] : [];
  });
}

function readAmount(currency: string, amount: unknown): string | undefined {
  if (typeof amount === "number" && Number.isFinite(amount)) return printPlain(amount);
  if (typeof amount !== "string") return undefined;
  return amount.startsWith(`${currency}:`) ? amount.slice(currency.length + 1) : amount;
}

/** Without an exponent. */
function printPlain(value: number): string {
  const text = String(value);
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, "0");
}

/** Entries of a scheme that we cannot use are left out, the rest is kept (ARCP-173). */
export function readCredentials(value: unknown): readonly Credential[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((each) => {
    const credential = isObject(each) ? readCredential(new Fields(each, "credential")) : undefined;
    return credential?.value?.scheme === "bearer" ? [credential.value] : [];
  });
}

function readCredential(fields: Fields): Read<Credential> {
  const secret = { max: limits.tokenLengthMax };
  const constraints = fields.optionalInside("constraints");
  return fields.done({
    id: fields.text("id"),
    scheme: fields.text("scheme"),
    value: fields.text("value", secret),
    endpoint: fields.text("endpoint", secret),
    profile: fields.optionalText("profile"),
    constraints: constraints && readCredentialConstraints(constraints),
  });
}

/** Three ways to say the same: with dots, with underscores, and with words of its own. */
function readCredentialConstraints(fields: Fields): CredentialConstraints {
  return {
    expiresAt: fields.optionalText("expires_at"),
    costBudget: fields.texts("cost.budget") ?? fields.texts("cost_budget") ?? readMaxSpend(fields),
    modelUse:
      fields.texts("model.use") ?? fields.texts("model_use") ?? fields.texts("allowed_models"),
  };
}

function readMaxSpend(fields: Fields): readonly string[] | undefined {
  const { currency, amount } = fields.object("max_spend") ?? {};
  if (typeof currency !== "string") return undefined;
  const text = readAmount(currency, amount);
  return text !== undefined && decimal.test(text) ? [`${currency}:${text}`] : undefined;
}

export function printCredential(credential: Credential): JsonObject {
  const { id, scheme, value, endpoint, profile, constraints } = credential;
  const { expiresAt, costBudget, modelUse } = constraints ?? {};
  const printed = {
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(costBudget && { "cost.budget": costBudget }),
    ...(modelUse && { "model.use": modelUse }),
  };
  return {
    id,
    scheme,
    value,
    endpoint,
    ...(profile !== undefined && { profile }),
    ...(constraints && { constraints: printed }),
  };
}

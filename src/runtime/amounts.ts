/** Amounts as agents give them, which are programs of anybody's. */
import { type Amount, isAmount, parseAmount } from "../core/index.ts";
import { isObject } from "../wire/work/index.ts";
import { WorkError } from "./errors.ts";

/** An amount, or one as it is written: `USD:1.50`. */
export type Cost = Amount | string;

/** Throws `invalid_argument` if the text is not an amount. */
export function readAmount(cost: Cost): Amount {
  const amount = typeof cost === "string" ? parseAmount(cost) : cost;
  if (isShaped(amount) && isAmount(amount)) return amount;
  throw new WorkError("invalid_argument", "an amount must be written like USD:1.50");
}

/** Whatever its type says. */
function isShaped(amount: unknown): amount is Amount {
  if (!isObject(amount) || !isObject(amount["value"])) return false;
  const { units, scale } = amount["value"];
  const isDecimal = typeof units === "bigint" && typeof scale === "number";
  return isDecimal && typeof amount["currency"] === "string";
}

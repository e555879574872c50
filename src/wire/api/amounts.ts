/** Amounts of money as people read them, the same on the command line and on the page. */

/**
 * `1.24`, `0.0042`, and `12.5` for a unit that is not a currency. Digits beyond these are truncated and not rounded,
 * so that a budget is never shown as spent while some of it is left.
 */
export function readableAmount(amount: string, currency: string): string {
  const [whole = "0", fraction = ""] = amount.split(".");
  const isSmall = /^-?0*$/.test(whole) && fraction.startsWith("00");
  const digits = fraction.slice(0, isSmall ? 4 : 2);
  const isCurrency = /^[A-Z]{3}$/.test(currency);
  const shown = isCurrency ? digits.padEnd(2, "0") : digits.replace(/0+$/, "");
  return shown === "" ? whole : `${whole}.${shown}`;
}

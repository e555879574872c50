/**
 * Points in time: printed in one form, read in all that RFC 3339 knows (ARCP-4). The form of `expires_at`
 * is a rule, not a matter of reading: it stays text here.
 */

/** UTC with milliseconds. Throws a RangeError outside of the years 0 to 9999, which nobody could read. */
export function printTimestamp(atMs: number): string {
  if (!(atMs >= firstMs && atMs < endMs)) throw new RangeError(`not a time to print: ${atMs}`);
  if (atMs !== last.atMs) last = { atMs, text: new Date(atMs).toISOString() };
  return last.text;
}

/** Events come in bursts, and what happens in one millisecond has one time. */
let last: { readonly atMs: number; readonly text: string } = { atMs: Number.NaN, text: "" };

/** 0000-01-01 and 10000-01-01. */
const firstMs = -62_167_219_200_000;
const endMs = 253_402_300_800_000;

const form =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):?(\d\d))$/;

/** Milliseconds since 1970, with a fraction where the text has one; undefined if there is no such time. */
export function readTimestamp(text: string): number | undefined {
  if (text.length > 64) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHour, offsetMinute] =
    form.exec(text) ?? [];
  if (year === undefined) return undefined;
  const dayMs = readDay(Number(year), Number(month), Number(day));
  // A second of 60 is a leap second, and the same as the next one.
  if (dayMs === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) {
    return undefined;
  }
  const offsetMinutes = Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0);
  if (offsetMinutes >= 24 * 60) return undefined;
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Number(second);
  const fractionMs = fraction === "" ? 0 : Number(fraction.slice(0, 6).padEnd(6, "0")) / 1_000;
  return dayMs + seconds * 1_000 + fractionMs - (sign === "-" ? -1 : 1) * offsetMinutes * 60_000;
}

function readDay(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  // Not Date.UTC: to it, year 26 is 1926.
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have ends up in another.
  return date.getUTCMonth() === month - 1 ? date.getTime() : undefined;
}

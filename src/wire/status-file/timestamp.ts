/**
 * Points in time as status files have them. We print one form, UTC with seconds, and read what the other
 * readers of these files read: ISO 8601 dates and week dates, extended or basic, with an offset. Not by
 * `Date.parse`, which takes 29 February for 1 March and a missing zone for the local one.
 */
export type ReadTimestamp =
  | { readonly atMs: number; readonly error?: never }
  | { readonly error: string; readonly atMs?: never };

/** What nearly every file has. Read by itself, because lists are long: 0.1 µs instead of 1. */
const usual = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
/** A date, any one character, a time of day up to the first sign, and behind the sign an offset. */
const whole =
  /^(\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d-\d(?!\d)|\d{4}-W\d\d|\d{4}W\d\d\d?(?!\d))(?:.([^+-]*)(?:([+-])(.*))?)?$/su;
const calendarDate = /^(\d{4})-?(\d\d)-?(\d\d)$/;
const weekDate = /^(\d{4})-?W(\d\d)-?(\d)?$/;
/** Colons between all or between none; only seconds have a fraction. */
const clock = /^(\d\d)(?:(:?)(\d\d)(?:\2(\d\d)(?:[.,](\d+))?)?)?$/;

const dayMs = 86_400_000;
const firstMs = dayOf(1, 1, 1) * dayMs;
const endMs = dayOf(10_000, 1, 1) * dayMs;

export function parseTimestamp(text: string): ReadTimestamp {
  const atMs = usual.test(text) ? readUsual(text) : undefined;
  return atMs === undefined ? parseAny(text) : { atMs };
}

/** UTC, whole seconds. Throws a RangeError outside of the years 1 to 9999, which nobody could read. */
export function printTimestamp(atMs: number): string {
  if (!(atMs >= firstMs && atMs < endMs)) throw new RangeError(`not a time to print: ${atMs}`);
  return `${new Date(Math.floor(atMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}

function readUsual(text: string): number | undefined {
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const day = readCalendarDay(year, twoDigits(text, 5), twoDigits(text, 8));
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  if (day === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  return day * dayMs + (hour * 3_600 + minute * 60 + second) * 1_000;
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}

function parseAny(text: string): ReadTimestamp {
  if (text === "") return { error: "timestamp must be non-empty string" };
  // The reference puts +00:00 in the place of every Z before it looks further. So `2026-06-20Z` is a date,
  // a plus and a time, and lacks a zone.
  const [, date = "", time, sign, offset = ""] = whole.exec(text.replaceAll("Z", "+00:00")) ?? [];
  const day = readDay(date);
  const timeMs = time === undefined ? 0 : readTimeMs(time);
  if (day === undefined || timeMs === undefined) return { error: `invalid timestamp: ${text}` };
  if (sign === undefined) return { error: `timestamp must include timezone: ${text}` };
  const offsetMs = readOffsetMs(offset);
  if (offsetMs === undefined) return { error: `invalid timestamp: ${text}` };
  const atMs = day * dayMs + timeMs + (sign === "-" ? offsetMs : -offsetMs);
  if (atMs < firstMs || atMs >= endMs) return { error: `invalid timestamp: ${text}` };
  return { atMs };
}

/** Days since 1970; undefined if there is no such day. */
function readDay(text: string): number | undefined {
  const date = calendarDate.exec(text);
  if (date) return readCalendarDay(Number(date[1]), Number(date[2]), Number(date[3]));
  const week = weekDate.exec(text);
  return week ? readWeekDay(Number(week[1]), Number(week[2]), Number(week[3] ?? 1)) : undefined;
}

function readCalendarDay(year: number, month: number, day: number): number | undefined {
  if (year < 1 || month < 1 || month > 12 || day < 1) return undefined;
  const firstOfNext = month === 12 ? dayOf(year + 1, 1, 1) : dayOf(year, month + 1, 1);
  const found = dayOf(year, month, day);
  return found < firstOfNext ? found : undefined;
}

function readWeekDay(year: number, week: number, day: number): number | undefined {
  if (year < 1 || week < 1 || day < 1 || day > 7) return undefined;
  const monday = firstMonday(year) + (week - 1) * 7;
  return monday < firstMonday(year + 1) ? monday + day - 1 : undefined;
}

/** Where week 1 begins: it is the week that has 4 January in it. */
function firstMonday(year: number): number {
  const fourth = dayOf(year, 1, 4);
  // Day 0, 1 January 1970, was a Thursday.
  const sinceMonday = (((fourth + 3) % 7) + 7) % 7;
  return fourth - sinceMonday;
}

function readTimeMs(text: string): number | undefined {
  const [, hour = "", , minute = "0", second = "0", fraction] = clock.exec(text) ?? [];
  if (hour === "" || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) {
    return undefined;
  }
  return sumMs(hour, minute, second, fraction);
}

/** Its minutes may be more than 59, as in the reference; the whole must be less than a day. */
function readOffsetMs(text: string): number | undefined {
  const [, hour = "", , minute = "0", second = "0", fraction] = clock.exec(text) ?? [];
  if (hour === "") return undefined;
  const offsetMs = sumMs(hour, minute, second, fraction);
  return offsetMs < dayMs ? offsetMs : undefined;
}

/** Fractions count down to microseconds; the rest is cut off. */
function sumMs(hour: string, minute: string, second: string, fraction = ""): number {
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 + Number(second);
  if (fraction === "") return seconds * 1_000;
  return seconds * 1_000 + Number(fraction.slice(0, 6).padEnd(6, "0")) / 1_000;
}

/** Days since 1970 in the Gregorian calendar, extended to year 1. */
function dayOf(year: number, month: number, day: number): number {
  // Years that begin in March have the leap day at their end.
  const shifted = month > 2 ? year : year - 1;
  const sinceMarch = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400);
  return shifted * 365 + leapDays + sinceMarch - 719_468;
}

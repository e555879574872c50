import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseTimestamp, printTimestamp } from "./timestamp.ts";

/** Any at all, halves of characters included. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10_ffff))
  .map((code) => String.fromCodePoint(code));

const at = Date.UTC(2026, 5, 20, 16, 45, 0);

function read(text: string): number | string {
  const { atMs, error } = parseTimestamp(text);
  return atMs ?? error;
}

test("every form that all readers know is the same moment", () => {
  for (const text of [
    "2026-06-20T16:45:00Z",
    "2026-06-20t16:45:00Z",
    "2026-06-20 16:45:00Z",
    "2026-06-20_16:45:00Z",
    "2026-06-20😀16:45:00Z",
    "2026-06-20T16:45Z",
    "2026-06-20T16:45:00+00:00",
    "2026-06-20T16:45:00-00:00",
    "2026-06-20T16:45:00.000Z",
    "2026-06-20T16:45:00.000000Z",
    "2026-06-20T22:15:00+05:30",
    "2026-06-20T11:15:00-05:30",
    "2026-06-20T22:15:30+05:30:30",
    "2026-06-19T16:45:01-23:59:59",
  ]) {
    assert.equal(read(text), at, text);
  }
  assert.equal(read("2026-06-20T16Z"), at - 45 * 60_000);
});

test("[TV-15] basic dates, week dates, commas and short offsets are read as well", () => {
  for (const text of [
    "20260620T164500Z",
    "20260620T16:45:00Z",
    "2026-06-20T1645Z",
    "2026-W25-6T16:45:00Z",
    "2026W256T164500Z",
    "2026-06-20T16:45:00,0Z",
    "2026-06-20T22:15:00+0530",
    "2026-06-20T18:45:00+02",
    "2026-06-20T22:15:30+053030",
  ]) {
    assert.equal(read(text), at, text);
  }
  assert.equal(read("2026-06-20T16:45:00,123Z"), at + 123);
  assert.equal(read("2026-06-20T16:45:00.5Z"), at + 500);
  assert.equal(read("2026-06-20T16:45:00.123456789Z"), at + 123.456);
  assert.equal(read("2026-W25T16:45:00Z"), at - 5 * 86_400_000);
});

test("[AS-29] [TV-13] a time without a zone is said to lack one, and so is a mere date", () => {
  for (const text of [
    "2026-06-20T16:45:00",
    "2026-06-20",
    "2026-06-20Z",
    "20260620",
    "2026-W25-6",
    "2026-06-20T16:45:00.123",
    // The minus stands between a date and a time.
    "2026-06-20-05:30",
  ]) {
    assert.equal(read(text), `timestamp must include timezone: ${text}`);
  }
});

test("[TV-16] [TV-17] what names no moment is invalid", () => {
  for (const text of [
    "2026-06-20T16:45:00z",
    "2026-06-20T16:45:00ZZ",
    "2026-06-20T16:45:00+00:00Z",
    "2026-06-20T16:45:00Z ",
    " 2026-06-20T16:45:00Z",
    "2026-06-20T16:45:00Z\n",
    "2026-06-20T24:00:00Z",
    "2026-06-20T16:60:00Z",
    "2026-06-20T16:45:60Z",
    "2026-13-20T16:45:00Z",
    "2026-00-20T16:45:00Z",
    "2026-06-00T16:45:00Z",
    "2026-06-31T16:45:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "12026-06-20T16:45:00Z",
    "+002026-06-20T16:45:00Z",
    "-2026-06-20T16:45:00Z",
    "2026-6-20T16:45:00Z",
    "2026-06-20T6:45:00Z",
    "2026-0620T16:45:00Z",
    "2026-06-20T16:4500Z",
    "2026-06-20TZ",
    "2026-06-20T16:45:00+24:00",
    "2026-06-20T16:45:00-24:00",
    "2026-06-20T16:45:00+23:60",
    "2026-06-20T16:45:00+",
    "2026-171T16:45:00Z",
    "2026171T16:45:00Z",
    "1781973900",
    "1781973900000",
    "Sat, 20 Jun 2026 16:45:00 GMT",
    "2026-06-20T16:45:00 UTC",
    "2026-06-20T16:45:00[Europe/Berlin]",
    "２０２６-06-20T16:45:00Z",
    "2026-06-20T16:45:00−05:00",
    "2026-W00-1T00:00:00Z",
    "2025-W53-1T00:00:00Z",
    "2026-W25-0T00:00:00Z",
    "2026-W25-8T00:00:00Z",
    "2026-W25-6116:45Z",
    "9999-W52-6T00:00:00Z",
    "9999-12-31T23:59:59-01:00",
    "0001-01-01T00:00:00+01:00",
    "now",
    "Z",
    "\u0000",
  ]) {
    assert.equal(read(text), `invalid timestamp: ${text}`);
  }
  assert.equal(read(""), "timestamp must be non-empty string");
});

test("what stands before an offset by accident is not skipped", () => {
  for (const text of [
    "2026-06-20T16:45:00 Z",
    "2026-06-20T16:45:00 +05:30",
    "2026-06-20T16:45:00.Z",
    "2026-06-20T16:45.5Z",
  ]) {
    assert.equal(read(text), `invalid timestamp: ${text}`);
  }
});

test("leap years, week 53 and the first and the last second are there", () => {
  assert.equal(read("2024-02-29T00:00:00Z"), Date.UTC(2024, 1, 29));
  assert.equal(read("2000-02-29T00:00:00Z"), Date.UTC(2000, 1, 29));
  assert.equal(read("2026-W53-7T00:00:00Z"), Date.UTC(2027, 0, 3));
  assert.equal(read("2025-W01-1T00:00:00Z"), Date.UTC(2024, 11, 30));
  assert.equal(read("0001-01-01T00:00:00Z"), -62_135_596_800_000);
  assert.equal(read("9999-12-31T23:59:59.999Z"), 253_402_300_799_999);
});

const years = { min: -62_135_596_800_000, max: 253_402_300_799_999 };

test("every second of ten thousand years prints, and reads as itself", () => {
  fc.assert(
    fc.property(fc.integer(years), (atMs) => {
      const text = printTimestamp(atMs);
      assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.equal(read(text), Math.floor(atMs / 1_000) * 1_000);
    }),
  );
});

test("Temporal agrees on every day, time and offset of RFC 3339", () => {
  const part = (min: number, max: number, length = 2): fc.Arbitrary<string> =>
    fc.integer({ min, max }).map((value) => String(value).padStart(length, "0"));
  const parts = {
    // Temporal takes second 60 for 59, and a day, month or hour beyond these is a matter of form.
    day: fc.tuple(part(2, 9_998, 4), part(0, 13), part(0, 32)).map((each) => each.join("-")),
    time: fc.tuple(part(0, 24), part(0, 60), part(0, 59)).map((each) => each.join(":")),
    fraction: fc.constantFrom("", ".5", ".123", ".999999"),
    offset: fc.oneof(
      fc.constant("Z"),
      fc
        .tuple(fc.constantFrom("+", "-"), part(0, 24), part(0, 59))
        .map(([a, b, c]) => `${a}${b}:${c}`),
    ),
  };
  fc.assert(
    fc.property(fc.record(parts), ({ day, time, fraction, offset }) => {
      const text = `${day}T${time}${fraction}${offset}`;
      const expected = instantOf(text);
      const { atMs } = parseTimestamp(text);
      assert.equal(atMs === undefined, expected === undefined, text);
      // A double holds such a time to the thirtieth part of a millisecond.
      assert((atMs ?? 0) - (expected ?? 0) < 0.04, text);
      assert((expected ?? 0) - (atMs ?? 0) < 0.04, text);
    }),
    { numRuns: 2_000 },
  );
});

function instantOf(text: string): number | undefined {
  try {
    return Number(Temporal.Instant.from(text).epochNanoseconds) / 1_000_000;
  } catch {
    return undefined;
  }
}

test("weeks are those of Temporal", () => {
  fc.assert(
    fc.property(fc.integer({ min: years.min, max: years.max }), (atMs) => {
      const day = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO("UTC");
      const { yearOfWeek = 0, weekOfYear = 0, dayOfWeek } = day;
      fc.pre(yearOfWeek >= 1 && yearOfWeek <= 9_999);
      const week = String(weekOfYear).padStart(2, "0");
      const text = `${String(yearOfWeek).padStart(4, "0")}-W${week}-${dayOfWeek}T00:00:00Z`;
      assert.equal(read(text), day.startOfDay().epochMilliseconds);
    }),
  );
});

test("whatever the text, it is a moment or one of three errors", () => {
  fc.assert(
    fc.property(fc.string({ unit: character }), (text) => {
      const found = read(text);
      if (typeof found === "number") assert(found >= years.min && found <= years.max + 1);
      else assert.match(found, /^(?:invalid timestamp|timestamp must (?:include|be))/);
    }),
  );
});

test("what no reader could read is not printed", () => {
  for (const atMs of [years.min - 1, years.max + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => printTimestamp(atMs), RangeError);
  }
});

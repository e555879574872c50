/**
 * Our parser of timestamps against the one that the reference relies on, Python's own, over made-up texts
 * in every form that either knows. Where the two differ is one way round only: Python skips a character
 * before an offset, and some more such accidents; we do not.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { parseTimestamp } from "../../src/wire/status-file/index.ts";

/** Reads a list of texts, writes a list of times in ms, "naive" or "invalid". From 3.11 on. */
const program = `
import json, sys
from datetime import datetime, timedelta, timezone
if sys.version_info < (3, 11): sys.exit(3)
epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
def read(text):
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if at.tzinfo is None: return "naive"
        return (at.astimezone(timezone.utc) - epoch) / timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return "invalid"
json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
`;

const digits = (length: number): fc.Arbitrary<string> =>
  fc.nat(10 ** length - 1).map((value) => String(value).padStart(length, "0"));
const upTo = (max: number): fc.Arbitrary<string> =>
  fc.nat(max).map((value) => String(value).padStart(2, "0"));
const year = fc.oneof(fc.constantFrom("2026", "2024", "2020", "0001", "9999", "0000"), digits(4));

/** In order, as many of them as there are. */
const day = fc.tuple(year, upTo(13), upTo(32));
const date = fc.oneof(
  day.map((parts) => parts.join("-")),
  day.map((parts) => parts.join("")),
  fc.tuple(year, upTo(54), fc.nat(8)).map(([of, week, at]) => `${of}-W${week}-${at}`),
  fc.tuple(year, upTo(54), fc.nat(8)).map(([of, week, at]) => `${of}W${week}${at}`),
  fc.tuple(year, upTo(54)).map(([of, week]) => `${of}-W${week}`),
);
const fraction = fc.oneof(
  fc.constant(""),
  fc
    .tuple(fc.constantFrom(".", ","), fc.integer({ min: 1, max: 9 }).chain(digits))
    .map((parts) => parts.join("")),
);
const clock = (hourMax: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(":", ""),
      fc.tuple(upTo(hourMax), upTo(60), upTo(60)),
      fc.integer({ min: 1, max: 3 }),
      fraction,
    )
    .map(
      ([colon, parts, length, rest]) =>
        parts.slice(0, length).join(colon) + (length === 3 ? rest : ""),
    );
const offset = fc.oneof(
  fc.constant("Z"),
  fc.tuple(fc.constantFrom("+", "-"), clock(24)).map((parts) => parts.join("")),
);
/** Also a sign or an astral character may stand between date and time; a digit has no such right. */
const separator = fc.constantFrom("T", "t", " ", "_", "-", "+", "😀");
const wellFormed = fc.tuple(date, separator, clock(24), offset).map((parts) => parts.join(""));
const damaged = fc
  .tuple(
    fc.oneof(wellFormed, date),
    fc.nat(),
    fc.nat(2),
    fc.constantFrom("", "0", ":", "-", "Z", " ", "W", "z", "."),
  )
  .map(([text, at, length, put]) => {
    const start = at % (text.length + 1);
    return text.slice(0, start) + put + text.slice(start + length);
  });

test("well-formed texts are the same moment to Python, or invalid to both", (context) => {
  const found = compare(fc.sample(wellFormed, { numRuns: 20_000, seed: 1 }));
  if (!found) return context.skip(noPython());
  const differing = found.filter(({ ours, theirs }) => !isSame(ours, theirs));
  context.diagnostic(`${found.filter(({ ours }) => typeof ours === "number").length} moments`);
  assert.deepEqual(differing, []);
});

test("whatever we read in a damaged text, Python reads too", (context) => {
  const found = compare(fc.sample(damaged, { numRuns: 20_000, seed: 2 }));
  if (!found) return context.skip(noPython());
  const differing = found.filter(({ ours, theirs }) => ours !== "invalid" && !isSame(ours, theirs));
  context.diagnostic(`${found.filter(({ ours }) => ours !== "invalid").length} not invalid`);
  assert.deepEqual(differing, []);
});

/** Where everything must run, it must be there. */
function noPython(): string {
  assert(process.env["CI"] !== "true", "there is no Python 3.11 here");
  return "there is no Python 3.11 here";
}

type Verdict = number | "naive" | "invalid";
type Compared = { readonly text: string; readonly ours: Verdict; readonly theirs: Verdict };

function compare(texts: readonly string[]): readonly Compared[] | undefined {
  try {
    const options = { encoding: "utf8", input: JSON.stringify(texts), maxBuffer: 2 ** 26 } as const;
    const theirs: readonly Verdict[] = JSON.parse(
      execFileSync("python3", ["-c", program], options),
    );
    assert.equal(theirs.length, texts.length);
    return texts.map((text, index) => ({
      text,
      ours: read(text),
      theirs: theirs[index] ?? "invalid",
    }));
  } catch (cause) {
    const isMissing = cause instanceof Error && ("status" in cause || "code" in cause);
    const isOld = isMissing && "status" in cause && cause.status === 3;
    const isAbsent = isMissing && "code" in cause && cause.code === "ENOENT";
    if (isOld || isAbsent) return undefined;
    throw cause;
  }
}

function read(text: string): Verdict {
  const { atMs, error } = parseTimestamp(text);
  return atMs ?? (error.startsWith("timestamp must include timezone") ? "naive" : "invalid");
}

/** A double holds a time of this size to the thirtieth part of a millisecond. */
function isSame(ours: Verdict, theirs: Verdict): boolean {
  if (typeof ours !== "number" || typeof theirs !== "number") return ours === theirs;
  return Math.abs(ours - theirs) < 0.07;
}

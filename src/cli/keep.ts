/** How much history is kept, as it is typed. */
import { type Keep, limits } from "../plane/index.ts";

const dayMs = 86_400_000;
const daysMax = 36_500;
/** An eighth of it is written between two snapshots: less would be nothing but snapshots. */
const bytesMin = 16_000_000;
const factors = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 } as const;

/** A refusal says what may be typed. */
export function parseKeep({
  days,
  bytes,
}: {
  readonly days: string | undefined;
  readonly bytes: string | undefined;
}): { readonly keep: Keep; readonly refusal?: never } | { readonly refusal: string } {
  const keep = {
    ms: days === undefined ? limits.keepMs : parseDays(days) * dayMs,
    bytes: bytes === undefined ? limits.keepBytes : parseBytes(bytes),
  };
  if (!(keep.ms >= dayMs && keep.ms <= daysMax * dayMs)) {
    return { refusal: `--keep-days is a number of days, 1 to ${daysMax}` };
  }
  if (!(keep.bytes >= bytesMin && Number.isSafeInteger(keep.bytes))) {
    return { refusal: "--keep-bytes is a number such as 500M, 4G or 1T, 16M at least" };
  }
  return { keep };
}

function parseDays(text: string): number {
  return /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
}

function parseBytes(text: string): number {
  const [, digits = "", unit = ""] = /^(\d{1,15})([kMGT]?)$/.exec(text) ?? [];
  if (digits === "") return Number.NaN;
  return Number(digits) * factors[unit as keyof typeof factors];
}

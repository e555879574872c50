/**
 * Ids as ARCP forms them (ARCP-1). Time and chance are arguments. Ids of others are opaque (ARCP-2).
 */
import { limits } from "./limits.ts";

/** Crockford's base 32: no I, L, O and U. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const timeMax = 2 ** 48 - 1;
const randomBytes = 10;

/** 48 bits of time and 80 of chance: ten bytes, or a number of which the lower 80 bits count. */
export function ulid(atMs: number, random: Uint8Array | bigint): string {
  return printTime(atMs) + printRandom(typeof random === "bigint" ? bytesOf(random) : random);
}

/** What mints ULIDs that never go back within this process, though the clock may. */
export function monotonicUlids(source: {
  readonly nowMs: () => number;
  /** Fills the bytes, as `crypto.getRandomValues` does. */
  readonly fill: (bytes: Uint8Array) => unknown;
}): () => string {
  const bytes = new Uint8Array(randomBytes);
  // For many ids at once: asking for each one's chance takes longer than all else about it.
  const chance = new Uint8Array(randomBytes * 64);
  let used = chance.length;
  let lastMs = -1;
  return () => {
    const nowMs = Math.trunc(source.nowMs());
    if (nowMs > lastMs) {
      lastMs = nowMs;
      if (used === chance.length) {
        source.fill(chance);
        used = 0;
      }
      bytes.set(chance.subarray(used, used + randomBytes));
      used += randomBytes;
    } else if (!increment(bytes)) {
      // 2^80 ids in a millisecond: nobody will see this, but it must not go back either.
      lastMs += 1;
    }
    return printTime(lastMs) + printRandom(bytes);
  };
}

export const idPrefixes = {
  envelope: "msg_",
  session: "sess_",
  job: "job_",
  result: "res_",
  credential: "cred_",
  nonce: "p_",
} as const;

export type IdKind = keyof typeof idPrefixes;

export function printId(kind: IdKind, bareUlid: string): string {
  return idPrefixes[kind] + bareUlid;
}

/** `rt_` and 32 bytes of chance in hex. */
export function printResumeToken(random: Uint8Array): string {
  if (random.length !== 32) throw new RangeError("a resume token has 32 random bytes");
  return `rt_${printHex(random)}`;
}

/** 16 bytes of chance. */
export function printTraceId(random: Uint8Array): string {
  if (random.length !== 16) throw new RangeError("a trace id has 16 bytes");
  const text = printHex(random);
  return isTraceId(text) ? text : "00000000000000000000000000000001";
}

/**
 * The id of a frame that has an `event_seq`, made of what is known of it ever after, so that a replay has
 * the id of the original (ARCP-64) though nobody kept it: the time of its entry, 40 bits of the session's
 * id, 40 bits of its number.
 */
export function deriveEventId(atMs: number, sessionRandom: string, eventSeq: number): string {
  return `msg_${printTime(atMs)}${sessionRandom}${printCount(eventSeq)}`;
}

/** The lower half of a session id's randomness: ids of one millisecond differ there, too. */
export function sessionRandomOf(sessionId: string): string {
  const random = sessionId.slice(-8);
  if (!/^[0-9A-HJKMNP-TV-Z]{8}$/.test(random)) throw new RangeError("not a session id of ours");
  return random;
}

const bareForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function isBareUlid(text: string): boolean {
  return bareForm.test(text);
}

/** Whether it has the form in which we mint ids of this kind. */
export function isMintedId(kind: IdKind, text: string): boolean {
  const prefix = idPrefixes[kind];
  return text.startsWith(prefix) && isBareUlid(text.slice(prefix.length));
}

/** Whether others may call something so. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= limits.idLengthMax;
}

const zeros = /^0+$/;
const traceForm = /^(?!0{32})[0-9a-f]{32}$/;

export function isTraceId(text: string): boolean {
  return traceForm.test(text);
}

export type TraceContext = { readonly traceId: string; readonly parentSpanId?: string };

/** Later versions may have more fields behind the flags. */
const traceparent = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** Of 32 hex digits or a traceparent with whatever flags (ARCP-10); anything else is as good as nothing. */
export function traceContextFrom(text: string): TraceContext | undefined {
  if (text.length === 32) return isTraceId(text) ? { traceId: text } : undefined;
  const [, traceId = "", parentSpanId = ""] =
    text.length <= limits.idLengthMax ? (traceparent.exec(text) ?? []) : [];
  return isTraceId(traceId) && !zeros.test(parentSpanId) ? { traceId, parentSpanId } : undefined;
}

export function traceIdFrom(text: string): string | undefined {
  return traceContextFrom(text)?.traceId;
}

/** Events come in bursts, and those of one millisecond share this part. */
let lastTime: { readonly atMs: number; readonly text: string } = { atMs: Number.NaN, text: "" };

function printTime(atMs: number): string {
  if (atMs === lastTime.atMs) return lastTime.text;
  if (!(atMs >= 0 && atMs <= timeMax)) throw new RangeError(`not a time for a ULID: ${atMs}`);
  const ms = Math.trunc(atMs);
  const text = printDigits(Math.floor(ms / 2 ** 30), 4) + printDigits(ms % 2 ** 30, 6);
  lastTime = { atMs, text };
  return text;
}

/** 40 bits. Numbers beyond would need a session to last for thousands of years. */
function printCount(count: number): string {
  return printDigits(Math.floor(count / 2 ** 20) % 2 ** 20, 4) + printDigits(count % 2 ** 20, 4);
}

function printRandom(bytes: Uint8Array): string {
  if (bytes.length !== randomBytes) throw new RangeError("a ULID has ten random bytes");
  let text = "";
  // Five bytes are eight digits: 20 bits and 20 bits.
  for (let at = 0; at < randomBytes; at += 5) {
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = bytes.subarray(at, at + 5);
    text += printDigits((first << 12) | (second << 4) | (third >> 4), 4);
    text += printDigits(((third & 15) << 16) | (fourth << 8) | fifth, 4);
  }
  return text;
}

/** Two digits at a time: every event has an id, and this halves what it costs. */
const pairs: readonly string[] = Array.from(
  { length: 1_024 },
  (_, value) => `${alphabet[value >> 5]}${alphabet[value & 31]}`,
);

/** An even number of digits, at most 6: bit operators know no more. */
function printDigits(value: number, digits: number): string {
  let text = "";
  for (let shift = (digits - 2) * 5; shift >= 0; shift -= 10) {
    text += pairs[(value >> shift) & 1_023] ?? "";
  }
  return text;
}

function bytesOf(random: bigint): Uint8Array {
  const bytes = new Uint8Array(randomBytes);
  let rest = random;
  for (let at = randomBytes - 1; at >= 0; at -= 1) {
    bytes[at] = Number(rest & 255n);
    rest >>= 8n;
  }
  return bytes;
}

/** Whether there was a larger one. */
function increment(bytes: Uint8Array): boolean {
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    const next = ((bytes[at] ?? 0) + 1) & 255;
    bytes[at] = next;
    if (next !== 0) return true;
  }
  return false;
}

function printHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

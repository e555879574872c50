/**
 * The one place for how the published Python SDK differs. Its client checks every frame strictly and stops
 * reading at the first that it does not like; its runtime has forms of its own. A session speaks a dialect
 * from one hello to the next.
 */
import { type ChunkSize, usualChunk } from "../work/chunks.ts";
import type { Envelope } from "./envelope.ts";
import type { ErrorCode } from "./errors.ts";
import { isObject, type JsonObject } from "./fields.ts";
import { isBareUlid } from "./ids.ts";
import { type Amount, printAmounts } from "./parts.ts";

export type Dialect = "spec" | "python";
export type DialectOption = Dialect | "auto";

export type DialectTraits = {
  /** What a submit that is refused is answered with (PYR-7). */
  readonly rejectWith: "job.error" | "session.error";
  /** Frames of a job wait this long behind its `job.subscribed`, or that client drops them (PYR-14). */
  readonly holdAfterSubscribedMs: number;
  /** The longest frame that is read at all, envelope included; no bound of the peer's own: undefined (PYR-18). */
  readonly messageBytesMax: number | undefined;
  /** The longest line on stdio, without its end. */
  readonly lineBytesMax: number | undefined;
  /** How long a result chunk may be, in messages and on lines: see `splitText`. */
  readonly chunk: ChunkSize;
  readonly lineChunk: ChunkSize;
  /**
   * How long credentials may take: that client waits 5 s for `job.accepted`, and takes a later one for the answer
   * to its next submit (PYR-4).
   */
  readonly issueWithinMs: number | undefined;
};

const messageBytesMax = 1_048_576;
const lineBytesMax = 65_536;
/** A chunk on such a line: base64 and escapes take their share, and the rest of the frame up to 4,096 bytes. */
const lineChunk: ChunkSize = { bytesMax: 32_768, printedBytesMax: 61_440 };

/** What Python's SDK reads at most. */
export const pythonFrames: { readonly messageBytesMax: number; readonly lineBytesMax: number } = {
  messageBytesMax,
  lineBytesMax,
};

export const dialects: Readonly<Record<Dialect, DialectTraits>> = {
  spec: {
    rejectWith: "job.error",
    holdAfterSubscribedMs: 0,
    messageBytesMax: undefined,
    lineBytesMax: undefined,
    chunk: usualChunk,
    lineChunk: usualChunk,
    issueWithinMs: undefined,
  },
  python: {
    rejectWith: "session.error",
    holdAfterSubscribedMs: 25,
    messageBytesMax,
    lineBytesMax,
    chunk: usualChunk,
    lineChunk,
    issueWithinMs: 4_000,
  },
};

/** Only that client offers a list of agents, and has ids without a prefix (PYR-1). */
export function dialectOfHello(hello: Envelope, option: DialectOption = "auto"): Dialect {
  if (option !== "auto") return option;
  const { capabilities } = hello.payload;
  const offersAgents = isObject(capabilities) && Array.isArray(capabilities["agents"]);
  return offersAgents && isBareUlid(hello.id) ? "python" : "spec";
}

/** Only that runtime has ids without a prefix and tokens with this one (PYC-1). */
export function dialectOfWelcome(welcome: Envelope, option: DialectOption = "auto"): Dialect {
  if (option !== "auto") return option;
  const token = welcome.payload["resume_token"];
  const isItsToken = typeof token === "string" && token.startsWith("rtk_");
  return isItsToken && isBareUlid(welcome.id) ? "python" : "spec";
}

/** Of `job.accepted`: numbers, or `"USD:2.00"` with its decimals as given (PYR-5). */
export function printBudget(budget: readonly Amount[], dialect: Dialect): JsonObject {
  if (dialect === "spec") return printAmounts(budget);
  return Object.fromEntries(
    budget.map(({ currency, text }) => [currency, `${currency}:${text}`] as const),
  );
}

/** To that client every `job.error` is an error; anything else there and its caller hangs (PYR-9). */
export function printFinalStatus<Status extends string>(
  status: Status,
  dialect: Dialect,
): Status | "error" {
  return dialect === "python" ? "error" : status;
}

export type RejectionOptions = {
  /** For all sessions, whatever they speak (ARCP-92). */
  readonly rejectWith?: "job.error" | "session.error" | undefined;
  /** The draft's figure answers with a session error (ARCP-91). */
  readonly versionErrorAs?: "job.error" | "session.error" | undefined;
};

/** What a submit that cannot be accepted is answered with. */
export function rejectionType(
  code: ErrorCode,
  dialect: Dialect,
  { rejectWith, versionErrorAs = "session.error" }: RejectionOptions = {},
): "job.error" | "session.error" {
  const usual = rejectWith ?? dialects[dialect].rejectWith;
  return code === "AGENT_VERSION_NOT_AVAILABLE" && usual === "job.error" ? versionErrorAs : usual;
}

/** What can go wrong, by code. A code is API; outside of this package, go by `code` or `isArcpError`. */
import { cutWords, isObject, type JsonObject } from "./fields.ts";
import { limits } from "./limits.ts";

export type ErrorCode =
  | "PERMISSION_DENIED"
  | "LEASE_SUBSET_VIOLATION"
  | "JOB_NOT_FOUND"
  | "DUPLICATE_KEY"
  | "AGENT_NOT_AVAILABLE"
  | "AGENT_VERSION_NOT_AVAILABLE"
  | "CANCELLED"
  | "TIMEOUT"
  | "RESUME_WINDOW_EXPIRED"
  | "HEARTBEAT_LOST"
  | "LEASE_EXPIRED"
  | "BUDGET_EXHAUSTED"
  | "INVALID_REQUEST"
  | "UNAUTHENTICATED"
  | "INTERNAL_ERROR";

/** Whether the same call may succeed later; "always" and "never" whatever anyone says (ARCP-186). */
export type Retryable = "by default" | "not by default" | "always" | "never";

export const errorCodes: Readonly<Record<ErrorCode, Retryable>> = {
  PERMISSION_DENIED: "not by default",
  LEASE_SUBSET_VIOLATION: "not by default",
  JOB_NOT_FOUND: "not by default",
  DUPLICATE_KEY: "not by default",
  AGENT_NOT_AVAILABLE: "not by default",
  AGENT_VERSION_NOT_AVAILABLE: "not by default",
  CANCELLED: "not by default",
  TIMEOUT: "by default",
  RESUME_WINDOW_EXPIRED: "not by default",
  HEARTBEAT_LOST: "not by default",
  LEASE_EXPIRED: "never",
  BUDGET_EXHAUSTED: "never",
  INVALID_REQUEST: "not by default",
  UNAUTHENTICATED: "not by default",
  INTERNAL_ERROR: "always",
};

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}

/** What a received error says of itself may be a code that we do not know; it is kept (ARCP-187). */
export type ReceivedCode = ErrorCode | (string & Record<never, never>);

export function isRetryable(code: ReceivedCode, claimed?: boolean): boolean {
  if (!isErrorCode(code)) return claimed ?? false;
  switch (errorCodes[code]) {
    case "always":
      return true;
    case "never":
      return false;
    case "by default":
      return claimed ?? true;
    case "not by default":
      return claimed ?? false;
  }
}

/** An error as it is sent. */
export type ErrorPayload = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: JsonObject;
};

/** An error as it was received. */
export type ReceivedError = {
  readonly code: ReceivedCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: JsonObject;
};

export type ErrorDetail = {
  readonly retryable?: boolean | undefined;
  readonly details?: JsonObject | undefined;
};

/** Strict: one of the known codes, words that are not empty, and `retryable` as the code allows. */
export function printError(error: {
  readonly code: ReceivedCode;
  readonly message: string;
  readonly retryable?: boolean | undefined;
  readonly details?: JsonObject | undefined;
}): ErrorPayload {
  const { code, retryable, details } = error;
  const message = cutWords(error.message) || code;
  if (isErrorCode(code)) {
    const payload = { code, message, retryable: isRetryable(code, retryable) };
    return details ? { ...payload, details } : payload;
  }
  // Somebody else's code, on its way through: it may not be sent as a code, but need not be lost.
  return {
    code: "INTERNAL_ERROR",
    message: message || "INTERNAL_ERROR",
    retryable: true,
    details: { ...details, original_code: code },
  };
}

/** Of whatever was received; what is missing or unusable has its default (ARCP-22). */
export function readError(payload: unknown): ReceivedError {
  if (!isObject(payload))
    return printError({ code: "INTERNAL_ERROR", message: saidPlainly(payload) });
  const { code: given, message, retryable, details } = payload;
  const code = typeof given === "string" && isCodeLike(given) ? given : "INTERNAL_ERROR";
  const claimed = typeof retryable === "boolean" ? retryable : undefined;
  return {
    code,
    message: typeof message === "string" && message !== "" ? cutWords(message) : code,
    retryable: isRetryable(code, claimed),
    ...(isObject(details) && { details }),
  };
}

/** The same in every copy of this package. */
const brand = Symbol.for("arcp.error");

export class ArcpError extends Error {
  override readonly name: string = "ArcpError";
  readonly code: ReceivedCode;
  /** Whether the same call may succeed later, with nothing else changed. */
  readonly retryable: boolean;
  readonly details: JsonObject | undefined;

  static {
    Object.defineProperty(ArcpError.prototype, brand, { value: true });
    recogniseBy(ArcpError, isArcpError);
  }

  constructor(code: ReceivedCode, message: string, detail: ErrorDetail & ErrorOptions = {}) {
    super(message, "cause" in detail ? { cause: detail.cause } : undefined);
    this.code = code;
    this.retryable = isRetryable(code, detail.retryable);
    this.details = detail.details;
  }

  toPayload(): ErrorPayload {
    return printError(this);
  }

  /** Of the class that its code has. Never throws. */
  static fromPayload(payload: unknown): ArcpError {
    const { code, message, retryable, details } = readError(payload);
    const detail = { retryable, details };
    if (!isErrorCode(code)) return new ArcpError(code, message, detail);
    return new errorClasses[code](message, detail);
  }
}

export function isArcpError(value: unknown): value is ArcpError {
  return typeof value === "object" && value !== null && brand in value;
}

export type ArcpErrorClass = new (
  message: string,
  detail?: ErrorDetail & ErrorOptions,
) => ArcpError;

/** A class for each code, for those who like to catch by class. All of them are `ArcpError`s. */
export const errorClasses: Readonly<Record<ErrorCode, ArcpErrorClass>> = {
  PERMISSION_DENIED: errorClass("PERMISSION_DENIED"),
  LEASE_SUBSET_VIOLATION: errorClass("LEASE_SUBSET_VIOLATION"),
  JOB_NOT_FOUND: errorClass("JOB_NOT_FOUND"),
  DUPLICATE_KEY: errorClass("DUPLICATE_KEY"),
  AGENT_NOT_AVAILABLE: errorClass("AGENT_NOT_AVAILABLE"),
  AGENT_VERSION_NOT_AVAILABLE: errorClass("AGENT_VERSION_NOT_AVAILABLE"),
  CANCELLED: errorClass("CANCELLED"),
  TIMEOUT: errorClass("TIMEOUT"),
  RESUME_WINDOW_EXPIRED: errorClass("RESUME_WINDOW_EXPIRED"),
  HEARTBEAT_LOST: errorClass("HEARTBEAT_LOST"),
  LEASE_EXPIRED: errorClass("LEASE_EXPIRED"),
  BUDGET_EXHAUSTED: errorClass("BUDGET_EXHAUSTED"),
  INVALID_REQUEST: errorClass("INVALID_REQUEST"),
  UNAUTHENTICATED: errorClass("UNAUTHENTICATED"),
  INTERNAL_ERROR: errorClass("INTERNAL_ERROR"),
};

/** `DUPLICATE_KEY` is a `DuplicateKeyError`, `INTERNAL_ERROR` an `InternalError`. */
function errorClass(code: ErrorCode): ArcpErrorClass {
  const name = code
    .replace(/(?:_ERROR)?$/, "_ERROR")
    .replace(/_?(.)([^_]*)/g, (_, first: string, rest: string) => first + rest.toLowerCase());
  const made = class extends ArcpError {
    override readonly name: string = name;

    constructor(message: string, detail?: ErrorDetail & ErrorOptions) {
      super(code, message, detail);
    }
  };
  recogniseBy(made, (value) => isArcpError(value) && value.code === code);
  return made;
}

/**
 * Two copies of a package in one program are common, and `instanceof` means the errors of both (ARCP-188).
 * A class that someone derives is asked for in the usual way.
 */
function recogniseBy(recognised: object, isOne: (value: unknown) => boolean): void {
  Object.defineProperty(recognised, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this === recognised) return isOne(value);
      return Function.prototype[Symbol.hasInstance].call(this, value);
    },
  });
}

function isCodeLike(text: string): boolean {
  return text !== "" && text.length <= limits.nameLengthMax;
}

/** Some tools say what went wrong in one text. */
function saidPlainly(payload: unknown): string {
  return typeof payload === "string" && payload !== "" ? payload : "INTERNAL_ERROR";
}

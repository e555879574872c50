/** The calls of the page. A write carries the key of this page beside the cookie, which scripts cannot read. */
import {
  type Answer,
  type ErrorBody,
  type ErrorCode,
  eventsPath,
  type Input,
  type OperationName,
  request,
} from "../../src/wire/api/index.ts";
import { limits } from "./limits.ts";

export type {
  Agent,
  AgentDetail,
  AgentSort,
  Answer,
  Attention,
  Election,
  Entry,
  Input,
  Lease,
  LeaseSort,
  Liveness,
  LogPage,
  OperationName,
  Overview,
  Page,
  Policy,
  PolicyCheck,
  Task,
  TaskDetail,
  TaskSort,
  TaskState,
  Timeline,
  Who,
} from "../../src/wire/api/index.ts";

/** The daemon said no, or could not be asked. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: ErrorCode | "unreachable";

  constructor(code: ErrorCode | "unreachable", message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const pageKeyName = "tipstaff-page-key";

export function keepPageKey(key: string): void {
  localStorage.setItem(pageKeyName, key);
}

/** Rejects with a `RefusedError`, or with the signal's reason. */
export async function call<Name extends OperationName>(
  name: Name,
  input: Input<Name>,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Answer<Name>> {
  const { method, path, body } = request(name, input);
  const headers = new Headers();
  const pageKey = localStorage.getItem(pageKeyName);
  if (pageKey !== null) headers.set("Tipstaff-Page", pageKey);
  if (body) headers.set("Content-Type", "application/json");
  const inTime = AbortSignal.timeout(limits.answerMs);
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(path, {
      method,
      headers,
      signal: signal ? AbortSignal.any([signal, inTime]) : inTime,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    answer = text === "" ? {} : JSON.parse(text);
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw new RefusedError("unreachable", "the daemon does not answer", { cause });
  }
  if (response.ok) return answer as Answer<Name>;
  const { error } = answer as Partial<ErrorBody>;
  throw new RefusedError(error?.code ?? "internal", error?.message ?? response.statusText);
}

export function eventsAddress(after: number): string {
  return `${eventsPath}?after=${after}`;
}

/** Why something was refused, in words. */
export function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return "something went wrong";
  if (fault instanceof RefusedError && fault.code === "token_required") {
    return "This page may only read. `tipstaff dashboard` prints a link that lets it act.";
  }
  return `${fault.message.charAt(0).toUpperCase()}${fault.message.slice(1)}.`.replace(/\.\.$/, ".");
}

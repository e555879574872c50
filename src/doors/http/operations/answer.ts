/** Carries out a command and answers with what it left behind, or says why not. */
import type { Command, Event, Refusal, State } from "../../../core/index.ts";
import type { Caller, Outcome, Plane } from "../../../plane/index.ts";
import type { ErrorCode } from "../../../wire/api/index.ts";
import { encodeLease } from "../encode.ts";
import type { ApiRefusal, Call, Reply } from "../operations.ts";
import { encodeQuestion } from "../questions.ts";

type Look<Value> = (state: State, events: readonly Event[]) => Value | undefined;

export async function submit<Value>(
  plane: Plane,
  command: Command,
  caller: Caller,
  look: Look<Value>,
): Promise<Reply<Value>> {
  return answer(plane, await plane.submit(command, caller, look));
}

/** A refusal with what it needs to be understood. What a command has just made is there to be looked at. */
export async function answer<Value>(
  plane: Plane,
  { value, refusal }: Outcome<Value | undefined>,
): Promise<Reply<Value>> {
  if (!refusal) {
    if (value === undefined) throw new Error("an accepted command left nothing to look at");
    return { value };
  }
  const { code, message, lease, question } = refusal;
  if (code === "no_task") throw new Error("no_task is no error");
  if (question) {
    const ended = await plane.read((state) => encodeQuestion(state, question));
    return { refusal: { code, message, question: ended } };
  }
  if (!lease) return refused(code, message);
  const inTheWay = await plane.read((state) => encodeLease(state, lease));
  return { refusal: { code, message, lease: inTheWay } };
}

/**
 * Stands in line for as long as the caller wants and is there; then it is told what is so now. Operations that wait
 * need the token, so the caller is trusted.
 */
export async function waited<Value>(
  plane: Plane,
  command: Parameters<Plane["wait"]>[0],
  options: { readonly call: Call; readonly waitMs: number; readonly look: Look<Value> },
): Promise<Outcome<Value | undefined>> {
  const { call, waitMs, look } = options;
  if (waitMs === 0) return plane.submit(command, call.caller, look);
  const patience = AbortSignal.timeout(waitMs);
  const signal = AbortSignal.any([call.signal, call.closing, patience]);
  try {
    return await plane.wait(command, call.caller, look, { signal });
  } catch (reason) {
    if (!signal.aborted) throw reason;
    if (call.signal.aborted || call.closing.aborted) return { refusal: closing };
    return plane.submit(command, call.caller, look);
  }
}

const closing: Refusal = { code: "unavailable", message: "the daemon is shutting down; ask again" };

export function refused(code: ErrorCode, message: string): { readonly refusal: ApiRefusal } {
  return { refusal: { code, message } };
}

export function invalid(message: string): { readonly refusal: ApiRefusal } {
  return refused("invalid_argument", message);
}

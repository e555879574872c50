/** How a command ends that cannot do what it was asked: what happened, why, what to do; and its exit code. */
import { printable, say } from "../terminal/index.ts";
import type { ErrorCode } from "../wire/api/index.ts";
import { exits } from "./exits.ts";

/**
 * An error from the daemon keeps the daemon's code. `not_running`: nobody listens where a daemon would. `unreachable`: no
 * reply, or the connection was lost. `not_ours`: another program answers at that address. `mistake`: usage error. `no`:
 * the command is valid, but cannot be done, or its answer is no (exit code 1).
 */
export type FailureCode = ErrorCode | "not_running" | "unreachable" | "not_ours" | "mistake" | "no";

export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  /** Why, and what to do about it, one line each. */
  readonly advice: readonly string[];

  constructor(code: FailureCode, message: string, advice: readonly string[] = []) {
    super(message);
    this.code = code;
    this.advice = advice;
  }
}

/** Something was typed that cannot be meant. */
export function mistake(message: string, ...advice: readonly string[]): Failure {
  return new Failure("mistake", message, advice);
}

/** The answer is no. */
export function no(message: string, ...advice: readonly string[]): Failure {
  return new Failure("no", message, advice);
}

/** Whether no daemon runs where one was looked for. Otherwise one runs, but refuses or does not answer. */
export function isDaemonDown({ code }: Failure): boolean {
  return code === "not_running" || code === "not_ours";
}

/** Says it on standard error, and answers the exit code. What is no failure is a fault, and goes on. */
export function explain(error: unknown, program: string): number {
  if (!isFailure(error)) throw error;
  const lines = [`${program}: ${error.message}`, ...error.advice].map(printable);
  say(`${lines.join("\n  ")}\n`);
  switch (error.code) {
    case "not_running":
    case "unreachable":
    case "not_ours":
      return exits.unreachable;
    case "mistake":
    case "invalid_argument":
    case "answer_invalid":
      return exits.usage;
    default:
      return exits.no;
  }
}

/** By its name: commands that are bundled apart bring a class of their own along. */
function isFailure(error: unknown): error is Failure {
  return error instanceof Error && error.name === "Failure" && "code" in error && "advice" in error;
}

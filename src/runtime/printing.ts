/** What agents make up, as JSON that can be kept, and told to anybody: agents are programs of anybody's. */
import { type JsonText, type Outcome, printJson } from "../core/index.ts";
import { isTooDeep } from "../wire/work/index.ts";
import { WorkError, wordsOf } from "./errors.ts";
import { limits } from "./limits.ts";

/** Returns the value as JSON. Throws `invalid_argument` if it is not valid. */
export function printBody(value: unknown, name = "this"): JsonText {
  const text = tryToPrint(value);
  if (text === undefined) throw invalid(`${name} is nothing that JSON can carry`);
  if (isTooLong(text)) throw invalid(`${name} is too large for one message`);
  if (isTooDeep(value, text.length)) throw invalid(`${name} is nested too deep`);
  return text;
}

/** What a handler returned. Throws what its job fails with. */
export function printResult(value: unknown): string {
  try {
    return printBody(value, "the result");
  } catch (error) {
    throw new Error(wordsOf(error, "it cannot be told"));
  }
}

/** How an execution ended, in words and numbers that every reader can take. */
export function tellable(outcome: Outcome): Outcome {
  if (outcome.status !== "success") {
    const { details, message, ...failure } = outcome.failure;
    const isKept = details !== undefined && details.length <= limits.detailsLengthMax;
    const words = message.slice(0, limits.wordsLengthMax).toWellFormed();
    return { ...outcome, failure: { ...failure, message: words, ...(isKept && { details }) } };
  }
  const { result, summary } = outcome;
  if (result !== undefined && isTooLong(result)) {
    const message = "the result is too large for one message; stream it";
    return { status: "error", failure: { code: "internal_error", message, isRetryable: false } };
  }
  if (summary === undefined || summary.length <= limits.wordsLengthMax) return outcome;
  return { ...outcome, summary: summary.slice(0, limits.wordsLengthMax).toWellFormed() };
}

/** No character takes more than three bytes. */
function isTooLong(text: string): boolean {
  const { bodyBytesMax } = limits;
  return text.length * 3 > bodyBytesMax && Buffer.byteLength(text) > bodyBytesMax;
}

function tryToPrint(value: unknown): JsonText | undefined {
  try {
    return printJson(value);
  } catch {
    return undefined;
  }
}

function invalid(message: string): WorkError {
  return new WorkError("invalid_argument", message);
}

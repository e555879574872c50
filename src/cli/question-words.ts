/** The texts that describe an open question in every command that lists questions. */
import { printable, say, widthOf } from "../terminal/index.ts";
import { promptText, type Question } from "../wire/api/index.ts";
import { oneLine } from "./job-words.ts";
import { limits } from "./limits.ts";
import { schemaText } from "./schema-words.ts";
import { forHowLong } from "./times.ts";

/**
 * The command that answers the question, with a placeholder for the answer: `tipstaff answer 3f2a1c <choice>`. If the
 * choices fit into so many cells, they are the placeholder: `tipstaff answer 3f2a1c <pay now | wait>`.
 */
export function commandFor(
  question: Question,
  open: readonly Question[],
  { cellsMax = 0 }: { readonly cellsMax?: number } = {},
): string {
  const command = `tipstaff answer ${shortIdOf(question, open)}`;
  const whole = `${command} <${choicesOf(question)}>`;
  if (question.choices && widthOf(whole) <= cellsMax) return whole;
  return `${command} <${answerWordOf(question)}>`;
}

/** The shortest end of its id that no other open question shares; among too many questions, its id. */
export function shortIdOf({ id }: Question, open: readonly Question[]): string {
  if (open.length > limits.shortIdsMax) return id;
  for (let length: number = limits.shortIdLength; length < id.length; length++) {
    const end = id.slice(-length);
    const isShared = open.some((other) => other.id !== id && isNamedBy(other, end));
    if (!isShared) return end;
  }
  return id;
}

/** Whether `part` is the beginning or the end of the question's id. */
export function isNamedBy({ id }: Pick<Question, "id">, part: string): boolean {
  const whole = id.toLowerCase();
  const wanted = part.toLowerCase();
  const isPart = whole.startsWith(wanted) || whole.endsWith(wanted);
  return wanted.length >= limits.idPartLengthMin && isPart;
}

/** What to type: `choice`, `yes or no`, `number`, `text` or `JSON`. */
export function answerWordOf({
  kind,
  choices,
  schema,
}: Pick<Question, "kind" | "choices" | "schema">): string {
  if (kind === "scope") return "yes or no";
  if (choices) return "choice";
  if (schema === undefined) return "text";
  const type = typeof schema === "object" && schema !== null && "type" in schema && schema.type;
  switch (type) {
    case "boolean":
      return "true or false";
    case "number":
    case "integer":
      return "number";
    case "string":
      return "text";
    default:
      return "JSON";
  }
}

/** The prompt on one line. A request for access begins with the files that it is for. */
export function promptOf(question: Question): string {
  return oneLine(promptText(question));
}

/** `pay now | wait`, `JSON object with parts (whole number, 1 to 12)`; empty if the placeholder says as much. */
export function choicesOf({ choices, schema }: Question): string {
  if (choices) return choices.map(oneLine).join(" | ");
  if (schema === undefined) return "";
  const text = oneLine(schemaText(schema));
  if (["text", "number", "true or false", "any JSON"].includes(text)) return "";
  return /^(object|list)/.test(text) ? `JSON ${text}` : text;
}

/** `closes in 40 s`; empty without a deadline. */
export function deadlineOf({ expiresAtMs }: Pick<Question, "expiresAtMs">, nowMs: number): string {
  return expiresAtMs === undefined ? "" : `closes in ${forHowLong(expiresAtMs - nowMs)}`;
}

/** Why a daemon that runs did not give what was to be listed. */
export type Unread = {
  readonly agentsError?: string | undefined;
  readonly questionsError?: string | undefined;
  readonly jobsError?: string | undefined;
};

/** `agents and questions could not be read: …`, a line for each reason; empty if everything was read. */
export function unreadText({ agentsError, questionsError, jobsError }: Unread): string {
  const errors = { agents: agentsError, questions: questionsError, jobs: jobsError };
  const unread = Object.entries(errors).filter(([, reason]) => reason !== undefined);
  const lines = [...Map.groupBy(unread, ([, reason = ""]) => reason)].map(([reason, those]) => {
    const names = those.map(([name]) => name).join(", ");
    return `${names.replace(/, (?=\w+$)/, " and ")} could not be read: ${printable(reason)}\n`;
  });
  return lines.join("");
}

/** Says each reason once, until everything could be read again. */
export class UnreadTeller {
  readonly #tell: (text: string) => void;
  #told = "";

  constructor(tell: (text: string) => void = say) {
    this.#tell = tell;
  }

  look(unread: Unread): void {
    const text = unreadText(unread);
    if (text !== "" && text !== this.#told) this.#tell(text);
    this.#told = text;
  }
}

/** Whether `word` is the id or the name of the job or agent that asks. */
export function isAskedBy({ asker, askerName }: Question, word: string): boolean {
  return asker.id === word || askerName === word;
}

/** `tipstaff answer`: answers a question that a job or an agent asks. */
import { userInfo } from "node:os";
import { printable } from "../terminal/index.ts";
import { problemOfAnswer } from "../wire/answer-schema/index.ts";
import type { Question } from "../wire/api/index.ts";
import { call } from "./daemon.ts";
import { mistake, no } from "./failure.ts";
import { oneLine } from "./job-words.ts";
import { limits } from "./limits.ts";
import { printOne } from "./lists.ts";
import {
  answerWordOf,
  choicesOf,
  deadlineOf,
  isAskedBy,
  isNamedBy,
  promptOf,
} from "./question-words.ts";
import { readOpenQuestions } from "./read-pages.ts";
import { namesText, schemaText } from "./schema-words.ts";
import type { Values } from "./table.ts";
import { ago, countOf } from "./times.ts";

export async function answer(values: Values, words: readonly string[]): Promise<number> {
  const [word = "", ...rest] = words;
  const question = await findQuestion(values, word);
  if (rest.length === 0) {
    throw mistake(`no answer was given; ${expectedBy(question)}`, promptOf(question));
  }
  const typed = rest.join(" ");
  const reply = readAnswer(question, typed);
  const by = userName();
  const { id: questionId } = question;
  const answered = await call(values, "answerQuestion", { questionId, answer: reply, by });
  const said = typeof reply === "string" ? reply : typed;
  return printOne(values, answered, () => {
    const who = printable(question.askerName);
    return `answered ${printable(questionId)} of ${who}: ${printable(oneLine(said))}\n`;
  });
}

/** Containers often run programs under a user id that has no name. Exported for its test. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.()}`;
  }
}

/**
 * The open question that `word` names: by its id, a part of its id, or the id or name of its asker. For a closed
 * question it throws a failure that says who answered, or why nobody did.
 */
async function findQuestion(values: Values, word: string): Promise<Question> {
  const { rows, nowMs } = await readOpenQuestions((input) => call(values, "listQuestions", input));
  const meant = questionsMeant(rows, word);
  return onlyOne(meant, { word, nowMs }) ?? (await refuseClosed(values, word));
}

/** Throws. The daemon lists closed questions of the last day and of jobs that it remembers, newest first. */
async function refuseClosed(values: Values, word: string): Promise<never> {
  const asked = { state: ["answered", "closed"], limit: limits.pageMax } as const;
  const { rows, nowMs } = await call(values, "listQuestions", asked);
  const named = rows.filter((question) => isNamedBy(question, word));
  const byId = onlyOne(named, { word, nowMs });
  if (byId) throw no(`this question was ${endOf(byId, nowMs)}`);
  const last = rows.find((question) => isAskedBy(question, word));
  if (last)
    throw no(`${printable(word)} has no open question; its last one was ${endOf(last, nowMs)}`);
  throw no(`no question matches ${printable(word)}`, "tipstaff needs lists the open questions");
}

/** Undefined if `meant` is empty. Throws if it has more than one question. Exported for its test. */
export function onlyOne(
  meant: readonly Question[],
  { word, nowMs }: { readonly word: string; readonly nowMs: number },
): Question | undefined {
  const [question, ...others] = meant;
  if (others.length === 0) return question;
  throw no(
    `${countOf(meant.length, "question")} match ${printable(word)}; give the id of one`,
    ...meant.slice(0, limits.namesakesShownMax).map((one) => candidateLine(one, nowMs)),
  );
}

/** `q_0123456789ab  job 9f41c2  4 min ago  Pay 5 EUR?  closes in 40 s`. */
function candidateLine(question: Question, nowMs: number): string {
  const { id, asker, state, askedAtMs } = question;
  return [
    id,
    `${asker.kind} ${asker.id.slice(-limits.shortIdLength)}`,
    ago(askedAtMs, nowMs),
    promptOf(question),
    state === "open" ? deadlineOf(question, nowMs) : "",
  ]
    .filter((part) => part !== "")
    .map(printable)
    .join("  ");
}

/** What the answer must be. */
function expectedBy(question: Question): string {
  const choices = choicesOf(question);
  return printable(`answer with <${choices === "" ? answerWordOf(question) : choices}>`);
}

function endOf({ state, answeredBy, reason, closedAtMs }: Question, nowMs: number): string {
  const when = closedAtMs === undefined ? "" : ` ${ago(closedAtMs, nowMs)}`;
  if (state === "answered") return `answered by ${printable(answeredBy ?? "somebody")}${when}`;
  return `closed${when}: ${(reason ?? "").replaceAll("_", " ")}`;
}

/** Exported for its test. */
export function questionsMeant(open: readonly Question[], word: string): readonly Question[] {
  const exact = open.filter((one) => one.id === word || isAskedBy(one, word));
  return exact.length > 0 ? exact : open.filter((one) => isNamedBy(one, word));
}

/** Converts the typed text to the kind of answer that the question expects. The daemon checks it against the schema. */
export function readAnswer(
  { choices, schema, kind }: Pick<Question, "choices" | "schema" | "kind">,
  text: string,
): unknown {
  if (kind === "scope") {
    if (/^(y|yes)$/i.test(text)) return { granted: true };
    if (/^(n|no)$/i.test(text)) return { granted: false };
    throw mistake("this is a request for access: answer yes or no");
  }
  if (choices) {
    const chosen = choices.find((one) => one === text);
    const alike = choices.filter((one) => one.toLowerCase() === text.toLowerCase());
    if (chosen === undefined && alike.length !== 1) {
      throw mistake(`answer one of: ${choices.map(printable).join(", ")}`);
    }
    return chosen ?? alike[0];
  }
  if (schema === undefined) return text;
  const json = parseJson(text);
  const isText = namesText(schema);
  // `42` may be meant as a number or as a text. If the schema allows neither, the daemon says why.
  if (json && (!isText || problemOfAnswer(schema, json.value) === undefined)) return json.value;
  if (isText) return text;
  throw mistake(`the answer must be JSON: ${printable(schemaText(schema))}`);
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

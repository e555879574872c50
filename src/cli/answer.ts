/** `tipstaff answer`: answers a question that a job or an agent asks. */
import { userInfo } from "node:os";
import { printable } from "../terminal/index.ts";
import type { Question } from "../wire/api/index.ts";
import { call } from "./daemon.ts";
import { mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { printOne } from "./lists.ts";
import type { Values } from "./table.ts";
import { ago, countOf } from "./times.ts";

export async function answer(values: Values, words: readonly string[]): Promise<number> {
  const [word = "", ...rest] = words;
  const question = await findQuestion(values, word);
  const reply = readAnswer(question, rest.join(" "));
  const by = userInfo().username;
  const { id: questionId } = question;
  const answered = await call(values, "answerQuestion", { questionId, answer: reply, by });
  return printOne(values, answered, () => `answered ${printable(question.askerName)}\n`);
}

/** An open one by a part of its id or the name of its asker; a closed one by its whole id, to say who answered it. */
async function findQuestion(values: Values, word: string): Promise<Question> {
  const asked = { state: ["open"], limit: limits.pageMax } as const;
  const { rows, nowMs } = await call(values, "listQuestions", asked);
  const meant = questionsMeant(rows, word);
  const [question, ...others] = meant;
  if (question && others.length === 0) return question;
  if (!question) {
    if (!/^\S+$/.test(word)) throw mistake(`${printable(word)} is not the id of a question`);
    const known = await call(values, "getQuestion", { questionId: word });
    throw no(`this question is ${endOf(known, nowMs)}`);
  }
  throw no(
    `${printable(word)} is ${countOf(meant.length, "question")}; give the id of one`,
    ...meant
      .slice(0, limits.namesakesShownMax)
      .map(({ id, prompt }) => `${printable(id)}  ${printable(prompt)}`),
  );
}

function endOf({ state, answeredBy, reason, closedAtMs }: Question, nowMs: number): string {
  const when = closedAtMs === undefined ? "" : ` ${ago(closedAtMs, nowMs)}`;
  if (state === "answered") return `answered by ${printable(answeredBy ?? "somebody")}${when}`;
  return `closed${when}: ${(reason ?? "").replaceAll("_", " ")}`;
}

/** Exported for its test. */
export function questionsMeant<Asked extends Pick<Question, "id" | "askerName">>(
  open: readonly Asked[],
  word: string,
): readonly Asked[] {
  const part = word.toLowerCase();
  const isPart = ({ id }: Asked): boolean => {
    const whole = id.toLowerCase();
    return part.length >= 2 && (whole.startsWith(part) || whole.endsWith(part));
  };
  const exact = open.filter(({ id, askerName }) => id === word || askerName === word);
  return exact.length > 0 ? exact : open.filter(isPart);
}

/** What was typed as the answer that the question expects. The daemon checks it against the schema. */
export function readAnswer(
  { choices, schema, kind }: Pick<Question, "choices" | "schema" | "kind">,
  text: string,
): unknown {
  if (kind === "scope") {
    if (/^(y|yes)$/i.test(text)) return { granted: true };
    if (/^(n|no)$/i.test(text)) return { granted: false };
    throw mistake("the question is about access: answer yes or no");
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
  try {
    return JSON.parse(text);
  } catch {
    if (typesOf(schema).includes("string")) return text;
    throw mistake(`the answer must be JSON such as 42, true or {"name": "value"}`);
  }
}

function typesOf(schema: unknown): readonly unknown[] {
  if (typeof schema !== "object" || schema === null || !("type" in schema)) return [];
  return Array.isArray(schema.type) ? schema.type : [schema.type];
}

/**
 * The one way by which an answer to a question reaches the core, from any door. The core decides which answer wins, and
 * knows every form of an answer but JSON that a schema allows: that is checked here first.
 */
import {
  type AnswerQuestion,
  type Event,
  type Expected,
  isJson,
  isQuestionSeenBy,
  limits,
  refuse,
  type State,
} from "../core/index.ts";
import type { Caller, Outcome, Plane } from "../plane/index.ts";
import { problemOfAnswer } from "../wire/answer-schema/index.ts";

/** Decides at once: see `Plane.carryOut`. */
export function submitAnswer<Value>(
  plane: Plane,
  answer: Omit<AnswerQuestion, "type">,
  caller: Caller,
  look: (state: State, events: readonly Event[]) => Value,
): Outcome<Value> {
  const { questionId, answer: text, by } = answer;
  const question = plane.peek(({ questions }) => questions.byId.get(questionId));
  const isChecked = question?.state === "open" && isQuestionSeenBy(question, by);
  const problem = isChecked ? problemOf(text, question.expects) : undefined;
  if (problem !== undefined) {
    const message = `question ${questionId}: the answer is not valid: ${problem}`;
    return refuse("answer_invalid", message);
  }
  return plane.carryOut({ type: "question.answer", ...answer }, caller, look);
}

/** The core refuses what is too long or is not JSON; checking that against a schema would only take time. */
function problemOf(text: string, expects: Expected): string | undefined {
  if (expects.of !== "json" || text.length > limits.answerLengthMax || !isJson(text)) {
    return undefined;
  }
  return problemOfAnswer(JSON.parse(expects.schema), JSON.parse(text));
}

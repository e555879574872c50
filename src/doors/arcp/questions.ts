/** Accepts answers to the questions of a job from clients that may see the job. */
import {
  isQuestionSeenBy,
  type Question,
  type Refusal,
  jobId as toJobId,
  questionId as toQuestionId,
} from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import { submitAnswer } from "../../runtime/index.ts";
import type { JsonObject, QuestionAnswer } from "../../wire/arcp/index.ts";

export type Answerer = {
  readonly principal: string;
  /** Whether the principal may see jobs of other principals. */
  readonly maySee: boolean;
};

/** A refusal, or the log sequence that must be durable before the answer is confirmed. */
export type Answered =
  | { readonly needs: number; readonly refusal?: never }
  | { readonly refusal: Refusal; readonly details: JsonObject };

/** Decides immediately. A question of another job counts as not found. */
export function answerQuestion(
  plane: Plane,
  { jobId, questionId, answer, idempotencyKey: key }: QuestionAnswer,
  { principal, maySee }: Answerer,
): Answered {
  const id = toQuestionId(questionId);
  const by = { name: principal, principal, maySee };
  const question = plane.peek(({ questions }) => questions.byId.get(id));
  const isOfJob = question?.asker.of === "job" && question.asker.jobId === toJobId(jobId);
  if (!isOfJob || !isQuestionSeenBy(question, by)) {
    const message = `there is no question ${questionId} of job ${jobId}`;
    return refused({ code: "question_not_found", message });
  }
  const given = {
    questionId: id,
    answer: JSON.stringify(answer),
    by,
    ...(key !== undefined && { key }),
  };
  const caller = { actor: `principal/${principal}` };
  const outcome = submitAnswer(plane, given, caller, ({ lastSequence: needs }) => ({ needs }));
  return outcome.refusal ? refused(outcome.refusal) : outcome.value;
}

/** ARCP has one code for every invalid request. The details have our code, and the message says who answered first. */
function refused(refusal: Refusal): Answered {
  const { code, question } = refusal;
  return { refusal, details: { original_code: code, ...(question && endOf(question)) } };
}

function endOf(question: Question): JsonObject {
  switch (question.state) {
    case "open":
      return {};
    case "answered": {
      const { by, atMs } = question;
      return { outcome: "answered", by, at: new Date(atMs).toISOString() };
    }
    case "closed": {
      const { reason, atMs } = question;
      return { outcome: reason, at: new Date(atMs).toISOString() };
    }
  }
}

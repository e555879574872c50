/**
 * Answers to the questions of jobs. ARCP has no message for them, so these are vendor messages; a runtime that takes
 * answers advertises the capability of the request's name.
 */
import type { Envelope } from "./envelope.ts";
import { Fields, isDeeper, type JsonObject, type Read } from "./fields.ts";
import { limits } from "./limits.ts";

export const answerType = "x-vendor.runctx.answer";
export const answeredType = "x-vendor.runctx.answered";
/**
 * Has the payload of a `session.error`, which would not do: on one of those, published clients fail every call that
 * waits for a reply (ARCP-58), and a late answer is nothing unusual.
 */
export const answerRefusedType = "x-vendor.runctx.answer_refused";

export type QuestionAnswer = {
  readonly jobId: string;
  readonly questionId: string;
  /** Any JSON, also null. */
  readonly answer: unknown;
  /** A request that is repeated with the same key is not a second answer. */
  readonly idempotencyKey?: string | undefined;
};

export function readAnswer({ jobId, payload }: Envelope): Read<QuestionAnswer> {
  const fields = new Fields(payload, "payload");
  if (isDeeper(payload, limits.depthMax)) {
    fields.note("answer", `nested at most ${limits.depthMax} levels deep`);
  }
  const named = fields.optionalText("job_id") ?? jobId ?? fields.text("job_id");
  const questionId = fields.text("question_id");
  if (payload["answer"] === undefined) fields.note("answer", "the answer, as JSON");
  return fields.done({
    jobId: named,
    questionId,
    answer: payload["answer"],
    idempotencyKey: fields.optionalText("idempotency_key", {
      max: limits.idempotencyKeyLengthMax,
    }),
  });
}

export function printAnswer(said: QuestionAnswer): JsonObject {
  const { jobId, questionId, answer, idempotencyKey } = said;
  return {
    job_id: jobId,
    question_id: questionId,
    answer,
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  };
}

/** The answer was accepted and is durable. */
export type QuestionAnswered = {
  readonly jobId: string;
  readonly questionId: string;
  readonly requestId: string;
};

export function printAnswered({ jobId, questionId, requestId }: QuestionAnswered): JsonObject {
  return { job_id: jobId, question_id: questionId, request_id: requestId };
}

export function readAnswered({ payload }: Envelope): Read<QuestionAnswered> {
  const fields = new Fields(payload, "payload");
  return fields.done({
    jobId: fields.text("job_id"),
    questionId: fields.text("question_id"),
    requestId: fields.text("request_id"),
  });
}

/**
 * How people, jobs and agents reach questions: through the code of the HTTP API, of the ARCP door and of the runtime,
 * each over the plane of the storm. Whatever a door says is put into one form, so that the storm can compare it with
 * the log.
 */
import { agentId, type Question } from "../../src/core/index.ts";
import { answerQuestion } from "../../src/doors/arcp/questions.ts";
import { questionHandlers } from "../../src/doors/http/operations/questions.ts";
import type { Call } from "../../src/doors/http/operations.ts";
import type { Plane } from "../../src/plane/index.ts";
import { Asking } from "../../src/runtime/asking.ts";
import { Attempt } from "../../src/runtime/attempt.ts";
import { WorkError } from "../../src/runtime/errors.ts";
import type * as api from "../../src/wire/api/index.ts";
import type { AnyAnswer, Wish } from "./any-question.ts";

/** What a caller was told: the code of a refusal, and how the question closed as far as the door tells it. */
export type DoorReply = {
  readonly code: string | undefined;
  readonly id: string | undefined;
  readonly state?: Question["state"];
  readonly answer?: string;
  readonly by?: string;
  readonly reason?: string;
};

/** An asker that waits for its answer. */
export type AskCall = {
  readonly wish: Wish;
  /** Rejects with the reason with which it hangs up. */
  readonly done: Promise<DoorReply>;
  /** `withdraws`: the asker withdraws the question. Otherwise its process is gone, and the question stays open. */
  readonly hangUp: (reason: Error, how: { readonly withdraws: boolean }) => void;
  readonly hasHungUp: () => boolean;
};

/** Longer than any storm takes. */
const waitMs = 3_600_000;

export class QuestionDoors {
  readonly #plane: Plane;
  readonly #mint: (prefix: string) => string;

  constructor(plane: Plane, mint: (prefix: string) => string) {
    this.#plane = plane;
    this.#mint = mint;
  }

  async answerOverHttp({ question, value, name, key }: AnyAnswer): Promise<DoorReply> {
    const input = { questionId: question.id, answer: value, by: name };
    const call = { ...callOf(new AbortController()), ...(key !== undefined && { key }) };
    const reply = await questionHandlers(this.#plane).answerQuestion(input, call);
    return replyOf(reply, question.id);
  }

  /** Decides at once, as the door does; it tells the client when all that was decided is durable. */
  async answerOverArcp(
    { question, value, key: idempotencyKey }: AnyAnswer,
    answerer: { readonly principal: string; readonly maySee: boolean },
  ): Promise<DoorReply> {
    const said = { jobId: question.askerId, questionId: question.id, answer: value };
    const answered = answerQuestion(this.#plane, { ...said, idempotencyKey }, answerer);
    const { id } = question;
    await this.#plane.read(() => undefined);
    if (!answered.refusal) return { code: undefined, id };
    const { by, outcome } = answered.details;
    return {
      code: answered.refusal.code,
      id,
      ...(typeof by === "string" && { by }),
      ...(typeof outcome === "string" && outcome !== "answered" && { reason: outcome }),
    };
  }

  /** As a handler in this process asks with `ctx.ask`. */
  askAsJob(wish: Wish & { readonly asker: { readonly of: "job" } }): AskCall {
    const { asker, timeoutMs = waitMs, ...asked } = wish;
    const plane = this.#plane;
    const asking = new Asking({
      plane,
      newId: () => this.#mint("q_"),
      current: ({ jobId, attempt }) => new Attempt({ plane, jobId, attempt, rules: {} }),
      pause: () => {},
      resume: () => undefined,
    });
    const [job, given] = [new AbortController(), new AbortController()];
    const signals = { signal: job.signal, given: given.signal };
    const answered = asking.ask(asker, { ...asked, timeoutMs }, signals);
    return {
      wish,
      done: answered.then(
        ({ id, answer, by }) => ({ code: undefined, id, state: "answered", answer, by }),
        refusalOf,
      ),
      hangUp: (reason, { withdraws }) => (withdraws ? given : job).abort(reason),
      hasHungUp: () => job.signal.aborted || given.signal.aborted,
    };
  }

  /** As `agent.ask` does: the call waits at the daemon. */
  askAsAgent(
    wish: Wish & { readonly asker: { readonly of: "agent" } },
    { isPatient }: { readonly isPatient: boolean },
  ): AskCall {
    const { asker, key, prompt, timeoutMs, expects } = wish;
    const calling = new AbortController();
    const input = {
      agentId: asker.agentId,
      prompt,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(expects.of === "choice" && { choices: expects.choices }),
      ...(expects.of === "json" && { schema: JSON.parse(expects.schema) }),
      ...(isPatient && { waitMs }),
    };
    const handlers = questionHandlers(this.#plane);
    const done = handlers.askQuestion(input, { ...callOf(calling), key });
    return {
      wish,
      done: done.then((reply) => replyOf(reply, undefined)),
      hangUp: (reason, { withdraws }) => {
        calling.abort(reason);
        if (!withdraws) return;
        void handlers.withdrawQuestion(
          { agentId: agentId(asker.agentId), key },
          callOf(new AbortController()),
        );
      },
      hasHungUp: () => calling.signal.aborted,
    };
  }
}

function callOf({ signal }: AbortController): Call {
  const closing = new AbortController().signal;
  return { caller: { actor: "client" }, signal, closing, mayWrite: true, maySee: true };
}

type HttpReply = {
  readonly value?: api.Question;
  readonly refusal?: { readonly code: string; readonly question?: api.Question };
};

function replyOf({ value, refusal }: HttpReply, askedId: string | undefined): DoorReply {
  const question = value ?? refusal?.question;
  const { id = askedId, state, answer, answeredBy, reason } = question ?? {};
  return {
    code: refusal?.code,
    id,
    ...(state && { state }),
    ...(state === "answered" && { answer: JSON.stringify(answer) }),
    ...(answeredBy !== undefined && { by: answeredBy }),
    ...(reason !== undefined && { reason }),
  };
}

function refusalOf(error: unknown): DoorReply {
  if (!(error instanceof WorkError)) throw error;
  const { code, details } = error;
  const id = typeof details?.["question_id"] === "string" ? details["question_id"] : undefined;
  if (code === "ask_timeout") return { code, id, state: "closed", reason: "timed_out" };
  if (code !== "question_closed") return { code, id };
  const reason = error.message.split(": ").at(-1) ?? "";
  return { code, id, state: "closed", reason };
}

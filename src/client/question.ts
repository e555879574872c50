/**
 * Asking a person as an agent. The question is an entry of the daemon's log: it is asked under one key until it is
 * closed, by long polls, so that neither a lost reply nor a restart of the daemon loses it or its answer.
 */
import type { Question as QuestionInfo } from "../wire/api/index.ts";
import type { AgentContext } from "./agent.ts";
import { type Cancellable, newKey } from "./calls.ts";
import { elapsedMs, now, sleep } from "./deadline.ts";
import { hasCode, TipstaffError } from "./errors.ts";
import { limits } from "./limits.ts";
import { pauseMs } from "./retry.ts";

export type AskOptions = Cancellable & {
  /** The answer is one of these. */
  readonly choices?: readonly string[] | undefined;
  /** A JSON Schema: the answer is any JSON that it allows. Without choices and schema it is a text. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  /** Without it the question stays open until it is answered or the agent ends. */
  readonly timeoutMs?: number | undefined;
  /** Asked again under the same key, it is the same question. Without it, each call asks a new one. */
  readonly key?: string | undefined;
};

export async function ask(
  context: AgentContext,
  prompt: string,
  { choices, schema, timeoutMs, key = newKey(), signal: given }: AskOptions,
): Promise<unknown> {
  const { calls, agentId } = context;
  const signal = context.signalFor(given);
  const wish = {
    agentId,
    prompt,
    waitMs: limits.pollMs,
    ...(choices && { choices }),
    ...(schema && { schema }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  // Retries as long as the agent lives: the answer may come after a long outage.
  const options = { key, signal, patienceMs: Number.POSITIVE_INFINITY };
  try {
    for (let early = 0; ; ) {
      const since = now(calls.clock);
      const question = await calls.call("askQuestion", wish, options);
      // If the agent has left, that is the more useful reason than the closed question.
      if (question.state === "closed") signal.throwIfAborted();
      if (question.state !== "open") return answerOf(question);
      early = elapsedMs(calls.clock, since) < limits.pollMs / 2 ? early + 1 : 0;
      if (early > 0) await sleep(pauseMs(early), signal);
    }
  } catch (error) {
    if (given?.aborted) context.background(withdraw(context, key));
    throw error;
  }
}

/** The request that asks may still be on its way, on another connection: then there is no such question yet. */
async function withdraw({ calls, agentId }: AgentContext, key: string): Promise<void> {
  const send = () =>
    calls.call("withdrawQuestion", { agentId, key }, { patienceMs: limits.closingMs });
  await send().catch(async (error) => {
    if (!hasCode(error, "question_not_found")) throw error;
    await sleep(limits.overtakenMs);
    await send();
  });
}

function answerOf(question: QuestionInfo): unknown {
  const { id, state, reason, answer } = question;
  if (state === "answered") return answer;
  const detail = { question };
  throw reason === "timed_out"
    ? new TipstaffError("ask_timeout", `question ${id} was not answered in time`, detail)
    : new TipstaffError("question_closed", `question ${id} was closed: ${reason}`, detail);
}

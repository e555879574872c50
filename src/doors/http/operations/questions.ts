/** Operations on questions to people: list, get and answer; and for agents: ask and withdraw. */
import { randomBytes } from "node:crypto";
import {
  agentId,
  type Expected,
  findQuestion as findByKey,
  type Question,
  questionId,
} from "../../../core/index.ts";
import type { Plane } from "../../../plane/index.ts";
import { problemOfAnswer, problemOfSchema } from "../../../wire/answer-schema/index.ts";
import type * as api from "../../../wire/api/index.ts";
import type { Call, Handlers, Reply } from "../operations.ts";
import { encodeQuestion, findQuestion, listQuestions } from "../questions.ts";
import { answer, refused, submit } from "./answer.ts";

export function questionHandlers(
  plane: Plane,
): Pick<
  Handlers,
  "listQuestions" | "getQuestion" | "answerQuestion" | "askQuestion" | "withdrawQuestion"
> {
  return {
    listQuestions: (input, { signal }) => listQuestions(plane, input, signal),
    getQuestion: async ({ questionId: id, waitMs = 0 }, call) => {
      await untilClosed(plane, id, { call, waitMs });
      const value = await plane.read((state) => findQuestion(state, id));
      return value ? { value } : noQuestion(id);
    },
    answerQuestion: async ({ questionId: id, answer: said, by = "local" }, { caller, key }) => {
      const asked = await plane.read(({ questions }) => questions.byId.get(questionId(id)));
      const problem = asked?.state === "open" ? problemOf(asked, said) : undefined;
      if (problem !== undefined) {
        return refused("answer_invalid", `question ${id}: the answer is not valid: ${problem}`);
      }
      const command = {
        type: "question.answer",
        questionId: questionId(id),
        answer: JSON.stringify(said),
        by: { name: by },
        ...(key !== undefined && { key }),
      } as const;
      return submit(plane, command, caller, (state) => findQuestion(state, id));
    },
    askQuestion: async ({ agentId: id, waitMs = 0, timeoutMs, prompt, ...wanted }, call) => {
      const expects = decodeExpected(wanted);
      if (typeof expects === "string") return refused("invalid_argument", expects);
      const minted = `q_${randomBytes(6).toString("hex")}`;
      const { key = minted, caller } = call;
      const asker = { of: "agent", agentId: agentId(id) } as const;
      const command = {
        type: "question.ask",
        questionId: questionId(minted),
        asker,
        key,
        prompt,
        expects,
        ...(timeoutMs !== undefined && { timeoutMs }),
      } as const;
      const outcome = await plane.submit(command, caller, ({ questions }) =>
        findByKey(questions, asker, key),
      );
      if (outcome.refusal) return answer(plane, outcome);
      const asked = outcome.value;
      if (!asked) throw new Error("the accepted question was not found");
      await untilClosed(plane, asked.id, { call, waitMs });
      const now = await plane.read((state) =>
        encodeQuestion(state, state.questions.byId.get(asked.id) ?? asked),
      );
      return { value: now };
    },
    withdrawQuestion: async ({ agentId: id, key }, { caller }) => {
      const asker = { of: "agent", agentId: agentId(id) } as const;
      return submit(plane, { type: "question.withdraw", asker, key }, caller, (state) => {
        const question = findByKey(state.questions, asker, key);
        return question && encodeQuestion(state, question);
      });
    },
  };
}

/** Waits as long as the caller wants and stays connected. The result is read afterwards. */
async function untilClosed(
  plane: Plane,
  id: string,
  { call, waitMs }: { readonly call: Call; readonly waitMs: number },
): Promise<void> {
  if (waitMs === 0) return;
  const signal = AbortSignal.any([call.signal, call.closing, AbortSignal.timeout(waitMs)]);
  try {
    await plane.untilClosed(questionId(id), { signal });
  } catch (reason) {
    if (!signal.aborted) throw reason;
  }
}

function problemOf({ expects }: Question, said: unknown): string | undefined {
  return expects.of === "json" ? problemOfAnswer(JSON.parse(expects.schema), said) : undefined;
}

/** What kind of answer the asker expects, or why that is not valid. */
function decodeExpected({
  choices,
  schema,
}: Pick<api.Input<"askQuestion">, "choices" | "schema">): Expected | string {
  if (choices && schema !== undefined) return "schema: cannot be given together with choices";
  if (choices) return { of: "choice", choices };
  if (schema === undefined) return { of: "text" };
  const problem = problemOfSchema(schema);
  return problem === undefined
    ? { of: "json", schema: JSON.stringify(schema) }
    : `schema: ${problem}`;
}

function noQuestion(id: string): Reply<never> {
  return refused("question_not_found", `there is no question ${id}`);
}

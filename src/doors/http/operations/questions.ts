/** Operations on questions to people: list, get and answer; and for agents: ask and withdraw. */
import { agentId, findQuestion as findByKey, questionId } from "../../../core/index.ts";
import type { Plane } from "../../../plane/index.ts";
import { newQuestionId, readExpected, submitAnswer } from "../../../runtime/index.ts";
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
      const given = {
        questionId: questionId(id),
        answer: JSON.stringify(said),
        by: { name: by },
        ...(key !== undefined && { key }),
      };
      const outcome = submitAnswer(plane, given, caller, (state) => findQuestion(state, id));
      await plane.read(() => undefined);
      return answer(plane, outcome);
    },
    askQuestion: async (input, call) => {
      const { agentId: id, waitMs = 0, timeoutMs, prompt, choices, schema } = input;
      const expected = readExpected(choices, schema);
      if (expected.refusal) return answer(plane, expected);
      const minted = newQuestionId();
      const { key = minted, caller } = call;
      const asker = { of: "agent", agentId: agentId(id) } as const;
      const command = {
        type: "question.ask",
        questionId: minted,
        asker,
        key,
        prompt,
        expects: expected.expects,
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

function noQuestion(id: string): Reply<never> {
  return refused("question_not_found", `there is no question ${id}`);
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { limits, type QuestionId, type Refusal } from "../core/index.ts";
import { turns } from "../testing/test-plane.ts";
import { resultOf, TestRuntime } from "../testing/test-runtime.ts";
import { submitAnswer } from "./answering.ts";

/** A job of ada's that has asked for JSON which `schema` allows. */
async function asked(scene: TestRuntime, schema: Readonly<Record<string, unknown>>) {
  scene.runtime.registerAgent("agent", (_, context) => context.ask("Which?", { schema }));
  const jobId = scene.ask();
  const ending = scene.runtime.ending(jobId);
  await turns();
  const [questionId] = await scene.plane.read(({ questions }) => [...questions.open]);
  assert(questionId !== undefined);
  return { questionId, ending };
}

function answer(
  { plane }: TestRuntime,
  questionId: QuestionId,
  text: string,
  principal = "ada",
): Refusal | undefined {
  const by = { name: principal, principal };
  const said = { questionId, answer: text, by };
  return submitAnswer(plane, said, { actor: "test" }, () => undefined).refusal;
}

test("an answer that the schema does not allow is refused, and the question stays open", async () => {
  await using scene = await TestRuntime.open();
  const { questionId, ending } = await asked(scene, { type: "integer" });
  assert.match(answer(scene, questionId, '"abc"')?.message ?? "", /not valid: must be a whole/);
  assert.equal(
    answer(scene, questionId, "{")?.message,
    `question ${questionId}: the answer is not JSON`,
  );
  assert.equal(answer(scene, questionId, "7"), undefined);
  assert.equal(resultOf(await ending), 7);
});

test("whoever may not see a question does not learn from its schema that it exists", async () => {
  await using scene = await TestRuntime.open();
  const { questionId } = await asked(scene, { type: "integer" });
  assert.equal(answer(scene, questionId, '"abc"', "eve")?.code, "question_not_found");
});

test("an answer that is too long is refused before it is compared with the schema", async () => {
  await using scene = await TestRuntime.open();
  const { questionId } = await asked(scene, { maxItems: 1 });
  const long = JSON.stringify(Array(limits.answerLengthMax).fill(0));
  const refusal = answer(scene, questionId, long);
  assert.equal(refusal?.code, "answer_invalid");
  assert.match(refusal?.message ?? "", /must have at most 65536 characters of JSON/);
});

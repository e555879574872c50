/** Questions to people as the API's vocabulary, and a list of them: the open ones first. */
import {
  type Asker,
  type Question,
  type State,
  questionId as toQuestionId,
} from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import type * as api from "../../wire/api/index.ts";
import { nameOf } from "./encode.ts";
import { list } from "./lists.ts";
import type { Reply } from "./operations.ts";
import { type Rank, wordsOf } from "./pages.ts";

export function encodeQuestion(state: State, question: Question): api.Question {
  const { asker } = question;
  const name =
    asker.of === "job"
      ? (state.jobs.byId.get(asker.jobId)?.agent ?? "")
      : nameOf(state, asker.agentId);
  return { ...encodeBare(question), askerName: name };
}

/** Without what is known of its asker: as an entry of the log has it. */
export function encodeBare(question: Question): Omit<api.Question, "askerName"> {
  const { id, key, principal, prompt, expects, askedAtMs, expiresAtMs, asker } = question;
  const { choices, schema, scope } = { ...noParts, ...partsOf(question) };
  return {
    id,
    state: question.state,
    kind: expects.of === "scope" ? "scope" : "input",
    asker: { kind: asker.of, id: idOf(asker) },
    key,
    ...(principal !== undefined && { principal }),
    prompt,
    ...(choices && { choices }),
    ...(schema !== undefined && { schema }),
    ...(scope && { scope }),
    askedAtMs,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...endOf(question),
  };
}

type Parts = Partial<Pick<api.Question, "choices" | "schema" | "scope">>;

const noParts: Parts = {};

function partsOf({ expects }: Question): Parts {
  switch (expects.of) {
    case "text":
      return {};
    case "choice":
      return { choices: expects.choices };
    case "json":
      return { schema: JSON.parse(expects.schema) };
    case "scope":
      return { scope: expects.scope };
  }
}

function endOf(question: Question): Partial<api.Question> {
  switch (question.state) {
    case "open":
      return {};
    case "answered": {
      const { answer, by, atMs } = question;
      return { answer: JSON.parse(answer), answeredBy: by, closedAtMs: atMs };
    }
    case "closed":
      return { reason: question.reason, closedAtMs: question.atMs };
  }
}

export function idOf(asker: Asker): string {
  return asker.of === "job" ? asker.jobId : asker.agentId;
}

export function findQuestion(state: State, id: string): api.Question | undefined {
  const question = state.questions.byId.get(toQuestionId(id));
  return question && encodeQuestion(state, question);
}

export function listQuestions(
  plane: Plane,
  input: api.Input<"listQuestions">,
  signal: AbortSignal,
): Promise<Reply<api.Page<api.Question>>> {
  const { state: states, asker, query, sort = "attention" } = input;
  return list({ plane, signal }, { ...input, sort }, encodeQuestion, ({ questions }) => {
    const hasWords = wordsOf(query, ({ id, prompt, key, asker, principal = "" }: Question) =>
      [id, prompt, key, idOf(asker), principal].join(" "),
    );
    return {
      items: questions.byId.values(),
      wants: (question) =>
        (!states || states.includes(question.state)) &&
        (asker === undefined || idOf(question.asker) === asker) &&
        hasWords(question),
      rankOf: rankOf(sort),
      idOf: ({ id }) => id,
    };
  });
}

/** Open questions come first, the oldest at the top; then the others, newest first. */
function rankOf(sort: api.QuestionSort): (question: Question) => Rank {
  switch (sort) {
    case "attention":
      return (question) => (question.state === "open" ? question.place - aboveAll : -question.atMs);
    case "newest":
      return ({ place }) => -place;
    case "oldest":
      return ({ place }) => place;
  }
}

/** More than any time in milliseconds: what is below minus that is before every time. */
const aboveAll = 2 ** 52;

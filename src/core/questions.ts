/**
 * Questions that only a person can answer. A job or a registered agent asks; anybody who may see the question can
 * answer it, at any door. A question is
 * - `open`: it waits for an answer;
 * - `answered`: the first valid answer won. Final: later answers are refused, and learn who was first;
 * - `closed`: nobody answered. The asker withdrew it, its deadline passed, or its job or agent ended. Final.
 *
 * The asker names its question with a key. Asking again under the same key is asking for the same question: a job
 * that runs again after a restart gets the stored answer, or goes on waiting for the open question. Therefore the
 * questions of a job are stored for as long as the job is. Those of an agent are deleted a day after they closed, and
 * of each agent only the last ones are stored.
 *
 * When the stored questions have reached their limit, closed ones are deleted that nobody asks for again: those of jobs
 * that have ended, and those of agents that had time to fetch the answer. The log still has them.
 */
import { accept, type Decision, type Refused, refuse } from "./decision.ts";
import type { AgentId, JobId, QuestionId } from "./ids.ts";
import { isJson } from "./json-text.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";
import { putInto, takeFrom } from "./sets-by-key.ts";

export type Question = QuestionRecord & QuestionState;

type QuestionRecord = {
  readonly id: QuestionId;
  readonly asker: Asker;
  /** The asker's name for the question; unique for each asker. */
  readonly key: string;
  /** The principal of the job that asks. Agents have no principal. */
  readonly principal?: string;
  readonly prompt: string;
  readonly expects: Expected;
  readonly askedAtMs: number;
  readonly expiresAtMs?: number;
  /** Grows with each question. Lists are in this order. */
  readonly place: number;
};

export type Asker =
  /** `attempt` is the attempt of the job that asked last. */
  | { readonly of: "job"; readonly jobId: JobId; readonly attempt: number }
  | { readonly of: "agent"; readonly agentId: AgentId };

/** What a valid answer is. Answers are JSON. */
export type Expected =
  /** Any string. */
  | { readonly of: "text" }
  /** One of these strings. */
  | { readonly of: "choice"; readonly choices: readonly string[] }
  /** Whatever a JSON Schema allows. The runtime checks schema and answer before they get here; here both are text. */
  | { readonly of: "json"; readonly schema: string }
  /** `{"granted":true}`, or `{"granted":false,"reason":"…"}` where the reason may be left out. */
  | { readonly of: "scope"; readonly scope: ScopeRequest };

/** More access than the asker has: which files it wants to read or write, and for how long. */
export type ScopeRequest = {
  readonly read: readonly string[];
  readonly writePrefix?: string;
  readonly mode: ScopeMode;
  readonly ttlMs: number;
};

export type ScopeMode = (typeof scopeModes)[number];
export const scopeModes = ["read_only", "read_write_overlay", "read_write_direct"] as const;

export type QuestionState =
  | { readonly state: "open" }
  | {
      readonly state: "answered";
      /** JSON. */
      readonly answer: string;
      readonly by: string;
      readonly atMs: number;
      /** The idempotency key of the answer, so that a retry is not refused. */
      readonly answerKey?: string;
    }
  | { readonly state: "closed"; readonly reason: CloseReason; readonly atMs: number };

/** `cannot_run_again`: its job was interrupted, and is not run again. */
export type CloseReason = (typeof closeReasons)[number];
export const closeReasons = ["withdrawn", "timed_out", "asker_ended", "cannot_run_again"] as const;

export type OpenQuestion = Question & { readonly state: "open" };

export type Questions = {
  readonly byId: ReadonlyMap<QuestionId, Question>;
  readonly byKey: ReadonlyMap<string, QuestionId>;
  /** All stored questions, by asker: see `nameOf`. */
  readonly byAsker: ReadonlyMap<string, ReadonlySet<QuestionId>>;
  /** In the order in which they were asked. */
  readonly open: ReadonlySet<QuestionId>;
  readonly openByAsker: ReadonlyMap<string, ReadonlySet<QuestionId>>;
  readonly openByPrincipal: ReadonlyMap<string, number>;
  /**
   * Closed questions of agents and of jobs that have ended, by owner: see `ownerOf`. They are in the order in which they
   * closed, or their job ended.
   */
  readonly over: ReadonlyMap<string, ReadonlySet<QuestionId>>;
  readonly lastPlace: number;
  /** Characters of all stored questions, which are held in memory; and of those of each owner. */
  readonly length: number;
  readonly lengthByOwner: ReadonlyMap<string, number>;
  readonly due: Pick<PriorityMap<QuestionId>, "first">;
};

export type OwnQuestions = {
  readonly byId: Map<QuestionId, Question>;
  readonly byKey: Map<string, QuestionId>;
  readonly byAsker: Map<string, Set<QuestionId>>;
  readonly open: Set<QuestionId>;
  readonly openByAsker: Map<string, Set<QuestionId>>;
  readonly openByPrincipal: Map<string, number>;
  readonly over: Map<string, Set<QuestionId>>;
  lastPlace: number;
  length: number;
  readonly lengthByOwner: Map<string, number>;
  readonly due: PriorityMap<QuestionId>;
};

/** If the asker has used this key before, it must be the same question, and no second one is made. */
export type AskQuestion = {
  readonly type: "question.ask";
  /** Ignored if the question exists. */
  readonly questionId: QuestionId;
  readonly asker: Asker;
  readonly key: string;
  readonly prompt: string;
  readonly expects: Expected;
  /** Absent: it stays open until it is answered or its asker ends. */
  readonly timeoutMs?: number;
};

export type AnswerQuestion = {
  readonly type: "question.answer";
  readonly questionId: QuestionId;
  /** JSON. */
  readonly answer: string;
  readonly by: Answerer;
  readonly key?: string;
};

export type Answerer = {
  /** The name of the answerer, which later answerers see. */
  readonly name: string;
  /** Absent: the user who runs the daemon, and may answer every question. */
  readonly principal?: string;
  /** Whether the principal may see jobs of others. */
  readonly maySee?: boolean;
};

export type WithdrawQuestion = {
  readonly type: "question.withdraw";
  readonly asker: Asker;
  readonly key: string;
};

export type QuestionCommand = AskQuestion | AnswerQuestion | WithdrawQuestion;

export type QuestionEvent =
  | {
      /** Asked for the first time, or by a later attempt of the same job. */
      readonly type: "question.asked";
      readonly question: Question;
    }
  | { readonly type: "question.answered" | "question.closed"; readonly question: Question }
  | { readonly type: "question.forgotten"; readonly questionId: QuestionId };

export function emptyQuestions(): OwnQuestions {
  return {
    byId: new Map(),
    byKey: new Map(),
    byAsker: new Map(),
    open: new Set(),
    openByAsker: new Map(),
    openByPrincipal: new Map(),
    over: new Map(),
    lastPlace: 0,
    length: 0,
    lengthByOwner: new Map(),
    due: new PriorityMap(),
  };
}

/** Expects that the asker lives, and that what has expired by `nowMs` was closed: see `machine.ts`. */
export function ask(
  questions: Questions,
  command: AskQuestion,
  { principal, nowMs }: { readonly principal?: string; readonly nowMs: number },
): Decision<QuestionEvent> {
  const { questionId: id, asker, key, prompt, expects, timeoutMs } = command;
  const malformed = refuseMalformed(command);
  if (malformed) return malformed;
  const known = findByKey(questions, asker, key);
  if (known) return askAgain(known, command);
  const full = refuseFull(questions, command, principal);
  if (full) return full;
  const question: Question = {
    id,
    asker,
    key,
    ...(principal !== undefined && { principal }),
    prompt,
    expects,
    askedAtMs: nowMs,
    ...(timeoutMs !== undefined && { expiresAtMs: nowMs + timeoutMs }),
    place: questions.lastPlace + 1,
    state: "open",
  };
  const room = makeSpace(questions, question, nowMs);
  return room.refusal ? room : accept(...room.events, { type: "question.asked", question });
}

/** Deletes closed questions until a new one fits: first those of the same owner, then those of others. */
function makeSpace(
  questions: Questions,
  question: Question,
  nowMs: number,
): Decision<QuestionEvent> {
  const owner = ownerOf(question);
  const { questionsLengthMax, questionsLengthOfOwnerMax } = limits;
  const length = lengthOf(question);
  const excess = questions.length + length - questionsLengthMax;
  const ownLength = questions.lengthByOwner.get(owner) ?? 0;
  const ownExcess = ownLength + length - questionsLengthOfOwnerMax;
  const events: QuestionEvent[] = [];
  let freed = 0;
  const free = (name: string, needed: number): void => {
    for (const id of questions.over.get(name) ?? []) {
      const old = questions.byId.get(id);
      if (freed >= needed || !old || !mayBeDeleted(old, nowMs)) return;
      freed += lengthOf(old);
      events.push({ type: "question.forgotten", questionId: id });
    }
  };
  free(owner, Math.max(excess, ownExcess));
  if (freed < ownExcess) {
    const message = `the stored questions of ${owner} have reached the limit of ${questionsLengthOfOwnerMax} characters`;
    return refuse("limit_reached", message);
  }
  for (const name of questions.over.keys()) {
    if (freed >= excess) break;
    if (name !== owner) free(name, excess);
  }
  if (freed >= excess) return accept(...events);
  const message = `the stored questions have reached the limit of ${questionsLengthMax} characters`;
  return refuse("limit_reached", message);
}

/** Expects a question of `Questions.over`. */
function mayBeDeleted(question: Question, nowMs: number): boolean {
  if (question.state === "open") return false;
  return question.asker.of === "job" || question.atMs + limits.closedQuestionKeptMsMin <= nowMs;
}

/** A later attempt takes over an open question; any other repetition gets the question as it is. */
function askAgain(
  known: Question,
  { asker, prompt, expects }: AskQuestion,
): Decision<QuestionEvent> {
  if (known.prompt !== prompt || printExpected(known.expects) !== printExpected(expects)) {
    const message = `the key ${known.key} was used for question ${known.id}, which asks something else`;
    return refuse("key_reused", message);
  }
  if (known.state !== "open" || !isAnotherAttempt(known.asker, asker)) return accept();
  return accept({ type: "question.asked", question: { ...known, asker } });
}

function isAnotherAttempt(one: Asker, other: Asker): boolean {
  return one.of === "job" && other.of === "job" && one.attempt !== other.attempt;
}

export function answer(
  questions: Questions,
  command: AnswerQuestion,
  nowMs: number,
): Decision<QuestionEvent> {
  const { questionId, answer: text, by, key } = command;
  const question = questions.byId.get(questionId);
  if (!question || !isSeenBy(question, by)) return refuseUnknown(questionId);
  if (question.state !== "open") {
    const isRetry =
      question.state === "answered" &&
      key !== undefined &&
      question.answerKey === key &&
      question.answer === text;
    return isRetry ? accept() : refuseClosed(question);
  }
  const problem = problemOf(text, question.expects);
  if (problem !== undefined) return refuse("answer_invalid", `question ${questionId}: ${problem}`);
  const answered: Question = {
    ...recordOf(question),
    state: "answered",
    answer: text,
    by: by.name,
    atMs: nowMs,
    ...(key !== undefined && { answerKey: key }),
  };
  return accept({ type: "question.answered", question: answered });
}

export function isSeenBy(
  { principal }: Pick<Question, "principal">,
  by: Omit<Answerer, "name">,
): boolean {
  return by.principal === undefined || by.principal === principal || by.maySee === true;
}

export function withdraw(
  questions: Questions,
  { asker, key }: WithdrawQuestion,
  nowMs: number,
): Decision<QuestionEvent> {
  const question = findByKey(questions, asker, key);
  if (!question) {
    return refuse("question_not_found", `${nameOf(asker)} has no question with the key ${key}`);
  }
  // A closed question stays as it is, and the asker sees that an answer came first. An attempt that is over cannot
  // withdraw a question that a later attempt waits for.
  const isOpen = question.state === "open" && !isAnotherAttempt(question.asker, asker);
  return isOpen ? accept(close(question, "withdrawn", nowMs)) : accept();
}

export function close(question: Question, reason: CloseReason, nowMs: number): QuestionEvent {
  const closed: Question = { ...recordOf(question), state: "closed", reason, atMs: nowMs };
  return { type: "question.closed", question: closed };
}

/** Closes an open question whose deadline has passed, and deletes a closed one that was stored long enough. */
export function expire(questions: Questions, id: QuestionId, nowMs: number): QuestionEvent[] {
  const question = questions.byId.get(id);
  if (!question) return [];
  return question.state === "open"
    ? [close(question, "timed_out", nowMs)]
    : [{ type: "question.forgotten", questionId: id }];
}

/** At the limit, each closed question of an agent replaces the one of the same agent that closed first. */
export function makeRoom({ over }: Questions, events: readonly QuestionEvent[]): QuestionEvent[] {
  const closing = new Map<string, number>();
  for (const event of events) {
    const isClosing = event.type === "question.answered" || event.type === "question.closed";
    if (!isClosing || event.question.asker.of !== "agent") continue;
    const owner = ownerOf(event.question);
    closing.set(owner, (closing.get(owner) ?? 0) + 1);
  }
  return [...closing].flatMap(([owner, count]) => {
    const closed = over.get(owner) ?? new Set<QuestionId>();
    const excess = closed.size + count - limits.closedQuestionsOfAgentMax;
    const oldest = [...closed.values().take(Math.max(0, excess))];
    return oldest.map((questionId): QuestionEvent => ({ type: "question.forgotten", questionId }));
  });
}

/** The open questions of one asker, in the order in which they were asked. */
export function openOf(questions: Questions, asker: AskerName): readonly OpenQuestion[] {
  return [...(questions.openByAsker.get(nameOf(asker)) ?? [])].flatMap((id) => {
    const question = questions.byId.get(id);
    return question?.state === "open" ? question : [];
  });
}

export function findByKey(
  questions: Questions,
  asker: AskerName,
  key: string,
): Question | undefined {
  const id = questions.byKey.get(keyOf(asker, key));
  return id === undefined ? undefined : questions.byId.get(id);
}

/** Without the attempt. */
export type AskerName =
  | { readonly of: "job"; readonly jobId: JobId }
  | { readonly of: "agent"; readonly agentId: AgentId };

export function nameOf(asker: AskerName): string {
  return asker.of === "job" ? `job ${asker.jobId}` : `agent ${asker.agentId}`;
}

/** Whose share of the memory a question takes: the principal of its job, or its agent. */
function ownerOf({ principal, asker }: Pick<Question, "principal" | "asker">): string {
  return principal === undefined ? nameOf(asker) : `principal ${principal}`;
}

function keyOf(asker: AskerName, key: string): string {
  return `${nameOf(asker)} ${key}`;
}

/** The phase that subscribers of a job see while it waits (the states of `RunContext`). */
export function phaseOf({
  expects,
}: Pick<Question, "expects">): "input_required" | "auth_required" {
  return expects.of === "scope" ? "auth_required" : "input_required";
}

/** The job event for a question: its kind, and its payload, which is the same in every protocol. */
export function tellAsked(question: Question): [kind: "question" | "scope_request", body: object] {
  const { id, prompt, expects, askedAtMs, expiresAtMs } = question;
  const timeout = expiresAtMs !== undefined && {
    timeout_seconds: (expiresAtMs - askedAtMs) / 1_000,
  };
  if (expects.of === "scope") {
    const { read, writePrefix = null, ttlMs, mode } = expects.scope;
    const asked = { request_id: id, reason: prompt, read_patterns: read };
    const what = { write_prefix: writePrefix, ttl_seconds: ttlMs / 1_000, mode };
    return ["scope_request", { ...asked, ...what, ...timeout }];
  }
  const choices = expects.of === "choice" && { choices: expects.choices };
  const schema = expects.of === "json" && { schema: JSON.parse(expects.schema) };
  return ["question", { question_id: id, prompt, ...choices, ...schema, ...timeout }];
}

/** Does not contain the answer, which only the asker gets. */
export function tellClosed(question: Question): object {
  const { id } = question;
  switch (question.state) {
    case "open":
      return { question_id: id };
    case "answered":
      return { question_id: id, outcome: "answered", by: question.by };
    case "closed":
      return { question_id: id, outcome: question.reason };
  }
}

function refuseMalformed(command: AskQuestion): Refused | undefined {
  const { key, prompt, expects, timeoutMs } = command;
  const { questionKeyLengthMax, promptLengthMax, questionTimeoutMsMax } = limits;
  if (key === "" || key.length > questionKeyLengthMax) {
    return invalid("key", `must have 1 to ${questionKeyLengthMax} characters`);
  }
  if (prompt.trim() === "" || prompt.length > promptLengthMax) {
    return invalid("prompt", `must have 1 to ${promptLengthMax} characters and not be blank`);
  }
  const isTime = timeoutMs === undefined || (timeoutMs > 0 && timeoutMs <= questionTimeoutMsMax);
  if (!isTime) return invalid("timeoutMs", `must be 1 to ${questionTimeoutMsMax}`);
  return refuseExpected(expects);
}

function refuseExpected(expects: Expected): Refused | undefined {
  switch (expects.of) {
    case "text":
      return undefined;
    case "choice": {
      const { choices } = expects;
      const { choicesMax, choiceLengthMax } = limits;
      if (choices.length === 0 || choices.length > choicesMax) {
        return invalid("choices", `must have 1 to ${choicesMax} items`);
      }
      if (choices.some((choice) => choice === "" || choice.length > choiceLengthMax)) {
        return invalid("choices", `each must have 1 to ${choiceLengthMax} characters`);
      }
      return new Set(choices).size < choices.length
        ? invalid("choices", "must all be different")
        : undefined;
    }
    case "json": {
      const { schema } = expects;
      if (schema.length > limits.answerSchemaLengthMax) {
        return invalid("schema", `must have at most ${limits.answerSchemaLengthMax} characters`);
      }
      return isJson(schema) ? undefined : invalid("schema", "must be JSON");
    }
    case "scope": {
      const { read, writePrefix = "", ttlMs } = expects.scope;
      const { scopePatternsMax, patternLengthMax, questionTimeoutMsMax } = limits;
      if (read.length > scopePatternsMax) {
        return invalid("scope.read", `must have at most ${scopePatternsMax} items`);
      }
      if ([...read, writePrefix].some(({ length }) => length > patternLengthMax)) {
        return invalid("scope", `a pattern must have at most ${patternLengthMax} characters`);
      }
      return ttlMs > 0 && ttlMs <= questionTimeoutMsMax
        ? undefined
        : invalid("scope.ttlMs", `must be 1 to ${questionTimeoutMsMax}`);
    }
  }
}

function invalid(path: string, problem: string): Refused {
  return refuse("invalid_argument", `${path}: ${problem}`, { path });
}

function refuseFull(
  questions: Questions,
  command: AskQuestion,
  principal: string | undefined,
): Refused | undefined {
  const { openQuestionsMax, openQuestionsOfAskerMax, openQuestionsOfPrincipalMax } = limits;
  const asker = nameOf(command.asker);
  if (questions.byId.has(command.questionId)) {
    return refuse("key_reused", `there is a question ${command.questionId} already`);
  }
  if ((questions.openByAsker.get(asker)?.size ?? 0) >= openQuestionsOfAskerMax) {
    const message = `${asker} has ${openQuestionsOfAskerMax} open questions, which is its limit`;
    return refuse("limit_reached", message);
  }
  const ofJob = command.asker.of === "job" ? (questions.byAsker.get(asker)?.size ?? 0) : 0;
  if (ofJob >= limits.questionsOfJobMax) {
    const message = `${asker} has asked ${limits.questionsOfJobMax} questions, which is its limit`;
    return refuse("limit_reached", message);
  }
  const ofPrincipal = principal === undefined ? 0 : questions.openByPrincipal.get(principal);
  if ((ofPrincipal ?? 0) >= openQuestionsOfPrincipalMax) {
    const message = `principal ${principal} has ${openQuestionsOfPrincipalMax} open questions, which is its limit`;
    return refuse("limit_reached", message);
  }
  if (questions.open.size >= openQuestionsMax) {
    const message = `${openQuestionsMax} questions are open, which is the limit; answer some`;
    return refuse("limit_reached", message);
  }
  return undefined;
}

/** Why a text is not a valid answer; undefined if it is valid. */
function problemOf(text: string, expects: Expected): string | undefined {
  if (text.length > limits.answerLengthMax) {
    return `the answer must have at most ${limits.answerLengthMax} characters of JSON`;
  }
  const value = parse(text);
  if (value === undefined) return "the answer is not JSON";
  switch (expects.of) {
    case "text":
      return typeof value === "string" ? undefined : "the answer must be a text";
    case "choice":
      return expects.choices.some((choice) => choice === value)
        ? undefined
        : `the answer must be one of ${expects.choices.map((one) => JSON.stringify(one)).join(", ")}`;
    case "json":
      return undefined;
    case "scope":
      return isScopeAnswer(value)
        ? undefined
        : 'the answer must be {"granted": true}, or {"granted": false} with a "reason" if there is one';
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isScopeAnswer(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("granted" in value)) return false;
  if (typeof value.granted !== "boolean") return false;
  const isReason = !("reason" in value) || typeof value.reason === "string";
  return isReason && Object.keys(value).every((key) => ["granted", "reason"].includes(key));
}

function refuseUnknown(id: QuestionId): Refused {
  return refuse("question_not_found", `there is no question ${id}`);
}

function refuseClosed(question: Question): Refused {
  return refuse("question_closed", `question ${question.id} ${endOf(question)}`, { question });
}

function endOf(question: Question): string {
  switch (question.state) {
    case "open":
      return "is open";
    case "answered":
      return `was answered by ${question.by} at ${new Date(question.atMs).toISOString()}`;
    case "closed": {
      const { atMs, expiresAtMs = atMs } = question;
      const at = new Date(atMs).toISOString();
      switch (question.reason) {
        case "withdrawn":
          return `was withdrawn by its asker at ${at}`;
        case "timed_out":
          return `was not answered in time: its deadline was ${new Date(expiresAtMs).toISOString()}`;
        case "asker_ended":
          return `was closed at ${at}, when its ${question.asker.of} ended`;
        case "cannot_run_again":
          return `was closed at ${at}: its job was interrupted and cannot run again`;
      }
    }
  }
}

function recordOf(question: Question): QuestionRecord {
  const { id, asker, key, principal, prompt, expects, askedAtMs, expiresAtMs, place } = question;
  return {
    id,
    asker,
    key,
    ...(principal !== undefined && { principal }),
    prompt,
    expects,
    askedAtMs,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    place,
  };
}

/** The same text for equal values, whatever the order of their keys. */
function printExpected(expects: Expected): string {
  switch (expects.of) {
    case "text":
      return "text";
    case "choice":
      return JSON.stringify(expects.choices);
    case "json":
      return `json ${expects.schema}`;
    case "scope": {
      const { read, writePrefix, mode, ttlMs } = expects.scope;
      return JSON.stringify([read, writePrefix, mode, ttlMs]);
    }
  }
}

export function evolve(questions: OwnQuestions, event: QuestionEvent, isOver: IsOver): void {
  if (event.type === "question.forgotten") deleteQuestion(questions, event.questionId);
  else putQuestion(questions, event.question, isOver);
}

/** Whether a job has ended. */
export type IsOver = (jobId: JobId) => boolean;

/** Adds a question to the indexes, and removes it from those of its earlier state. */
export function putQuestion(questions: OwnQuestions, question: Question, isOver: IsOver): void {
  const { id, asker, key } = question;
  const name = nameOf(asker);
  const before = questions.byId.get(id);
  questions.byId.set(id, question);
  // A later attempt has taken over the question. Nothing else has changed, and it keeps its place in the indexes.
  if (before?.state === "open" && question.state === "open") return;
  unfile(questions, before);
  addLength(questions, question, 1);
  questions.byKey.set(keyOf(asker, key), id);
  putInto(questions.byAsker, name, id);
  questions.lastPlace = Math.max(questions.lastPlace, question.place);
  if (question.state === "open") {
    questions.open.add(id);
    putInto(questions.openByAsker, name, id);
    countOpen(questions, question, 1);
    if (question.expiresAtMs !== undefined) questions.due.set(id, question.expiresAtMs);
    return;
  }
  if (asker.of === "agent") questions.due.set(id, question.atMs + limits.closedQuestionKeptMs);
  if (asker.of === "agent" || isOver(asker.jobId)) putInto(questions.over, ownerOf(question), id);
}

/** The job has ended: nobody asks for its closed questions again. */
export function endJob(questions: OwnQuestions, jobId: JobId): void {
  for (const id of questions.byAsker.get(nameOf({ of: "job", jobId })) ?? []) {
    const question = questions.byId.get(id);
    if (question && question.state !== "open") putInto(questions.over, ownerOf(question), id);
  }
}

function deleteQuestion(questions: OwnQuestions, id: QuestionId): void {
  const question = questions.byId.get(id);
  if (!question) return;
  unfile(questions, question);
  questions.byKey.delete(keyOf(question.asker, question.key));
  takeFrom(questions.byAsker, nameOf(question.asker), id);
  questions.byId.delete(id);
}

/** Deletes the questions of a job that is deleted. */
export function forgetJob(questions: OwnQuestions, jobId: JobId): void {
  const own = questions.byAsker.get(nameOf({ of: "job", jobId })) ?? [];
  for (const id of [...own]) deleteQuestion(questions, id);
}

function unfile(questions: OwnQuestions, question: Question | undefined): void {
  if (!question) return;
  const { id } = question;
  addLength(questions, question, -1);
  questions.due.delete(id);
  takeFrom(questions.over, ownerOf(question), id);
  if (question.state !== "open") return;
  questions.open.delete(id);
  takeFrom(questions.openByAsker, nameOf(question.asker), id);
  countOpen(questions, question, -1);
}

function countOpen({ openByPrincipal }: OwnQuestions, { principal }: Question, by: 1 | -1): void {
  if (principal === undefined) return;
  const count = (openByPrincipal.get(principal) ?? 0) + by;
  if (count === 0) openByPrincipal.delete(principal);
  else openByPrincipal.set(principal, count);
}

function addLength(questions: OwnQuestions, question: Question, sign: 1 | -1): void {
  const { lengthByOwner } = questions;
  const owner = ownerOf(question);
  const change = sign * lengthOf(question);
  const length = (lengthByOwner.get(owner) ?? 0) + change;
  questions.length += change;
  if (length === 0) lengthByOwner.delete(owner);
  else lengthByOwner.set(owner, length);
}

function lengthOf({ prompt, key, expects, ...rest }: Question): number {
  const answerLength = rest.state === "answered" ? rest.answer.length : 0;
  const { questionOverhead } = limits;
  return (
    questionOverhead + prompt.length + key.length + printExpected(expects).length + answerLength
  );
}

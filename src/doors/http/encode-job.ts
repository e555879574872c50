/** Jobs as the API's vocabulary. What they were given, what they said and what came of it is read from the log. */
import {
  type Cost,
  costOf,
  idOfWork,
  type Job,
  type JobId,
  type Outcome,
  openQuestionsOf,
  printAmount,
  printDecimal,
  type State,
  stateOfJob,
  type WorkEvent,
} from "../../core/index.ts";
import type { LastWords } from "../../views/index.ts";
import type * as api from "../../wire/api/index.ts";
import { promptText } from "../../wire/api/index.ts";
import { arcpCodeOf, isObject, normaliseBody } from "../../wire/arcp/index.ts";
import { limits } from "./limits.ts";
import { encodeBare } from "./questions.ts";

/** What a view knows of jobs besides the state. Looked up within `plane.read`. */
export type WorkLook = {
  readonly counts: Readonly<Record<api.JobState, number>>;
  wordsOf(jobId: JobId): LastWords;
};

/** What a job is shown by, besides the state. */
export type JobLook = {
  readonly work: WorkLook;
  /** How many workers that offer an agent, by its full name, are connected. Absent: nobody knows. */
  readonly workersOf?: (agent: string) => number;
};

export function encodeJob(state: State, { work, workersOf }: JobLook, job: Job): api.Job {
  const { jobs } = state;
  const { id, agent, principal, createdAtMs, attempt, parentId, delegateId, depth } = job;
  const { contextId } = job;
  const cost = costOf(jobs, id).map(encodeCost);
  return {
    id,
    agent,
    principal,
    state: stateOf(state, job),
    createdAtMs,
    attempt,
    ...(contextId !== undefined && { contextId }),
    ...(parentId !== undefined && { parentId }),
    ...(delegateId !== undefined && { delegateId }),
    depth,
    childCount: jobs.children.get(id)?.size ?? 0,
    eventCount: jobs.tallies.get(id)?.events ?? 0,
    cost,
    ...budgetIn(cost),
    ...standingOf(job),
    ...firstQuestionOf(state, { of: "job", jobId: id }),
    ...(job.state === "pending" && workersOf && { waiting: { workers: workersOf(agent) } }),
    ...(job.state === "running" && encodeWords(work.wordsOf(id))),
  };
}

/** One that is being prepared is shown to nobody. */
export function stateOf(state: State, job: Job): api.JobState {
  if (job.state === "ended") return job.status;
  const shown = stateOfJob(state, job);
  return shown === "running" || shown === "waiting" ? shown : "pending";
}

export function firstQuestionOf(
  { questions }: State,
  asker: Parameters<typeof openQuestionsOf>[1],
): Pick<api.Job, "question"> {
  const open = openQuestionsOf(questions, asker);
  const [first] = open;
  if (!first) return {};
  const { prompt, askedAtMs, expiresAtMs, expects } = first;
  const scope = expects.of === "scope" ? expects.scope : undefined;
  return {
    question: {
      id: first.id,
      kind: scope ? "scope" : "input",
      prompt: shorten(promptText({ prompt, scope })),
      askedAtMs,
      ...(expiresAtMs !== undefined && { expiresAtMs }),
      openCount: open.length,
    },
  };
}

function standingOf(job: Job): Partial<api.Job> {
  switch (job.state) {
    case "preparing":
    case "pending":
      return {};
    case "running": {
      const { worker, startedAtMs, cancelling, orphanedUntilMs } = job;
      return {
        worker,
        startedAtMs,
        ...(cancelling && { cancelling }),
        ...(orphanedUntilMs !== undefined && { orphanedUntilMs }),
      };
    }
    case "ended":
      return { endedAtMs: job.endedAtMs };
  }
}

function encodeCost({ currency, total, own, children, cap, reserved }: Cost): api.JobCost {
  return {
    currency,
    total: printDecimal(total),
    ...(own && { own: printDecimal(own) }),
    ...(children && { children: printDecimal(children) }),
    ...(cap && { cap: printDecimal(cap) }),
    ...(reserved && { reserved: printDecimal(reserved) }),
  };
}

/** The same cost in the two fields that older clients read. */
function budgetIn(cost: readonly api.JobCost[]): Pick<api.Job, "budget" | "unbudgeted"> {
  const budget = cost.flatMap(({ currency, total: spent, cap, reserved }) =>
    cap === undefined || reserved === undefined ? [] : [{ currency, cap, spent, reserved }],
  );
  const unbudgeted = cost.flatMap(({ currency, total: spent, cap }) =>
    cap === undefined ? [{ currency, spent }] : [],
  );
  return { budget, ...(unbudgeted.length > 0 && { unbudgeted }) };
}

function encodeWords({ progress, doing }: LastWords): Pick<api.Job, "progress" | "doing"> {
  const far = progress === undefined ? undefined : readProgress(progress);
  const words = doing && readDoing(doing);
  return { ...(far && { progress: far }), ...(words && { doing: words }) };
}

function readProgress(body: string): api.JobProgress | undefined {
  const said = normaliseBody("progress", JSON.parse(body));
  if (said?.kind !== "progress") return undefined;
  const { current, total, units, message } = said;
  return {
    current,
    ...(total !== undefined && { total }),
    ...(units !== undefined && { units }),
    ...(message !== undefined && { message: shorten(message) }),
  };
}

/** In words; none where it says no more than that it runs. */
function readDoing({ kind, body }: NonNullable<LastWords["doing"]>): string | undefined {
  const said = normaliseBody(kind, JSON.parse(body));
  switch (said?.kind) {
    case "status":
      return shorten(said.message ?? (said.phase === "running" ? "" : said.phase));
    case "thought":
      return shorten(said.text);
    case "log":
      return shorten(said.message);
    case "tool_call":
      return shorten(`calls ${said.tool}`);
    case "delegate":
      return shorten(`delegates to ${said.agent}`);
    case "tool_result":
    case "metric":
    case "artifact_ref":
    case "progress":
    case "result_chunk":
    case undefined:
      return undefined;
  }
}

/** Cut between characters. */
export function shorten(text: string): string {
  if (text.length <= limits.doingLengthMax) return text;
  return `${[...text.slice(0, limits.doingLengthMax)].slice(0, -1).join("")}…`;
}

/** In the words that ARCP has for it, as agents fail in them too: who reads both doors reads one code. */
export function encodeFailure(outcome: Outcome): Pick<api.Job, "failure"> {
  if (outcome.status === "success") return {};
  const { failure } = outcome;
  const { message, isRetryable } = failure;
  return { failure: { code: arcpCodeOf(failure.code), message, isRetryable } };
}

/** How it ended, with the result. */
export function encodeOutcome(
  outcome: Outcome,
): Pick<api.JobDetail, "failure" | "result" | "streamed" | "summary"> {
  if (outcome.status !== "success") return encodeFailure(outcome);
  const { result, streamed, summary } = outcome;
  return {
    ...(result !== undefined && { result: JSON.parse(result) }),
    ...(streamed && { streamed }),
    ...(summary !== undefined && { summary }),
  };
}

/** How much of what happens to jobs a reader is told. */
export type Telling = {
  /** Without it, no more than which job it is. */
  readonly maySee: boolean;
  /** What one job says, in its own words. */
  readonly hasBodies?: boolean;
};

export function encodeWork(
  event: WorkEvent,
  { maySee, hasBodies = false }: Telling,
): api.WorkEntry {
  const named = { type: event.type, id: idOfWork(event) };
  return maySee ? { ...named, ...restOf(event, hasBodies) } : named;
}

function restOf(event: WorkEvent, hasBodies: boolean): Partial<api.WorkEntry> {
  switch (event.type) {
    case "job.accepted": {
      const { agent, principal, parentId } = event.job;
      return { job: { agent, principal, ...(parentId !== undefined && { parentId }) } };
    }
    case "job.started":
      return { attempt: event.attempt, worker: event.worker };
    case "job.emitted": {
      const { kind, body, spent } = event;
      return {
        kind,
        ...(spent && { spent: printAmount(spent) }),
        ...(hasBodies && { body: withoutSecrets(JSON.parse(body)) }),
      };
    }
    case "job.cancelling":
      return { reason: event.reason, untilMs: event.untilMs };
    case "job.orphaned":
      return { untilMs: event.untilMs };
    case "job.ended": {
      const { outcome } = event;
      const summary = outcome.status === "success" ? outcome.summary : undefined;
      return {
        state: outcome.status,
        ...encodeFailure(outcome),
        ...(summary !== undefined && { summary }),
      };
    }
    case "job.preparing":
    case "job.withdrawn":
    case "job.joined":
    case "job.reserved":
    case "job.spent":
    case "job.settled":
    case "job.reclaimed":
    case "job.offered":
    case "job.forgotten":
    case "credential.issued":
    case "credential.ended":
    case "credential.stuck":
    case "credential.revoked":
    case "session.opened":
    case "session.resumed":
    case "session.detached":
    case "session.expired":
    case "session.acknowledged":
    case "session.followed":
    case "session.left":
    case "session.rejected":
    case "question.forgotten":
      return {};
    case "question.asked":
    case "question.answered":
    case "question.closed":
      return { question: encodeBare(event.question) };
  }
}

/** A credential that was made anew is told to its job as a status; it is for nobody else. */
function withoutSecrets(body: unknown): unknown {
  if (!isObject(body) || body["phase"] !== "credential_rotated") return body;
  const { phase, id, message } = body;
  return { phase, id, message };
}

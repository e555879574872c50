/**
 * What was said, kept apart from whoever said it: every line on every wire, what handlers did, what clients were
 * handed. It knows the rules of the protocol and nothing of how they are kept.
 */
import assert from "node:assert/strict";
import type { Question } from "../../src/core/index.ts";
import type { Entry } from "../../src/log/index.ts";

/** One execution by a handler. */
export type Execution = {
  readonly submission: number;
  readonly jobId: string;
  readonly servers: number;
  words: number;
  isDone: boolean;
};

/** A handle that a client was given, or waits for. */
export type Held = {
  readonly submission: number;
  readonly key: string | undefined;
  readonly how: "submitted" | "history" | "live";
  jobId?: string;
  /** Of each event that tells one, in the order in which they were read. */
  readonly words: string[];
  /** A result that was streamed. */
  text?: string;
  /** The first that were for nobody were dropped. */
  hasDropped?: boolean;
  /** Whether whoever read the events came to their end. */
  isRead: boolean;
  /** `lost`: nobody can know how the job ended. */
  end?: { readonly status: "success" | "failed" | "lost"; readonly code?: string; result?: Result };
  refused?: string;
};

export type Result = { readonly mark: number; readonly words: number };

type Line = {
  readonly id: string;
  readonly type: string;
  readonly session_id?: string;
  readonly job_id?: string;
  readonly event_seq?: number;
  readonly payload: {
    readonly request_id?: string;
    readonly session_id?: string;
    readonly resume_token?: string;
    readonly resume?: { readonly session_id: string; readonly last_event_seq: number };
    readonly code?: string;
  };
};

/** One connection, as it could be overheard. */
export type Overheard = {
  /** The session that the hello wants to go on with. */
  resumes?: string;
  helloBytes: number;
  sessionId?: string;
  last: number;
  /** Bytes of the first line that the runtime said. */
  welcomeBytes?: number;
};

export class Referee {
  readonly executions: Execution[] = [];
  readonly held: Held[] = [];
  /** By session, then by number: the text of the frame. */
  readonly #told = new Map<string, Map<number, string>>();
  /** By session and job: the numbers of frames that end it. */
  readonly #ends = new Map<string, Set<number>>();
  /** Jobs that somebody was told are being cancelled. */
  readonly cancelled: Set<string> = new Set();
  /** Jobs that somebody was told are accepted, and in which sessions. */
  readonly accepted: Map<string, Set<string>> = new Map();
  readonly #subscribed = new Set<string>();
  /** Answers of which whoever gave them was told that they count. */
  readonly acknowledged: { readonly id: string; readonly answer: string }[] = [];
  /** Whom those who came too late were told to have been first. */
  readonly late: { readonly id: string; readonly by: string }[] = [];
  /** What handlers were given as the answer to their question. */
  readonly answers: { readonly jobId: string; readonly answer: unknown }[] = [];

  overhear(): Overheard {
    return { helloBytes: 0, last: 0 };
  }

  hear(wire: Overheard, direction: "up" | "down", text: string): void {
    const line = JSON.parse(text) as Line;
    if (direction === "up") {
      if (line.type === "session.hello") {
        const { resume } = line.payload;
        if (resume) wire.resumes = resume.session_id;
        wire.helloBytes = Buffer.byteLength(text) + 1;
        wire.last = resume?.last_event_seq ?? 0;
      }
      if (line.type === "job.subscribe") this.#subscribed.add(`${wire.sessionId} ${line.job_id}`);
      return;
    }
    wire.welcomeBytes ??= Buffer.byteLength(text) + 1;
    const { session_id: sessionId = "", job_id: jobId = "", event_seq: number } = line;
    if (line.type === "session.welcome") wire.sessionId = sessionId;
    if (line.type === "job.cancelled") this.cancelled.add(jobId);
    if (line.type === "job.accepted") {
      this.accepted.set(jobId, (this.accepted.get(jobId) ?? new Set()).add(sessionId));
    }
    if (number === undefined) return;
    assert.equal(sessionId, wire.sessionId, "a frame is of the session that the welcome named");
    assert.equal(number, wire.last + 1, `${sessionId}: no number is left out or used twice`);
    wire.last = number;
    this.#hearNumbered(sessionId, jobId, number, line.type, text);
  }

  #hearNumbered(
    sessionId: string,
    jobId: string,
    number: number,
    type: string,
    text: string,
  ): void {
    const told = this.#told.get(sessionId) ?? new Map<number, string>();
    this.#told.set(sessionId, told);
    const before = told.get(number);
    if (before !== undefined) {
      assert.equal(text, before, `${sessionId}: what was told under ${number} stays as it was`);
      return;
    }
    told.set(number, text);
    if (type !== "job.result" && type !== "job.error") return;
    const ends = this.#ends.get(`${sessionId} ${jobId}`) ?? new Set();
    this.#ends.set(`${sessionId} ${jobId}`, ends.add(number));
  }

  /** The last number that a session was told, whether or not it arrived. */
  lastOf(sessionId: string): number {
    return this.#told.get(sessionId)?.size ?? 0;
  }

  /** At the end, with all that the log has. */
  judge(entries: readonly Entry[]): void {
    const jobs = new Map<string, JobStory>();
    for (const entry of entries) read(jobs, entry);
    for (const [jobId, story] of jobs) this.#judgeJob(jobId, story);
    this.#judgeSubmissions(jobs);
    for (const [jobId, sessions] of this.accepted) {
      const story = jobs.get(jobId);
      assert(story, `${jobId} was accepted and is not in the log`);
      for (const sessionId of sessions) this.#judgeEnds(sessionId, jobId, story);
    }
    for (const jobId of this.cancelled) {
      assert.equal(jobs.get(jobId)?.ends[0]?.status, "cancelled", `${jobId} was to be cancelled`);
    }
    for (const held of this.held) this.#judgeHeld(held, jobs);
    this.#judgeQuestions(entries);
  }

  /** Each question closes once; the answer that was acknowledged is the one that its job was given. */
  #judgeQuestions(entries: readonly Entry[]): void {
    const closed = new Map<string, Question>();
    const answers = new Map<string, string>();
    for (const { event } of entries) {
      if (event.type !== "question.answered" && event.type !== "question.closed") continue;
      const { question } = event;
      assert(!closed.has(question.id), `${question.id} closes twice`);
      closed.set(question.id, question);
      const { asker } = question;
      if (question.state === "answered" && asker.of === "job") {
        answers.set(asker.jobId, JSON.parse(question.answer));
      }
    }
    for (const { id, answer } of this.acknowledged) {
      const question = closed.get(id);
      const isKept = question?.state === "answered" && JSON.parse(question.answer) === answer;
      assert(isKept, `${id}: the answer ${answer} was acknowledged and is not in the log`);
    }
    for (const { id, by } of this.late) {
      const question = closed.get(id);
      assert(question?.state === "answered" && question.by === by, `${id}: ${by} was not first`);
    }
    for (const { jobId, answer } of this.answers) {
      assert.equal(answer, answers.get(jobId), `${jobId} was given another answer`);
    }
  }

  #judgeEnds(sessionId: string, jobId: string, { submission }: JobStory): void {
    // Who asks again for a job that has ended is told its end again.
    const isAskedOnce =
      !this.#subscribed.has(`${sessionId} ${jobId}`) && !this.#isKeyed(submission);
    const ends = this.#ends.get(`${sessionId} ${jobId}`)?.size ?? 0;
    if (isAskedOnce) assert(ends <= 1, `${jobId} ends once in ${sessionId}`);
  }

  #isKeyed(submission: number): boolean {
    return this.held.some((held) => held.submission === submission && held.key !== undefined);
  }

  #judgeJob(jobId: string, { ends, agent, spoken, attempts }: JobStory): void {
    assert.equal(ends.length, 1, `${jobId} ends once`);
    const executions = this.executions.filter((each) => each.jobId === jobId);
    const mayRepeat = agent.startsWith("again");
    if (!mayRepeat) assert(executions.length <= 1, `${jobId} was run twice`);
    assert(executions.length <= attempts, `${jobId} was run without being started`);
    const [end] = ends;
    if (end?.status === "error") {
      const isUnanswered = agent.endsWith("asks") && end.code === "ask_timeout";
      if (isUnanswered) return;
      assert.equal(end.code, "worker_lost", `${agent} ${jobId} failed: ${end.message}`);
      assert.equal(mayRepeat, false, `${jobId} may be repeated, and was given up`);
    }
    const result = end?.result;
    // Each execution's words in order, and the later execution after the earlier one.
    const counts = new Map<number, number>();
    let latest = -1;
    for (const word of spoken) {
      const [mark = -1, number] = word.split(":").map(Number);
      assert(mark >= latest, `${jobId}: an execution that was over is heard`);
      latest = mark;
      counts.set(mark, (counts.get(mark) ?? 0) + 1);
      assert.equal(number, counts.get(mark), `${jobId}: every word once, in order`);
    }
    if (!result) return;
    assert.equal(counts.get(result.mark) ?? 0, result.words, `${jobId}: all words before the end`);
    assert.equal(this.executions[result.mark]?.isDone, true);
  }

  #judgeSubmissions(jobs: ReadonlyMap<string, JobStory>): void {
    const bySubmission = Map.groupBy(jobs, ([, { submission }]) => submission);
    for (const [submission, made] of bySubmission) {
      assert.equal(made.length, 1, `submission ${submission} made ${made.length} jobs`);
    }
    const keyed = this.held.filter(({ key, jobId }) => key !== undefined && jobId !== undefined);
    for (const [key, same] of Map.groupBy(keyed, (held) => held.key)) {
      const made = new Set(same.map(({ jobId }) => jobId));
      assert.equal(made.size, 1, `the key ${key} made ${[...made]}`);
    }
  }

  #judgeHeld(held: Held, jobs: ReadonlyMap<string, JobStory>): void {
    const { jobId, end, words, how, key, refused } = held;
    const name = `${how} handle of submission ${held.submission} (${jobId})`;
    if (jobId === undefined) {
      assert(refused !== undefined, `${name} was neither given nor refused`);
      return;
    }
    const story = jobs.get(jobId);
    assert(story, `${name}: its job is not in the log`);
    assert(end, `${name} never settles`);
    assert(held.isRead, `${name}: its events never end`);
    const [ended] = story.ends;
    const fromStart = how === "history" || (how === "submitted" && key === undefined);
    if (end.status === "success") {
      assert.equal(ended?.status, "success", name);
      assert.deepEqual(end.result, ended?.result, name);
      const isWhole = story.agent.endsWith("pieces") && fromStart;
      if (isWhole) assert.equal(held.text, textOf(held.submission), name);
    }
    if (end.status === "failed") {
      assert.notEqual(ended?.status, "success", `${name} failed with ${end.code}`);
    }
    const all = story.spoken;
    const from = fromStart && !held.hasDropped ? 0 : all.indexOf(words[0] ?? "");
    const expected = words.length === 0 && !fromStart ? [] : all.slice(from);
    assert.deepEqual(
      words,
      end.status === "lost" ? expected.slice(0, words.length) : expected,
      `${name} (${end.status}) misses words, or has too many`,
    );
  }
}

type JobStory = {
  agent: string;
  submission: number;
  attempts: number;
  spoken: string[];
  ends: { status: string; code?: string; message?: string; result?: Result }[];
};

function read(jobs: Map<string, JobStory>, { event }: Entry): void {
  if (event.type === "job.accepted") {
    const { submission } = JSON.parse(event.input ?? "{}");
    const { agent } = event.job;
    jobs.set(event.job.id, { agent, submission, attempts: 0, spoken: [], ends: [] });
    return;
  }
  const story = "jobId" in event ? jobs.get(event.jobId) : undefined;
  if (!story) return;
  if (event.type === "job.started") story.attempts += 1;
  if (event.type === "job.emitted") {
    assert.equal(story.ends.length, 0, `${event.jobId}: nothing is said after the end`);
    if (event.kind !== "log") return;
    story.spoken.push(wordIn(JSON.parse(event.body).message));
  }
  if (event.type !== "job.ended") return;
  const { outcome } = event;
  if (outcome.status !== "success") {
    const { code, message } = outcome.failure;
    story.ends.push({ status: outcome.status, code, message });
    return;
  }
  const result: Result | undefined =
    outcome.result === undefined ? undefined : JSON.parse(outcome.result);
  story.ends.push({ status: "success", ...(result && { result }) });
}

/** What a job that streams its result streams, in pieces. */
export function textOf(submission: number): string {
  return Array.from({ length: 4 }, (_, at) => `piece ${at} of ${submission};`).join("");
}

/** A word may be long, so that much is under way. */
export function wordIn(message: string): string {
  return message.split(" ")[0] ?? "";
}

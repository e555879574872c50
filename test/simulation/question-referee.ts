/** Objects to whatever should not have happened to a question or a dismissal. Part of the referee, and as plain. */
import assert from "node:assert/strict";
import type { Agent, Event, Question } from "../../src/core/index.ts";
import type { Entry } from "../../src/log/index.ts";
import type { Ledger } from "./ledger.ts";
import {
  askedOf,
  askerOf,
  attemptOf,
  closingOf,
  type LedgerQuestion,
  nameOf,
  QuestionLedger,
} from "./question-ledger.ts";

const dayMs = 86_400_000;

export class QuestionReferee {
  readonly ledger: QuestionLedger = new QuestionLedger();
  readonly #work: Ledger;
  readonly #agents: ReadonlyMap<string, Agent>;
  /** Every closing there ever was, also of questions that are forgotten. */
  readonly #closings = new Map<string, string>();
  readonly #ids = new Set<string>();
  #lastPlace = 0;

  constructor(work: Ledger, agents: ReadonlyMap<string, Agent>) {
    this.#work = work;
    this.#agents = agents;
  }

  /** How a question closed; undefined if that is not durable. */
  closing(id: string): string | undefined {
    return this.#closings.get(id);
  }

  /** Expects that jobs and agents are as they are after the entry. */
  judge({ event, atMs, actor }: Entry): void {
    this.#judgeEvent(event, { atMs, actor });
    this.ledger.apply(event);
  }

  judgeEndOfAppend(): void {
    for (const question of this.ledger.byId.values()) {
      if (question.state !== "open") continue;
      const { id, asker } = question;
      assert(!this.#isOver(question), `${id} is open, and its asker ${asker} has ended`);
    }
  }

  /** Whatever has a time has ended at it. */
  judgeTime(nowMs: number): void {
    for (const { id, state, expiresAtMs, isOfJob, closedAtMs } of this.ledger.byId.values()) {
      if (state === "open") assert(expiresAtMs > nowMs, `${id} is open after its deadline`);
      else assert(isOfJob || closedAtMs + dayMs > nowMs, `${id} should be forgotten`);
    }
  }

  #judgeEvent(event: Event, { atMs, actor }: { readonly atMs: number; readonly actor: string }) {
    switch (event.type) {
      case "question.asked":
        this.#judgeAsked(event.question, atMs);
        return;
      case "question.answered": {
        const known = this.#judgeClosing(event.question, atMs);
        assert.equal(event.question.state, "answered");
        assert.notEqual(actor, "system", "somebody answers");
        assert(atMs < known.expiresAtMs, `${known.id} was answered after its deadline`);
        assert(!this.#isOver(known), `${known.id} was answered after its asker had ended`);
        return;
      }
      case "question.closed": {
        const known = this.#judgeClosing(event.question, atMs);
        this.#judgeReason(known, event.question, { atMs, actor });
        return;
      }
      case "question.forgotten": {
        const { id, isOfJob, state, closedAtMs } = this.ledger.question(event.questionId);
        assert(!isOfJob, `${id} is forgotten before its job`);
        assert.notEqual(state, "open", `${id} is forgotten while it is open`);
        assert(atMs >= closedAtMs + dayMs, `${id} is forgotten too soon`);
        return;
      }
      case "job.emitted":
        this.#judgeNews(event);
        return;
      case "need.dismissed": {
        const { dismissal } = event;
        assert.equal(dismissal.atMs, atMs);
        assert(dismissal.sinceMs <= atMs, "nobody dismisses what has not begun");
        return;
      }
      case "need.restored":
        assert(this.ledger.dismissals.has(nameOf(event)), "what was not dismissed is restored");
        return;
      default:
        return;
    }
  }

  #judgeAsked(question: Question, atMs: number): void {
    const { id } = question;
    assert.equal(question.state, "open");
    const known = this.ledger.byId.get(id);
    this.#judgeAsker(question);
    if (known) {
      assert.equal(known.state, "open", `${id} was closed and is open again`);
      this.#judgeSame(known, question);
      assert(attemptOf(question) > known.attempt, `${id} was asked twice by one attempt`);
      return;
    }
    assert(!this.#ids.has(id), `${id} is given twice`);
    assert.equal(question.askedAtMs, atMs);
    assert(question.place > this.#lastPlace, `${id} jumped the queue`);
    const other = this.ledger.underKey(askerOf(question), question.key);
    assert.equal(other, undefined, `${other?.id} has the key of ${id}`);
    this.#ids.add(id);
    this.#lastPlace = question.place;
  }

  #judgeAsker({ id, asker }: Question): void {
    if (asker.of === "agent") {
      assert(this.#isLiving(asker.agentId), `${id} is of an agent that is dead`);
      return;
    }
    const job = this.#work.job(asker.jobId);
    assert.equal(job.state, "running", `${id} is of a job that does not run`);
    assert.equal(job.attempt, asker.attempt, `${id} is of an attempt that is over`);
    assert.equal(job.cancelledUntilMs, undefined, `${id} is of a job that is being cancelled`);
  }

  /** Each question closes once. */
  #judgeClosing(question: Question, atMs: number): LedgerQuestion {
    const { id } = question;
    const known = this.ledger.question(id);
    assert.equal(known.state, "open", `${id} closes twice: first ${known.closing}`);
    this.#judgeSame(known, question);
    assert.equal(attemptOf(question), known.attempt);
    assert(question.state !== "open" && question.atMs === atMs, `${id} closes at another time`);
    assert(!this.#closings.has(id), `${id} closes twice: first ${this.#closings.get(id)}`);
    this.#closings.set(id, closingOf(question));
    return known;
  }

  #judgeReason(
    known: LedgerQuestion,
    question: Question,
    { atMs, actor }: { readonly atMs: number; readonly actor: string },
  ): void {
    assert(question.state === "closed", `${known.id} is ${question.state}`);
    const { reason } = question;
    const isOver = this.#isOver(known);
    switch (reason) {
      case "withdrawn":
        assert.notEqual(actor, "system", "nobody has withdrawn it");
        assert(!isOver && atMs < known.expiresAtMs, `${known.id} was withdrawn too late`);
        return;
      case "timed_out":
        assert(atMs >= known.expiresAtMs, `${known.id} was closed before its deadline`);
        return;
      case "asker_ended":
      case "cannot_run_again": {
        assert(isOver, `${known.id} was closed, and its asker goes on`);
        const job = known.isOfJob ? this.#work.job(known.askerId) : undefined;
        const isInterrupted = job?.state === "ended" ? job.isInterrupted : job?.isWished === false;
        assert.equal(reason, isInterrupted ? "cannot_run_again" : "asker_ended", known.id);
        return;
      }
    }
  }

  /** The event about a closed question must agree with the log. */
  #judgeNews({ jobId, kind, body }: Event & { readonly type: "job.emitted" }): void {
    if (kind !== "question_closed") return;
    const told: { question_id: string; outcome: string; by?: string } = JSON.parse(body);
    const { id, askerId, state, closing, by } = this.ledger.question(told.question_id);
    assert.equal(askerId, jobId, `${id} appears in the events of another job`);
    assert.notEqual(state, "open", `${id} is reported as closed, but is open`);
    assert(
      closing.startsWith(`${told.outcome} `),
      `${id} is reported as ${told.outcome}: ${closing}`,
    );
    assert.equal(told.by, by, `${id} is reported as answered by ${told.by}`);
  }

  /** Nothing but its state and its attempt changes. */
  #judgeSame(known: LedgerQuestion, question: Question): void {
    const { key, principal, place, askedAtMs, expiresAtMs = Number.POSITIVE_INFINITY } = question;
    assert.deepEqual(
      { key, principal, place, askedAtMs, expiresAtMs, asked: askedOf(question) },
      {
        key: known.key,
        principal: known.principal,
        place: known.place,
        askedAtMs: known.askedAtMs,
        expiresAtMs: known.expiresAtMs,
        asked: known.asked,
      },
      `${known.id} has changed`,
    );
    assert.equal(askerOf(question), known.asker);
  }

  /** Whether its asker has ended, or is told to. */
  #isOver({ isOfJob, askerId }: LedgerQuestion): boolean {
    if (!isOfJob) return !this.#isLiving(askerId);
    const job = this.#work.jobs.get(askerId);
    if (!job || job.state === "ended") return true;
    return job.state === "running" && job.cancelledUntilMs !== undefined;
  }

  #isLiving(agentId: string): boolean {
    const agent = this.#agents.get(agentId);
    return agent !== undefined && agent.liveness !== "dead";
  }
}

/**
 * Questions and dismissals as the events tell of them, without any rule of the core: one record for each question,
 * found by looking through all of them.
 */
import assert from "node:assert/strict";
import type { Dismissal, Event, Question } from "../../src/core/index.ts";

export type LedgerQuestion = {
  readonly id: string;
  /** `job j` or `agent a`. */
  readonly asker: string;
  readonly askerId: string;
  readonly isOfJob: boolean;
  readonly key: string;
  readonly principal: string | undefined;
  /** What was asked, as one text. */
  readonly asked: string;
  readonly expects: Question["expects"];
  readonly place: number;
  readonly askedAtMs: number;
  readonly expiresAtMs: number;
  /** The attempt that asked last. */
  attempt: number;
  state: Question["state"];
  /** How it closed, as one text. Equal texts: the same closing. */
  closing: string;
  answer: string | undefined;
  answerKey: string | undefined;
  by: string | undefined;
  closedAtMs: number;
};

export class QuestionLedger {
  byId: Map<string, LedgerQuestion> = new Map();
  dismissals: Map<string, Dismissal> = new Map();

  copy(): QuestionLedger {
    const copy = new QuestionLedger();
    copy.byId = structuredClone(this.byId);
    copy.dismissals = new Map(this.dismissals);
    return copy;
  }

  apply(event: Event): void {
    switch (event.type) {
      case "question.asked": {
        const { question } = event;
        const known = this.byId.get(question.id);
        if (known) known.attempt = attemptOf(question);
        else this.byId.set(question.id, newQuestion(question));
        return;
      }
      case "question.answered":
      case "question.closed": {
        const { question } = event;
        const known = this.question(question.id);
        assert(question.state !== "open", `${question.id} closed and is open`);
        const { state, atMs: closedAtMs } = question;
        const closing = closingOf(question);
        Object.assign(known, { state, closedAtMs, closing });
        if (question.state !== "answered") return;
        const { answer, by, answerKey } = question;
        Object.assign(known, { answer, by, answerKey });
        return;
      }
      case "question.forgotten":
        this.byId.delete(event.questionId);
        return;
      case "job.forgotten":
        for (const { id } of this.ofAsker(`job ${event.jobId}`)) this.byId.delete(id);
        return;
      case "need.dismissed":
        this.dismissals.set(nameOf(event.dismissal), event.dismissal);
        return;
      case "need.restored":
        this.dismissals.delete(nameOf(event));
        return;
      default:
        return;
    }
  }

  question(id: string): LedgerQuestion {
    const question = this.byId.get(id);
    assert(question, `there is no question ${id}`);
    return question;
  }

  ofAsker(asker: string): readonly LedgerQuestion[] {
    return [...this.byId.values()].filter((question) => question.asker === asker);
  }

  underKey(asker: string, key: string): LedgerQuestion | undefined {
    return this.ofAsker(asker).find((question) => question.key === key);
  }
}

export function nameOf({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return `${kind} ${id}`;
}

/** What was asked: equal texts are the same question. */
export function askedOf({ prompt, expects }: Pick<Question, "prompt" | "expects">): string {
  return JSON.stringify([prompt, expects]);
}

export function closingOf(question: Question): string {
  switch (question.state) {
    case "open":
      return "";
    case "answered":
      return `answered ${question.answer} by ${question.by} at ${question.atMs}`;
    case "closed":
      return `${question.reason} at ${question.atMs}`;
  }
}

export function reasonOf(question: Question): string {
  return question.state === "closed" ? question.reason : question.state;
}

export function askerOf({ asker }: Pick<Question, "asker">): string {
  return asker.of === "job" ? `job ${asker.jobId}` : `agent ${asker.agentId}`;
}

export function attemptOf({ asker }: Pick<Question, "asker">): number {
  return asker.of === "job" ? asker.attempt : 0;
}

function newQuestion(question: Question): LedgerQuestion {
  const { id, asker, key, principal, expects, place, askedAtMs, expiresAtMs } = question;
  return {
    ...{ id, key, principal, expects, place, askedAtMs },
    asker: askerOf(question),
    askerId: asker.of === "job" ? asker.jobId : asker.agentId,
    isOfJob: asker.of === "job",
    asked: askedOf(question),
    expiresAtMs: expiresAtMs ?? Number.POSITIVE_INFINITY,
    attempt: attemptOf(question),
    state: "open",
    closing: "",
    answer: undefined,
    answerKey: undefined,
    by: undefined,
    closedAtMs: 0,
  };
}

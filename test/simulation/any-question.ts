/**
 * Whatever somebody might ask, answer, withdraw or dismiss, and what each command must come to by the ledgers alone.
 * Mostly what makes sense just now, sometimes what never did.
 */
import {
  agentId,
  type Command,
  type Expected,
  jobId,
  type Question,
  questionId,
} from "../../src/core/index.ts";
import type { Random } from "../../src/testing/random.ts";
import type { Ledger } from "./ledger.ts";
import {
  askedOf,
  askerOf,
  attemptOf,
  type LedgerQuestion,
  type QuestionLedger,
} from "./question-ledger.ts";

export type QuestionCommand = Extract<
  Command,
  { readonly type: `question.${string}` | `need.${string}` }
>;

export function isQuestionCommand(command: Command): command is QuestionCommand {
  return command.type.startsWith("question.") || command.type.startsWith("need.");
}

export type QuestionPresent = {
  readonly questions: QuestionLedger;
  readonly work: Ledger;
  /** Agents that somebody may ask as; some of them are dead. */
  readonly agents: readonly string[];
  /** Undefined: there is no such agent. */
  readonly livenessOf: (agentId: string) => string | undefined;
  readonly nowMs: number;
  readonly mint: (prefix: string) => string;
};

/** What a job or an agent asks, before it is said in the words of a door. */
export type Wish = {
  readonly asker: Question["asker"];
  readonly key: string;
  readonly prompt: string;
  readonly expects: Expected;
  readonly timeoutMs?: number;
};

/** An answer, before it is said in the words of a door. */
export type AnyAnswer = {
  readonly question: Pick<LedgerQuestion, "id" | "isOfJob" | "askerId">;
  readonly value: unknown;
  readonly name: string;
  readonly key?: string;
};

const keys = ["1", "2", "3"] as const;
const kinds = ["question", "agent_waiting", "task_dead"] as const;
const colours: Expected = { of: "choice", choices: ["red", "blue"] };
const scope = { read: ["src/**"], mode: "read_only", ttlMs: 60_000 } as const;

export class AnyQuestion {
  readonly #random: Random;
  /** The last answers, for somebody who did not hear whether they arrived. */
  #said: AnyAnswer[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** As it reaches the core, past all doors. */
  command(present: QuestionPresent): QuestionCommand {
    const random = this.#random;
    const kind = random.weighted({ ask: 8, answer: 8, withdraw: 3, dismiss: 3, restore: 2 });
    switch (kind) {
      case "ask": {
        const wish = this.wish(present);
        const id = this.#known(present, 3)?.id ?? present.mint("q_");
        return { type: "question.ask", questionId: questionId(id), ...wish };
      }
      case "answer": {
        const { question, value, name, key } = this.answer(present);
        const principal = random.pick([undefined, "ada", "eve"]);
        return {
          type: "question.answer",
          questionId: questionId(question.id),
          answer: random.chance(2) ? "{" : JSON.stringify(value),
          by: { name, ...(principal && { principal, maySee: random.chance(50) }) },
          ...(key !== undefined && { key }),
        };
      }
      case "withdraw": {
        const { asker, key } = this.#late(present) ?? this.wish(present);
        return { type: "question.withdraw", asker, key };
      }
      case "dismiss": {
        const sinceMs = present.nowMs - random.between(-1, 5_000);
        const forMs = random.chance(50) ? random.between(1, 10_000) : undefined;
        const end = forMs !== undefined && { forMs };
        return { type: "need.dismiss", ...this.#need(present), sinceMs, ...end, by: "local" };
      }
      case "restore":
        return { type: "need.restore", ...this.#need(present) };
    }
  }

  /** Of a job that runs, mostly, or of an agent. */
  wish({ work, agents, questions }: QuestionPresent): Wish {
    const random = this.#random;
    const again = random.pickAny([...questions.byId.values()]);
    const isAgain = again !== undefined && random.chance(30);
    const running = [...work.jobs.values()].filter(({ state }) => state === "running");
    const any = random.pickAny(random.chance(95) ? running : [...work.jobs.values()]);
    const job = isAgain && again.isOfJob ? work.jobs.get(again.askerId) : any;
    const attempt = (job?.attempt ?? 1) - (random.chance(4) ? 1 : 0);
    const agent = random.pickAny(agents) ?? "nobody";
    const isJob = isAgain ? again.isOfJob : random.chance(65);
    const asker = isJob
      ? ({ of: "job", jobId: jobId(job?.id ?? "job_none"), attempt } as const)
      : ({ of: "agent", agentId: agentId(isAgain ? again.askerId : agent) } as const);
    const key = isAgain ? again.key : random.pick(keys);
    const expected: readonly [Expected, ...Expected[]] = [
      { of: "text" },
      colours,
      { of: "json", schema: "{}" },
      { of: "scope", scope },
    ];
    // One key is mostly one question: an asker that runs again asks the same.
    const expects = expected[Number(key) - 1] ?? expected[0];
    const timeoutMs = random.pick([1, 3_000, 30_000, 30_000, undefined, undefined, undefined]);
    return {
      asker,
      key,
      prompt: `what is ${key}?`,
      expects: random.chance(3) ? random.pick(expected) : expects,
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
  }

  /** Mostly to an open question; often one that somebody else answers just now. */
  answer(present: QuestionPresent): AnyAnswer {
    const random = this.#random;
    const again = random.pickAny(this.#said);
    if (again && random.chance(20)) return again;
    const known = this.#known(present, 100);
    const question = known ?? { id: "q_none", isOfJob: true, askerId: "job_none" };
    const right = {
      text: random.pick(["yes", "no"]),
      choice: random.pick(["red", "blue"]),
      json: { size: random.below(3) },
      scope: { granted: random.chance(50) },
    };
    const said: AnyAnswer = {
      question,
      value: random.chance(3) ? 7 : right[known?.expects.of ?? "text"],
      name: random.pick(["ada", "bob", "eve"]),
      ...(random.chance(50) && { key: present.mint("a_") }),
    };
    this.#said = [...this.#said, said].slice(-4);
    return said;
  }

  #known({ questions }: QuestionPresent, percent: number): LedgerQuestion | undefined {
    if (!this.#random.chance(percent)) return undefined;
    const all = [...questions.byId.values()];
    const open = all.filter(({ state }) => state === "open");
    return this.#random.pickAny(this.#random.chance(70) && open.length > 0 ? open : all);
  }

  /** The attempt before the one that waits for an answer, which is over. */
  #late({ questions }: QuestionPresent): Pick<Wish, "asker" | "key"> | undefined {
    const open = [...questions.byId.values()].filter(({ state }) => state === "open");
    const late = this.#random.pickAny(open.filter(({ attempt }) => attempt > 1));
    if (!late) return undefined;
    const { askerId, key, attempt } = late;
    return { asker: { of: "job", jobId: jobId(askerId), attempt: attempt - 1 }, key };
  }

  #need(present: QuestionPresent): { readonly kind: string; readonly id: string } {
    const kind = this.#random.pick(kinds);
    return { kind, id: this.#known(present, 60)?.id ?? this.#random.pick(["n1", "n2"]) };
  }
}

/** The code of the refusal; undefined if the command must be accepted. Expects that nothing is overdue. */
export function forecastQuestion(
  command: QuestionCommand,
  present: QuestionPresent,
): string | undefined {
  const { questions, nowMs } = present;
  switch (command.type) {
    case "question.ask": {
      const problem = askingOrNot(command.asker, present);
      if (problem !== undefined) return problem;
      const known = questions.underKey(askerOf(command), command.key);
      if (known) return known.asked === askedOf(command) ? undefined : "key_reused";
      return questions.byId.has(command.questionId) ? "key_reused" : undefined;
    }
    case "question.answer": {
      const known = questions.byId.get(command.questionId);
      const { principal, maySee } = command.by;
      const isSeen = principal === undefined || principal === known?.principal || maySee;
      if (!known || !isSeen) return "question_not_found";
      if (known.state !== "open") {
        const isRetry =
          command.key !== undefined &&
          known.answerKey === command.key &&
          known.answer === command.answer;
        return isRetry ? undefined : "question_closed";
      }
      return isValid(command.answer, known.expects) ? undefined : "answer_invalid";
    }
    case "question.withdraw": {
      const isKnown = questions.underKey(askerOf(command), command.key);
      return isKnown ? undefined : "question_not_found";
    }
    case "need.dismiss":
      return command.sinceMs > nowMs ? "invalid_argument" : undefined;
    case "need.restore":
      return undefined;
  }
}

function askingOrNot(
  asker: Question["asker"],
  { work, livenessOf }: QuestionPresent,
): string | undefined {
  if (asker.of === "agent") {
    const liveness = livenessOf(asker.agentId);
    if (liveness === undefined) return "agent_not_found";
    return liveness === "dead" ? "agent_dead" : undefined;
  }
  const job = work.jobs.get(asker.jobId);
  if (!job) return "job_not_found";
  const isHeard = job.state === "running" && job.attempt === attemptOf({ asker });
  return isHeard && job.cancelledUntilMs === undefined ? undefined : "attempt_over";
}

function isValid(text: string, expects: Expected): boolean {
  if (text === "{") return false;
  const value = JSON.parse(text);
  switch (expects.of) {
    case "text":
      return typeof value === "string";
    case "choice":
      return expects.choices.includes(value);
    case "json":
      return true;
    case "scope":
      return typeof value.granted === "boolean";
  }
}

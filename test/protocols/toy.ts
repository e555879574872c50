/**
 * A job protocol of four requests, in lines of text, on the neutral layer alone: the core's commands and events, the
 * plane, and work. It shows what a further door needs, and that it needs no other protocol's words.
 *
 *     submit <context> <agent> <input>   →  job <id>
 *     follow <id> <after>                →  <sequence> <kind> <body> …, then <sequence> end <status> <result or code>
 *     cancel <id>                        →  cancelling <id>
 *     answer <question> <JSON>           →  answered <question>
 *     anything else, or a refusal        →  refused <code> <message>
 *
 * Questions of jobs are among their events. Work checks answers, and the core decides which one wins.
 * A client that comes back follows the job from the last sequence that it has seen: nothing is told twice or left out,
 * whether the connection or the process was another.
 */
import { type Event, jobId, type Outcome, questionId, type Refusal } from "../../src/core/index.ts";
import type { Work } from "../../src/work.ts";

const cancelGraceMs = 1_000;

export class ToyConnection implements Disposable {
  readonly #work: Work;
  readonly #principal: string;
  readonly #send: (line: string) => void;
  readonly #closing = new AbortController();

  constructor(work: Work, principal: string, send: (line: string) => void) {
    this.#work = work;
    this.#principal = principal;
    this.#send = send;
  }

  async receive(line: string): Promise<void> {
    const [verb = "", first = "", second = "", ...rest] = line.split(" ");
    const tail = [second, ...rest].join(" ");
    switch (verb) {
      case "submit":
        return await this.#submit(first, second, rest.join(" "));
      case "follow":
        return await this.#follow(first, Number(second));
      case "cancel":
        return await this.#cancel(first);
      case "answer":
        return await this.#answer(first, tail);
      default:
        return this.#refuse({ code: "invalid_argument", message: `there is no ${verb}` });
    }
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #submit(contextId: string, agent: string, input: string): Promise<void> {
    const principal = this.#principal;
    const { value, refusal } = await this.#work.submit({ agent, input, principal, contextId });
    if (refusal) this.#refuse(refusal);
    else this.#send(`job ${value.job.id}`);
  }

  async #cancel(id: string): Promise<void> {
    const by = { principal: this.#principal };
    const { refusal } = await this.#work.plane.submit(
      { type: "job.cancel", jobId: jobId(id), by, reason: "asked to", graceMs: cancelGraceMs },
      { actor: `principal/${this.#principal}` },
      () => undefined,
    );
    if (refusal) this.#refuse(refusal);
    else this.#send(`cancelling ${id}`);
  }

  async #answer(id: string, answer: string): Promise<void> {
    const principal = this.#principal;
    const by = { name: principal, principal };
    const { refusal } = await this.#work.answer(
      { questionId: questionId(id), answer, by },
      { actor: `principal/${principal}` },
    );
    if (refusal) this.#refuse(refusal);
    else this.#send(`answered ${id}`);
  }

  /** What the log has, then what comes, until the job has ended or the client is gone. */
  async #follow(id: string, after: number): Promise<void> {
    const { plane } = this.#work;
    const owner = await plane.read(({ jobs }) => jobs.byId.get(jobId(id))?.principal);
    if (owner !== this.#principal) {
      return this.#refuse({ code: "job_not_found", message: `there is no job ${id}` });
    }
    let told = after;
    let news = Promise.withResolvers<void>();
    const { signal } = this.#closing;
    signal.addEventListener("abort", () => news.resolve());
    using _tap = plane.tap(() => news.resolve());
    while (!signal.aborted) {
      news = Promise.withResolvers();
      for await (const { sequence, event } of plane.stream(`job/${id}`, { afterSequence: told })) {
        if (signal.aborted) return;
        const line = lineOf(event);
        if (line !== undefined) this.#send(`${sequence} ${line}`);
        told = sequence;
        if (event.type === "job.ended") return;
      }
      await news.promise;
    }
  }

  #refuse({ code, message }: Pick<Refusal, "code" | "message">): void {
    this.#send(`refused ${code} ${message}`);
  }
}

function lineOf(event: Event): string | undefined {
  switch (event.type) {
    case "job.emitted":
      return `${event.kind} ${event.body}`;
    case "job.ended":
      return `end ${endOf(event.outcome)}`;
    default:
      return undefined;
  }
}

function endOf(outcome: Outcome): string {
  if (outcome.status !== "success") return `${outcome.status} ${outcome.failure.code}`;
  return `success ${outcome.result ?? "null"}`;
}

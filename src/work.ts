/**
 * The runtime and its workers on a plane, for whichever doors jobs come through. It is opened once, and every door is
 * given the same: an ARCP client sees the jobs that were submitted over HTTP, and the other way round.
 */
import { randomFillSync } from "node:crypto";
import type { AnswerQuestion } from "./core/index.ts";
import type { Caller, Clock, Outcome, Plane } from "./plane/index.ts";
import {
  type IdKind,
  type JobRequest,
  newQuestionId,
  Runtime,
  type RuntimeOptions,
  type Submitted,
  submitAnswer,
} from "./runtime/index.ts";
import { RemoteWorkers, type RemoteWorkersOptions } from "./runtime/remote/index.ts";
import { monotonicUlids } from "./wire/arcp/index.ts";

export type WorkOptions = Omit<RuntimeOptions, "plane" | "newId" | "clock"> & {
  readonly clock: Clock;
  /** Who may offer agents from another process; by default, nobody. */
  readonly mayWork?: RemoteWorkersOptions["mayWork"] | undefined;
  /** How long a worker in another process may be away before its jobs are another's, or end. */
  readonly workerGraceMs?: number | undefined;
};

export class Work {
  readonly plane: Plane;
  readonly runtime: Runtime;
  readonly remoteWorkers: RemoteWorkers;
  #closing: Promise<void> | undefined;

  constructor(runtime: Runtime, remoteWorkers: RemoteWorkers) {
    this.plane = runtime.plane;
    this.runtime = runtime;
    this.remoteWorkers = remoteWorkers;
  }

  /** For a caller without a session: it is answered with the job, and follows it in the log. */
  submit(request: Omit<JobRequest, "sessionId" | "requestId">): Promise<Outcome<Submitted>> {
    return this.runtime.submit(request);
  }

  /** Answers a question of a job or an agent. Resolves when that is durable. */
  async answer(answer: Omit<AnswerQuestion, "type">, caller: Caller): Promise<Outcome<undefined>> {
    const outcome = submitAnswer(this.plane, answer, caller, () => undefined);
    await this.plane.read(() => undefined);
    return outcome;
  }

  /** How many workers that offer an agent, by its full name, are connected. */
  workersOf(agent: string): number {
    return this.runtime.workersOf(agent);
  }

  /**
   * Cancels the jobs in this process, which have this long to return. The next process repeats those that may be
   * repeated.
   */
  close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#closing ??= this.runtime.close({ graceMs });
    return this.#closing;
  }
}

export function openWork(plane: Plane, options: WorkOptions): Work {
  const { mayWork = () => false, workerGraceMs, ...rest } = options;
  const { clock } = options;
  const newUlid = monotonicUlids({ nowMs: () => clock.nowMs(), fill: randomFillSync });
  const newId = (kind: IdKind): string =>
    kind === "question" || kind === "scope_request"
      ? newQuestionId(kind)
      : `${prefixes[kind]}_${newUlid()}`;
  const runtime = new Runtime({ ...rest, plane, newId });
  const remoteWorkers = new RemoteWorkers(runtime, {
    clock,
    mayWork,
    ...(workerGraceMs !== undefined && { graceMs: workerGraceMs }),
  });
  return new Work(runtime, remoteWorkers);
}

const prefixes: Readonly<Record<Exclude<IdKind, "question" | "scope_request">, string>> = {
  job: "job",
  result: "res",
  call: "call",
  delegate: "del",
  reservation: "rsv",
  credential: "cred",
};

/**
 * The runtime and its workers on a plane, for whichever doors jobs come through. It is opened once, and every door is
 * given the same: an ARCP client sees the jobs that were submitted over HTTP, and the other way round.
 */
import { randomBytes, randomFillSync } from "node:crypto";
import type { Clock, Outcome, Plane } from "./plane/index.ts";
import {
  type IdKind,
  type JobRequest,
  Runtime,
  type RuntimeOptions,
  type Submitted,
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
  // The ids of questions are short, because people type them.
  const newId = (kind: IdKind): string =>
    `${prefixes[kind]}_${kind === "question" ? randomBytes(6).toString("hex") : newUlid()}`;
  const runtime = new Runtime({ ...rest, plane, newId });
  const remoteWorkers = new RemoteWorkers(runtime, {
    clock,
    mayWork,
    ...(workerGraceMs !== undefined && { graceMs: workerGraceMs }),
  });
  return new Work(runtime, remoteWorkers);
}

const prefixes: Readonly<Record<IdKind, string>> = {
  job: "job",
  result: "res",
  call: "call",
  delegate: "del",
  reservation: "rsv",
  credential: "cred",
  question: "q",
};

/**
 * Workers in other processes. Each speaks in a session of its own, or in several one after the other; it is
 * known by the id that its process gave itself and by who its token says it is. While it is away, what it
 * offers is offered still and what it has waits, both for a while.
 */
import { limits as coreLimits, type JobId } from "../../core/index.ts";
import { type Clock, SteadyClock } from "../../plane/index.ts";
import type { JsonObject } from "../../wire/work/index.ts";
import {
  type Introduction,
  prefix,
  printToWorker,
  type RefusedCode,
  readFromWorker,
  type WorkerOffer,
  limits as wireLimits,
} from "../../wire/worker/index.ts";
import { fullName, type Offer, problemOf } from "../catalogue.ts";
import type { Runtime } from "../runtime.ts";
import { limits } from "./limits.ts";
import { RemoteWorker, type WorkerLink } from "./remote-worker.ts";

export type { WorkerLink } from "./remote-worker.ts";

export type RemoteWorkersOptions = {
  /** Who may offer what, and get the jobs of others for it. */
  readonly mayWork: (principal: string, offer: WorkerOffer) => boolean;
  /** How long a worker may be away. */
  readonly graceMs?: number;
  readonly clock?: Clock;
};

/** What the door has in hand for a session that a worker speaks in. */
export type AttachedWorker = {
  receive(type: string, payload: JsonObject): void;
  /** The connection is lost. */
  detached(): void;
};

/** To be disposed before its door and its plane: what is said from then on is said to the next process. */
export class RemoteWorkers implements Disposable {
  /** Of the types of all frames that are meant for it. */
  readonly prefix: string = prefix;
  readonly #runtime: Runtime;
  readonly #graceMs: number;
  readonly #clock: Clock;
  readonly #mayWork: (principal: string, offer: WorkerOffer) => boolean;
  readonly #workers = new Map<string, { worker: RemoteWorker; registration: Disposable }>();
  /** Jobs that an earlier process of ours started, by the worker that has them, until it comes back. */
  readonly #left = new Map<string, JobId[]>();
  /** Since when. */
  readonly #away = new Map<RemoteWorker, number>();
  readonly #closing = new AbortController();

  constructor(runtime: Runtime, options: RemoteWorkersOptions) {
    const { mayWork, graceMs = coreLimits.workerGraceMs, clock = new SteadyClock() } = options;
    this.#runtime = runtime;
    this.#graceMs = graceMs;
    this.#clock = clock;
    this.#mayWork = mayWork;
    runtime.plane.peek(({ jobs }) => {
      for (const job of jobs.byId.values()) {
        if (job.state !== "running" || !job.worker.isRemote) continue;
        this.#left.set(job.worker.id, [...(this.#left.get(job.worker.id) ?? []), job.id]);
      }
    });
  }

  /** How many are there, or may come back. */
  get size(): number {
    return this.#workers.size;
  }

  /** One for each session that sends worker frames. */
  attach(link: WorkerLink): AttachedWorker {
    let worker: RemoteWorker | undefined;
    let isOver = false;
    const refuse = (code: RefusedCode, message: string): void => {
      isOver = true;
      if (!worker)
        return link.send(`${prefix}refused`, printToWorker({ type: "refused", code, message }));
      worker.refuse(link, code, message);
      this.#notice(worker);
    };
    return {
      receive: (type, payload) => {
        if (isOver || this.#closing.signal.aborted || (worker && !worker.isOn(link))) return;
        const { value: said, problem } = readFromWorker(type, payload);
        if (problem) return refuse("malformed", problem.message);
        if (said.type !== "offer") {
          if (worker?.isWelcome) return worker.hear(said);
          return refuse("malformed", "a worker says what it offers, and waits for the welcome");
        }
        if (worker) return refuse("malformed", "a worker says once what it offers");
        const met = this.#meet(link, said);
        if ("code" in met) return refuse(met.code, met.message);
        worker = met;
      },
      detached: () => {
        isOver = true;
        if (!worker || this.#closing.signal.aborted) return;
        worker.detach(link);
        this.#notice(worker);
      },
    };
  }

  #meet(
    link: WorkerLink,
    said: Introduction,
  ): RemoteWorker | { readonly code: RefusedCode; readonly message: string } {
    const refusal = this.#judge(link.principal, said);
    if (refusal) return refusal;
    const id = `remote/${encodeURIComponent(link.principal)}/${said.workerId}`;
    const offers = said.offers.map(toOffer);
    const known = this.#workers.get(id);
    if (known) {
      if (!isSame(known.worker.offers, offers)) {
        const message = "what a process offers does not change; connect with another worker_id";
        return { code: "malformed", message };
      }
      if (known.worker.hasReplaced(said)) {
        return { code: "superseded", message: "this worker has a newer connection" };
      }
      known.worker.attach(link, said);
      return known.worker;
    }
    const { workersMax } = limits;
    if (this.#workers.size >= workersMax) {
      return { code: "limit_reached", message: `${workersMax} workers are there already` };
    }
    const { catalogue } = this.#runtime;
    const added = offers.filter((offer) => catalogue.resolve(fullName(offer)).refusal);
    if (catalogue.size + added.length > limits.agentsMax) {
      return { code: "limit_reached", message: `${limits.agentsMax} agents are offered already` };
    }
    const { jobsAtOnce } = said;
    const runtime = this.#runtime;
    const worker = new RemoteWorker({ id, offers, jobsAtOnce, runtime, graceMs: this.#graceMs });
    worker.attach(link, said, this.#left.get(id));
    this.#left.delete(id);
    const registration = runtime.addWorker(worker, worker.jobIds);
    this.#workers.set(id, { worker, registration });
    return worker;
  }

  #judge(
    principal: string,
    { offers, jobsAtOnce }: Introduction,
  ): { readonly code: RefusedCode; readonly message: string } | undefined {
    if (offers.length === 0) return { code: "malformed", message: "a worker offers something" };
    if (jobsAtOnce > wireLimits.jobsAtOnceMax) {
      const message = `a worker has at most ${wireLimits.jobsAtOnceMax} jobs at once`;
      return { code: "malformed", message };
    }
    for (const offer of offers) {
      const problem = problemOf(toOffer(offer));
      if (problem !== undefined) return { code: "malformed", message: problem };
      if (!this.#mayWork(principal, offer)) {
        return { code: "not_allowed", message: `${principal} may not offer ${fullNameOf(offer)}` };
      }
    }
    return undefined;
  }

  /** It is away, unless another connection has taken the place of the one that was lost. */
  #notice(worker: RemoteWorker): void {
    if (!worker.isAway) return;
    const isAwaited = this.#away.has(worker);
    this.#away.set(worker, this.#clock.nowMs());
    const { id: workerId } = worker;
    this.#runtime.logger.info(`worker ${workerId} is away`, { workerId });
    if (!isAwaited) void this.#await(worker);
  }

  /** Until it is back, or has been away for too long. */
  async #await(worker: RemoteWorker): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      const sinceMs = this.#away.get(worker) ?? 0;
      // What it has ends at about the same time as its grace; as long as it has something, it is known.
      const isOver = this.#clock.nowMs() >= sinceMs + this.#graceMs;
      if (!worker.isAway || (isOver && worker.jobIds.length === 0)) break;
      const untilMs = isOver ? this.#clock.nowMs() + this.#graceMs : sinceMs + this.#graceMs;
      const isClosing = await this.#clock.until(untilMs, signal).then(
        () => false,
        () => true,
      );
      if (isClosing) return;
    }
    this.#away.delete(worker);
    if (!worker.isAway) return;
    const { id: workerId } = worker;
    this.#runtime.logger.warn(`worker ${workerId} has not come back, and is forgotten`, {
      workerId,
    });
    this.#workers.get(worker.id)?.registration[Symbol.dispose]();
    this.#workers.delete(worker.id);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    for (const { worker } of this.#workers.values()) worker.loseChild();
  }
}

function toOffer({ name, version, isIdempotent, mayRequestScope }: WorkerOffer): Offer {
  return {
    name,
    ...(version !== undefined && { version }),
    isRepeatable: isIdempotent,
    mayRequestScope,
  };
}

function fullNameOf(offer: WorkerOffer): string {
  return fullName(toOffer(offer));
}

function isSame(ones: readonly Offer[], others: readonly Offer[]): boolean {
  const print = (offers: readonly Offer[]): string =>
    offers
      .map((offer) => `${fullName(offer)} ${offer.isRepeatable} ${offer.mayRequestScope}`)
      .sort()
      .join();
  return print(ones) === print(others);
}

/**
 * What Prometheus reads. Counters are counted as things happen; gauges are looked up in the state when
 * somebody asks. The lag of the event loop, memory, collections and file descriptors are those that
 * prom-client knows, under the names that existing dashboards know (`nodejs_eventloop_lag_*`); they
 * observe the whole process until it ends, so that one of these is enough for a process.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { livingCount, observedStates } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import {
  type DerivedState,
  deriveState,
  recordStates,
  type StatusFile,
  limits as statusLimits,
} from "../../wire/status-file/index.ts";
import type { WorkLook } from "./encode-job.ts";

export class Metrics {
  readonly #registry = new Registry();
  readonly #rpcs: ReadonlyMap<string, Counter.Internal>;
  readonly #agentsAlive: Gauge;
  readonly #leasesActive: Gauge;
  readonly #observed: Gauge;
  readonly #statusFiles: Gauge;
  readonly #jobs: Gauge;
  readonly #logSequence: Gauge;
  readonly #watchers: Gauge;
  readonly #commitSeconds: Histogram;
  readonly #commitEntries: Histogram;
  #files: (() => readonly StatusFile[]) | undefined;

  /** `methods` are all that can be counted, so that a caller cannot make up new series. */
  constructor({ methods }: { readonly methods: readonly string[] }) {
    const registers = [this.#registry];
    this.#agentsAlive = new Gauge({
      name: "agentkeeper_agents_alive",
      help: "Agents that are alive or unreachable.",
      registers,
    });
    this.#leasesActive = new Gauge({
      name: "agentkeeper_leases_active",
      help: "Leases held now.",
      registers,
    });
    this.#observed = new Gauge({
      name: "tipstaff_agents_observed",
      help: "Agents that files and hosts tell of, by what they are doing; registered ones are not counted.",
      labelNames: ["state"],
      registers,
    });
    this.#statusFiles = new Gauge({
      name: "tipstaff_status_files",
      help: "Status files that are watched, by what each means now; those the daemon wrote are not counted.",
      labelNames: ["state"],
      registers,
    });
    this.#jobs = new Gauge({
      name: "tipstaff_jobs",
      help: "Jobs that are known, by where they stand; those that have ended are forgotten after a day.",
      labelNames: ["state"],
      registers,
    });
    const rpcs = new Counter({
      name: "agentkeeper_rpc_total",
      help: "gRPC calls begun, by method.",
      labelNames: ["method"],
      registers,
    });
    this.#rpcs = new Map(methods.map((method) => [method, rpcs.labels(method)]));
    for (const counter of this.#rpcs.values()) counter.inc(0);
    this.#logSequence = new Gauge({
      name: "tipstaff_log_sequence",
      help: "The last durable entry of the log.",
      registers,
    });
    this.#watchers = new Gauge({
      name: "tipstaff_watchers",
      help: "Open watches, over all doors.",
      registers,
    });
    this.#commitSeconds = new Histogram({
      name: "tipstaff_commit_duration_seconds",
      help: "How long it took until a batch of entries was durable.",
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
      registers,
    });
    this.#commitEntries = new Histogram({
      name: "tipstaff_commit_entries",
      help: "How many entries became durable together.",
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000],
      registers,
    });
    collectDefaultMetrics({ register: this.#registry });
  }

  /** `text/plain; version=0.0.4; charset=utf-8` */
  get contentType(): string {
    return this.#registry.contentType;
  }

  countRpc(method: string): void {
    this.#rpcs.get(method)?.inc();
  }

  observeCommit({ entries, ms }: { readonly entries: number; readonly ms: number }): void {
    this.#commitSeconds.observe(ms / 1_000);
    this.#commitEntries.observe(entries);
  }

  /** From now on they are counted too. */
  countFiles(files: () => readonly StatusFile[]): void {
    this.#files = files;
  }

  /** All of it in the text format, with the gauges as they are now. */
  async print(plane: Plane, work: Pick<WorkLook, "counts">): Promise<string> {
    const now = await plane.read(({ registry, leases, observed }, nowMs) => ({
      nowMs,
      agents: livingCount(registry),
      leases: leases.held.size,
      observed: { ...observed.counts },
      jobs: { ...work.counts },
    }));
    this.#agentsAlive.set(now.agents);
    this.#leasesActive.set(now.leases);
    for (const state of observedStates) this.#observed.set({ state }, now.observed[state]);
    for (const [state, count] of Object.entries(now.jobs)) this.#jobs.set({ state }, count);
    if (this.#files) this.#setFiles(this.#files(), now.nowMs);
    this.#logSequence.set(plane.durableSequence);
    this.#watchers.set(plane.watchers);
    return this.#registry.metrics();
  }

  #setFiles(files: readonly StatusFile[], nowMs: number): void {
    const counts = new Map<DerivedState, number>();
    for (const { record } of files) {
      const state = deriveState(record, { nowMs, staleAfterMs: statusLimits.staleAfterMs });
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    for (const state of recordStates) this.#statusFiles.set({ state }, counts.get(state) ?? 0);
  }
}

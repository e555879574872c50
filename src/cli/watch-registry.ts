/**
 * What a daemon tells a live view: who is registered, what happens, and more of the agent one looks at. It
 * may come and go; each time it comes, everything is asked anew.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { RegisteredAgent } from "../sightings/index.ts";
import type { Agent, AgentDetail, Answer, Entry, Input, OperationName } from "../wire/api/index.ts";
import { call } from "./daemon.ts";
import { describeEntry, Names } from "./entry-line.ts";
import { subjectsOf } from "./events.ts";
import { Failure } from "./failure.ts";
import { follow } from "./follow.ts";
import { stretchesOf } from "./history.ts";
import { limits } from "./limits.ts";
import { limits as screenLimits } from "./screen/limits.ts";
import type { About, AboutFact, DaemonState, Happening } from "./screen/model.ts";
import { askOverview } from "./status.ts";
import type { Values } from "./table.ts";

export type WatchedRegistryOptions = {
  readonly signal: AbortSignal;
  /** Something is different now. */
  readonly onNews: () => void;
  /** We were wrong. */
  readonly onFault: (fault: unknown) => void;
};

/** Renewals come all the time and say nothing new. */
const newsworthy = [
  "agent.",
  "observed.",
  "task.created",
  "task.claimed",
  "task.completed",
  "task.cancelled",
  "task.ready",
  "task.failed",
  "task.requeued",
  "task.dead",
  "lease.acquired",
  "lease.released",
  "lease.expired",
  "leader.",
  "election.",
  "policy.",
  "plane.",
];

export class WatchedRegistry {
  readonly #values: Values;
  readonly #options: WatchedRegistryOptions;
  readonly #names = new Names();
  #daemon: DaemonState = { kind: "asked" };
  #registered: readonly RegisteredAgent[] = [];
  /** Oldest first. */
  #entries: Entry[] = [];
  #focus: Focus | undefined;
  #focusId: string | undefined;
  #asking: Promise<void> | undefined;
  #isAskedAgain = false;

  constructor(values: Values, options: WatchedRegistryOptions) {
    this.#values = values;
    this.#options = options;
  }

  get daemon(): DaemonState {
    return this.#daemon;
  }

  /** For a moment also of a daemon that was lost: it may only be starting again. */
  registered(nowMs: number): readonly RegisteredAgent[] {
    const isForgotten =
      this.#daemon.kind === "lost" && nowMs - this.#daemon.sinceMs > screenLimits.lostRegistryMs;
    return isForgotten ? [] : this.#registered;
  }

  get happenings(): readonly Happening[] {
    return this.#entries.map((entry) => this.#describe(entry));
  }

  /** Undefined where nothing is known of it. */
  about(id: string, nowMs: number): About | undefined {
    if (this.#focus?.id !== id) return undefined;
    const { entries, detail } = this.#focus;
    const hour = { startMs: nowMs - screenLimits.stripMs, endMs: nowMs };
    return {
      id,
      stretches: stretchesOf(entries, hour),
      happenings: entries.map((entry) => this.#describe(entry)),
      facts: detail ? factsOf(detail) : [],
    };
  }

  /** Whom to ask more about. */
  focus(id: string | undefined): void {
    if (id === this.#focusId) return;
    this.#focusId = id;
    this.askAgain();
  }

  /** Soon, and once, however often it is called meanwhile. */
  askAgain(): void {
    if (this.#daemon.kind !== "there") return;
    this.#isAskedAgain = true;
    this.#asking ??= this.#keepAsking()
      .catch(this.#options.onFault)
      .finally(() => {
        this.#asking = undefined;
      });
  }

  /** Until the signal; rejects only with a fault of ours. */
  async run(): Promise<void> {
    const { signal, onNews } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#attend();
      } catch (error) {
        if (!(error instanceof Failure) && !signal.aborted) throw error;
      }
      await this.#asking;
      const wasThere = this.#daemon.kind === "there";
      if (wasThere) this.#daemon = { kind: "lost", sinceMs: Date.now() };
      if (this.#daemon.kind === "asked") this.#daemon = { kind: "none" };
      if (signal.aborted) return;
      onNews();
      await sleep(screenLimits.daemonPauseMs, undefined, { signal }).catch(() => {});
    }
  }

  /** As long as one connection lasts. */
  async #attend(): Promise<void> {
    const { signal, onNews } = this.#options;
    const stream = follow(this.#values, { after: undefined, topics: [], isPatient: false, signal });
    for await (const followed of stream) {
      switch (followed.kind) {
        case "connected": {
          const { version } = await askOverview(this.#values, { signal });
          const page = await this.#call("listEntries", {
            limit: screenLimits.happeningsMax,
            type: newsworthy,
          });
          this.#entries = page.rows.toReversed();
          for (const entry of this.#entries) if ("agent" in entry) this.#names.learn(entry.agent);
          this.#daemon = { kind: "there", version };
          this.askAgain();
          onNews();
          break;
        }
        case "entry":
          this.#take(followed.entry);
          break;
        case "gap":
        case "lost":
          return;
      }
    }
  }

  #take(entry: Entry): void {
    const isNewsworthy = newsworthy.some((type) => entry.type.startsWith(type));
    const isKnown = entry.sequence <= (this.#entries.at(-1)?.sequence ?? 0);
    if (!isNewsworthy || isKnown) return;
    if ("agent" in entry) this.#names.learn(entry.agent);
    this.#entries.push(entry);
    if (this.#entries.length > screenLimits.happeningsMax) this.#entries.shift();
    const focus = this.#focus;
    if (focus && subjectsOf(entry).includes(focus.id)) {
      const entries = [...focus.entries, entry].slice(-screenLimits.happeningsMax);
      this.#focus = { ...focus, entries };
    }
    this.askAgain();
    this.#options.onNews();
  }

  /** A busy daemon is asked for a fifth of the time at most. */
  async #keepAsking(): Promise<void> {
    const { signal, onNews } = this.#options;
    while (this.#isAskedAgain && !signal.aborted) {
      this.#isAskedAgain = false;
      const startedAtMs = performance.now();
      try {
        await this.#ask();
      } catch (error) {
        // The stream is about to break too, and says so.
        if (!(error instanceof Failure)) throw error;
      }
      onNews();
      const pauseMs = Math.max(screenLimits.askPauseMs, (performance.now() - startedAtMs) * 4);
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  async #ask(): Promise<void> {
    const limit = limits.pageMax;
    const [agents, leases, tasks, focus] = await Promise.all([
      this.#call("listAgents", { limit, sort: "attention", liveness: ["alive", "unreachable"] }),
      this.#call("listLeases", { limit }),
      this.#call("listTasks", { limit, state: ["claimed"] }),
      this.#focusId === undefined ? undefined : this.#askFocus(this.#focusId),
    ]);
    for (const agent of agents.rows) this.#names.learn(agent);
    const leased = Map.groupBy(leases.rows, ({ holder }) => holder);
    const claimed = Map.groupBy(tasks.rows, ({ claimant = "" }) => claimant);
    this.#registered = agents.rows.map((agent) => ({
      ...registeredAs(agent),
      holds: [
        ...(leased.get(agent.id) ?? []).map(({ taskId }) => `task ${taskId}`),
        ...(claimed.get(agent.id) ?? []).map(({ type }) => type),
      ],
    }));
    if (focus?.id === this.#focusId) this.#focus = focus;
  }

  async #askFocus(id: string): Promise<Focus> {
    const page = await this.#call("listEntries", {
      about: id,
      type: newsworthy,
      limit: screenLimits.aboutEntriesMax,
    });
    const isRegistered = this.#registered.some((agent) => agent.id === id);
    const detail = isRegistered ? await this.#call("getAgent", { agentId: id }) : undefined;
    return { id, entries: page.rows.toReversed(), detail };
  }

  #call<Name extends OperationName>(name: Name, input: Input<Name>): Promise<Answer<Name>> {
    return call(this.#values, name, input, { signal: this.#options.signal });
  }

  #describe(entry: Entry): Happening {
    return { atMs: entry.atMs, ...describeEntry(entry, this.#names) };
  }
}

/** What was asked about one agent. */
type Focus = {
  readonly id: string;
  /** Oldest first. */
  readonly entries: readonly Entry[];
  readonly detail: AgentDetail | undefined;
};

function registeredAs({ id, card, liveness, activity, ...agent }: Agent): RegisteredAgent {
  const { host, workspace, pid, startedAtMs } = card.metadata;
  return {
    id,
    name: card.name,
    liveness,
    heardAtMs: agent.lastHeartbeatAtMs,
    ...(activity ? { activity } : {}),
    ...(host === undefined ? {} : { host }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(isCount(pid) ? { pid: Number(pid) } : {}),
    ...(isCount(startedAtMs) ? { startedAtMs: Number(startedAtMs) } : {}),
  };
}

function isCount(text: string | undefined): boolean {
  return text !== undefined && /^[1-9]\d{0,15}$/.test(text);
}

function factsOf({ leases, claims, groups, card }: AgentDetail): readonly AboutFact[] {
  return [
    ...leases.map(({ taskId, expiresAtMs }) => ({
      name: "holds",
      text: taskId,
      untilMs: expiresAtMs,
    })),
    ...claims.map(({ id, type, claimExpiresAtMs }) => ({
      name: "works on",
      text: `${type} ${id.slice(0, 8)}`,
      ...(claimExpiresAtMs === undefined ? {} : { untilMs: claimExpiresAtMs }),
    })),
    ...groups.map(({ group, isLeader }) => ({
      name: isLeader ? "leads" : "stands for",
      text: group,
    })),
    { name: "does", text: card.description },
    { name: "tools", text: card.tools.join(", ") },
  ];
}

/**
 * What a daemon tells those who look on: whom it knows, what happens, and more of the agent one looks at. It may
 * come and go; each time it comes, everything is asked anew.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type {
  AgentDetail,
  Answer,
  Entry,
  Input,
  OperationName,
  Question,
  Sighting,
} from "../wire/api/index.ts";
import { call, notOurs } from "./daemon.ts";
import { describeEntry, Names } from "./entry-line.ts";
import { subjectsOf } from "./events.ts";
import { Failure, isDaemonDown } from "./failure.ts";
import { follow } from "./follow.ts";
import { stretchesOf } from "./history.ts";
import { limits } from "./limits.ts";
import type { Looking } from "./looking.ts";
import { isFromRegistry } from "./one-list.ts";
import { readOpenQuestions } from "./read-pages.ts";
import { limits as view } from "./screen/limits.ts";
import type { About, AboutFact, DaemonState, Happening } from "./screen/model.ts";
import { askOverview } from "./status.ts";
import type { Values } from "./table.ts";

export type WatchedDaemonOptions = Pick<Looking, "silentAfterMs" | "agent" | "isDaemonNamed"> & {
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
  "question.",
  "plane.",
];

export class WatchedDaemon {
  readonly #values: Values;
  readonly #options: WatchedDaemonOptions;
  readonly #names = new Names();
  #state: DaemonState = { kind: "asked" };
  #told: readonly Sighting[] = [];
  #questions: readonly Question[] = [];
  #questionsError: string | undefined;
  /** Oldest first. */
  #entries: Entry[] = [];
  #focus: Focus | undefined;
  #focusId: string | undefined;
  #asking: Promise<void> | undefined;
  #isAskedAgain = false;

  constructor(values: Values, options: WatchedDaemonOptions) {
    this.#values = values;
    this.#options = options;
  }

  get state(): DaemonState {
    return this.#state;
  }

  /** Whom it knows. For a moment also of one that was lost: it may only be starting again. */
  told(nowMs: number): readonly Sighting[] {
    return this.#isForgotten(nowMs) ? [] : this.#told;
  }

  /** Open questions, oldest first. */
  questions(nowMs: number): readonly Question[] {
    return this.#isForgotten(nowMs) ? [] : this.#questions;
  }

  /** Why the open questions could not be read, if a daemon answers and they could not. */
  get questionsError(): string | undefined {
    return this.#questionsError;
  }

  #isForgotten(nowMs: number): boolean {
    return this.#state.kind === "lost" && nowMs - this.#state.sinceMs > limits.unseenMs;
  }

  get happenings(): readonly Happening[] {
    return this.#entries.map((entry) => this.#describe(entry));
  }

  /** Undefined where nothing is known of it. */
  about(id: string, nowMs: number): About | undefined {
    if (this.#focus?.id !== id) return undefined;
    const { entries, detail } = this.#focus;
    const hour = { startMs: nowMs - view.stripMs, endMs: nowMs };
    return {
      id,
      stretches: stretchesOf(entries, hour),
      happenings: entries.map((entry) => withoutName(this.#describe(entry), this.#names.of(id))),
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
    if (this.#state.kind !== "there") return;
    this.#isAskedAgain = true;
    this.#asking ??= this.#keepAsking()
      .catch(this.#options.onFault)
      .finally(() => {
        this.#asking = undefined;
      });
  }

  /** Until the signal; rejects if a daemon that was named does not answer at first, or with a fault of ours. */
  async run(): Promise<void> {
    const { signal, onNews, isDaemonNamed } = this.#options;
    const patience = isDaemonNamed ? undefined : setTimeout(this.#loseHope, limits.casualAnswerMs);
    while (!signal.aborted) {
      let pauseMs: number = limits.daemonPauseMs;
      const failure = await this.#attempt();
      clearTimeout(patience);
      if (isDaemonNamed && this.#state.kind === "asked" && !signal.aborted) {
        throw failure ?? notOurs("it has nothing to tell");
      }
      if (failure?.code === "token_required") this.#questionsError = failure.message;
      // Another program has the address: it is not asked all the time.
      if (failure && !isGone(failure)) pauseMs = limits.strangerPauseMs;
      await this.#asking;
      const wasThere = this.#state.kind === "there";
      if (wasThere) this.#state = { kind: "lost", sinceMs: Date.now() };
      else if (this.#state.kind !== "lost") this.#doWithout(failure);
      if (signal.aborted) return;
      onNews();
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Of a daemon that nobody named: what is known without it is not kept back for long. */
  readonly #loseHope = (): void => {
    if (this.#state.kind !== "asked") return;
    const why = `no answer in ${limits.casualAnswerMs / 1_000} s`;
    this.#doWithout(new Failure("unreachable", `the daemon does not answer (${why})`));
    this.#options.onNews();
  };

  #doWithout(failure: Failure | undefined): void {
    const isRunning = failure !== undefined && !isDaemonDown(failure);
    this.#state = isRunning ? { kind: "none", error: failure.message } : { kind: "none" };
    this.#questionsError = isRunning ? failure.message : undefined;
  }

  /** Why it ended, unless it just did. */
  async #attempt(): Promise<Failure | undefined> {
    try {
      await this.#attend();
      return undefined;
    } catch (error) {
      if (error instanceof Failure) return error;
      if (this.#options.signal.aborted) return undefined;
      throw error;
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
            limit: view.happeningsMax,
            type: newsworthy,
          });
          const { rows } = await this.#call("listAgents", {
            sort: "newest",
            limit: limits.pageMax,
          });
          for (const agent of rows.toReversed()) this.#names.learn(agent);
          this.#entries = page.rows.toReversed();
          // Whoever hears that it is there has heard whom it knows.
          await this.#ask();
          this.#state = { kind: "there", version };
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
    if (this.#entries.length > view.happeningsMax) this.#entries.shift();
    const focus = this.#focus;
    if (focus && subjectsOf(entry).includes(focus.id)) {
      const entries = [...focus.entries, entry].slice(-view.happeningsMax);
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
      const pauseMs = Math.max(limits.askPauseMs, (performance.now() - startedAtMs) * 4);
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  async #ask(): Promise<void> {
    const { silentAfterMs, agent } = this.#options;
    const wanted = {
      ...(silentAfterMs === undefined ? {} : { silentAfterMs }),
      ...(agent === undefined ? {} : { agent }),
    };
    const id = this.#focusId;
    const [told, questions, focus] = await Promise.all([
      this.#call("getStatus", { limit: limits.pageMax, ...wanted }),
      this.#askQuestions(),
      id === undefined ? undefined : this.#askFocus(id),
    ]);
    this.#told = told.agents;
    this.#questions = questions;
    if (focus?.id === this.#focusId) this.#focus = focus;
  }

  /** An older daemon does not have questions. */
  async #askQuestions(): Promise<readonly Question[]> {
    try {
      const { rows } = await readOpenQuestions((input) => this.#call("listQuestions", input));
      this.#questionsError = undefined;
      return rows;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // A daemon that does not answer at all is told of as lost.
      if (!isGone(error)) this.#questionsError = error.message;
      return this.#questions;
    }
  }

  async #askFocus(id: string): Promise<Focus> {
    const about = { about: id, type: newsworthy, limit: view.aboutEntriesMax };
    const isRegistered = this.#told.some((agent) => agent.id === id && isFromRegistry(agent));
    const [page, detail] = await Promise.all([
      this.#call("listEntries", about),
      isRegistered ? this.#call("getAgent", { agentId: id }) : undefined,
    ]);
    return { id, entries: page.rows.toReversed(), detail };
  }

  #call<Name extends OperationName>(name: Name, input: Input<Name>): Promise<Answer<Name>> {
    return call(this.#values, name, input, { signal: this.#options.signal });
  }

  #describe(entry: Entry): Happening {
    return { atMs: entry.atMs, ...describeEntry(entry, this.#names) };
  }
}

function isGone({ code }: Failure): boolean {
  return code === "not_running" || code === "unreachable";
}

/** Where all is about one agent, it need not be named in every line. */
function withoutName({ text, ...happening }: Happening, name: string): Happening {
  return { ...happening, text: text.startsWith(`${name} `) ? text.slice(name.length + 1) : text };
}

/** What was asked about one agent. */
type Focus = {
  readonly id: string;
  /** Oldest first. */
  readonly entries: readonly Entry[];
  readonly detail: AgentDetail | undefined;
};

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

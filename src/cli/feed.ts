/**
 * Every agent that can be known from here, kept up to date: status files as they change, the registry of a
 * daemon while one runs, and this machine's processes every few seconds.
 */
import { hostname } from "node:os";
import { type FoundProcess, findProcesses, Surroundings, sight } from "../sightings/index.ts";
import {
  type StatusFile,
  type Warning,
  WatchedFiles,
  watchDirectory,
} from "../status-files/index.ts";
import type { Question, Sighting } from "../wire/api/index.ts";
import { isMirrored } from "../wire/status-file/index.ts";
import { Bell } from "./bell.ts";
import { limits } from "./limits.ts";
import type { Looking } from "./looking.ts";
import { joined } from "./one-list.ts";
import { Chronicle } from "./screen/chronicle.ts";
import type { About, Scene } from "./screen/model.ts";
import type { Values } from "./table.ts";
import { WatchedDaemon } from "./watched-daemon.ts";

export type FeedOptions = Looking & {
  /** There may be another answer now. */
  readonly onNews: () => void;
  /** We were wrong; or a `Failure`: the daemon that was named does not answer. */
  readonly onFault: (fault: unknown) => void;
};

export class Feed implements AsyncDisposable {
  readonly #options: FeedOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #daemon: WatchedDaemon;
  readonly #surroundings = new Surroundings({ env: process.env });
  readonly #chronicle = new Chronicle();
  readonly #watched = new WatchedFiles();
  #processes: readonly FoundProcess[] = [];
  /** What was found on the disk beside an agent, when that was last looked at. */
  #beside: ReadonlyMap<string, Beside> = new Map();
  #timer: NodeJS.Timeout | undefined;

  static open(values: Values, options: FeedOptions): Feed {
    return new Feed(values, options);
  }

  private constructor(values: Values, options: FeedOptions) {
    this.#options = options;
    const { signal } = this.#stopping;
    this.#daemon = new WatchedDaemon(values, { ...options, signal });
    this.#keep(this.#watchFiles(signal));
  }

  /** Whom to tell more about. */
  focus(id: string | undefined): void {
    this.#daemon.focus(id);
  }

  /** Whether every source has been heard that answers at once. */
  get isComplete(): boolean {
    return this.#timer !== undefined && this.#daemon.state.kind !== "asked";
  }

  /** Whether a daemon was there, and does not answer any more. */
  get isDaemonLost(): boolean {
    return this.#daemon.state.kind === "lost";
  }

  /** Whether no daemon runs, and none did since this feed was opened. */
  get isDaemonMissing(): boolean {
    return this.#daemon.state.kind === "none" && this.agentsError === undefined;
  }

  /** Why the agents of a daemon could not be read, if one runs and has not answered yet. */
  get agentsError(): string | undefined {
    const { state } = this.#daemon;
    return state.kind === "none" ? state.error : undefined;
  }

  /** Who waits for a person first. */
  agents(nowMs: number): readonly Sighting[] {
    return this.#sight(nowMs).map((agent) => ({ ...agent, ...this.#beside.get(agent.id) }));
  }

  /** Open questions, oldest first. */
  questions(nowMs: number): readonly Question[] {
    return this.#daemon.questions(nowMs);
  }

  /** Why they could not be read, if a daemon answers and they could not. */
  get questionsError(): string | undefined {
    return this.#daemon.questionsError;
  }

  scene(nowMs: number, focusId?: string): Scene {
    const agents = this.agents(nowMs);
    if (this.#watched.hasBegun) this.#chronicle.observe(agents, nowMs);
    const { state: daemon, happenings } = this.#daemon;
    return {
      questions: this.questions(nowMs),
      questionsError: this.questionsError,
      agents,
      about: focusId === undefined ? undefined : this.about(focusId, nowMs),
      happenings: daemon.kind === "there" ? happenings : this.#chronicle.happenings,
      daemon,
      problems: countProblems(this.#watched.warnings),
    };
  }

  /** The log knows more than was seen here, unless it knows nothing of the agent. */
  about(id: string, nowMs: number): About {
    const seen = this.#chronicle.about(id, nowMs);
    const told = this.#daemon.about(id, nowMs);
    if (!told) return seen;
    return told.stretches.length > 0 ? told : { ...told, stretches: seen.stretches };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  /** All that can be seen from here, and all that the daemon knows besides. */
  #sight(nowMs: number): readonly Sighting[] {
    const { silentAfterMs } = this.#options;
    const found = { files: this.#files(), registered: [], processes: this.#processes };
    const silent = silentAfterMs === undefined ? {} : { silentAfterMs };
    const own = sight(found, { nowMs, hostName: hostname(), ...silent });
    return joined(this.#daemon.told(nowMs), own);
  }

  /** What a daemon mirrors is its registry again. */
  #files(): readonly StatusFile[] {
    return this.#watched.files.filter(({ record }) => !isMirrored(record));
  }

  #keep(job: Promise<void>): void {
    this.#running.push(job.catch(this.#options.onFault));
  }

  async #watchFiles(signal: AbortSignal): Promise<void> {
    for await (const change of watchDirectory(this.#options.directory, { signal })) {
      this.#watched.take(change);
      this.#options.onNews();
      // What is quick to read is shown first.
      if (change.type === "snapshot") setImmediate(() => this.#beginLooking());
    }
  }

  #beginLooking(): void {
    if (this.#stopping.signal.aborted) return;
    this.#keep(this.#daemon.run());
    this.#timer = setInterval(() => this.#look(), limits.lookMs);
    this.#look();
  }

  /** What nobody tells of when it changes. Also heartbeats, which make no events. */
  #look(): void {
    this.#processes = findProcesses();
    const found = { files: this.#files(), processes: this.#processes };
    const looked = this.#surroundings.look(this.#sight(Date.now()), found);
    this.#beside = new Map(looked.map((agent) => [agent.id, besideOf(agent)]));
    this.#daemon.askAgain();
    this.#options.onNews();
  }
}

/** All that is known at a moment. */
export type Around = {
  /** Open questions, oldest first. */
  readonly questions: readonly Question[];
  /** Why the open questions could not be read, if a daemon runs and they could not. */
  readonly questionsError: string | undefined;
  /** The same for the agents of the daemon. */
  readonly agentsError: string | undefined;
  readonly agents: readonly Sighting[];
  readonly nowMs: number;
  /** A daemon was there, and does not answer any more. */
  readonly isDaemonLost: boolean;
  /** No daemon runs, and none has answered yet. */
  readonly isDaemonMissing: boolean;
};

/**
 * Once every source was heard, and again whenever there may be another answer. Ends with the signal; rejects
 * with a `Failure` if the daemon that was named does not answer.
 */
export async function* followAgents(
  values: Values,
  looking: Looking,
  signal: AbortSignal,
): AsyncGenerator<Around> {
  const bell = new Bell();
  const onNews = (): void => bell.ring();
  let wrong: { readonly fault: unknown } | undefined;
  const onFault = (fault: unknown): void => {
    wrong ??= { fault };
    bell.ring();
  };
  signal.addEventListener("abort", onNews);
  try {
    await using feed = Feed.open(values, { ...looking, onNews, onFault });
    while (!signal.aborted) {
      await bell.heard();
      if (wrong) throw wrong.fault;
      const nowMs = Date.now();
      if (!feed.isComplete || signal.aborted) continue;
      const { questionsError, agentsError, isDaemonLost, isDaemonMissing } = feed;
      const known = { questions: feed.questions(nowMs), agents: feed.agents(nowMs), nowMs };
      yield { ...known, questionsError, agentsError, isDaemonLost, isDaemonMissing };
    }
  } finally {
    signal.removeEventListener("abort", onNews);
  }
}

type Beside = Pick<Sighting, "branch" | "tokens" | "costUsd">;

function besideOf({ branch, tokens, costUsd }: Sighting): Beside {
  return {
    ...(branch === undefined ? {} : { branch }),
    ...(tokens ? { tokens } : {}),
    ...(costUsd === undefined ? {} : { costUsd }),
  };
}

/** A record under another name is shown all the same. */
function countProblems(warnings: readonly Warning[]): number {
  return warnings.filter(({ kind }) => kind !== "id-mismatch").length;
}

/**
 * All that a live view shows, kept up to date: status files as they change, the registry of a daemon while
 * one runs, and this machine's processes every few seconds.
 */
import { hostname } from "node:os";
import {
  type Change,
  isMirrored,
  type StatusFile,
  watchDirectory,
} from "../doors/status-files/index.ts";
import { type FoundProcess, findProcesses, Surroundings, sight } from "../sightings/index.ts";
import type { Sighting } from "../wire/api/index.ts";
import { joined, namesOf } from "./look-around.ts";
import { Chronicle } from "./screen/chronicle.ts";
import { limits } from "./screen/limits.ts";
import type { About, Scene } from "./screen/model.ts";
import type { Values } from "./table.ts";
import { isFromRegistry, WatchedDaemon } from "./watch-daemon.ts";

export type FeedOptions = {
  /** Where status files are. */
  readonly directory: string;
  readonly silentAfterMs: number | undefined;
  /** `scene` may give another answer now. */
  readonly onNews: () => void;
  /** We were wrong. */
  readonly onFault: (fault: unknown) => void;
};

export class Feed implements AsyncDisposable {
  readonly #options: FeedOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #daemon: WatchedDaemon;
  readonly #surroundings = new Surroundings({ env: process.env });
  readonly #chronicle = new Chronicle();
  readonly #files = new Map<string, StatusFile>();
  #problems = 0;
  #processes: readonly FoundProcess[] = [];
  /** What was found on the disk beside an agent, when that was last looked at. */
  #beside: ReadonlyMap<string, Beside> = new Map();
  #hasFiles = false;
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

  scene(nowMs: number, focusId?: string): Scene {
    const agents = this.#agents(nowMs).map((agent) => ({
      ...agent,
      ...this.#beside.get(agent.id),
    }));
    if (this.#hasFiles) this.#chronicle.observe(agents, nowMs);
    const { state: daemon, happenings } = this.#daemon;
    return {
      agents,
      about: focusId === undefined ? undefined : this.about(focusId, nowMs),
      happenings: daemon.kind === "there" ? happenings : this.#chronicle.happenings,
      daemon,
      problems: this.#problems,
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
  #agents(nowMs: number): readonly Sighting[] {
    const { silentAfterMs } = this.#options;
    const found = { files: [...this.#files.values()], registered: [], processes: this.#processes };
    const silent = silentAfterMs === undefined ? {} : { silentAfterMs };
    const own = sight(found, { nowMs, hostName: hostname(), ...silent });
    return joinFresh(this.#daemon.told(nowMs), own);
  }

  #keep(job: Promise<void>): void {
    this.#running.push(job.catch(this.#options.onFault));
  }

  async #watchFiles(signal: AbortSignal): Promise<void> {
    for await (const change of watchDirectory(this.#options.directory, { signal })) {
      this.#take(change);
      this.#options.onNews();
      // What is quick to read is shown first.
      if (change.type === "snapshot") setImmediate(() => this.#beginLooking());
    }
  }

  #take(change: Change): void {
    switch (change.type) {
      case "snapshot":
        for (const file of change.files) this.#put(file);
        this.#problems = countProblems(change.warnings);
        this.#hasFiles = true;
        return;
      case "upsert":
      case "state":
        this.#put(change.file);
        return;
      case "remove":
        this.#files.delete(change.path);
        return;
      case "warnings":
        this.#problems = countProblems(change.warnings);
    }
  }

  /** What a daemon mirrors is its registry again. */
  #put({ path, record }: StatusFile): void {
    if (isMirrored(record)) this.#files.delete(path);
    else this.#files.set(path, { path, record });
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
    const found = { files: [...this.#files.values()], processes: this.#processes };
    const looked = this.#surroundings.look(this.#agents(Date.now()), found);
    this.#beside = new Map(looked.map((agent) => [agent.id, besideOf(agent)]));
    this.#daemon.askAgain();
    this.#options.onNews();
  }
}

/**
 * Of agents that are registered the daemon tells, with all it knows of them from elsewhere. Of all others
 * that can be seen from here too, we see it first.
 */
export function joinFresh(
  told: readonly Sighting[],
  own: readonly Sighting[],
): readonly Sighting[] {
  if (told.length === 0) return own;
  const registered = new Set(told.filter(isFromRegistry).flatMap(namesOf));
  const fresh = own.filter((agent) => !namesOf(agent).some((name) => registered.has(name)));
  return joined(fresh, told);
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
function countProblems(warnings: readonly { readonly kind: string }[]): number {
  return warnings.filter(({ kind }) => kind !== "id-mismatch").length;
}

/**
 * Status files as the plane sees them: each change of what an agent does becomes a fact in the log, so that
 * its day can be told afterwards. The files stay what they are; nothing here writes one. A file that we
 * wrote ourselves (`mirror.ts`) is not read back, what another daemon mirrors is as good as any other, and of an
 * agent that is registered the registry tells.
 */
import { agentId, observedId } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import { claimOfFile } from "../../sightings/index.ts";
import { type Change, type Clock, type Warning, watchDirectory } from "../../status-files/index.ts";
import {
  type StatusFile,
  sortForLoad,
  limits as wireLimits,
} from "../../wire/status-file/index.ts";
import { limits } from "./limits.ts";
import { isLeftToUs, sweep } from "./mirror.ts";

export type StatusDoorOptions = {
  readonly directory: string;
  readonly clock: Clock;
  /** Of this machine: files are about what runs on it. */
  readonly hostName: string;
  readonly warn: (message: string, cause?: unknown) => void;
};

export interface StatusDoor extends AsyncDisposable {
  readonly directory: string;
  /** As they were last read. */
  readonly files: readonly StatusFile[];
}

const caller = { actor: "status-files" } as const;

/** Resolves when what is there now was seen. */
export async function openStatusDoor(
  plane: Plane,
  options: StatusDoorOptions,
): Promise<StatusDoor> {
  const { directory, clock, warn } = options;
  const stopping = new AbortController();
  const seen = new Seen(plane, options);
  const first = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const change of watchDirectory(directory, { clock, signal: stopping.signal })) {
      await seen.take(change);
      first.resolve();
    }
    await seen.settled();
  })().catch((fault: unknown) => {
    warn(`${directory} is not watched any more`, fault);
    first.resolve();
  });
  await first.promise;
  return {
    directory,
    get files() {
      return seen.files;
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await following;
    },
  };
}

class Seen {
  readonly #plane: Plane;
  readonly #options: StatusDoorOptions;
  readonly #byPath = new Map<string, StatusFile>();
  /** By id and path: two files may tell of one agent. */
  readonly #byAgent = new Map<string, Map<string, StatusFile>>();
  /** Of whom the log has to be told, and whether that is under way. */
  #news = new Set<string>();
  #telling: Promise<void> | undefined;
  /** What was warned of: with so many files there would be as many lines. */
  readonly #told = new Set<string>();

  constructor(plane: Plane, options: StatusDoorOptions) {
    this.#plane = plane;
    this.#options = options;
  }

  get files(): readonly StatusFile[] {
    return [...this.#byPath.values()];
  }

  /** Waits for the log only at the beginning, and where there is too much to remember meanwhile. */
  async take(change: Change): Promise<void> {
    switch (change.type) {
      case "snapshot": {
        this.#tellOf(change.warnings);
        sweep(change.files, this.#options.warn);
        for (const file of change.files) this.#put(file);
        const known = await this.#plane.read(({ observed }) => [...observed.byId.keys()]);
        this.#note([...known, ...this.#byAgent.keys()]);
        return await this.settled();
      }
      case "upsert":
      case "state":
        this.#note(this.#put(change.file));
        break;
      case "remove":
        this.#note(this.#remove(change.path));
        break;
      case "warnings":
        return this.#tellOf(change.warnings);
    }
    if (this.#news.size >= limits.watchedFilesMax) await this.settled();
  }

  /** Resolves when all that was taken is in the log. */
  async settled(): Promise<void> {
    await this.#telling;
  }

  #note(ids: Iterable<string>): void {
    for (const id of ids) this.#news.add(id);
    if (this.#news.size === 0) return;
    this.#telling ??= this.#tellNews();
  }

  /** What comes while a commit is under way shares the next, however many files changed at once. */
  async #tellNews(): Promise<void> {
    try {
      while (this.#news.size > 0) {
        const ids = this.#news;
        this.#news = new Set();
        await this.#updateAll(ids);
      }
    } catch (fault) {
      const { directory, warn } = this.#options;
      warn(`what ${directory} tells could not be noted`, fault);
    } finally {
      this.#telling = undefined;
    }
  }

  /** Answers with whom that may be news of. */
  #put({ path, record }: StatusFile): ReadonlySet<string> {
    if (isLeftToUs(record)) return this.#remove(path);
    const isNew = !this.#byPath.has(path);
    if (isNew && this.#byPath.size >= limits.watchedFilesMax) {
      this.#tellOfCrowd();
      return new Set();
    }
    const before = this.#remove(path);
    const file = { path, record };
    this.#byPath.set(path, file);
    const id = record.agent_id;
    if (Buffer.byteLength(id) > limits.notedIdBytesMax) {
      // Cut off, it could be another's. It is there for who looks around, and the log never hears of it.
      this.#tell("has agents whose ids are longer than a name of a file; they have no history");
      return before;
    }
    this.#byAgent.set(id, (this.#byAgent.get(id) ?? new Map()).set(path, file));
    return new Set([...before, id]);
  }

  #remove(path: string): ReadonlySet<string> {
    const file = this.#byPath.get(path);
    if (!file) return new Set();
    const id = file.record.agent_id;
    this.#byPath.delete(path);
    const others = this.#byAgent.get(id);
    others?.delete(path);
    if (others?.size === 0) this.#byAgent.delete(id);
    return new Set([id]);
  }

  /** Problems of single files are for those who list the directory. */
  #tellOf(warnings: readonly Warning[]): void {
    for (const { kind, errors } of warnings) {
      if (kind === "too-many") for (const problem of errors) this.#tell(problem);
    }
  }

  #tellOfCrowd(): void {
    this.#tell(`has more than ${limits.watchedFilesMax} files; the others are not watched`);
  }

  #tell(problem: string): void {
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    const { directory, warn } = this.#options;
    warn(`${directory} ${problem}`);
  }

  /** Some together, so that they share commits. What changes nothing waits for none: others get a turn. */
  async #updateAll(ids: ReadonlySet<string>): Promise<void> {
    const all = [...ids];
    for (let from = 0; from < all.length; from += limits.noticesPerTurn) {
      const some = all.slice(from, from + limits.noticesPerTurn);
      await Promise.all(some.map((id) => this.#update(id)));
      if (from + some.length < all.length) await new Promise(setImmediate);
    }
  }

  /** As long as one file tells of an agent, it is there; the one that was written last counts. */
  async #update(id: string): Promise<void> {
    const [newest] = sortForLoad([...(this.#byAgent.get(id)?.values() ?? [])]);
    if (newest) await this.#report(newest);
    else await this.#leave(id);
  }

  async #report({ path, record }: StatusFile): Promise<void> {
    const id = record.agent_id;
    const liveness = await this.#plane.read(
      ({ registry }) => registry.agents.get(agentId(id))?.liveness,
    );
    if (liveness === "alive" || liveness === "unreachable") return await this.#leave(id);
    const { clock, hostName } = this.#options;
    const nowMs = clock.nowMs();
    const { staleAfterMs } = wireLimits;
    const { name, known, goal, workspace, doing } = claimOfFile(
      { path, record },
      { nowMs, hostName, staleAfterMs },
    );
    const observed = {
      id: observedId(id),
      name: shorten(name),
      state: known.state,
      note: shorten(doing ?? ""),
      goal: shorten(goal ?? ""),
      workspace: shorten(workspace ?? ""),
      source: known.source,
      ...(known.sinceMs === undefined ? {} : { sinceMs: Math.max(0, known.sinceMs) }),
    };
    const { refusal } = await this.#plane.submit(
      { type: "observed.report", observed },
      caller,
      () => ({}),
    );
    // There may be more agents left from before than there are files now.
    if (refusal?.code === "limit_reached") this.#tellOfCrowd();
  }

  async #leave(id: string): Promise<void> {
    await this.#plane.submit(
      { type: "observed.leave", observedId: observedId(id) },
      caller,
      () => ({}),
    );
  }
}

/** What goes into the log is bounded, whatever stands in a file. */
function shorten(text: string): string {
  const characters = [...text.slice(0, 4 * limits.notedCharactersMax)];
  return characters.length <= limits.notedCharactersMax
    ? text
    : characters.slice(0, limits.notedCharactersMax).join("");
}

/**
 * Status files as the plane sees them: each change of what an agent does becomes a fact in the log, so that
 * its day can be told afterwards. The files stay what they are; nothing here writes one. A file that we
 * wrote ourselves (`mirror.ts`) is not read back, and of an agent that is registered the registry tells.
 */
import { agentId, observedId } from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import { claimOfFile } from "../../sightings/index.ts";
import { limits as wireLimits } from "../../wire/status-file/index.ts";
import { limits } from "./limits.ts";
import { isMirrored } from "./mirror.ts";
import type { StatusFile } from "./read.ts";
import { type Change, watchDirectory } from "./watch.ts";

export type StatusDoorOptions = {
  readonly directory: string;
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
  const { directory, warn } = options;
  const stopping = new AbortController();
  const seen = new Seen(plane, options);
  const first = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const change of watchDirectory(directory, { signal: stopping.signal })) {
      await seen.take(change);
      first.resolve();
    }
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
  #isCrowded = false;

  constructor(plane: Plane, options: StatusDoorOptions) {
    this.#plane = plane;
    this.#options = options;
  }

  get files(): readonly StatusFile[] {
    return [...this.#byPath.values()];
  }

  async take(change: Change): Promise<void> {
    switch (change.type) {
      case "snapshot": {
        // Together, so that they share commits.
        for (let from = 0; from < change.files.length; from += limits.filesPerTurn) {
          const some = change.files.slice(from, from + limits.filesPerTurn);
          await Promise.all(some.map(({ path, record }) => this.#put({ path, record })));
        }
        const known = await this.#plane.read(({ observed }) => [...observed.byId.keys()]);
        for (const id of known) if (!this.#fileOf(id)) await this.#leave(id);
        return;
      }
      case "upsert":
      case "state":
        return await this.#put(change.file);
      case "remove":
        return await this.#remove(change.path);
      case "warnings":
        return;
    }
  }

  async #put(file: StatusFile): Promise<void> {
    const before = this.#byPath.get(file.path);
    if (isMirrored(file.record)) return await this.#remove(file.path);
    if (!before && this.#byPath.size >= limits.watchedFilesMax) return this.#tellOfCrowd();
    this.#byPath.set(file.path, file);
    const id = file.record.agent_id;
    if (before && before.record.agent_id !== id) await this.#update(before.record.agent_id);
    await this.#report(file);
  }

  /** Once: with so many files there would be as many lines. */
  #tellOfCrowd(): void {
    if (this.#isCrowded) return;
    this.#isCrowded = true;
    const { directory, warn } = this.#options;
    warn(`${directory} has more than ${limits.watchedFilesMax} files; the others are not watched`);
  }

  async #remove(path: string): Promise<void> {
    const file = this.#byPath.get(path);
    if (!file) return;
    this.#byPath.delete(path);
    await this.#update(file.record.agent_id);
  }

  /** Two files may tell of one agent: as long as one does, it is there. */
  async #update(id: string): Promise<void> {
    const other = this.#fileOf(id);
    if (other) await this.#report(other);
    else await this.#leave(id);
  }

  async #report({ path, record }: StatusFile): Promise<void> {
    const id = record.agent_id;
    const liveness = await this.#plane.read(
      ({ registry }) => registry.agents.get(agentId(id))?.liveness,
    );
    if (liveness === "alive" || liveness === "unreachable") return await this.#leave(id);
    const { hostName } = this.#options;
    const nowMs = Date.now();
    const { staleAfterMs } = wireLimits;
    const { name, known, goal, workspace, doing } = claimOfFile(
      { path, record },
      { nowMs, hostName, staleAfterMs },
    );
    // No single source says that an agent is silent.
    if (known.state === "silent" || known.source === "registry" || known.source === "process")
      return;
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

  #fileOf(id: string): StatusFile | undefined {
    return this.#byPath.values().find(({ record }) => record.agent_id === id);
  }
}

/** What goes into the log is bounded, whatever stands in a file. */
function shorten(text: string): string {
  const characters = [...text.slice(0, 4 * limits.notedCharactersMax)];
  return characters.length <= limits.notedCharactersMax
    ? text
    : characters.slice(0, limits.notedCharactersMax).join("");
}

/**
 * What the file system says about a directory that may come and go. A hint where to look, never more: events
 * are lost when too many come at once, say nothing on network file systems, and belong to the directory
 * that had the name when they were asked for. Whoever listens looks at everything now and then.
 */
import { type FSWatcher, statfsSync, statSync, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { Clock } from "./clock.ts";
import { limits } from "./limits.ts";
import { codeOf } from "./read.ts";

/** What may have changed since it was last taken. */
export type News = {
  readonly names: ReadonlySet<string>;
  /** Names are not all: everything must be looked at. */
  readonly isAnything: boolean;
};

export class DirectoryEvents implements Disposable {
  readonly #directory: string;
  #watcher: FSWatcher | undefined;
  /** The directory that is watched: ours, or the nearest above it that exists. */
  #watched: Identity | undefined;
  #isReliable = false;
  #isAttached = false;
  #names = new Set<string>();
  #isAnything = false;
  #eventsThisTurn = 0;
  #wake: (() => void) | undefined;

  constructor(directory: string) {
    this.#directory = resolve(directory);
    this.#attach();
  }

  /** Whether changes are told of, so that looking now and then is only for what gets lost. */
  get isReliable(): boolean {
    return this.#isReliable;
  }

  get hasNews(): boolean {
    return this.#names.size > 0 || this.#isAnything || !this.#isAttached;
  }

  /** Resolves when there is news, at `atMs`, or when `wake` is called. */
  async untilNews(clock: Clock, atMs: number): Promise<void> {
    if (this.hasNews) return;
    const waiting = new AbortController();
    this.#wake = () => waiting.abort();
    await clock.until(atMs, waiting.signal).catch(() => {});
    this.#wake = undefined;
  }

  wake(): void {
    this.#wake?.();
  }

  /** Takes what came, and listens anew where the directory is another now. */
  take(): News {
    if (!this.#isAttached) this.#attach();
    const news = { names: this.#names, isAnything: this.#isAnything };
    this.#names = new Set();
    this.#isAnything = false;
    return news;
  }

  /** For what no event tells: the name leads elsewhere, because a directory further up was renamed. */
  check(): void {
    const watched = this.#watched;
    const now = watched && identify(watched.path);
    const isSame = now?.device === watched?.device && now?.inode === watched?.inode;
    const isNearest = watched?.path === this.#directory || !identify(this.#directory);
    if (!isSame || !isNearest) this.#detach();
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #attach(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#isAttached = true;
    this.#isReliable = false;
    for (let path = this.#directory; ; path = dirname(path)) {
      this.#watched = identify(path);
      if (this.#watched && this.#listen(path)) return;
      if (path === dirname(path)) return;
    }
  }

  /** False if one should listen further up. */
  #listen(path: string): boolean {
    try {
      const watcher = watch(path, { persistent: true });
      this.#watcher = watcher;
      const below = path === this.#directory ? undefined : stepTowards(this.#directory, path);
      watcher.on("change", (type, name) => this.#hear(path, below, type, String(name ?? "")));
      watcher.on("error", () => this.#detach());
      // It may have come between looking for it and listening to what is above it.
      if (below !== undefined && identify(resolve(path, below))) this.#detach();
    } catch (error) {
      // Gone already. No watches left, or not allowed: what is above would say nothing about what is in it.
      return codeOf(error) !== "ENOENT";
    }
    this.#isReliable = !isRemote(path);
    return true;
  }

  #hear(path: string, below: string | undefined, type: string, name: string): void {
    const isItself = name === "" || (type === "rename" && name === basename(path));
    if (isItself || name === below) this.#detach();
    else if (below === undefined) this.#note(name);
  }

  #note(name: string): void {
    if (this.#eventsThisTurn === 0) setImmediate(() => this.#endTurn());
    this.#eventsThisTurn += 1;
    const isLossy = this.#eventsThisTurn > limits.eventsPerTurnMax;
    // A name that is not UTF-8 comes garbled; only the list of all names shows which it was.
    const isGarbled = name.includes("\ufffd");
    if (name.endsWith(".json")) this.#names.add(name);
    if (isLossy || isGarbled || this.#names.size > limits.changedNamesMax) {
      this.#isAnything = true;
      this.#names.clear();
    }
    if (this.hasNews) this.wake();
  }

  #endTurn(): void {
    this.#eventsThisTurn = 0;
  }

  /** Whatever happens while nobody listens has to be looked for. */
  #detach(): void {
    this.#isAttached = false;
    this.#isAnything = true;
    this.wake();
  }
}

type Identity = { readonly path: string; readonly device: number; readonly inode: number };

function identify(path: string): Identity | undefined {
  try {
    const { dev, ino } = statSync(path);
    return { path, device: dev, inode: ino };
  } catch {
    return undefined;
  }
}

/** The first name on the way down from `above` to `path`. */
function stepTowards(path: string, above: string): string {
  let step = path;
  while (dirname(step) !== above) step = dirname(step);
  return basename(step);
}

/** Linux: NFS, SMB, CIFS, FUSE, 9P, Ceph, AFS, Lustre. Others may write there without our hearing of it. */
const remoteTypes: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997, 0x00c36400, 0x5346414f,
  0x0bd00bd0,
]);

function isRemote(path: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return remoteTypes.has(statfsSync(path).type);
  } catch {
    return false;
  }
}

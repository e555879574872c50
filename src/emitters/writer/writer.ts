/**
 * The writer: one per user, whoever holds the lock. It is woken by the queue, by a clock that ticks only
 * while there are sessions, and by nothing else.
 */
import { spawn } from "node:child_process";
import { type FSWatcher, statSync, watch } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { limits as statusLimits } from "../../wire/status-file/index.ts";
import { namesIn, removeFile } from "./files.ts";
import { Keeper } from "./keeper.ts";
import { limits } from "./limits.ts";
import { Lock } from "./lock.ts";
import { makePlaces, type Places, placesIn } from "./places.ts";
import { isAlive } from "./processes.ts";
import { drain, isEmpty, sweep } from "./queue.ts";
import { sweepGoals } from "./store.ts";

export type WriterOptions = {
  /** The emitters' own directory: `emittersDirectory` says which the hooks use. */
  readonly stateDirectory: string;
  /** Where files go unless the environment of a host says otherwise. */
  readonly statusDirectory: string;
  readonly signal?: AbortSignal;
};

/**
 * The shared writer: writes until the last session is over, or until the signal. Returns at once if somebody
 * else writes.
 */
export async function runWriter(options: WriterOptions): Promise<void> {
  const places = placesIn(options.stateDirectory);
  makePlaces(places);
  const lock = new Lock(places.lock, "shared");
  const { signal = new AbortController().signal } = options;
  // Who finds something in the queue after it has given the lock back, takes it once more.
  while (!signal.aborted && lock.tryTake()) {
    removeFile(places.starting);
    await holding(lock, async () => {
      await using work = await Work.open(options, places, lock);
      await work.untilIdle(signal);
    });
    // What a hook left unfinished that was killed keeps nobody here for ever.
    sweep(places.queue, Date.now());
    if (isEmpty(places.queue)) return;
  }
}

export type DaemonWriterOptions = WriterOptions & {
  /**
   * The bundle of the shared writer. Started at the end if sessions are under way: they would look as if they
   * had died, until one of them has something to tell.
   */
  readonly successor?: string;
};

/**
 * The daemon as the writer. Asks a shared writer to make way, waits for another daemon. Until the signal or
 * disposal; sessions that are under way stay, for whoever writes next.
 */
export function openWriter(options: DaemonWriterOptions): AsyncDisposable {
  const stopped = new AbortController();
  const signal = AbortSignal.any([stopped.signal, ...(options.signal ? [options.signal] : [])]);
  const done = writeAsDaemon(options, signal).catch(() => {
    // Emitters disturb nobody: without a directory to write to there is nothing to see, and that is all.
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      await done;
    },
  };
}

async function writeAsDaemon(options: DaemonWriterOptions, signal: AbortSignal): Promise<void> {
  const places = placesIn(options.stateDirectory);
  makePlaces(places);
  const lock = new Lock(places.lock, "daemon");
  while (!signal.aborted) {
    if (lock.tryTake() || (await takeOver(lock, signal))) {
      await holding(lock, async () => {
        await using work = await Work.open(options, places, lock);
        await work.untilStopped(signal);
      });
      const isLeft = namesIn(places.sessions).length > 0 || !isEmpty(places.queue);
      if (signal.aborted && isLeft) startSuccessor(options);
    } else {
      await pause(limits.waitMs, signal);
    }
  }
}

/** Nobody else writes before the last word is in its file, and nobody is kept from it by one who cannot. */
async function holding(lock: Lock, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    lock.release();
  }
}

/** As a hook would start it. */
function startSuccessor({ successor, stateDirectory }: DaemonWriterOptions): void {
  if (successor === undefined) return;
  const flags = ["--no-opt", "--no-maglev", "--max-semi-space-size=1", "--max-old-space-size=64"];
  const child = spawn(process.execPath, [...flags, successor, stateDirectory], {
    detached: true,
    stdio: "ignore",
  });
  // Without it the next hook starts one.
  child.on("error", () => {});
  child.unref();
}

/** A shared writer lays down its sessions when it is asked to end, and gives the lock back. */
async function takeOver(lock: Lock, signal: AbortSignal): Promise<boolean> {
  const holder = lock.holder();
  if (holder?.kind !== "shared") return lock.tryTake();
  try {
    process.kill(holder.pid, "SIGTERM");
  } catch {
    // It ended by itself.
  }
  const untilMs = performance.now() + limits.handOverMsMax;
  while (!signal.aborted && performance.now() < untilMs) {
    await pause(limits.handOverMs, signal);
    // It gives the lock back before it ends; when we write, it is gone.
    if (!isAlive(holder) && lock.tryTake()) return true;
  }
  return !signal.aborted && lock.tryTake();
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}

/** What is under way while the lock is ours. */
class Work implements AsyncDisposable {
  readonly #places: Places;
  readonly #lock: Lock;
  readonly #keeper: Keeper;
  readonly #heart: NodeJS.Timeout;
  #eyes: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #watcher: FSWatcher | undefined;
  #watched: number | undefined;
  #isAwake = false;
  /** Aborted when there has been no session for a while. */
  readonly #ended = new AbortController();
  /** Aborted when the lock is lost. */
  readonly #gone = new AbortController();

  private constructor({ statusDirectory }: WriterOptions, places: Places, lock: Lock) {
    this.#places = places;
    this.#lock = lock;
    this.#keeper = new Keeper({ places, statusDirectory });
    this.#heart = setInterval(() => this.#beat(), statusLimits.heartbeatMs);
  }

  static async open(options: WriterOptions, places: Places, lock: Lock): Promise<Work> {
    const work = new Work(options, places, lock);
    try {
      work.#begin();
      return work;
    } catch (cause) {
      await work[Symbol.asyncDispose]();
      throw cause;
    }
  }

  #begin(): void {
    // Before the queue is looked at: what comes after is told of.
    this.#watch();
    this.#keeper.adopt(Date.now());
    this.#drain();
  }

  /** Until there has been no session for a while, the signal, or the loss of the lock. */
  async untilIdle(signal: AbortSignal): Promise<void> {
    await aborted(AbortSignal.any([this.#ended.signal, this.#gone.signal, signal]));
  }

  async untilStopped(signal: AbortSignal): Promise<void> {
    await aborted(AbortSignal.any([this.#gone.signal, signal]));
  }

  /** What is under way stays where the next writer finds it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#watcher?.close();
    clearInterval(this.#heart);
    clearInterval(this.#eyes);
    clearTimeout(this.#idle);
    await this.#keeper.flush();
  }

  #watch(): void {
    const { queue } = this.#places;
    try {
      makePlaces(this.#places);
      const { ino } = statSync(queue);
      if (ino === this.#watched) return;
      this.#watcher?.close();
      this.#watcher = watch(queue, () => this.#wake());
      this.#watcher.on("error", () => {
        this.#watched = undefined;
      });
      this.#watched = ino;
    } catch {
      // No directory, or too many watches: the heartbeat looks into the queue, and tries again.
      this.#watched = undefined;
    }
  }

  /** One look for all that happens in one turn of the loop. */
  #wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    setImmediate(() => {
      this.#isAwake = false;
      this.#drain();
    });
  }

  #drain(): void {
    try {
      drain(this.#places.queue, (queued) => this.#keeper.hear(queued, Date.now()));
    } catch {
      // The event that could not be taken in is gone; the others are still there.
      this.#wake();
    }
    this.#rest();
  }

  #look(): void {
    this.#drain();
    try {
      this.#keeper.look(Date.now());
    } catch {
      // AS-27: whoever runs us is not to hear of it.
    }
    this.#rest();
  }

  #beat(): void {
    if (!this.#lock.isOurs()) {
      this.#gone.abort();
      return;
    }
    this.#lock.renew();
    this.#watch();
    this.#drain();
    try {
      const nowMs = Date.now();
      this.#keeper.beat(nowMs);
      sweep(this.#places.queue, nowMs);
      sweepGoals(this.#places, nowMs);
    } catch {
      // As above.
    }
  }

  /** The clock ticks only while somebody has to be looked at. */
  #rest(): void {
    const { isEmpty } = this.#keeper;
    if (isEmpty) {
      clearInterval(this.#eyes);
      this.#eyes = undefined;
      this.#idle ??= setTimeout(() => this.#ended.abort(), limits.lingerMs);
    } else {
      clearTimeout(this.#idle);
      this.#idle = undefined;
      this.#eyes ??= setInterval(() => this.#look(), limits.lookMs);
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

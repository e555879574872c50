/** What an emitter finds around it in a host's process. It is handed in, because a test has another. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { isMainThread } from "node:worker_threads";
import { type Clock, type Env, idleClock, statusDirectory } from "../doors/status-files/index.ts";
import { guard } from "./guard.ts";
import { limits } from "./limits.ts";

export type Surroundings = {
  readonly env: Env;
  readonly home?: string;
  readonly pid: number;
  readonly clock: Clock;
  /** Undefined where it was removed under the host's feet. */
  readonly workingDirectory: () => string | undefined;
  /** The listener is told when the process ends by itself; the answer makes it deaf. */
  readonly onExit: (listener: () => void) => () => void;
  /** Takes a file away when the process is gone, however it went; the answer sends the guard away. */
  readonly guard?: (path: string) => () => void;
};

/** Absolute: a host may change its working directory (AS-3). */
export function absoluteStatusDirectory({ env, home }: Pick<Surroundings, "env" | "home">): string {
  return resolve(statusDirectory({ env, home }));
}

/** Of the process that this runs in. */
export function surroundingsOf(host: NodeJS.Process): Surroundings {
  return {
    env: host.env,
    pid: host.pid,
    clock: idleClock,
    workingDirectory: () => {
      try {
        return host.cwd();
      } catch {
        return undefined;
      }
    },
    onExit: (listener) => {
      if (leaving.size === 0) listen(host);
      leaving.add(listener);
      return () => {
        leaving.delete(listener);
        if (leaving.size === 0) stopListening();
      };
    },
    guard,
  };
}

/** All of them share a few listeners: a host with many is warned of a leak. */
const leaving = new Set<() => void>();
let stopListening: () => void = () => {};

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A host that was started to outlive its terminal ignores some, and must go on to: listening ends that. */
function isIgnored(signal: (typeof signals)[number]): boolean {
  try {
    const [, mask] =
      /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return ((BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
  } catch {
    // Elsewhere nobody says. This one is not usually ignored.
    return signal !== "SIGTERM";
  }
}

/**
 * A host that listens to a signal ends in its own way, and may count who listens to find out whether it is
 * alone. So we listen only where nobody does, make room for whoever comes, and end as if we had not been
 * there. Signals are the main thread's: OpenCode's terminal runs plugins in another, and ends them itself.
 */
function listen(host: NodeJS.Process): void {
  const leave = (): void => {
    for (const listener of leaving) listener();
  };
  const die = (signal: NodeJS.Signals): void => {
    leave();
    stopListening();
    host.kill(host.pid, signal);
    // Should it live on, it would do so without a file.
    setTimeout(() => host.exit(1), limits.dyingMs);
  };
  const makeRoom = (event: string | symbol, listener: unknown): void => {
    const signal = signals.find((name) => name === event);
    // Not before the other listens: the process stops hearing a signal when the last one leaves.
    if (signal && listener !== die) host.nextTick(() => host.off(signal, die));
  };
  host.on("exit", leave);
  if (isMainThread) {
    for (const signal of signals) {
      if (host.listenerCount(signal) === 0 && !isIgnored(signal)) host.on(signal, die);
    }
    host.on("newListener", makeRoom);
  }
  stopListening = () => {
    host.off("exit", leave);
    host.off("newListener", makeRoom);
    for (const signal of signals) host.off(signal, die);
  };
}

/**
 * What all emitters for one kind of host know in this process, also those of another copy of this module:
 * who owns what, and which files are theirs.
 */
export type Shared = {
  readonly owners: Map<string, object>;
  readonly agentIds: Set<string>;
  /** What hosts handed over, and was taken. */
  readonly taken: WeakSet<object>;
};

export function sharedBy(host: string): Shared {
  const key = Symbol.for(`tipstaff.emitters.${host}`);
  const found: Shared | undefined = Reflect.get(globalThis, key);
  const shared = found ?? { owners: new Map(), agentIds: new Set(), taken: new WeakSet() };
  if (!found) Reflect.set(globalThis, key, shared);
  return shared;
}

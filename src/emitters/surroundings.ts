/** What an emitter finds around it in a host's process. It is handed in, because a test has another. */
import { resolve } from "node:path";
import { type Clock, type Env, idleClock, statusDirectory } from "../status-files/index.ts";
import { guard } from "./guard.ts";

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
      if (leaving.size === 0) host.on("exit", leave);
      leaving.add(listener);
      return () => {
        leaving.delete(listener);
        if (leaving.size === 0) host.off("exit", leave);
      };
    },
    guard,
  };
}

/**
 * All of them share one listener: a host with many is warned of a leak. Nobody listens to signals: a host may
 * count who does, and what it leaves behind when one ends it, the guard takes away.
 */
const leaving = new Set<() => void>();

function leave(): void {
  for (const listener of leaving) listener();
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

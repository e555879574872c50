/**
 * A worker that is a child of this process and speaks on its pipes. When it dies another is started, later each
 * time it dies young; it ends with its owner. What it had is lost with it, and is known to be.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fromChild, type Transport } from "../../transport/index.ts";
import { limits } from "./limits.ts";

export type ChildWorkerOptions = {
  /** Takes over each new child's pipes, as a server does with any transport. */
  readonly accept: (transport: Transport) => void;
  /** The child says hello with it, and finds it in `ARCP_TOKEN`. */
  readonly token: string;
  /** All that the child is to have of it; `PATH`, for one. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory?: string;
  /** What a child prints on its standard error: nowhere, or where ours goes. */
  readonly errors?: "ignore" | "inherit";
  /** Told how each child ended, and when it cannot be started. */
  readonly onExit?: (exit: ChildExit) => void;
  /** Between the end of one and the start of the next, at least. */
  readonly restartMs?: number;
};

export type ChildExit = {
  readonly code: number | null;
  readonly signal: string | null;
  /** It could not be started. */
  readonly error?: unknown;
};

export interface ChildWorker extends AsyncDisposable {
  /** Of the child that runs now, if one does. */
  readonly pid: number | undefined;
}

export function startChildWorker(
  command: string,
  args: readonly string[],
  options: ChildWorkerOptions,
): ChildWorker {
  const ending = new AbortController();
  let child: ChildProcess | undefined;
  const run = async (): Promise<void> => {
    const { restartMs = limits.restartMsMin } = options;
    let youngDeaths = 0;
    while (!ending.signal.aborted) {
      const startedMs = performance.now();
      child = start(command, args, options);
      const exit = await endOf(child, ending.signal);
      child = undefined;
      tell(options, exit);
      if (ending.signal.aborted) return;
      if (performance.now() - startedMs >= limits.soundMs) youngDeaths = 0;
      const waitMs = waitAfter(youngDeaths, restartMs);
      youngDeaths += 1;
      await sleep(waitMs, undefined, { signal: ending.signal }).catch(() => {});
    }
  };
  const over = run();
  return {
    get pid() {
      return child?.pid;
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await over;
    },
  };
}

/** That somebody cannot hear of an end is no reason to start no other. */
function tell({ onExit }: ChildWorkerOptions, exit: ChildExit): void {
  try {
    onExit?.(exit);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

/** Until the next one is started, after so many that died young before this one. */
export function waitAfter(youngDeaths: number, restartMs: number): number {
  return Math.min(restartMs * 2 ** youngDeaths, limits.restartMsMax);
}

function start(
  command: string,
  args: readonly string[],
  { accept, token, environment, directory, errors = "inherit" }: ChildWorkerOptions,
): ChildProcess {
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", errors],
    env: { ...environment, ARCP_TOKEN: token },
    ...(directory !== undefined && { cwd: directory }),
  });
  // What cannot be started has no pipes to speak of.
  if (child.pid !== undefined) accept(fromChild(child));
  return child;
}

/** Resolves when it has ended, by itself or because its owner did. */
export async function endOf(child: ChildProcess, signal: AbortSignal): Promise<ChildExit> {
  const exited = new Promise<ChildExit>((resolve) => {
    child.once("exit", (code, name) => resolve({ code, signal: name }));
    // One that runs, or has run, could not be signalled: that is not its end, and must not be ours.
    child.on("error", (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
  });
  const asked = new Promise<undefined>((resolve) => {
    const stop = (): void => resolve(undefined);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    void exited.then(() => signal.removeEventListener("abort", stop));
  });
  const exit = await Promise.race([exited, asked]);
  if (exit) return exit;
  child.stdin?.end();
  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    const waited = new AbortController();
    const late = sleep(limits.childEndMs, undefined, { signal: waited.signal }).catch(() => {});
    const gone = await Promise.race([exited, late]);
    waited.abort();
    if (gone) return gone;
    child.kill(name);
  }
  return await exited;
}

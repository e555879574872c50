/**
 * Real processes and real directories for tests, with one owner each. Whatever a test made is gone when
 * its block ends; should the test process itself be stopped, then when that ends.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export { freePort } from "../../src/testing/free-port.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** How long a process may take for what takes it a moment on an idle machine. */
export const patienceMs = 15_000;

/** What to undo if this process ends before its tests do, latest first. */
const leftovers = new Set<() => void>();
process.once("exit", () => {
  for (const undo of [...leftovers].reverse()) undo();
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  process.once(signal, () => process.exit(1));
}

export interface Scratch extends Disposable {
  readonly path: string;
}

/** A new directory, removed with all that is in it. */
export function scratch(): Scratch {
  const path = mkdtempSync(join(tmpdir(), "tipstaff-e2e-"));
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true });
    leftovers.delete(remove);
  };
  leftovers.add(remove);
  return { path, [Symbol.dispose]: remove };
}

export interface SmallDisk extends Disposable {
  /** Leads through a link of the kernel's. A program that resolves links itself ends elsewhere, as SQLite does. */
  readonly path: string;
  /** The path for programs that are started with the words of `enter` before their own. */
  readonly pathInside: string;
  readonly enter: readonly string[];
}

/**
 * A file system of so many megabytes, in memory. It is mounted in a user and mount namespace of its own, which takes
 * no privileges, and is reached through a process there. It disappears with that process, and that process with ours.
 * Undefined where the kernel has no such namespaces; under `CI=true` that is a failure.
 */
export async function openSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const directory = scratch();
  const size = `size=${megabytes}m,mode=0700`;
  const words = ["--user", "--map-root-user", "--mount", "python3", "-c", mounting];
  const holder = spawn("unshare", [...words, directory.path, size], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const [said] = await Promise.race([once(holder.stdout, "data"), once(holder, "close")]).catch(
    (cause: unknown) => [cause],
  );
  // Without buffering (PYTHONUNBUFFERED) the end of the line comes later.
  if (String(said).trim() === "mounted") {
    const path = `/proc/${holder.pid}/root${directory.path}`;
    const close = (): void => {
      holder.stdin.end();
      directory[Symbol.dispose]();
    };
    const target = ["--target", `${holder.pid}`, "--user", "--mount", "--preserve-credentials"];
    const enter = ["nsenter", ...target, "--"];
    return { path, pathInside: directory.path, enter, [Symbol.dispose]: close };
  }
  holder.stdin.end();
  directory[Symbol.dispose]();
  assert(process.env["CI"] !== "true", `no file system was mounted in a user namespace: ${said}`);
  return undefined;
}

/** Debian's `mount` is not one of its essential packages. Waits until it is told to end. */
const mounting = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
directory, options = (word.encode() for word in sys.argv[1:])
if libc.mount(b"tmpfs", directory, b"tmpfs", ctypes.c_ulong(0), options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)
sys.stdin.read()
`;

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type StartOptions = {
  /** Absent: in memory. */
  readonly dataDirectory?: string;
  /** Absent: any free port of the IPv4 loopback address. */
  readonly address?: string;
  /** More flags. Without one about it there is no HTTP port. */
  readonly flags?: readonly string[];
  /** Shell words put before the command, such as `ulimit -f 100;`. */
  readonly before?: string;
  /** Where the daemon runs. The data directory is then a path inside. */
  readonly disk?: SmallDisk;
};

/** A daemon in a process of its own; killed at the end of the block if it still runs. */
export class Daemon implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly exited: Promise<Exit>;
  stdout = "";
  stderr = "";
  /** Whether we sent it a signal: until then, whoever gets no answer has found a mistake. */
  wasSignalled = false;
  #exit: Exit | undefined;

  /** Starts one and does not wait for it. */
  static spawn(options: StartOptions = {}): Daemon {
    const { dataDirectory, address = "127.0.0.1:0", flags = ["--metrics-addr="], before } = options;
    const words = [
      ...(options.disk?.enter ?? []),
      join(root, "bin/agentkeeper"),
      `--addr=${address}`,
      ...(dataDirectory === undefined ? [] : [`--data-dir=${dataDirectory}`]),
      ...flags,
    ];
    const command =
      before === undefined ? words : ["/bin/sh", "-c", `${before} exec "$0" "$@"`, ...words];
    return new Daemon(command);
  }

  /** Starts one; resolves when it serves, rejects if it does not. */
  static async start(options?: StartOptions): Promise<Daemon> {
    const daemon = Daemon.spawn(options);
    try {
      await daemon.isUp();
      return daemon;
    } catch (reason) {
      await daemon[Symbol.asyncDispose]();
      throw reason;
    }
  }

  private constructor([executable = "", ...words]: readonly string[]) {
    // What the test runner tells its own children is not for ours.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    this.#child = spawn(executable, words, { stdio: ["ignore", "pipe", "pipe"], env });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    const kill = (): void => {
      this.#child.kill("SIGKILL");
    };
    leftovers.add(kill);
    this.exited = once(this.#child, "close").then(([code, signal]) => {
      leftovers.delete(kill);
      this.#exit = { code, signal };
      return this.#exit;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Undefined as long as it runs. */
  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** Where SDKs connect, as it says itself. Known once it is up. */
  get port(): number {
    return Number(/^ {2}gRPC +\S+:(\d+) /m.exec(this.stdout)?.[1] ?? 0);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Resolves when it says that it serves. */
  async isUp(): Promise<void> {
    await until(() => this.port > 0 || this.#exit !== undefined, "the daemon to be up");
    if (this.#exit) throw new Error(`it ended with ${this.#exit.code}: ${this.stderr}`);
  }

  send(signal: NodeJS.Signals): void {
    this.wasSignalled = true;
    this.#child.kill(signal);
  }

  /** Ends it with a signal and answers how it ended. */
  async end(signal: NodeJS.Signals): Promise<Exit> {
    this.send(signal);
    return await within(patienceMs, this.exited, `the daemon to end after ${signal}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#exit) await this.end("SIGKILL");
  }
}

export type Output = Exit & { readonly stdout: string; readonly stderr: string };

const program = join(root, "bin/tipstaff");

/** Runs `tipstaff` to its end. */
export function tipstaff(...words: readonly string[]): Promise<Output> {
  return run([program, ...words], process.env);
}

/**
 * The same for a user with this home directory, whose daemon has its data directory in the usual place, and without
 * the loopback address of this machine: another daemon may listen at its usual port. Where the kernel has no network
 * namespaces, that port must be free.
 */
export function tipstaffAtHome(home: string, ...words: readonly string[]): Promise<Output> {
  const alone = ["unshare", "--user", "--map-root-user", "--net"];
  const canBeAlone = spawnSync("unshare", [...alone.slice(1), "true"]).status === 0;
  assert(canBeAlone || process.env["CI"] !== "true", "no network namespace was made");
  return run([...(canBeAlone ? alone : []), program, ...words], {
    ...process.env,
    HOME: home,
    XDG_STATE_HOME: home,
  });
}

async function run(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Output> {
  const [command = "", ...rest] = words;
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "pipe"], env });
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  leftovers.add(kill);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  try {
    const [code, signal] = await within(patienceMs, once(child, "close"), words.join(" "));
    return { code, signal, stdout, stderr };
  } finally {
    child.kill("SIGKILL");
    leftovers.delete(kill);
  }
}

/**
 * The warnings that a daemon printed, except the one that is expected after a kill or on a full disk: an append was
 * interrupted before anybody was told that it succeeded, and the next start dropped it.
 */
export function warningsIn(stderr: string): readonly string[] {
  const expected = /log\.db-wal ends with an append that was never finished; it was dropped$/;
  return stderr.split("\n").filter((line) => /warn/i.test(line) && !expected.test(line));
}

/**
 * Looks until there is something to find, and answers it. What is waited for happens in another process, so there
 * is nothing to await.
 */
export async function until<Found>(
  look: () => Found | undefined | false | Promise<Found | undefined | false>,
  what: string,
  patience: number = patienceMs,
): Promise<Found> {
  const giveUpAtMs = performance.now() + patience;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > giveUpAtMs) throw new Error(`waited ${patience} ms for ${what}`);
    await sleep(5);
  }
}

/** For a promise that is awaited later: should it fail before, that is no surprise to anyone. */
export function heard<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

export async function within<Value>(
  ms: number,
  promise: Promise<Value>,
  what: string,
): Promise<Value> {
  const controller = new AbortController();
  const late = sleep(ms, undefined, { signal: controller.signal }).then(() => {
    throw new Error(`waited ${ms} ms for ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    controller.abort();
    await late.catch(() => {});
  }
}

/**
 * The servers under load, each in a process of its own, on loopback, with its data on the disk of
 * the checkout (a temporary directory may be memory, where fsync costs nothing). Both run with the
 * settings they have by themselves; for etcd that means fsync on.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdir, mkdtempDisposable, open, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../src/testing/free-port.ts";

export interface Server extends AsyncDisposable {
  readonly name: string;
  readonly addr: string;
  readonly pid: number;
}

export const cacheDirectory: string = fileURLToPath(
  new URL("../node_modules/.cache/tipstaff-bench/", import.meta.url),
);

export const daemonPath: string = fileURLToPath(new URL("../bin/agentkeeper", import.meta.url));

const limits = {
  /** Recovery of a long log included. */
  startMs: 60_000,
  /** Both promise to be gone sooner. Then they are killed: their data is thrown away anyway. */
  stopMs: 10_000,
} as const;

/** A directory on the checkout's disk that is deleted when the scope, or the process, ends. */
export async function openScratch(): Promise<{ readonly path: string } & AsyncDisposable> {
  await mkdir(cacheDirectory, { recursive: true });
  const scratch = await mkdtempDisposable(join(cacheDirectory, "run-"));
  const remove = () => rmSync(scratch.path, { recursive: true, force: true, maxRetries: 5 });
  process.once("exit", remove);
  return scratch;
}

/** Speaks AgentKeeper; `path` may name another build, to compare two. */
export async function startDaemon(directory: string, path: string = daemonPath): Promise<Server> {
  const addr = await freeAddress();
  const args = [`--addr=${addr}`, `--data-dir=${join(directory, "tipstaff")}`, "--metrics-addr="];
  return await startServer("Tipstaff", {
    path,
    args,
    addr,
    logPath: join(directory, "tipstaff.log"),
  });
}

/** `path` is the program that `buildGo("etcd")` resolves with. */
export async function startEtcd(directory: string, path: string): Promise<Server> {
  const addr = await freeAddress();
  const peer = `http://${await freeAddress()}`;
  const args = [
    "--name=bench",
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=http://${addr}`,
    `--advertise-client-urls=http://${addr}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=bench=${peer}`,
    // History is kept until someone compacts it; the default of 2 GiB would end a long run.
    `--quota-backend-bytes=${8 * 2 ** 30}`,
  ];
  return await startServer("etcd", {
    path,
    args,
    addr,
    logPath: join(directory, "etcd.log"),
  });
}

export type Launch = {
  readonly path: string;
  readonly args: readonly string[];
  readonly addr: string;
  readonly logPath: string;
};

/** Any program that listens at `addr` when it is ready to serve. */
export async function startServer(
  name: string,
  { path, args, addr, logPath }: Launch,
): Promise<Server> {
  await using log = await open(logPath, "w");
  const child = spawn(path, args, { stdio: ["ignore", log.fd, log.fd] });
  await once(child, "spawn");
  const kill = () => child.kill("SIGKILL");
  // Before the scratch directory goes, which was opened earlier.
  process.prependOnceListener("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  try {
    await untilListening(child, addr);
  } catch (cause) {
    await stop(child);
    const said = (await readFile(logPath, "utf8")).trim().split("\n").slice(-5).join("\n");
    throw new Error(`${name} did not start: ${said}`, { cause });
  }
  return {
    name,
    addr,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => stop(child),
  };
}

/** Both accept connections only when they are ready to serve. */
async function untilListening(child: ChildProcess, addr: string): Promise<void> {
  const deadline = performance.now() + limits.startMs;
  while (!(await accepts(addr))) {
    if (hasEnded(child)) throw new Error("it ended");
    if (performance.now() > deadline) throw new Error(`nothing listens at ${addr}`);
    await sleep(20);
  }
}

async function accepts(addr: string): Promise<boolean> {
  const [host = "", port = ""] = addr.split(":");
  const socket = connect({ host, port: Number(port) });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), limits.stopMs);
  await ended;
  clearTimeout(killer);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Loopback only. */
export async function freeAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}

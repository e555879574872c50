/**
 * The published AgentKeeper SDK and its own tests, downloaded once and kept beside our dependencies.
 * Nothing of it is in this repository, and nothing of it is changed.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

export type Peer = {
  /** The Python interpreter that has the SDK, and pytest. */
  readonly python: string;
  /** The unpacked source distribution, with its `tests/`. */
  readonly source: string;
};

const version = "0.1.1";
const wanted = ["pytest", "pytest-xdist", `agentkeeper==${version}`];

/** What is in it, in a file that is written last. */
const mark = "ready";
const contents = `${wanted.join(" ")}\n`;

const run = promisify(execFile);

/** Takes a quarter of a minute the first time. Answers why it cannot be had on this machine, if so. */
export async function preparePeer(): Promise<Peer | { readonly unavailable: string }> {
  const cache = resolve("node_modules/.cache/tipstaff");
  const ready = join(cache, "agentkeeper-sdk");
  if (isReady(ready)) return peerIn(ready);
  // Made aside and moved when it is whole: it may be interrupted, and several tests may want it at once.
  const making = join(cache, `agentkeeper-sdk-${process.pid}`);
  try {
    mkdirSync(making, { recursive: true });
    const peer = peerIn(making);
    await makeEnvironment(join(making, "python"));
    await pip(peer, "install", ...wanted);
    await unpackSource(peer, making);
    writeFileSync(join(making, mark), contents);
    if (!isReady(ready)) {
      rmSync(ready, { recursive: true, force: true });
      renameSync(making, ready);
    }
    return peerIn(ready);
  } catch (cause) {
    return { unavailable: `the AgentKeeper SDK cannot be had here: ${lastLineOf(cause)}` };
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function peerIn(directory: string): Peer {
  return {
    python: join(directory, "python", "bin", "python"),
    source: join(directory, `agentkeeper-${version}`),
  };
}

function isReady(directory: string): boolean {
  const path = join(directory, mark);
  return existsSync(path) && readFileSync(path, "utf8") === contents;
}

async function makeEnvironment(directory: string): Promise<void> {
  const make = (): Promise<unknown> => run("python3", ["-m", "venv", "--clear", directory]);
  try {
    await make();
  } catch (cause) {
    const lacksInstaller = /ensurepip|python3-venv/.test(outputOf(cause));
    if (!lacksInstaller || process.getuid?.() !== 0) throw cause;
    await run("apt-get", ["install", "-y", "python3-venv"]);
    await make();
  }
}

async function unpackSource(peer: Peer, directory: string): Promise<void> {
  const what = ["--no-deps", "--no-binary", ":all:", `agentkeeper==${version}`];
  await pip(peer, "download", ...what, "--dest", directory);
  const archive = join(directory, `agentkeeper-${version}.tar.gz`);
  await run("tar", ["xzf", archive, "--directory", directory]);
}

async function pip({ python }: Peer, ...words: string[]): Promise<void> {
  const quiet = ["--quiet", "--disable-pip-version-check"];
  await run(python, ["-m", "pip", ...quiet, ...words], { maxBuffer: 2 ** 24 });
}

function outputOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { stdout, stderr } = cause as { stdout?: string; stderr?: string };
  return `${cause.message}\n${stdout ?? ""}\n${stderr ?? ""}`;
}

function lastLineOf(cause: unknown): string {
  return outputOf(cause).trim().split("\n").at(-1) ?? "";
}

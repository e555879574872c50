/**
 * The published `agent-status` program and its own tests. Nothing of it is in this repository, and nothing of
 * it is changed.
 */
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { pip, prepareEnvironment, pythonIn } from "./environment.ts";

export type Peer = {
  /** The Python interpreter that has the program, and pytest. */
  readonly python: string;
  /** What starts the program, as its own file of that name does. */
  readonly command: readonly string[];
  /** The unpacked source distribution, with its `tests/`. */
  readonly source: string;
};

const version = "0.1.30";
const packages = ["pytest", "setuptools", "wheel", `agent-status==${version}`];

/** Answers why it cannot be had on this machine, if so. */
export async function preparePeer(): Promise<Peer | { readonly unavailable: string }> {
  const prepared = await prepareEnvironment({
    name: "agent-status-reference",
    packages,
    finish: unpackSource,
  });
  if ("unavailable" in prepared) return prepared;
  const { directory } = prepared;
  const python = pythonIn(directory);
  return {
    python,
    command: [python, "-I", "-m", "agent_status"],
    source: join(directory, `agent_status-${version}`),
  };
}

async function unpackSource(directory: string): Promise<void> {
  const what = ["--no-deps", "--no-binary", ":all:", `agent-status==${version}`];
  await pip(directory, "download", ...what, "--dest", directory);
  const archive = join(directory, `agent_status-${version}.tar.gz`);
  await promisify(execFile)("tar", ["xzf", archive, "--directory", directory]);
}

export type Answer = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** It ended with a trace. */
  readonly died: boolean;
};

/** The program, kept running: it answers one call after the other. */
export class Reference implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  /** Whether its Python reads all forms of times that the newer ones read. */
  readonly readsAllTimes: boolean;

  private constructor(
    child: ChildProcessByStdio<Writable, Readable, null>,
    lines: AsyncIterator<string>,
    python: readonly [number, number],
  ) {
    this.#child = child;
    this.#lines = lines;
    this.readsAllTimes = python[1] >= 11;
  }

  static async start({ python }: Peer): Promise<Reference> {
    const script = resolve("test/interop/agent-status/reference.py");
    // Isolated: beside the script lies a module of the same name.
    const child = spawn(python, ["-I", "-B", script], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { value, done } = await lines.next();
    if (done === true) throw new Error("the reference does not start");
    return new Reference(child, lines, JSON.parse(value).python);
  }

  /** One call at a time. */
  async call(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    this.#child.stdin.write(`${JSON.stringify({ words, env: { COLUMNS: "1000", ...env } })}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the reference ended early");
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "close");
    this.#child.stdin.end();
    await ended;
  }
}

/** A program of these tests in a process of its own, so that it can be killed. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** Each process loads the same sources: compiled once, they start in a third of the time. */
const compiled = resolve("node_modules/.cache/tipstaff/compiled");

/** The process is killed when the block ends. */
export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
    this.#child = spawn(process.execPath, [join(import.meta.dirname, name), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...outer, NODE_COMPILE_CACHE: compiled, ARCP_TOKEN: "worker-token", ...env },
    });
  }

  async line(): Promise<string> {
    assert(this.#child.stdout);
    const [line] = await once(createInterface({ input: this.#child.stdout }), "line");
    return String(line);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** A daemon that can be killed and comes back at the same address with the same log. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort, type Scratch, scratch } from "../e2e/processes.ts";

const executable = fileURLToPath(new URL("../../bin/tipstaff", import.meta.url));

export class RestartableDaemon implements AsyncDisposable {
  readonly url: string;
  readonly #port: number;
  readonly #scratch: Scratch;
  #child: ChildProcess | undefined;

  static async start(): Promise<RestartableDaemon> {
    const daemon = new RestartableDaemon(scratch(), await freePort());
    await daemon.start();
    return daemon;
  }

  private constructor(scratch: Scratch, port: number) {
    this.#scratch = scratch;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  get token(): string {
    return readFileSync(join(this.#scratch.path, "token"), "utf8").trim();
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const flags = [
      `--data-dir=${this.#scratch.path}`,
      "--grpc=127.0.0.1:0",
      "--arcp=",
      "--status-dir=",
    ];
    const words = ["up", "--json", `--http=127.0.0.1:${this.#port}`, ...flags];
    const child = spawn(executable, words, { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    const ended = once(child, "close").then(([code]) => {
      throw new Error(`the daemon ended with ${code}`);
    });
    // Later it ends as it is told to.
    ended.catch(() => {});
    await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  /** Away for a moment. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#scratch[Symbol.dispose]();
  }
}

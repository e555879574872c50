/** `arcp` as a process, and `arcp serve` as one that is waited for. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type Exit, type Output, patienceMs, until, within } from "../e2e/processes.ts";

const executable = join(import.meta.dirname, "../../bin/arcp");

export const agentsModule: string = join(import.meta.dirname, "arcp-agents.ts");

export type Environment = Readonly<Record<string, string>>;

/** A command under way; killed at the end of the block if it still runs. */
export class ArcpCommand implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<Exit>;
  stdout = "";
  stderr = "";

  constructor(words: readonly string[], env: Environment = {}) {
    const { NODE_TEST_CONTEXT: _, ARCP_URL: _url, ARCP_TOKEN: _token, ...others } = process.env;
    this.child = spawn(executable, words, { env: { ...others, ...env } });
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.exited = once(this.child, "close").then(([code, signal]) => ({ code, signal }));
  }

  get lines(): readonly string[] {
    return this.stdout.split("\n").filter((line) => line !== "");
  }

  async end(): Promise<Output> {
    const exit = await within(patienceMs, this.exited, `it to end: ${this.stdout}${this.stderr}`);
    return { ...exit, stdout: this.stdout, stderr: this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }
}

/** Runs one to its end. */
export async function arcp(words: readonly string[], env?: Environment): Promise<Output> {
  await using command = new ArcpCommand(words, env);
  command.child.stdin.end();
  return await command.end();
}

export type Served = { readonly command: ArcpCommand; readonly env: Environment };

/** A runtime on a port of its own, and what its clients need to know. */
export async function startArcp(
  ...flags: readonly string[]
): Promise<Served & AsyncDisposable & { readonly url: string }> {
  const words = ["serve", "--port", "0", "--token", "secret", "--agents", agentsModule, ...flags];
  const command = new ArcpCommand(words);
  const url = await until(
    () => /^arcp serve: listening on (ws:\S+)$/m.exec(command.stdout)?.[1],
    "the runtime to listen",
  );
  const env = { ARCP_URL: url, ARCP_TOKEN: "secret" };
  return { command, env, url, [Symbol.asyncDispose]: () => command[Symbol.asyncDispose]() };
}

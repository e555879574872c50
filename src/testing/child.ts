/** Another process that runs a few lines of our code, for what one process cannot show. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A program around node: a tracer, a shell that sets limits first. */
export type Wrapper = { readonly command: string; readonly args: readonly string[] };

export class Child implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  #errors = "";

  /** `program` is an ES module; what it prints comes line by line. */
  constructor(program: string, wrapper?: Wrapper) {
    const node = [process.execPath, "--input-type=module", "--eval", program];
    const [command = "", ...args] = wrapper ? [wrapper.command, ...wrapper.args, ...node] : node;
    this.#process = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    const { stdout, stderr } = this.#process;
    if (!stdout || !stderr) throw new Error("a child without pipes");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    stderr.on("data", (text: Buffer) => {
      this.#errors += text;
    });
    this.#closed = once(this.#process, "close");
  }

  /** The next line it prints. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the child ended early: ${this.#errors}`);
    return value;
  }

  /** All the lines it still prints. */
  async rest(): Promise<readonly string[]> {
    const lines: string[] = [];
    for (let next = await this.#lines.next(); next.done !== true; next = await this.#lines.next()) {
      lines.push(next.value);
    }
    await this.#closed;
    if (lines.length === 0 && this.#errors !== "") throw new Error(this.#errors);
    return lines;
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

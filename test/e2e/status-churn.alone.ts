/**
 * Many agents that change their minds all the time, in processes of their own, and others that watch them:
 * nobody dies, nobody reads half a record, and shortly after the last word everyone knows it. It is run by itself,
 * after all others: its bound is for the program, not for what else the machine is doing.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readDirectory, writeStatusFile } from "../../src/status-files/index.ts";
import { scratch } from "./processes.ts";
import { agentsCount, digest, recordOf } from "./status-churn.ts";

const readersCount = 4;
const writersCount = 2;
/** In all, so much churn; after each round it is seen whether the last word has arrived. */
const churnMs = 20_000;
const rounds = 5;
/** How long the last word may take. */
const lagMsMax = 500;

test("1,000 files that change at random: no crash, no torn read, and the last state is soon known", async (t) => {
  using directory = scratch();
  const { path } = directory;
  for (let index = 0; index < agentsCount; index++) {
    writeStatusFile(path, recordOf(`agent-${index}`, `0-${index.toString(16).padStart(12, "0")}`));
  }
  await using stack = new AsyncDisposableStack();
  const readers = Array.from({ length: readersCount }, () => stack.use(new Part("read", path)));
  const writers = Array.from({ length: writersCount }, (_, index) =>
    stack.use(new Part("write", path, `${index + 1}`)),
  );
  for (const reader of readers) assert.equal(await reader.line(), "ready");
  const lags: number[] = [];
  let writes = 0;
  let changes = 0;
  for (let round = 0; round < rounds; round++) {
    const done = await Promise.all(writers.map((part) => part.ask(`churn ${churnMs / rounds}`)));
    writes = done.reduce((sum, each) => sum + (each.writes ?? 0), 0);
    const lastAtMs = Math.max(...done.map((each) => each.lastAtMs ?? 0));
    const { files, warnings } = readDirectory(path);
    assert.deepEqual(warnings, []);
    const truth = new Map(files.map(({ record }) => [record.agent_id, record.agent_name]));
    const known = await Promise.all(readers.map((part) => part.ask(`expect ${digest(truth)}`)));
    for (const { atMs = 0 } of known) lags.push(Math.max(0, atMs - lastAtMs));
    changes = Math.min(...known.map((each) => each.changes ?? 0));
  }
  t.diagnostic(
    `${writes} writes, at least ${changes} changes seen by each; lags ${lags.join(" ")} ms`,
  );
  assert(writes > 1_000, `${writes} writes are no churn`);
  assert(changes > writes / 4, `a reader saw ${changes} changes of ${writes}`);
  assert(Math.max(...lags) <= lagMsMax, `the last word took ${Math.max(...lags)} ms`);
  assert.deepEqual(
    readdirSync(path).filter((name) => !name.endsWith(".json")),
    [],
  );
});

type Answer = {
  readonly writes?: number;
  readonly lastAtMs?: number;
  readonly atMs?: number;
  readonly changes?: number;
};

/** A process of the churn. */
class Part implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  #errors = "";

  constructor(...words: readonly string[]) {
    const program = fileURLToPath(new URL("status-churn.ts", import.meta.url));
    this.#child = spawn(process.execPath, [program, ...words], { stdio: "pipe" });
    const { stdout, stderr } = this.#child;
    assert(stdout && stderr);
    stderr.on("data", (text: Buffer) => {
      this.#errors += text;
    });
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.#closed = once(this.#child, "close");
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    assert(!done, `it ended: ${this.#errors}`);
    return value;
  }

  async ask(order: string): Promise<Answer> {
    this.#child.stdin?.write(`${order}\n`);
    return JSON.parse(await this.line());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }
}

/**
 * A status directory full of files that are not valid, watched by a daemon in a process of its own: it must not delay
 * the answers to other calls. Takes 8 s on an idle machine, most of it to make and delete the files.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { writeStatusFile } from "../../src/status-files/index.ts";
import { printTimestamp, schemaVersion } from "../../src/wire/status-file/index.ts";
import { scratch, until } from "./processes.ts";

const root = join(import.meta.dirname, "../..");
const filesCount = 100_000;
/** One file has this many names, which are faster to make than files. File systems allow some 65,000. */
const namesPerFile = 10_000;
/**
 * CPU time of the daemon between two timers that are due every millisecond: what a call waits for at most before it is
 * worked on. Wall time would be that of all tests that run beside this one. Listing, sorting and comparing the whole
 * directory in one turn of the event loop took more than 500 ms.
 */
const turnMsMax = 100;

test("100,000 invalid status files do not delay other calls, and hide no agent that goes on writing", async (context) => {
  using place = scratch();
  const directory = join(place.path, "status");
  const elsewhere = join(place.path, "elsewhere");
  fill(elsewhere);
  await using daemon = await Up.start(place.path, directory);
  daemon.measure();
  // Only a new directory, or one that was away, is read as a whole before half a minute has passed.
  for (const id of ["first", "second"]) {
    renameSync(elsewhere, directory);
    const isSeen = async (): Promise<boolean> => {
      beat(directory, id);
      return (await daemon.ask("/api/v1/status")).includes(`"${id}"`);
    };
    await until(isSeen, `agent ${id} to be seen`, 60_000);
    if (id === "first") renameSync(directory, elsewhere);
  }
  const { longestTurnMs, stderr } = await daemon.end();
  context.diagnostic(`longest turn ${longestTurnMs.toFixed(1)} ms`);
  assert(longestTurnMs > 0, "the turns were measured");
  assert(longestTurnMs < turnMsMax, `one turn took ${longestTurnMs} ms`);
  const told = stderr.match(/has more than 20000 status files; the others are ignored/g);
  assert.equal(told?.length, 1, stderr);
});

function fill(directory: string): void {
  mkdirSync(directory);
  for (let made = 0; made < filesCount; made += 1) {
    const source = join(directory, `source-${Math.floor(made / namesPerFile)}.json`);
    if (made % namesPerFile === 0) writeFileSync(source, "{");
    else linkSync(source, join(directory, `${made}.json`));
  }
}

/** As an agent that runs does it, now and then. */
function beat(directory: string, id: string): void {
  writeStatusFile(directory, {
    schema_version: schemaVersion,
    agent_id: id,
    agent_name: id,
    runtime: { lifecycle: "running", updated_at: printTimestamp(Date.now()) },
  });
}

/** `tipstaff up`, watching a directory. */
class Up implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #token: string;
  #stderr = "";

  static async start(home: string, directory: string): Promise<Up> {
    const places = ["--http=127.0.0.1:0", "--grpc=127.0.0.1:0", "--arcp=", "--memory"];
    const timing = `data:text/javascript,${encodeURIComponent(`(${timeTurns.toString()})()`)}`;
    const words = ["up", "--json", ...places, `--status-dir=${directory}`];
    const child = spawn(join(root, "bin/tipstaff"), words, {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        HOME: home,
        XDG_STATE_HOME: join(home, "state"),
        NODE_OPTIONS: `--import=${timing}`,
      },
    });
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    const { http, tokenFile } = JSON.parse(line);
    const up = new Up(child, { url: http, token: readFileSync(tokenFile, "utf8").trim() });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      up.#stderr += text;
    });
    return up;
  }

  private constructor(
    child: ChildProcess,
    { url, token }: { readonly url: string; readonly token: string },
  ) {
    this.#child = child;
    this.#url = url;
    this.#token = token;
  }

  async ask(path: string): Promise<string> {
    const headers = { Authorization: `Bearer ${this.#token}` };
    const answer = await fetch(`${this.#url}${path}`, { headers });
    assert.equal(answer.status, 200);
    return await answer.text();
  }

  measure(): void {
    this.#child.kill("SIGUSR2");
  }

  async end(): Promise<{ readonly longestTurnMs: number; readonly stderr: string }> {
    await this[Symbol.asyncDispose]();
    const stderr = this.#stderr;
    return { longestTurnMs: Number(/^longest turn (.*) ms$/m.exec(stderr)?.[1]), stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill();
    await ended;
  }
}

/** Runs in the daemon. Measures from the signal on: starting takes longer than any turn afterwards. */
function timeTurns(): void {
  let lastMs = Number.POSITIVE_INFINITY;
  let longestMs = 0;
  const now = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  process.on("SIGUSR2", () => {
    setInterval(() => {
      const nowMs = now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    }, 1).unref();
  });
  process.on("exit", () => console.error(`longest turn ${longestMs} ms`));
}

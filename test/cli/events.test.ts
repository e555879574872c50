/** Events on the command line: once, from a place, and on and on through restarts. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test } from "node:test";
import { call } from "../../src/cli/daemon.ts";
import type { Agent } from "../../src/wire/api/index.ts";
import { Daemon, patienceMs, scratch, tipstaff, until, within } from "../e2e/processes.ts";

const executable = join(import.meta.dirname, "../../bin/tipstaff");

describe("events", { concurrency: 2 }, () => {
  test("whoever follows misses nothing when the daemon is killed and starts again", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    const before = await Daemon.start({ dataDirectory });
    await using _before = before;
    await register(dataDirectory, "one");
    using follower = new Follower("events", "--follow", "--json", "--data-dir", dataDirectory);
    await until(() => follower.lines.length === 2, "what was there");
    await register(dataDirectory, "two");
    await until(() => follower.lines.length === 3, "what came");
    await before.end("SIGKILL");
    await until(() => /waiting for it/.test(follower.stderr), "the loss to be told");

    await using _after = await Daemon.start({ dataDirectory });
    await register(dataDirectory, "three");
    await until(() => follower.lines.length >= 5, "what came after the restart");
    assert.match(follower.stderr, /the daemon is back\n$/);
    assert.doesNotMatch(follower.stderr, /gap/);
    const entries = follower.lines.map((line) => JSON.parse(line));
    assert.deepEqual(
      entries.map(({ sequence, type }) => `${sequence} ${type}`),
      [
        "1 plane.opened",
        "2 agent.registered",
        "3 agent.registered",
        "4 plane.opened",
        "5 agent.registered",
      ],
    );
    assert.equal(await follower.stop(), "SIGINT");
  });

  test("from a place, up to now, and only what is asked for", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    await using _ = await Daemon.start({ dataDirectory });
    const { id } = await register(dataDirectory, "scraper");
    await register(dataDirectory, "parser");
    const lease = { taskId: "invoice-42", agentId: id, ttlMs: 60_000 };
    await call({ "data-dir": dataDirectory }, "acquireLease", lease);
    const sequences = async (...words: readonly string[]): Promise<readonly number[]> => {
      const flags = ["--json", "--data-dir", dataDirectory];
      const { code, stdout, stderr } = await tipstaff("events", ...words, ...flags);
      assert.equal(code, 0, stderr);
      const lines = stdout.split("\n").filter(Boolean);
      return lines.map((line) => JSON.parse(line).sequence);
    };
    assert.deepEqual(await sequences(), [1, 2, 3, 4]);
    assert.deepEqual(await sequences("--limit", "2"), [3, 4]);
    assert.deepEqual(await sequences("--after", "2"), [3, 4]);
    assert.deepEqual(await sequences("--after", "0", "--limit", "2"), [1, 2]);
    assert.deepEqual(await sequences("--after", "4"), []);
    assert.deepEqual(await sequences("--after", "400"), []);
    assert.deepEqual(await sequences("--topic", "lease."), [4]);
    assert.deepEqual(
      await sequences("--after", "0", "--topic", "lease.", "--topic", "plane."),
      [1, 4],
    );
    assert.deepEqual(await sequences("--about", id), [2, 4]);
    assert.deepEqual(await sequences("--after", "0", "--about", id), [2, 4]);
    assert.deepEqual(await sequences("--about", "scraper"), [2, 4]);
    assert.deepEqual(await sequences("--after", "2", "--about", id.slice(0, 12)), [4]);
    assert.deepEqual(await sequences("--about", "invoice-42"), [4]);
    for (const place of [[], ["--after", "0"]]) {
      const words = ["--about", "nobody", ...place, "--data-dir", dataDirectory];
      const { code, stdout, stderr } = await tipstaff("events", ...words);
      assert.deepEqual([code, stdout, stderr], [0, "", "tipstaff: no events about nobody\n"]);
    }
    const { stdout } = await tipstaff("events", "--data-dir", dataDirectory);
    const held = `invoice-42 is held by scraper (${id.slice(0, 8)}) for 60 s, token `;
    assert(stdout.includes(held), stdout);
  });

  test("a watch shows changes of its own kind, one line each, and names who it was", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    await using _ = await Daemon.start({ dataDirectory });
    const scraper = await register(dataDirectory, "scraper");
    using watch = new Follower("leases", "watch", "--data-dir", dataDirectory);
    await watchers(dataDirectory, 1);
    const parser = await register(dataDirectory, "parser");
    for (const { id } of [scraper, parser]) {
      const lease = { taskId: `of-${id}`, agentId: id };
      await call({ "data-dir": dataDirectory }, "acquireLease", lease);
    }
    await until(() => watch.lines.length === 2, "both leases");
    assert.match(watch.lines[0] ?? "", /lease\.acquired .* is held by scraper \(/);
    assert.match(watch.lines[1] ?? "", /lease\.acquired .* is held by parser \(/);
  });

  test("whoever stops reading ends it at the next event", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    await using _ = await Daemon.start({ dataDirectory });
    const line = `"${executable}" events --follow --data-dir "${dataDirectory}" | head -1; echo "\${PIPESTATUS[0]}"`;
    const child = spawn("bash", ["-c", line], { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk;
    });
    const closed = once(child, "close");
    await watchers(dataDirectory, 1);
    await register(dataDirectory, "one");
    await register(dataDirectory, "two");
    await within(patienceMs, closed, "the follower to end");
    assert.match(stdout, /^.*plane\.opened.*\n0\n$/);
    assert.equal(stderr, "");
  });
});

/** A command that goes on until it is stopped. */
class Follower implements Disposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown[]>;
  #stdout = "";
  stderr = "";

  constructor(...words: readonly string[]) {
    this.#child = spawn(executable, words, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#stdout += chunk;
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk;
    });
    this.#closed = once(this.#child, "close");
  }

  get lines(): readonly string[] {
    return this.#stdout.split("\n").slice(0, -1);
  }

  /** As ctrl-c does. Answers what ended it. */
  async stop(): Promise<unknown> {
    this.#child.kill("SIGINT");
    const [code, signal] = await within(patienceMs, this.#closed, "the follower to end");
    return code ?? signal;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

async function register(dataDirectory: string, name: string): Promise<Agent> {
  return await call({ "data-dir": dataDirectory }, "registerAgent", {
    card: { name },
    ttlMs: 600_000,
  });
}

async function watchers(dataDirectory: string, count: number): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const { counts } = await call({ "data-dir": dataDirectory }, "getOverview", {});
    if (counts.watchers >= count) return;
    assert(performance.now() < deadlineMs, "nobody watches");
  }
}

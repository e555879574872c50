/** Watching, into a pipe: what comes, when, and how it ends. */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { describe, test } from "node:test";
import { until } from "../e2e/processes.ts";
import { cleanEnv, executable, record, rowsOf, run, statusDirectory } from "./command.ts";

const clear = "\x1b[2J\x1b[H";
/** Longer than any test: what comes sooner does not come because of the interval. */
const never = ["--interval", "600"];

/** What is looked at of a line of JSON. */
type Line = {
  readonly type: string;
  readonly schema?: string;
  readonly agents?: readonly Line[];
  readonly agent_id?: string;
  readonly state?: string;
  readonly age_seconds?: number;
  readonly record?: { readonly task: { readonly state: string } };
  readonly warnings?: unknown;
};

class Watch implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
  stdout = "";
  stderr = "";

  constructor(...words: readonly string[]) {
    this.#child = spawn(executable, ["watch", ...words], {
      env: cleanEnv(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = once(this.#child, "close").then(([code, signal]) => [code, signal] as const);
  }

  /** Whole ones only: the last is whole when the next has begun or the frame is closed. */
  get frames(): readonly string[] {
    const frames = this.stdout.split(clear).slice(1);
    return frames.filter((frame) => /\n\+-+\+\n$/.test(frame));
  }

  get lines(): readonly Line[] {
    return this.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  async shows(isShown: (frame: string) => boolean, what: string): Promise<void> {
    await until(() => isShown(this.frames.at(-1) ?? ""), what);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.ended;
  }
}

/** As writers do it. */
function put(directory: string, id: string, more: Parameters<typeof record>[0] = {}): void {
  const temporary = join(directory, `.${id}.json.abcdefgh.tmp`);
  const runtime = { updated_at: new Date().toISOString(), ...more.runtime };
  writeFileSync(temporary, JSON.stringify(record({ agent_id: id, ...more, runtime })));
  renameSync(temporary, join(directory, `${id}.json`));
}

function statesIn(frame: string): Record<string, string> {
  return Object.fromEntries(rowsOf(frame).map(({ id, state }) => [id, state]));
}

describe("watch into a pipe", { concurrency: 3 }, () => {
  test("[TV-36] frames begin by clearing, and interrupting it is a good end", async () => {
    using place = statusDirectory();
    put(place.path, "a");
    place.put("bad.json", "[]");
    await using watch = new Watch("--status-dir", place.path, "--interval", "0.2");
    await until(() => watch.frames.length >= 3, "three frames");
    assert(watch.stdout.startsWith(clear));
    assert.deepEqual(statesIn(watch.frames[0] ?? ""), { a: "~ idle" });
    watch.kill("SIGINT");
    assert.deepEqual(await watch.ended, [0, null]);
    const warning = `warning: ignored invalid status ${place.path}/bad.json: payload must be object\n`;
    const count = watch.stderr.length / warning.length;
    // Once for each frame, and nothing else.
    assert.equal(watch.stderr, warning.repeat(count));
    assert(count >= 3);
  });

  test("being terminated is a death like any other", async () => {
    using place = statusDirectory();
    await using watch = new Watch("--status-dir", place.path);
    await until(() => watch.frames.length > 0, "a frame");
    watch.kill("SIGTERM");
    assert.deepEqual(await watch.ended, [null, "SIGTERM"]);
    assert.equal(watch.stderr, "");
  });

  test("a change is shown when it happens, not when the interval is over", async () => {
    using place = statusDirectory();
    await using watch = new Watch("--status-dir", place.path, ...never);
    await watch.shows((frame) => frame.includes("0 agents"), "nobody");
    put(place.path, "a", { task: { state: "working" } });
    await watch.shows((frame) => statesIn(frame)["a"] === "● working", "a at work");
    put(place.path, "a", { task: { state: "input-required" } });
    await watch.shows((frame) => statesIn(frame)["a"] === "? input-required", "a waiting");
    rmSync(join(place.path, "a.json"));
    await watch.shows((frame) => frame.includes("0 agents"), "nobody");
  });

  test("who falls silent becomes stale without anything being written", async () => {
    using place = statusDirectory();
    put(place.path, "a");
    await using watch = new Watch("--status-dir", place.path, ...never, "--stale-after", "1");
    await watch.shows((frame) => statesIn(frame)["a"] === "⏳ stale", "a stale");
  });

  test("a directory may come after whoever watches it, and go, and come again", async () => {
    using place = statusDirectory();
    const directory = join(place.path, "later");
    await using watch = new Watch("--status-dir", directory, ...never);
    await watch.shows((frame) => frame.includes("0 agents"), "nobody");
    for (const id of ["first", "second"]) {
      mkdirSync(directory);
      put(directory, id);
      await watch.shows((frame) => frame.includes(id), id);
      rmSync(directory, { recursive: true });
      await watch.shows((frame) => frame.includes("0 agents"), "nobody");
    }
  });

  test("many changes at once are few frames", async () => {
    using place = statusDirectory();
    await using watch = new Watch("--status-dir", place.path, ...never);
    await watch.shows((frame) => frame.includes("0 agents"), "nobody");
    for (let index = 0; index < 500; index += 1) put(place.path, `agent-${index}`);
    await watch.shows((frame) => frame.includes("500 agents"), "500 agents");
    assert(watch.frames.length < 50, `${watch.frames.length} frames`);
  });

  test("--json is a line a change, with all that a reader needs", async () => {
    using place = statusDirectory();
    put(place.path, "a");
    await using watch = new Watch("--status-dir", place.path, "--json");
    await until(() => watch.lines.length === 1, "a snapshot");
    put(place.path, "b", { task: { state: "working" } });
    await until(() => watch.lines.length === 2, "b");
    rmSync(join(place.path, "b.json"));
    await until(() => watch.lines.length === 3, "b's end");
    // A line is an agent or all of them: what is wrong with files is said where list says it.
    place.put("bad.json", "{");
    await until(() => watch.stderr.includes("bad.json"), "a warning");
    place.put("worse.json", "{");
    await until(() => watch.stderr.includes("worse.json"), "another");
    put(place.path, "c");
    await until(() => watch.lines.length === 4, "c");
    const [snapshot, upsert, remove, last] = watch.lines;
    assert.equal(snapshot?.type, "snapshot");
    assert.equal(snapshot?.schema, "agent-status-list/v1");
    assert.deepEqual(
      snapshot?.agents?.map(({ agent_id: id, state: derived }) => [id, derived]),
      [["a", "idle"]],
    );
    const { record: written, age_seconds: age, ...rest } = upsert ?? {};
    const path = join(place.path, "b.json");
    const facts = { type: "upsert", agent_id: "b", path, state: "working", pid_alive: null };
    assert.deepEqual(rest, facts);
    assert.equal(written?.task.state, "working");
    assert(typeof age === "number" && age >= 0 && age < 3);
    assert.deepEqual(remove, { type: "remove", agent_id: "b", path });
    assert.deepEqual([last?.type, last?.agent_id], ["upsert", "c"]);
    watch.kill("SIGINT");
    assert.deepEqual(await watch.ended, [0, null]);
    assert.match(
      watch.stderr,
      /^warning: ignored invalid JSON \S+\/bad\.json: .*\nwarning: ignored invalid JSON \S+\/worse\.json: .*\n$/,
    );
  });

  test("--json tells of who becomes stale", async () => {
    using place = statusDirectory();
    put(place.path, "a");
    await using watch = new Watch("--status-dir", place.path, "--json", "--stale-after", "2");
    await until(() => watch.lines.length === 2, "a stale");
    const [snapshot, change] = watch.lines;
    assert.equal(snapshot?.agents?.[0]?.state, "idle");
    assert.deepEqual([change?.type, change?.agent_id, change?.state], ["state", "a", "stale"]);
  });

  test("--once-changed ends well at the first change, and has shown it", async () => {
    using place = statusDirectory();
    for (const more of [[], ["--json"]]) {
      await using watch = new Watch(
        "--status-dir",
        place.path,
        "--once-changed",
        ...never,
        ...more,
      );
      await until(() => watch.stdout.includes("\n"), "the beginning");
      const id = `agent${more.length}`;
      put(place.path, id);
      assert.deepEqual(await watch.ended, [0, null]);
      const last = more.length === 0 ? watch.frames.at(-1) : JSON.stringify(watch.lines.at(-1));
      assert(last?.includes(id), watch.stdout);
    }
  });

  test("an interval that is none is told of before anything is shown", async () => {
    for (const interval of ["-1", "nan", "inf", "x"]) {
      const { code, stdout } = await run(["watch", `--interval=${interval}`]);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, interval);
    }
  });
});

/** Real processes: what is found of them, and what is not. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { temporaryDirectory } from "../../testing/temporary.ts";
import type { FoundProcess } from "../types.ts";
import { findProcesses, foundAmong } from "./find.ts";
import { parsePs, readPs } from "./ps.ts";

const stays = 'process.stdout.write("up"); setInterval(() => {}, 1e6);';

/** A process that is up, and goes when the test does. */
class Running implements AsyncDisposable {
  readonly #process: ChildProcess;

  static async start(
    words: readonly string[],
    options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
  ): Promise<Running> {
    const [command = "", ...rest] = words;
    const child = spawn(command, rest, { ...options, stdio: ["ignore", "pipe", "inherit"] });
    assert.ok(child.stdout);
    await once(child.stdout, "data");
    return new Running(child);
  }

  private constructor(child: ChildProcess) {
    this.#process = child;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#process, "close");
    this.#process.kill("SIGKILL");
    await closed;
  }
}

const found = (pid: number, home = "/nowhere"): FoundProcess | undefined =>
  findProcesses({ home }).find((process) => process.pid === pid);

test("a window of Codex shows a session of its server, and one of OpenCode has its own", () => {
  const raw = { parent: 1, startedAtMs: 0, isScript: false, env: {} };
  const servers = ["codex", "opencode"].map((program, index) => ({
    ...raw,
    program,
    pid: 10 + index,
    isServer: true,
  }));
  const windows = ["codex", "opencode"].map((program, index) => ({
    ...raw,
    program,
    pid: 20 + index,
    isServer: false,
  }));
  assert.deepEqual(
    foundAmong([...servers, ...windows], {}).map(({ pid, server }) => [pid, server?.pid]),
    [
      [20, 10],
      [21, undefined],
    ],
  );
});

describe("processes of Linux", { skip: process.platform === "linux" ? false : "no /proc" }, () => {
  test("a coding agent is found with its directory, its pane and the time it started", async () => {
    await using directory = await temporaryDirectory();
    const script = join(directory.path, "claude");
    writeFileSync(script, stays);
    const beforeMs = Date.now();
    await using running = await Running.start([process.execPath, script], {
      cwd: directory.path,
      env: { TMUX: "/tmp/tmux-1000/default,77,0", TMUX_PANE: "%5", HOME: "/home/somebody" },
    });
    const seen = found(running.pid);
    assert.equal(seen?.program, "claude-code");
    assert.equal(seen.workspace, realpathSync(directory.path));
    assert.deepEqual(seen.tmux, { socket: "/tmp/tmux-1000/default", pane: "%5" });
    const lateMs = seen.startedAtMs - beforeMs;
    assert.ok(Math.abs(lateMs) < 2_000, `started ${lateMs} ms after it was`);
    assert.equal(seen.env?.["HOME"], "/home/somebody");
  });

  test("one that calls itself by a title is found, and one that is another program is not", async () => {
    const titled = `process.title = "pi"; ${stays}`;
    await using pi = await Running.start([process.execPath, "--eval", titled]);
    assert.equal(found(pi.pid)?.program, "pi");
    await using other = await Running.start([process.execPath, "--eval", stays, "claude"]);
    assert.equal(found(other.pid), undefined);
  });

  test("a binary is found by the name it was started by", async () => {
    await using directory = await temporaryDirectory();
    const binary = join(directory.path, "opencode");
    symlinkSync(process.execPath, binary);
    // Its first word is `opencode`; what it runs does not matter.
    await using running = await Running.start([binary, "--eval", stays]);
    assert.equal(found(running.pid)?.program, "opencode");
  });

  test("a shell that runs one is not found, and what it runs is", async () => {
    await using directory = await temporaryDirectory();
    const script = join(directory.path, "codex");
    writeFileSync(script, `process.stdout.write(String(process.pid)); ${stays}`);
    const line = `'${process.execPath}' '${script}'; exit`;
    const shell = spawn("/bin/sh", ["-c", line], { stdio: ["ignore", "pipe", "inherit"] });
    const [text] = await once(shell.stdout, "data");
    const pid = Number(/^\d+/.exec(String(text))?.[0]);
    try {
      assert.equal(found(pid)?.program, "codex");
      assert.equal(found(shell.pid ?? 0), undefined);
    } finally {
      process.kill(pid, "SIGKILL");
      await once(shell, "close");
    }
  });

  test("what only starts an agent is part of it", async () => {
    await using directory = await temporaryDirectory();
    const native = join(directory.path, "codex");
    symlinkSync(process.execPath, native);
    const folder = join(directory.path, "node_modules/@openai/codex/bin");
    mkdirSync(folder, { recursive: true });
    const launcher = join(folder, "codex.js");
    const inner = `process.stdout.write(String(process.pid)); ${stays}`;
    writeFileSync(
      launcher,
      `const { spawn } = require("node:child_process");
       spawn(${JSON.stringify(native)}, ["--eval", ${JSON.stringify(inner)}], { stdio: "inherit" });`,
    );
    const outer = spawn(process.execPath, [launcher], { stdio: ["ignore", "pipe", "inherit"] });
    const [text] = await once(outer.stdout, "data");
    const pid = Number(/^\d+/.exec(String(text))?.[0]);
    try {
      assert.deepEqual(
        found(pid)?.launchers?.map((one) => one.pid),
        [outer.pid],
      );
      assert.equal(found(outer.pid ?? 0), undefined);
    } finally {
      process.kill(pid, "SIGKILL");
      await once(outer, "close");
    }
  });

  test("what Claude Code keeps of its process tells whether it waits, if it is of this process", async () => {
    await using directory = await temporaryDirectory();
    const script = join(directory.path, "claude");
    writeFileSync(script, stays);
    const env = { CLAUDE_CONFIG_DIR: join(directory.path, "config") };
    await using running = await Running.start([process.execPath, script], { env });
    const { pid } = running;
    const sessions = join(env.CLAUDE_CONFIG_DIR, "sessions");
    mkdirSync(sessions, { recursive: true });
    const procStart = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19];
    const keep = (change: Record<string, unknown>) => {
      const kept = { pid, procStart, sessionId: "s1", cwd: "/src/x", status: "waiting" };
      const more = { statusUpdatedAt: 1_000, waitingFor: "permission prompt" };
      writeFileSync(join(sessions, `${pid}.json`), JSON.stringify({ ...kept, ...more, ...change }));
    };
    keep({});
    const told = found(pid);
    assert.equal(told?.told?.state, "waiting");
    assert.equal(told.told.word, "waiting for permission prompt");
    assert.equal(told.workspace, "/src/x");
    keep({ status: "busy", waitingFor: undefined });
    assert.equal(found(pid)?.told?.state, "working");
    keep({ status: "constructor" });
    assert.equal(found(pid)?.told?.state, "unknown");
    keep({ procStart: "1" });
    assert.equal(found(pid)?.told, undefined);
    writeFileSync(join(sessions, `${pid}.json`), '{"pid":1}}}');
    assert.equal(found(pid)?.told, undefined);
  });
});

test("where there is no /proc, ps tells of the same processes", async () => {
  await using directory = await temporaryDirectory();
  const script = join(directory.path, "claude");
  writeFileSync(script, stays);
  await using running = await Running.start([process.execPath, script]);
  const seen = readPs().raws.find(({ pid }) => pid === running.pid);
  assert.equal(seen?.program, "claude-code");
  assert.equal(seen.parent, process.pid);
  assert.ok(Math.abs(seen.startedAtMs - Date.now()) < 30_000);
});

test("lines of ps that are none, or of others, are left out", () => {
  const text = [
    "  501     1   501 Mon Nov 16 03:24:12 2026     /usr/local/bin/claude --resume",
    "  502     1   502 Mon Nov 16 03:24:12 2026     /usr/local/bin/claude",
    "  503     1   501 Sun Nov  1 03:24:12 2026     /Applications/Claude.app/Contents/MacOS/Claude",
    "  504     1   501 never                        claude",
    "",
  ].join("\n");
  assert.deepEqual(
    parsePs(text, 501).raws.map(({ pid }) => pid),
    [501],
  );
  assert.deepEqual(
    parsePs(text, 0).raws.map(({ pid }) => pid),
    [501, 502],
  );
});

test("two agents of one program, one started by the other, are two", () => {
  const raw = { program: "claude-code", isServer: false, isScript: false, startedAtMs: 0, env: {} };
  const both = [
    { ...raw, pid: 10, parent: 1 },
    { ...raw, pid: 11, parent: 10 },
  ];
  assert.equal(foundAmong(both, { home: "/" }).length, 2);
});

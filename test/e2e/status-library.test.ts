/** The library as programs use it: in processes that end in every way a process can. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { list, openStatus, type StatusChange, type StatusReport, watch } from "../../src/status.ts";
import { readDirectory, writeStatusFile } from "../../src/status-files/index.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { printTimestamp } from "../../src/wire/status-file/index.ts";
import { openSmallDisk } from "./processes.ts";

const module = new URL("../../src/status.ts", import.meta.url).href;

/** A program with an open status; says `ready` when the file is there. */
class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly exited: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
  stderr = "";

  constructor(directory: string, body: string, env: NodeJS.ProcessEnv = {}) {
    const program = `
      import { openStatus } from ${JSON.stringify(module)};
      const status = await openStatus({ name: "my agent", goal: "to end" });
      status.working("at it");
      await status.flush();
      console.log("ready");
      ${body}
    `;
    const { NODE_TEST_CONTEXT: _, TMUX: __, ...outer } = process.env;
    this.#child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...outer, AGENT_STATUS_DIR: directory, ...env },
    });
    const { stdout, stderr } = this.#child;
    assert(stdout && stderr);
    stderr.on("data", (text: Buffer) => {
      this.stderr += text;
    });
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.exited = once(this.#child, "close").then(([code, signal]) => [code, signal] as const);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    assert(!done, `it ended early: ${this.stderr}`);
    return value;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}

const waits = "setInterval(() => {}, 1_000);";

const ends: Readonly<
  Record<
    string,
    { readonly body: string; readonly signal?: NodeJS.Signals; readonly exit: unknown }
  >
> = {
  "has nothing more to do": { body: "", exit: [0, null] },
  "says process.exit": { body: `${waits} process.exit(3);`, exit: [3, null] },
  "says process.exit while the disk is at work": {
    body: `${waits} status.idle(); status.flush(); for (let n = 0; n < 9; n++) await null; process.exit(3);`,
    exit: [3, null],
  },
  "throws what nobody catches": { body: `${waits} null.x;`, exit: [1, null] },
  "gets Ctrl-C": { body: waits, signal: "SIGINT", exit: [null, "SIGINT"] },
  "gets SIGTERM": { body: waits, signal: "SIGTERM", exit: [null, "SIGTERM"] },
  "gets SIGHUP": { body: waits, signal: "SIGHUP", exit: [null, "SIGHUP"] },
  "has its own idea of SIGTERM": {
    body: `${waits} process.once("SIGTERM", () => process.exit(7));`,
    signal: "SIGTERM",
    exit: [7, null],
  },
};

for (const [end, { body, signal, exit }] of Object.entries(ends)) {
  test(`[AS-26] a program that ${end} leaves no file, and ends as it would have`, async () => {
    await using scratch = await temporaryDirectory();
    await using program = new Program(scratch.path, `${body}\nconsole.log("on");`);
    assert.equal(await program.line(), "ready");
    if (signal) {
      assert.equal(await program.line(), "on");
      assert.match(readdirSync(scratch.path).join(), /^my-agent-[0-9a-f-]{36}\.json$/);
      program.kill(signal);
    }
    assert.deepEqual(await program.exited, exit);
    assert.deepEqual(readdirSync(scratch.path), []);
  });
}

test("a program that counts who listens to a signal finds itself alone", async () => {
  await using scratch = await temporaryDirectory();
  const body = `
    ${waits}
    process.on("SIGTERM", function own(signal) {
      if (process.listenerCount("SIGTERM") > 1) return;
      process.off("SIGTERM", own);
      process.kill(process.pid, signal);
    });
    console.log("on");
  `;
  await using program = new Program(scratch.path, body);
  await program.line();
  await program.line();
  program.kill("SIGTERM");
  assert.deepEqual(await program.exited, [null, "SIGTERM"]);
});

test("a program that goes on after a signal hears it once, and keeps its file", async () => {
  await using scratch = await temporaryDirectory();
  const body = `${waits} process.on("SIGHUP", () => console.log("reloaded")); console.log("on");`;
  await using program = new Program(scratch.path, body);
  await program.line();
  await program.line();
  program.kill("SIGHUP");
  assert.equal(await program.line(), "reloaded");
  assert.equal(readDirectory(scratch.path).files.length, 1);
  program.kill("SIGTERM");
  assert.deepEqual(await program.exited, [null, "SIGTERM"]);
  assert.deepEqual(readdirSync(scratch.path), []);
});

test("a program that is killed leaves its last whole word", async () => {
  await using scratch = await temporaryDirectory();
  const body = `for (let n = 0; ; n++) { status.working("step " + n); await status.flush(); }`;
  await using program = new Program(scratch.path, body);
  await program.line();
  program.kill("SIGKILL");
  await program.exited;
  const { files, warnings } = readDirectory(scratch.path);
  assert.deepEqual(warnings, []);
  assert.equal(files.length, 1);
  assert.match(files[0]?.record.task?.summary ?? "", /^(?:at it|step \d+)$/);
  assert.equal(files[0]?.record.runtime.pid, program.pid);
});

test("[AS-27] a full disk is a problem that the program hears of when it asks, and its work goes on", async (t) => {
  using disk = await openSmallDisk(1);
  if (!disk) return t.skip("may not mount a small disk here");
  const body = `
    const { writeFileSync, rmSync } = await import("node:fs");
    const filler = ${JSON.stringify(join(disk.path, "filler"))};
    try { writeFileSync(filler, Buffer.alloc(2_000_000)); } catch {}
    status.update({ xMeta: { large: "x".repeat(20_000) } });
    await status.flush();
    console.log(status.problem.code);
    rmSync(filler);
    status.idle();
    await status.flush();
    console.log(status.problem);
  `;
  await using program = new Program(disk.path, body);
  await program.line();
  assert.equal(await program.line(), "ENOSPC");
  assert.equal(await program.line(), "undefined");
  assert.deepEqual(await program.exited, [0, null], program.stderr);
  assert.deepEqual(readdirSync(disk.path), []);
});

test("[AS-27] a directory that may not be written any more is a problem and nothing else", async () => {
  await using scratch = await temporaryDirectory();
  const body = `
    const { chmodSync, chownSync } = await import("node:fs");
    const directory = process.env.AGENT_STATUS_DIR;
    chmodSync(directory, 0o555);
    // Root may write everywhere; somebody else may not.
    if (process.getuid() === 0) { process.setgid(65534); process.setuid(65534); }
    status.idle();
    await status.flush();
    console.log(status.problem.code);
    await status[Symbol.asyncDispose]();
    console.log(status.problem.code);
  `;
  const directory = join(scratch.path, "status");
  mkdirSync(directory, { mode: 0o755 });
  writeFileSync(join(directory, "x"), "");
  using cleaning = new DisposableStack();
  // So that a user other than root can delete it.
  cleaning.defer(() => chmodSync(directory, 0o755));
  await using program = new Program(directory, body);
  await program.line();
  assert.match(await program.line(), /^E(?:ACCES|PERM)$/);
  assert.match(await program.line(), /^E(?:ACCES|PERM)$/);
  assert.deepEqual(await program.exited, [0, null], program.stderr);
});

test("[AS-10] [AS-11] ids are made from the name and chance, and where the program runs is known", async () => {
  await using scratch = await temporaryDirectory();
  const env = { TMUX: "/tmp/a,b,12,3", TMUX_PANE: "%4" };
  await using program = new Program(scratch.path, waits, env);
  await program.line();
  const [file] = readDirectory(scratch.path).files;
  assert(file);
  const { record } = file;
  assert.match(record.agent_id, /^my-agent-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(record.agent_name, "my agent");
  assert.equal(record.runtime.workspace, process.cwd());
  assert.equal(record.runtime.pid, program.pid);
  assert.deepEqual(record.x_meta, { tmux_socket: "/tmp/a,b", tmux_pane: "%4" });
});

test("one process has one writer of an id, until that is closed", async () => {
  await using scratch = await temporaryDirectory();
  const options = { name: "n", id: "a", directory: scratch.path };
  {
    await using first = await openStatus(options);
    await assert.rejects(openStatus(options), { code: "id_taken" });
    await assert.rejects(openStatus({ ...options, id: "" }), { code: "unsafe_id" });
    await using other = await openStatus({ ...options, id: "b" });
    assert.equal(other.path, join(scratch.path, "b.json"));
    assert.equal(first.problem, undefined);
  }
  await using again = await openStatus(options);
  assert.equal(again.id, "a");
  assert.deepEqual(readdirSync(scratch.path), ["a.json"]);
});

test("an id is taken by whichever way its directory is reached, even before it is there", async () => {
  await using scratch = await temporaryDirectory();
  mkdirSync(join(scratch.path, "real"));
  symlinkSync("real", join(scratch.path, "link"));
  const at = (directory: string): { readonly name: string; id: string; directory: string } => ({
    name: "n",
    id: "a",
    directory: join(scratch.path, directory),
  });
  const [first, second] = await Promise.allSettled([
    openStatus(at("real/new/status")),
    openStatus(at("link/new/status")),
  ]);
  assert(first.status === "fulfilled");
  await using opened = first.value;
  assert.equal(second.status === "rejected" && second.reason.code, "id_taken");
  await assert.rejects(openStatus(at("link/new/status")), { code: "id_taken" });
  assert.equal(opened.problem, undefined);
});

test("nothing is left listening when the last status is closed", async () => {
  await using scratch = await temporaryDirectory();
  const count = (): readonly number[] =>
    ["exit", "SIGINT", "SIGTERM", "SIGHUP", "newListener"].map((name) =>
      process.listenerCount(name),
    );
  const before = count();
  {
    await using one = await openStatus({ name: "n", directory: scratch.path });
    await using two = await openStatus({ name: "n", directory: scratch.path });
    assert.notEqual(one.id, two.id);
    assert.equal(count()[0], (before[0] ?? 0) + 1);
  }
  assert.deepEqual(count(), before);
});

test("agents are listed in the words of the library, with what their state means now", async () => {
  await using scratch = await temporaryDirectory();
  const { path: directory } = scratch;
  const oldMs = Math.floor(Date.now() / 1000) * 1000 - 61_000;
  writeStatusFile(directory, {
    schema_version: "agent-status/v1alpha1",
    agent_id: "old",
    agent_name: "n",
    runtime: { lifecycle: "running", updated_at: printTimestamp(oldMs) },
  });
  writeFileSync(join(directory, "bad.json"), "{");
  await using status = await openStatus({
    name: "agent",
    id: "a",
    directory,
    workspace: "/w",
    goal: "tidy up",
    a2a: { serviceUrl: "http://localhost:1" },
    xMeta: { model: "m" },
  });
  status.update({ task: { id: "t", contextId: "c", state: "input-required", summary: "may I?" } });
  await status.flush();
  const warnings: string[] = [];
  const agents: StatusReport[] = [];
  for await (const agent of list({ directory, onWarning: ({ kind }) => warnings.push(kind) })) {
    agents.push(agent);
  }
  const [waiting, stale] = agents;
  assert(waiting && stale && agents.length === 2);
  const { record, updatedAtMs, lastActivityAtMs = 0, task, goal, ...rest } = waiting;
  assert.equal(record.agent_id, "a");
  assert(Date.now() - updatedAtMs < 10_000 && Date.now() - lastActivityAtMs < 10_000);
  assert.deepEqual(rest, {
    id: "a",
    name: "agent",
    state: "input-required",
    lifecycle: "running",
    pid: process.pid,
    workspace: "/w",
    a2a: { serviceUrl: "http://localhost:1" },
    xMeta: { model: "m", ...rest.xMeta },
    path: join(directory, "a.json"),
  });
  assert.equal(goal?.summary, "tidy up");
  const { sinceMs = 0, ...said } = task ?? {};
  assert.deepEqual(said, { id: "t", contextId: "c", state: "input-required", summary: "may I?" });
  assert(Date.now() - sinceMs < 10_000);
  assert.deepEqual([stale.id, stale.state, stale.updatedAtMs], ["old", "stale", oldMs]);
  assert.deepEqual(warnings, ["invalid-json"]);
  const patient = await Array.fromAsync(list({ directory, staleAfterMs: 3_600_000 }));
  assert.equal(patient.find(({ id }) => id === "old")?.state, "idle");
});

test("what agents say is heard as they say it, until the signal", async () => {
  await using scratch = await temporaryDirectory();
  const { path: directory } = scratch;
  const ending = new AbortController();
  const changes = watch({ directory, signal: ending.signal });
  const next = async (): Promise<StatusChange | undefined> =>
    (await changes.next()).value ?? undefined;
  assert.deepEqual(await next(), { type: "snapshot", agents: [], warnings: [] });
  {
    await using status = await openStatus({ name: "n", id: "a", directory });
    let change = await next();
    assert(change?.type === "upsert" && change.agent.state === "idle");
    status.waiting("may I?");
    change = await next();
    assert(change?.type === "upsert" && change.agent.state === "input-required");
    assert.equal(change.agent.task?.summary, "may I?");
  }
  assert.deepEqual(await next(), { type: "remove", id: "a", path: join(directory, "a.json") });
  writeFileSync(join(directory, "bad.json"), "{");
  const warned = await next();
  assert(warned?.type === "warnings" && warned.warnings[0]?.kind === "invalid-json");
  ending.abort();
  assert.equal(await next(), undefined);
});

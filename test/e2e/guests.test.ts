/** The modules that OpenCode and Pi load, as they are built, in processes like theirs. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { buildGuests } from "../../tools/guests.ts";
import { installHost, skipWithout } from "../hosts/installation.ts";
import { until, within } from "./processes.ts";

const run = promisify(execFile);
// All that is waited for comes before the first test: who has run all tests that there are yet, cleans up.
const opencode = await installHost("opencode");
const built = await temporaryDirectory();
after(() => built[Symbol.asyncDispose]());
await buildGuests(built.path);

const urlOf = (name: string): string => pathToFileURL(join(built.path, `${name}.js`)).href;
const textOf = (name: string): string => readFileSync(join(built.path, `${name}.js`), "utf8");

const modules = ["opencode", "opencode-parts", "pi"];
/** Unpacked; the reading of it is a millisecond or two of the host's start. */
const bytesMax = 80_000;

for (const name of modules) {
  test(`${name} is one file that needs nothing but Node's own modules, and says whose it is`, () => {
    const text = textOf(name);
    assert(text.startsWith("// tipstaff: "));
    const imported = [...text.matchAll(/^import\b[^;]*?from "([^"]+)"/gm)].map(([, from]) => from);
    assert(imported.length > 0);
    for (const from of imported) assert.match(from ?? "", /^node:/);
    assert(!/\brequire\(|\bimport\(/.test(text));
    assert(text.length < bytesMax, `${text.length} bytes`);
    console.log(`${name}: ${text.length} bytes`);
  });
}

/** What a host does with a module, by its age. */
const loaders: Readonly<Record<string, string>> = {
  "that calls every export": `
    for (const each of new Set(Object.values(module))) hooks.push(await each(input));`,
  "that takes an id and a server, or else calls every export": `
    const { default: plugin } = module;
    if (typeof plugin === "object") hooks.push(await plugin.server(input));
    else for (const each of new Set(Object.values(module))) {
      if (typeof each !== "function") throw new TypeError("Plugin export is not a function");
      hooks.push(await each(input));
    }`,
  "that takes the default export's server": "hooks.push(await module.default.server(input));",
};

/** Node, and the Bun that is in OpenCode. */
const bun = "unavailable" in opencode ? "" : join(opencode.path, opencode.command);
const runtimes = [
  { name: "Node", command: process.execPath, env: {}, skip: false },
  { name: "Bun", command: bun, env: { BUN_BE_BUN: "1" }, skip: skipWithout(opencode) },
];

for (const { name, command, env, skip } of runtimes) {
  for (const [kind, load] of Object.entries(loaders)) {
    test(`an OpenCode on ${name} ${kind} has one file while it runs`, { skip }, async () => {
      await using scratch = await temporaryDirectory();
      const said = await inHost(
        scratch.path,
        `
        const module = await import(${JSON.stringify(urlOf("opencode"))});
        const input = { directory: "/work", project: { id: "p" }, client: {} };
        const hooks = [];
        ${load}
        if (hooks.length !== 1) throw new Error("not one plugin");
        const [{ event, "chat.message": message }] = hooks;
        await event({ event: { type: "session.created", properties: { info: { id: "s1" } } } });
        await message({ sessionID: "s1" }, { message: { role: "user" }, parts: [{ type: "text", text: "Fix it" }] });
      `,
      );
      assert.deepEqual(said, ["opencode", "working", "Fix it", "s1"]);
    });
  }

  test(`a Pi on ${name} has one file while it runs`, { skip }, async () => {
    await using scratch = await temporaryDirectory();
    const said = await inHost(
      scratch.path,
      `
      const { default: extension } = await import(${JSON.stringify(urlOf("pi"))});
      const handlers = new Map();
      await extension({ on: (name, handler) => handlers.set(name, handler) });
      const context = { cwd: "/work", sessionManager: { getSessionFile: () => "/s1.jsonl" } };
      await handlers.get("session_start")({ type: "session_start", reason: "startup" }, context);
      await handlers.get("before_agent_start")({ type: "before_agent_start", prompt: "Fix it" }, context);
    `,
    );
    assert.deepEqual(said, ["pi", "working", "Fix it", "/s1.jsonl"]);
  });

  for (const [claim, setUp, expected] of [
    ["that nobody listens to ends the host and its file", "", { code: null, signal: "SIGTERM" }],
    [
      "that the host listens to is the host's, and its listener is alone",
      `process.on("SIGTERM", () => process.exit(6 + process.listenerCount("SIGTERM")));`,
      { code: 7, signal: null },
    ],
  ] as const) {
    test(`on ${name} a signal ${claim}`, { skip }, async () => {
      await using scratch = await temporaryDirectory();
      const child = await running(scratch.path, setUp);
      child.kill("SIGTERM");
      const [code, signal] = await within(10_000, once(child, "exit"), "the host to end");
      assert.deepEqual({ code, signal }, expected);
      await isLeft(scratch.path);
    });
  }

  /** A host with the plugin that waits for what comes. */
  async function running(
    scratch: string,
    setUp: string,
    ...before: readonly string[]
  ): Promise<ChildProcess> {
    const path = join(scratch, "host.mjs");
    writeFileSync(
      path,
      `
      import plugin from ${JSON.stringify(urlOf("opencode"))};
      await plugin.server({ directory: "/work", project: { id: "p" } });
      ${setUp}
      process.stdin.on("data", () => console.log("still here"));
      console.log("ready");
      `,
    );
    const [program = "", ...words] = [...before, command, path];
    const child = spawn(program, words, {
      env: { ...surroundings(scratch), ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    await within(10_000, once(child.stdout, "data"), "the host to start");
    return child;
  }

  if (name === "Bun") {
    test("a host that was started to ignore a signal lives on, and so does its file", {
      skip,
    }, async () => {
      await using scratch = await temporaryDirectory();
      const child = await running(scratch.path, "", "sh", "-c", `trap "" INT HUP; exec "$@"`, "sh");
      child.kill("SIGHUP");
      child.kill("SIGINT");
      child.stdin?.write("?");
      await within(10_000, once(child.stdout ?? child, "data"), "the host to answer");
      assert.equal(readdirSync(join(scratch.path, "status")).length, 1);
      child.kill("SIGTERM");
      await within(10_000, once(child, "exit"), "the host to end");
      await isLeft(scratch.path);
    });
  }

  /** Runs it, tells what the file says then, and ends by itself: no timer may hold it. */
  async function inHost(scratch: string, program: string): Promise<unknown> {
    const path = join(scratch, "host.mjs");
    const directory = join(scratch, "status");
    writeFileSync(
      path,
      `
      import { readdirSync, readFileSync } from "node:fs";
      ${program}
      const directory = process.env.AGENT_STATUS_DIR;
      const [file, ...others] = readdirSync(directory);
      if (others.length > 0) throw new Error("more than one file: " + others);
      const { agent_name, runtime, task } = JSON.parse(readFileSync(directory + "/" + file, "utf8"));
      if (runtime.pid !== process.pid) throw new Error("not our process");
      console.log(JSON.stringify([agent_name, task.state, task.summary, task.context_id]));
      `,
    );
    const { stdout, stderr } = await run(command, [path], {
      env: { ...surroundings(scratch), ...env },
      timeout: 15_000,
    });
    assert.equal(stderr, "");
    assert.deepEqual(readdirSync(directory), []);
    return JSON.parse(stdout);
  }
}

/** A moment after the host, its guard is done. */
async function isLeft(scratch: string): Promise<void> {
  const directory = join(scratch, "status");
  await until(() => readdirSync(directory).length === 0, "the end of the file");
}

function surroundings(scratch: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"] ?? "",
    AGENT_STATUS_DIR: join(scratch, "status"),
    HOME: scratch,
  };
}

test("[AS-1] [AS-10] [AS-11] [AS-13] OpenCode's pieces have the names and the answers that others count on", async () => {
  const parts = await import(urlOf("opencode-parts"));
  assert.equal(parts.HEARTBEAT_INTERVAL_MS, 20_000);
  assert.equal(typeof parts.default.server, "function");
  assert.equal(parts.default.id, "tipstaff");
  judgePieces(parts, "opencode", parts.createAgentId);
});

test("[AS-1] [AS-10] [AS-11] [AS-13] Pi's pieces have the names and the answers that others count on", async () => {
  const parts = await import(urlOf("pi"));
  judgePieces(parts, "pi", parts.createSessionAgentId);
  assert.equal(parts.SCHEMA_VERSION, "agent-status/v1alpha1");
  const now = "2026-06-20T16:45:00Z";
  const bare = parts.buildBaseRecord({ agentId: "pi-123", workspace: "/work", pid: 12, now });
  assert.deepEqual(bare, {
    schema_version: "agent-status/v1alpha1",
    agent_id: "pi-123",
    agent_name: "pi",
    runtime: { lifecycle: "running", updated_at: now, pid: 12, workspace: "/work" },
  });
  const goal = { summary: "docs", updated_at: now, source: "initial-prompt" };
  const task = { state: "working", summary: "edit", status_timestamp: now };
  const full = parts.withTask(parts.withGoal(bare, goal), task);
  assert.deepEqual([full.goal, full.task], [goal, task]);
  assert.deepEqual(parts.withGoal(parts.withTask(full, undefined), undefined), bare);
  const later = "2026-06-20T16:45:03Z";
  assert.deepEqual(parts.updateRuntime(bare, { lifecycle: "stopped" }, later).runtime, {
    ...bare.runtime,
    lifecycle: "stopped",
    updated_at: later,
  });
  assert.match(parts.nowUtc(), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.equal(parts.summarizePrompt("  hello\nworld  "), "hello world");
  assert.match(parts.summarizePrompt("x".repeat(200)), /^x{119}…$/);
  const sessionManager = { getSessionFile: () => "/tmp/session.jsonl" };
  assert.equal(
    parts.getSessionKey({ cwd: "/work", sessionManager }),
    "session-file:/tmp/session.jsonl",
  );
  assert.equal(parts.getSessionKey({ cwd: "/project/" }), `pid:${process.pid}:cwd:/project`);
});

type Pieces = {
  readonly getStatusDir: (env: object, home?: string) => string;
  readonly buildStatusPath: (id: string, env: object, home?: string) => string;
  readonly buildTempPath: (path: string) => string;
  readonly sanitizeAgentId: (text: string) => string;
  readonly parseTmuxEnvironment: (env: object) => unknown;
  readonly writeStatusFile: (path: string, value: unknown) => void;
};

function judgePieces(parts: Pieces, prefix: string, newId: () => string): void {
  const home = "/home/me";
  assert.equal(parts.getStatusDir({ AGENT_STATUS_DIR: "~/own" }, home), "/home/me/own");
  assert.equal(parts.getStatusDir({ XDG_STATE_HOME: "/state" }, home), "/state/agent-status");
  assert.equal(parts.getStatusDir({}, home), "/home/me/.local/state/agent-status");
  assert.equal(parts.sanitizeAgentId("open code / one"), "open-code-one");
  assert.equal(parts.sanitizeAgentId(""), prefix);
  const own = { AGENT_STATUS_DIR: "/tmp/s" };
  assert.equal(parts.buildStatusPath("x / y", own, home), "/tmp/s/x-y.json");
  const ids = new Set(Array.from({ length: 10 }, newId));
  assert.equal(ids.size, 10);
  for (const id of ids) assert.match(id, new RegExp(`^${prefix}-[0-9a-f-]{36}$`));
  const [one, other] = [parts.buildTempPath("/t/a.json"), parts.buildTempPath("/t/a.json")];
  assert.match(one, /^\/t\/\.a\.json\.[0-9a-f-]+\.tmp$/);
  assert.notEqual(one, other);
  const tmux = { tmux_socket: "/tmp/a,b", tmux_pane: "%4" };
  assert.deepEqual(parts.parseTmuxEnvironment({ TMUX: "/tmp/a,b,12,3", TMUX_PANE: "%4" }), tmux);
  for (const env of [{}, { TMUX: "/a,1,2" }, { TMUX: ",1,2", TMUX_PANE: "%1" }]) {
    assert.equal(parts.parseTmuxEnvironment(env), undefined);
  }
}

test("[AS-12] [AS-15] whatever is handed to the piece that writes is a whole file, with nothing beside it", async () => {
  for (const name of ["opencode-parts", "pi"]) {
    await using scratch = await temporaryDirectory();
    const { writeStatusFile } = await import(urlOf(name));
    const path = join(scratch.path, "new", "agent.json");
    for (let value = 0; value < 5; value++) writeStatusFile(path, { value });
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { value: 4 });
    assert.deepEqual(readdirSync(join(scratch.path, "new")), ["agent.json"]);
  }
});

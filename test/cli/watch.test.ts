/** `tipstaff watch` in a real terminal: what a person sees, what keys do, and how the terminal is left. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createConnection, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { call } from "../../src/cli/daemon.ts";
import { defaults } from "../../src/cli/defaults.ts";
import type { SightingChange } from "../../src/cli/sighting-changes.ts";
import { writeStatusFile } from "../../src/status-files/index.ts";
import {
  printTimestamp,
  type StatusRecord,
  schemaVersion,
  type TaskState,
} from "../../src/wire/status-file/index.ts";
import { Daemon, type Scratch, scratch, tipstaff, until } from "../e2e/processes.ts";
import { Terminal } from "../hosts/terminal.ts";

const root = join(import.meta.dirname, "../..");

/** A shell in a terminal, and a directory of status files. */
class World implements Disposable {
  readonly #scratch: Scratch = scratch();
  readonly terminal: Terminal;
  readonly statusDirectory: string = join(this.#scratch.path, "status");
  /** Where a daemon is looked for that nobody names. */
  readonly dataDirectory: string = join(this.#scratch.path, ".local/state/tipstaff");

  constructor(options: { columns?: number; rows?: number; env?: Record<string, string> } = {}) {
    const { columns = 80, rows = 24, env = {} } = options;
    const profile = join(this.#scratch.path, "profile");
    writeFileSync(profile, "PS1='ready> '\n");
    this.terminal = new Terminal({
      command: ["sh"],
      directory: root,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: this.#scratch.path,
        LANG: "C.UTF-8",
        // What an interactive shell reads first: some have their own idea of root's prompt.
        ENV: profile,
        ...env,
      },
      columns,
      rows,
    });
  }

  /** Said by an agent through its file. */
  say(id: string, state: TaskState, summary: string, more: Partial<StatusRecord> = {}): void {
    writeStatusFile(this.statusDirectory, {
      schema_version: schemaVersion,
      agent_id: id,
      agent_name: id,
      runtime: {
        lifecycle: "running",
        updated_at: printTimestamp(Date.now()),
        workspace: `/project/${id}`,
      },
      task: { state, summary, status_timestamp: printTimestamp(Date.now()) },
      ...more,
    });
  }

  forget(id: string): void {
    rmSync(join(this.statusDirectory, `${id}.json`));
  }

  get flags(): readonly string[] {
    return ["--status-dir", this.statusDirectory];
  }

  /** Starts the view and waits until it shows this. Answers its process. */
  async watch(shows: RegExp | string): Promise<number> {
    await this.terminal.shows(/^ready>/m);
    const pidFile = join(this.#scratch.path, "pid");
    const words = `exec bin/tipstaff watch ${this.flags.join(" ")}`;
    this.run(`echo main screen; sh -c 'echo $$ > ${pidFile}; ${words}'`);
    await this.terminal.shows(shows);
    return Number(readFileSync(pidFile, "utf8"));
  }

  run(line: string): void {
    this.terminal.type(`${line}\n`);
  }

  /** All that a program can leave behind. */
  async modes(): Promise<string> {
    const path = join(this.#scratch.path, "modes");
    writeFileSync(path, "");
    this.run(`stty -a > ${path}`);
    await until(() => readFileSync(path, "utf8").includes("echo"), "stty to answer");
    // Columns and lines are the terminal's, not the program's.
    const modes = readFileSync(path, "utf8").replace(/^.*columns.*$/m, "");
    return `${JSON.stringify(this.terminal.modes)}\n${modes}`;
  }

  [Symbol.dispose](): void {
    this.terminal[Symbol.dispose]();
    this.#scratch[Symbol.dispose]();
  }
}

/**
 * A `tmux` that records how it was called and answers as the real one does: it has pane %7, in a session that nobody
 * is attached to.
 */
class RecordingTmux implements Disposable {
  readonly #scratch: Scratch = scratch();
  readonly #server = createSocketServer();
  readonly #calls: string = join(this.#scratch.path, "calls");
  /** Where a tmux server would listen. */
  readonly socket: string = join(this.#scratch.path, "server");
  /** A search path on which this tmux is the first. */
  readonly path: string = `${this.#scratch.path}:${process.env["PATH"]}`;

  static async open(): Promise<RecordingTmux> {
    const tmux = new RecordingTmux();
    tmux.#server.listen(tmux.socket);
    await once(tmux.#server, "listening");
    return tmux;
  }

  private constructor() {
    const script = `#!/bin/sh
echo "$*" >> '${this.#calls}'
case "$*" in
  *" -t %7 "*) echo "0 office" ;;
  *) echo "can't find pane: $5" >&2; exit 1 ;;
esac
`;
    writeFileSync(join(this.#scratch.path, "tmux"), script, { mode: 0o755 });
    writeFileSync(this.#calls, "");
  }

  /** The words of each call since the last time. */
  takeCalls(): readonly string[] {
    const calls = readFileSync(this.#calls, "utf8").split("\n").slice(0, -1);
    writeFileSync(this.#calls, "");
    return calls;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    this.#scratch[Symbol.dispose]();
  }
}

/** The rows of our agents, in order: the machine may have others. */
function rowsIn(screen: string, ...ids: readonly string[]): readonly string[] {
  const lines = screen.slice(0, screen.indexOf("──")).split("\n");
  return lines.flatMap((line) => ids.filter((id) => line.includes(` ${id} `)));
}

describe("tipstaff watch in a terminal", { concurrency: 2 }, () => {
  test("rows appear, change and go as their files do, and who waits is on top", async () => {
    using world = new World();
    const { terminal } = world;
    world.say("worker", "working", "npm test");
    world.say("asker", "input-required", "delete 3 files?");
    await world.watch(/● waiting +\d+ s +asker +\/project\/asker +asks: delete 3 files\?/);
    await terminal.shows(/● working +\d+ s +worker/);
    assert.deepEqual(rowsIn(terminal.screen(), "worker", "asker"), ["asker", "worker"]);
    await terminal.shows(/^ \d+ waits? for you .* agents/m);
    world.say("newcomer", "auth-required", "token, please");
    await terminal.shows(/● waiting +\d+ s +newcomer/);
    world.say("asker", "working", "goes on");
    await terminal.shows(/● working +\d+ s +asker .*goes on/);
    world.forget("worker");
    await until(() => !terminal.screen().includes(" worker "), "the row to go");
    terminal.press("q");
  });

  test("no escape sequence of an agent reaches the terminal", async () => {
    using world = new World();
    world.say("evil", "working", "\x1b[2Jgone\x1b]0;title\x07");
    await world.watch(/evil .*\\x1b\[2Jgone/);
    assert.match(world.terminal.screen(), /STATE +FOR/);
  });

  test("keys select, inspect, filter, sort and help, and the selection stays on its agent", async () => {
    using world = new World();
    const { terminal } = world;
    for (const id of ["alpha", "beta", "gamma"]) world.say(id, "working", `does ${id}`);
    await world.watch(/working +\d+ s +gamma/);
    // Other agents of this machine are not in the way.
    terminal.type("/does");
    await terminal.shows(/^ \/does▏/m);
    terminal.press("Enter");
    await terminal.shows(/ 3 with does/);
    terminal.press("Home");
    terminal.press("Down");
    const selected = (): string => /^›. \w+ +\d+ s +(\w+)/m.exec(terminal.screen())?.[1] ?? "";
    const [first = "", second = ""] = rowsIn(terminal.screen(), "alpha", "beta", "gamma");
    await until(() => selected() === second, "the second row to be selected");
    world.say(first, "input-required", "does ask");
    world.say("zeta", "input-required", "does come");
    await terminal.shows(/waiting +\d+ s +zeta/);
    await terminal.shows(/waiting +\d+ s +\w+ .*does ask/);
    assert.equal(selected(), second);
    terminal.press("Enter");
    await terminal.shows(new RegExp(`^ ${second} · working`, "m"));
    await terminal.shows(new RegExp(`^ file +.*${second}\\.json`, "m"));
    terminal.press("Escape");
    await terminal.shows(/STATE +FOR/);
    terminal.type("s");
    await terminal.shows(/by name/);
    assert.deepEqual(rowsIn(terminal.screen(), "alpha", "beta", "gamma", "zeta"), [
      "alpha",
      "beta",
      "gamma",
      "zeta",
    ]);
    terminal.type("e");
    await terminal.shows(new RegExp(`what happened: ${second} · as seen since`));
    terminal.type("e");
    await terminal.shows(new RegExp(`${first} is waiting: does ask`));
    terminal.type("?");
    await terminal.shows(/go to the agent's tmux pane/);
    terminal.type("q");
    await terminal.shows(/main screen\nready>$/m);
  });

  test("a resized terminal is filled anew, from the smallest to the largest", async () => {
    using world = new World();
    const { terminal } = world;
    world.say("worker", "working", "npm test");
    await world.watch(/working +\d+ s +worker/);
    terminal.resize(200, 60);
    await terminal.shows(/DOING +KNOWN FROM/);
    await until(() => terminal.screen().split("\n")[59]?.includes("q quit") ?? false, "the keys");
    terminal.resize(40, 10);
    await until(() => /^ {3}STATE.*\n›.*worker/.test(terminal.screen()), "the small list");
    await until(() => terminal.screen().split("\n")[9]?.includes("q quit") ?? false, "the keys");
    assert.doesNotMatch(terminal.screen(), /──/);
    terminal.resize(20, 4);
    await terminal.shows(/^30 columns and/);
    terminal.resize(80, 24);
    await terminal.shows(/── worker · working/);
  });

  test("q, ctrl-c and every signal leave the terminal as it was, and say how it ended", async () => {
    using world = new World();
    const { terminal } = world;
    world.say("worker", "working", "npm test");
    await terminal.shows(/^ready>/m);
    const before = await world.modes();
    const endings: readonly (readonly [string, number])[] = [
      ["q", 0],
      ["C-c", 0],
      ["SIGTERM", 143],
      ["SIGHUP", 129],
      ["SIGINT", 130],
      ["SIGQUIT", 131],
    ];
    for (const [ending, code] of endings) {
      world.run("clear");
      const pid = await world.watch(/working +\d+ s +worker/);
      assert(terminal.modes.isOnAlternateScreen && !terminal.modes.isCursorVisible, ending);
      if (ending.startsWith("SIG")) process.kill(pid, ending);
      else terminal.press(ending);
      await terminal.shows(/main screen[\s\S]*^ready>$/m);
      assert.doesNotMatch(terminal.screen(), /STATE +FOR/, ending);
      world.run("echo code $?");
      await terminal.shows(new RegExp(`^code ${code}$`, "m"));
      assert.equal(await world.modes(), before, ending);
    }
  });

  test("suspended, the terminal is the shell's; continued, the view is back, at the size of now", async () => {
    using world = new World();
    const { terminal } = world;
    world.say("worker", "working", "npm test");
    await terminal.shows(/^ready>/m);
    const before = await world.modes();
    const pid = await world.watch(/working +\d+ s +worker/);
    terminal.press("C-z");
    await terminal.shows(/main screen[\s\S]*^ready>$/m);
    assert.equal(await world.modes(), before);
    terminal.resize(120, 40);
    world.say("worker", "input-required", "meanwhile");
    world.run("fg");
    await terminal.shows(/waiting +\d+ s +worker .*meanwhile/);
    await terminal.shows(/KNOWN FROM/);
    assert(terminal.modes.isOnAlternateScreen && !terminal.modes.isCursorVisible);
    // The same by signals, of which one cannot be heard.
    for (const signal of ["SIGTSTP", "SIGSTOP"]) {
      process.kill(pid, signal);
      await until(() => isStopped(pid), `${signal} to stop it`);
      world.run("stty sane; fg");
      await until(() => !isStopped(pid), "it to go on");
      await terminal.shows(/waiting +\d+ s +worker/);
      terminal.press("Enter");
      await terminal.shows(/^ worker · waiting/m);
      terminal.press("Escape");
      await terminal.shows(/STATE +FOR/);
    }
    terminal.type("q");
    await terminal.shows(/^ready>$/m);
    const { isOnAlternateScreen, isCursorVisible, wraparoundMode } = terminal.modes;
    assert(!isOnAlternateScreen && isCursorVisible && wraparoundMode);
  });

  test("a fault of ours is told on the terminal as it was", async () => {
    using world = new World();
    const { terminal } = world;
    const script = join(world.statusDirectory, "../fault.ts");
    const options = `onStale: () => {}, onGone: () => {},
      onKey: () => setImmediate(() => { throw new Error("a fault") })`;
    writeFileSync(
      script,
      `import { FullScreen } from "${root}/src/terminal/index.ts";
       const screen = FullScreen.open({ ${options} });
       screen.show(["on the screen"]);`,
    );
    await terminal.shows(/^ready>/m);
    const before = await world.modes();
    world.run(`clear; node ${script}`);
    await terminal.shows(/^on the screen$/m);
    terminal.type("x");
    await terminal.shows(/Error: a fault[\s\S]*ready>$/m);
    assert.equal(await world.modes(), before);
  });

  test("with NO_COLOR nothing is coloured, and the selection still shows", async () => {
    using world = new World({ env: { NO_COLOR: "1" } });
    const { terminal } = world;
    world.say("asker", "input-required", "delete 3 files?");
    await world.watch(/^›● waiting|^ ● waiting/m);
    assert(!terminal.isStyled);
    using coloured = new World();
    coloured.say("asker", "input-required", "delete 3 files?");
    await coloured.watch(/● waiting/);
    assert(coloured.terminal.isStyled);
  });

  test("g goes to the agent's pane, and says why where it cannot", async () => {
    using tmux = await RecordingTmux.open();
    const { socket } = tmux;
    for (const isInside of [false, true]) {
      const env = { PATH: tmux.path, ...(isInside && { TMUX: `${socket},1,0` }) };
      using world = new World({ columns: 120, env });
      const { terminal } = world;
      await terminal.shows(/^ready>/m);
      const pane = (tmux_socket: string, tmux_pane: string): Partial<StatusRecord> => ({
        x_meta: { tmux_socket, tmux_pane },
      });
      world.say("away", "working", "elsewhere", pane(socket, "%7"));
      world.say("gone", "working", "elsewhere", pane(socket, "%4711"));
      world.say("forged", "working", "elsewhere", pane("/etc/passwd", "%1"));
      world.say("nowhere", "working", "elsewhere");
      await world.watch(/working +\d+ s +nowhere/);
      const go = async (id: string): Promise<void> => {
        terminal.press("Escape");
        await until(() => !/^ \/.*▏| with \w/m.test(terminal.screen()), "the filter to be cleared");
        terminal.type(`/${id}`);
        terminal.press("Enter");
        await terminal.shows(new RegExp(`^›● working +\\d+ s +${id}`, "m"));
        terminal.type("g");
      };
      const jumpTo = (id: string): string =>
        `-S ${socket} select-window -t ${id} ; select-pane -t ${id} ; ` +
        `display-message -p -t ${id} #{session_attached} #{session_name}` +
        (isInside ? ` ; switch-client -t ${id}` : "");
      await go("nowhere");
      await terminal.shows(/^ nowhere is in no tmux pane/m);
      await go("forged");
      await terminal.shows(/^ \/etc\/passwd is no tmux server/m);
      assert.deepEqual(tmux.takeCalls(), [], "nothing was asked of tmux");
      await go("gone");
      await terminal.shows(/^ its pane is gone/m);
      assert.deepEqual(tmux.takeCalls(), [jumpTo("%4711")]);
      await go("away");
      await terminal.shows(
        isInside
          ? /^ pane %7 of session office is selected/m
          : /^ pane %7 is selected; nobody looks on: tmux -S \S+ attach -t office/m,
      );
      assert.deepEqual(tmux.takeCalls(), [jumpTo("%7")]);
    }
  });

  test("a daemon that comes brings its agents, leases and log; lost, that is said", async (t) => {
    if (await hasDaemonOfItsOwn()) return t.skip("this machine has a daemon already");
    using world = new World({ columns: 120, rows: 40 });
    const { terminal, dataDirectory } = world;
    world.say("worker", "working", "npm test");
    await world.watch(/working +\d+ s +worker/);
    await terminal.shows(/no daemon$/m);
    {
      await using daemon = await Daemon.start({ dataDirectory });
      await terminal.shows(/daemon \d+\.\d+\.\d+$/m);
      const values = { "data-dir": dataDirectory };
      const { id: agentId } = await call(values, "registerAgent", {
        card: { name: "scraper", tools: ["browser"] },
        ttlMs: 600_000,
      });
      await call(values, "acquireLease", { taskId: "invoice-42", agentId, ttlMs: 600_000 });
      const activity = { state: "waiting", note: "may I pay?" } as const;
      await call(values, "heartbeat", { agentId, activity });
      await terminal.shows(/waiting +\d+ s +scraper .*may I pay\?.*registry ·/);
      terminal.type("/scraper");
      terminal.press("Enter");
      await terminal.shows(/^ holds +invoice-42 · \d+ s left|^ holds +invoice-42 · \d+ min left/m);
      await terminal.shows(/^ tools +browser/m);
      terminal.type("e");
      await terminal.shows(/what happened: scraper · from the log/);
      await terminal.shows(/invoice-42 is held by scraper/);
      await terminal.shows(/\d {2}is waiting: may I pay\?/);
      terminal.press("Escape");
      await daemon.end("SIGTERM");
      await terminal.shows(/daemon lost \d+ s ago$/m);
    }
    await using _again = await Daemon.start({ dataDirectory });
    await terminal.shows(/daemon \d+\.\d+\.\d+$/m);
    terminal.type("q");
    await terminal.shows(/main screen[\s\S]*^ready>$/m);
  });
});

/** At the usual address, where everybody looks for one. */
async function hasDaemonOfItsOwn(): Promise<boolean> {
  const { http } = defaults;
  const socket = createConnection({ host: "localhost", port: Number(http.split(":")[1]) });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function isStopped(pid: number): boolean {
  return / T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

test("a daemon that was named and does not answer ends it, as it ends ps, wait and notify", async () => {
  using place = scratch();
  const named = ["--data-dir", place.path];
  const commands = [
    ["ps"],
    ["watch", "--json"],
    ["watch"],
    ["wait", "--until", "idle"],
    ["notify"],
  ];
  for (const words of commands) {
    const { code, stdout, stderr } = await tipstaff(...words, ...named);
    assert.equal(code, 3, words.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, /^tipstaff: no daemon answers /m);
  }
  const wrong = await tipstaff("watch", "--json", "--http", "nowhere");
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /nowhere is no address/);
  const stranger = createServer((_, response) => response.end("<p>hello"));
  stranger.listen(0, "127.0.0.1");
  await once(stranger, "listening");
  try {
    const address = stranger.address();
    assert.ok(address && typeof address === "object");
    const { code, stderr } = await tipstaff("watch", "--http", `127.0.0.1:${address.port}`);
    assert.equal(code, 3);
    assert.match(stderr, /what answers is another program/);
  } finally {
    stranger.close();
  }
});

test("in a terminal it ends the same way, and the terminal is as it was", async () => {
  using world = new World();
  const { terminal } = world;
  await terminal.shows(/^ready>/m);
  const before = await world.modes();
  world.run(`bin/tipstaff watch --data-dir ${world.statusDirectory}; echo code $?`);
  await terminal.shows(/no daemon answers[\s\S]*^code 3$/m);
  assert.equal(await world.modes(), before);
});

test("what a daemon knows is in the first line for programs", async () => {
  using place = scratch();
  const dataDirectory = join(place.path, "data");
  await using _daemon = await Daemon.start({ dataDirectory });
  const values = { "data-dir": dataDirectory };
  const { id } = await call(values, "registerAgent", { card: { name: "scraper" }, ttlMs: 600_000 });
  const child = spawn(
    join(root, "bin/tipstaff"),
    ["watch", "--json", "--data-dir", dataDirectory],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { value = "{}" } = await lines.next();
    const first = JSON.parse(value) as { type: string; agents: readonly { id: string }[] };
    assert.equal(first.type, "snapshot");
    assert.ok(first.agents.some((agent) => agent.id === id));
  } finally {
    child.kill("SIGKILL");
  }
});

test("for programs: everything once, then one line for each change, until nobody reads", async () => {
  using place = scratch();
  const flags = ["--status-dir", join(place.path, "status")];
  const record = (summary: string, state: TaskState): StatusRecord => ({
    schema_version: schemaVersion,
    agent_id: "worker",
    agent_name: "worker",
    runtime: { lifecycle: "running", updated_at: printTimestamp(Date.now()) },
    task: { state, summary },
  });
  writeStatusFile(join(place.path, "status"), record("npm \x1b[31mtest", "working"));
  const child = spawn(join(root, "bin/tipstaff"), ["watch", "--json", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => {
      // The machine's own agents come and go.
      for (;;) {
        const { value = "{}" } = await lines.next();
        assert.doesNotMatch(value, /\x1b/);
        const line = JSON.parse(value) as { type?: string; agent?: { id: string } };
        if (line.type === "snapshot" || line.agent?.id === "worker") return line;
      }
    };
    const first = (await next()) as { type: string; agents: readonly { id: string }[] };
    assert.equal(first.type, "snapshot");
    assert.ok(first.agents.some(({ id }) => id === "worker"));
    const kinds: unknown[] = [];
    for (const change of [
      () => writeStatusFile(join(place.path, "status"), record("npm run build", "working")),
      () => writeStatusFile(join(place.path, "status"), record("which one?", "input-required")),
      () => rmSync(join(place.path, "status/worker.json")),
    ]) {
      change();
      const told = (await next()) as SightingChange;
      kinds.push([told.type, told.agent.state, told.agent.doing]);
    }
    assert.deepEqual(kinds, [
      ["upsert", "working", "npm run build"],
      ["state", "waiting", "which one?"],
      ["remove", "waiting", "which one?"],
    ]);
    const exited = once(child, "exit");
    child.stdout.destroy();
    writeStatusFile(join(place.path, "status"), record("for nobody", "working"));
    assert.deepEqual(await exited, [0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("where nobody looks on, one line for each change, and a word about it", async () => {
  using place = scratch();
  const status = join(place.path, "status");
  const child = spawn(join(root, "bin/tipstaff"), ["watch", "--status-dir", status], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    await until(() => stderr.includes("--json"), "the word");
    const write = (id: string, askedMs: number): void => {
      writeStatusFile(status, {
        schema_version: schemaVersion,
        agent_id: id,
        agent_name: id,
        runtime: {
          lifecycle: "running",
          updated_at: printTimestamp(Date.now()),
          workspace: `/project/${id}`,
        },
        task: {
          state: "input-required",
          summary: "delete \x1b[31m3 files?",
          status_timestamp: printTimestamp(Date.now() - askedMs),
        },
      });
    };
    write("asker", 0);
    const line =
      /^\d\d:\d\d:\d\d {2}waiting {3}asker {2}\/project\/asker {2}asks: delete \\x1b\[31m3 files\?$/gm;
    await until(() => stdout.search(line) >= 0, "the line");
    // Something else is told of it, but nothing that stands in a line.
    write("asker", 60_000);
    write("next", 0);
    await until(() => stdout.includes("/project/next"), "the next");
    assert.equal(stdout.match(line)?.length, 1);
    assert.match(stderr, /^tipstaff: this is no terminal/m);
    const exited = once(child, "exit");
    child.kill("SIGINT");
    assert.deepEqual(await exited, [null, "SIGINT"]);
  } finally {
    child.kill("SIGKILL");
  }
});

/** `ps`, `wait` and `notify` as people run them: real processes, real files, a real terminal and daemon. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, test } from "node:test";
import { call } from "../../src/cli/daemon.ts";
import { asked, nowMs } from "../../src/cli/testing.ts";
import { widthOf } from "../../src/terminal/index.ts";
import type { Sighting } from "../../src/wire/api/index.ts";
import {
  printTimestamp,
  type StatusRecord,
  type TaskState,
} from "../../src/wire/status-file/index.ts";
import {
  Daemon,
  type Output,
  scratch,
  tipstaff,
  tipstaffAtHome,
  until,
  within,
} from "../e2e/processes.ts";

const executable = join(import.meta.dirname, "../../bin/tipstaff");
const evil = "evil \x1b[31mred\x07 \u202egnp";

type Written = {
  readonly name?: string;
  readonly state?: TaskState;
  readonly summary?: string;
  readonly sinceMs?: number;
  readonly heardMs?: number;
  readonly pid?: number;
  readonly workspace?: string;
  readonly session?: string;
};

/** A status directory of one's own, and agents in it. */
class Place implements Disposable {
  readonly #scratch = scratch();
  readonly directory = join(this.#scratch.path, "status");

  get path(): string {
    return this.#scratch.path;
  }

  /** As a hook of Claude Code writes it, replaced as a whole. */
  write(id: string, written: Written = {}): void {
    const { name = "claude-code", state, summary, sinceMs = 0, heardMs = 0 } = written;
    const nowMs = Date.now();
    const record: StatusRecord = {
      schema_version: "agent-status/v1alpha1",
      agent_id: id,
      agent_name: name,
      runtime: {
        lifecycle: "running",
        updated_at: printTimestamp(nowMs - heardMs),
        last_activity_at: printTimestamp(nowMs - sinceMs),
        ...(written.pid === undefined ? {} : { pid: written.pid }),
        ...(written.workspace === undefined ? {} : { workspace: written.workspace }),
      },
      ...(state === undefined
        ? {}
        : {
            task: {
              state,
              status_timestamp: printTimestamp(nowMs - sinceMs),
              ...(summary === undefined ? {} : { summary }),
            },
          }),
      x_meta: { claude_code: { session_id: written.session ?? id } },
    };
    mkdirSync(this.directory, { recursive: true });
    const path = join(this.directory, `${id}.json`);
    writeFileSync(`${path}.tmp`, JSON.stringify(record));
    renameSync(`${path}.tmp`, path);
  }

  run(...words: readonly string[]): Promise<Output> {
    return tipstaff(...words, "--status-dir", this.directory);
  }

  /** Who else runs on this machine is not ours to say. */
  async list(ids: readonly string[], ...words: readonly string[]): Promise<readonly Sighting[]> {
    const { code, stdout, stderr } = await this.run("ps", "--json", ...words);
    assert.equal(code, 0, stderr);
    const { agents } = JSON.parse(stdout) as { readonly agents: readonly Sighting[] };
    return agents.filter(({ id }) => ids.includes(id));
  }

  [Symbol.dispose](): void {
    this.#scratch[Symbol.dispose]();
  }
}

/** A process that looks like Claude Code. */
async function startClaude(place: Place, env: Record<string, string> = {}): Promise<ChildProcess> {
  const script = join(place.path, "claude");
  writeFileSync(script, 'process.stdout.write("up"); setInterval(() => {}, 1e6);');
  const child = spawn(process.execPath, [script], {
    cwd: place.path,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

describe("ps", { concurrency: 2 }, () => {
  test("who waits comes first, then what went wrong; with no daemon at all", async () => {
    using place = new Place();
    const minute = 60_000;
    place.write("idle");
    place.write("works", { state: "working", summary: "npm test" });
    place.write("waits", {
      state: "input-required",
      summary: "delete 3 files",
      sinceMs: 4 * minute,
    });
    place.write("silent", { state: "working", sinceMs: 9 * minute });
    place.write("lost", { state: "working", heardMs: 2 * minute });
    const ids = ["idle", "works", "waits", "silent", "lost"];
    const seen = await place.list(ids);
    assert.deepEqual(
      seen.map(({ id, state }) => [id, state]),
      [
        ["waits", "waiting"],
        ["lost", "lost"],
        ["silent", "silent"],
        ["works", "working"],
        ["idle", "idle"],
      ],
    );
    const patient = await place.list(["silent"], "--silent-after", "10m");
    assert.equal(patient[0]?.state, "working");
    const { stdout } = await place.run("ps");
    const [titles = "", ...rows] = stdout.split("\n");
    const row = rows.find((line) => line.includes("delete 3 files")) ?? "";
    assert.match(titles, /^ {2}STATE +FOR +AGENT +(WHERE +)?DOING +KNOWN FROM/);
    assert.match(row, /^● waiting +4 min +claude-code .*asks: delete 3 files +hook · \d+ s ago/);
    assert.match(stdout, /\n\n\d+ waits? for you · \d+ silent · \d+ lost · \d+ agents/);
  });

  test("who has ended or was lost long ago is shown only when asked for", async () => {
    using place = new Place();
    const day = 86_400_000;
    place.write("old", { state: "working", heardMs: 2 * day });
    place.write("new", { state: "working", heardMs: 120_000 });
    assert.deepEqual(
      (await place.list(["old", "new"])).map(({ id }) => id),
      ["new"],
    );
    const all = await place.list(["old", "new"], "--all");
    assert.deepEqual(
      all.map(({ id }) => id),
      ["new", "old"],
    );
    assert.match(
      (await place.run("ps")).stdout,
      / · \d+ that ended or were lost: --all shows them\n$/,
    );
  });

  test("a process without a record is listed, and with one it is the same agent", async (t) => {
    if (process.platform !== "linux") return t.skip("no /proc");
    using place = new Place();
    execFileSync("git", ["init", "--quiet", "--initial-branch", "totals", place.path]);
    const claude = await startClaude(place, { TMUX: "/t/default,1,0", TMUX_PANE: "%3" });
    try {
      const id = `process/${claude.pid}`;
      const [alone] = await place.list([id]);
      assert.equal(alone?.state, "unknown");
      assert.deepEqual(
        alone.known.map(({ source }) => source),
        ["process"],
      );
      assert.equal(alone.hint, "tipstaff install claude-code");
      assert.deepEqual(alone.tmux, { socket: "/t/default", pane: "%3" });
      assert.equal(alone.branch, "totals");
      place.write("record", { state: "working", pid: claude.pid ?? 0, workspace: place.path });
      const both = await place.list([id, "record"]);
      assert.deepEqual(
        both.map((agent) => agent.id),
        ["record"],
      );
      assert.deepEqual(
        both[0]?.known.map(({ source }) => source),
        ["hook", "process"],
      );
      assert.equal(both[0]?.branch, "totals");
      // Written before this process was there: the number was another's.
      place.write("record", { state: "working", pid: claude.pid ?? 0, heardMs: 50_000 });
      assert.equal((await place.list([id, "record"])).length, 2);
    } finally {
      claude.kill("SIGKILL");
      await once(claude, "close");
    }
  });

  test("nothing in a directory makes it hang, fail or reach the terminal", async () => {
    using place = new Place();
    place.write("evil", { state: "working", summary: evil, name: evil });
    place.write("good", { state: "working" });
    spawnSync("mkfifo", [join(place.directory, "pipe.json")]);
    mkdirSync(join(place.directory, "folder.json"));
    writeFileSync(join(place.directory, "broken.json"), "{");
    const { code, stdout, stderr } = await place.run("ps");
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    assert.match(stdout, /evil \\x1b\[31mred/);
    assert.match(stdout, /claude-code/);
    assert.match(stderr, /^3 status files cannot be read; agent-status list says why\n$/);
    const { warnings } = JSON.parse((await place.run("ps", "--json")).stdout);
    assert.equal(warnings.length, 3);
  });

  test("a directory that was named and is not there is told of", async () => {
    using place = new Place();
    const missing = await place.run("ps");
    assert.equal(missing.code, 0);
    assert.equal(missing.stderr, `${place.directory} is not there, so no status files are read\n`);
    writeFileSync(place.directory, "");
    assert.match((await place.run("ps", "--json")).stderr, / is no directory, so /);
    const { stderr } = spawnSync(executable, ["ps"], {
      env: { ...process.env, AGENT_STATUS_DIR: join(place.path, "not yet") },
      encoding: "utf8",
    });
    assert.equal(stderr, "");
  });

  test("a list that finds no room is one line, and no success", {
    skip: !existsSync("/dev/full"),
  }, () => {
    using place = new Place();
    place.write("a", { state: "working" });
    const full = openSync("/dev/full", "w");
    for (const words of [["ps"], ["ps", "--json"], ["watch", "--json"], ["ps", "--help"]]) {
      const { status, stderr } = spawnSync(
        executable,
        [...words, "--status-dir", place.directory],
        {
          stdio: ["ignore", full, "pipe"],
          encoding: "utf8",
        },
      );
      const line = "cannot write the output: no space left on device\n";
      assert.deepEqual([status, stderr], [1, line], words.join(" "));
    }
    closeSync(full);
  });

  test("a terminal of any width gets no line that is wider, and colours that mean something", async (t) => {
    if (spawnSync("script", ["--version"]).status !== 0)
      return t.skip("no script to make a terminal");
    using place = new Place();
    const summary = "a very long description of what it is about to do next, in many words";
    const workspace = "/home/somebody/src/with/a/very/long/path/to/a/project";
    place.write("waits", { state: "input-required", summary, workspace });
    for (const columns of [40, 80, 200]) {
      const line = `stty cols ${columns} rows 30; ${executable} ps --status-dir ${place.directory}`;
      const { stdout } = spawnSync("script", ["-qec", line, "/dev/null"], {
        env: { ...process.env, TERM: "xterm", NO_COLOR: "" },
        encoding: "utf8",
      });
      const lines = stdout.replaceAll(/\x1b\[\d+m/g, "").split(/\r?\n/);
      assert.ok(
        lines.some((text) => text.startsWith("● waiting")),
        stdout,
      );
      // The last one says how many there are, and is the only one that may be cut by the terminal.
      for (const text of lines) assert.ok(widthOf(text) <= Math.max(columns, 60), text);
      assert.match(stdout, /\x1b\[33m● waiting/);
    }
  });
});

describe("ps and a daemon", () => {
  test("what is registered, in files and among the processes is one list", async () => {
    using place = new Place();
    const dataDirectory = join(place.path, "data");
    await using _daemon = await Daemon.start({ dataDirectory });
    const values = { "data-dir": dataDirectory };
    const scraper = await call(values, "registerAgent", {
      card: { name: "scraper" },
      ttlMs: 600_000,
    });
    await call(values, "acquireLease", {
      taskId: "invoice-42",
      agentId: scraper.id,
      ttlMs: 60_000,
    });
    place.write("waits", { state: "input-required" });
    const ids = ["waits", scraper.id];
    const seen = await place.list(ids, "--data-dir", dataDirectory);
    assert.deepEqual(
      seen.map(({ name, state, known }) => [name, state, known[0]?.source]),
      [
        ["claude-code", "waiting", "hook"],
        ["scraper", "working", "registry"],
      ],
    );
    assert.match(seen[1]?.doing ?? "", /invoice-42/);
  });

  test("a daemon that was named must answer, and of another nobody speaks", async () => {
    using place = new Place();
    place.write("works", { state: "working" });
    const named = await place.run("ps", "--data-dir", join(place.path, "nothing"));
    assert.equal(named.code, 3);
    assert.match(named.stderr, /no daemon answers/);
    const { code, stderr } = await place.run("ps");
    assert.deepEqual([code, stderr], [0, ""]);
  });
});

describe("wait", { concurrency: 2 }, () => {
  test("a script goes on when the agent begins to wait for a person", async () => {
    using place = new Place();
    place.write("a", { state: "working" });
    const waiting = place.run("wait", "--until", "waiting", "--agent", "a", "--timeout", "30");
    let hasEnded = false;
    void waiting.finally(() => {
      hasEnded = true;
    });
    // Others that wait are not meant.
    place.write("b", { state: "input-required" });
    const { code: early } = await place.run("wait", "--until", "waiting", "--agent", "b");
    assert.deepEqual([early, hasEnded], [0, false]);
    place.write("a", { state: "input-required", summary: "which colour?" });
    const { code, stdout } = await waiting;
    assert.equal(code, 0);
    assert.match(stdout, /^waiting {2}claude-code {2}a {2}asks: which colour\?\n$/);
  });

  test("done is also who is gone, and idle who has nothing to do", async () => {
    using place = new Place();
    place.write("a", { state: "working" });
    const done = place.run("wait", "--until", "done", "--agent", "a", "--timeout", "30", "--json");
    const idle = place.run("wait", "--until", "idle", "--agent", "b", "--timeout", "30");
    place.write("b", { state: "working" });
    place.write("b");
    assert.equal((await idle).code, 0);
    place.write("a", { state: "failed" });
    const { code, stdout } = await done;
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).agents[0].state, "failed");
  });

  test("what does not come in time is a no, and nonsense is typed wrong", async () => {
    using place = new Place();
    place.write("a", { state: "working" });
    const at = ["wait", "--until", "done", "--agent", "b", "--timeout", "0"];
    place.write("b");
    assert.equal((await place.run(...at)).code, 0, "what is so already");
    const late = await place.run(
      "wait",
      "--until",
      "waiting",
      "--agent",
      "a",
      "--timeout",
      "200ms",
    );
    assert.equal(late.code, 1);
    assert.match(late.stderr, /a did not wait for you within/);
    const missing = await place.run(
      "wait",
      "--until",
      "idle",
      "--agent",
      "x",
      "--timeout",
      "200ms",
    );
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /there is no agent x yet; waiting for it\ntipstaff: no agent x was seen within/,
    );
    for (const words of [
      ["wait"],
      ["wait", "--until", "noon"],
      ["wait", "--until", "idle", "--timeout", "x"],
    ]) {
      assert.equal((await place.run(...words)).code, 2, words.join(" "));
    }
  });
});

class Home implements Disposable {
  readonly #scratch = scratch();
  readonly dataDirectory = join(this.#scratch.path, "tipstaff");

  run(...words: readonly string[]): Promise<Output> {
    const { path } = this.#scratch;
    return tipstaffAtHome(path, ...words, "--status-dir", path);
  }

  [Symbol.dispose](): void {
    this.#scratch[Symbol.dispose]();
  }
}

const waitForNobody = ["wait", "--until", "waiting", "--agent", "nobody", "--timeout", "0"];

describe("without an answer of the daemon", { concurrency: 2 }, () => {
  test("ps and wait say that the daemon of this data directory is not running", async () => {
    using home = new Home();
    const before = await home.run("ps");
    assert.equal(before.stderr, "", "no daemon has run here before");
    const { dataDirectory } = home;
    const daemon = await Daemon.start({ dataDirectory });
    assert.equal((await daemon.end("SIGTERM")).code, 0);
    const text =
      "the daemon is not running (~/tipstaff); its agents are not shown; tipstaff up starts it\n";
    const listed = await home.run("ps");
    assert.deepEqual([listed.code, listed.stderr], [0, text]);
    assert.equal(JSON.parse((await home.run("ps", "--json")).stdout).isDaemonDown, true);
    const waited = await home.run(...waitForNobody);
    assert.equal(waited.code, 1);
    assert(waited.stderr.startsWith(text), waited.stderr);
  });

  test("ps and wait say that a daemon runs and does not answer", async () => {
    using home = new Home();
    const { dataDirectory } = home;
    await using daemon = await Daemon.start({ dataDirectory });
    daemon.send("SIGSTOP");
    const [listed, machine, waited] = await Promise.all([
      home.run("ps"),
      home.run("ps", "--json"),
      home.run(...waitForNobody),
    ]);
    const why = "the daemon does not answer (~/tipstaff/tipstaff.sock: no answer in 2 s)";
    assert.equal(listed.stderr, `agents, questions and jobs could not be read: ${why}\n`);
    assert.equal(listed.code, 0);
    const { agentsError, questionsError, jobsError, isDaemonDown } = JSON.parse(machine.stdout);
    assert.deepEqual([agentsError, questionsError, jobsError], [why, why, why]);
    assert.equal(isDaemonDown, undefined);
    const text =
      "agents and questions could not be read: the daemon does not answer (no answer in 2 s)\n";
    assert.equal(waited.code, 1);
    assert(waited.stderr.startsWith(text), waited.stderr);
  });

  test("ps shows the questions and jobs of a daemon that refuses to list its agents", async () => {
    using home = new Home();
    mkdirSync(home.dataDirectory);
    writeFileSync(join(home.dataDirectory, "log.db"), "");
    const server = createServer((request, response) => {
      const isRefused = request.url?.startsWith("/api/v1/status") ?? false;
      const error = { code: "limit_reached", message: "too many callers" };
      const rows = request.url?.startsWith("/api/v1/questions") ? [asked()] : [];
      response.writeHead(isRefused ? 429 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? { error } : { rows, total: rows.length, nowMs }));
    });
    server.listen(join(home.dataDirectory, "tipstaff.sock"));
    await once(server, "listening");
    try {
      const { code, stdout, stderr } = await home.run("ps");
      assert.deepEqual([code, stderr], [0, "agents could not be read: too many callers\n"]);
      assert.match(stdout, /\? payer .* Pay 5 EUR\?/);
    } finally {
      server.close();
    }
  });
});

describe("notify", () => {
  test("a command is run once for each time an agent waits; its words are only data", async () => {
    using place = new Place();
    const told = join(place.path, "told");
    const ran = join(place.path, "ran");
    const summary = `$(touch ${ran}); "; touch ${ran} #`;
    const command = `printf '%s|%s|' "$TIPSTAFF_NAME" "$TIPSTAFF_DOING" >> ${told}; cat >> ${told}`;
    const flags = ["--agent", "tester", "--json", "--status-dir", place.directory];
    const words = ["notify", "--command", command, ...flags];
    const child = spawn(executable, words, { stdio: ["ignore", "pipe", "inherit"] });
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    const lines = (): readonly string[] => stdout.split("\n").slice(0, -1);
    const count = (): number =>
      existsSync(told) ? readFileSync(told, "utf8").split("\n").length - 1 : 0;
    try {
      const name = "tester";
      const session = "n";
      place.write("n-a", { name, state: "input-required", summary, session });
      await until(() => lines().length === 1 && count() >= 1, "the first to be told");
      // Still waiting: a heartbeat is no news.
      place.write("n-a", { name, state: "input-required", summary, session });
      place.write("n-b", { name, state: "input-required", summary: "b" });
      await until(() => lines().length === 2, "the second to be told");
      place.write("n-a", { name, state: "working", session });
      place.write("n-b", { name, state: "working" });
      await within(10_000, settled(place), "the change to be seen");
      place.write("n-a", { name, state: "input-required", summary: "again", session });
      await until(() => lines().length === 3 && count() >= 3, "the third to be told");
      assert.deepEqual(
        lines().map((line) => JSON.parse(line).id),
        ["n-a", "n-b", "n-a"],
      );
      const [first = ""] = readFileSync(told, "utf8").split("\n");
      assert.ok(first.startsWith(`tester|${summary}|{`), first);
      assert.equal(existsSync(ran), false);
    } finally {
      const closed = once(child, "close");
      child.kill("SIGINT");
      assert.deepEqual(await within(10_000, closed, "notify to end"), [0, null]);
    }
  });

  test("on the desktop it is told by what shows notifications, and else by the bell", async () => {
    using place = new Place();
    const shown = join(place.path, "shown");
    const folder = join(place.path, "bin");
    mkdirSync(folder);
    const fake = join(folder, "notify-send");
    writeFileSync(fake, `#!/bin/sh\nfor word in "$@"; do echo "[$word]" >> ${shown}; done\n`);
    chmodSync(fake, 0o755);
    place.write("a", { state: "input-required", summary: "<b>$(id)</b>", name: "--urgency=x" });
    const words = ["notify", "--once", "--agent", "a"];
    const run = (path: string) =>
      spawnSync(executable, [...words, "--status-dir", place.directory], {
        env: { ...process.env, PATH: path },
        encoding: "utf8",
      });
    const { status, stdout } = run(`${folder}:${process.env["PATH"]}`);
    assert.equal(status, 0);
    assert.match(stdout, /--urgency=x waits for you/);
    assert.match(
      readFileSync(shown, "utf8"),
      /\[--\]\n\[--urgency=x waits for you\]\n\[.*asks: &lt;b&gt;\$\(id\)&lt;\/b&gt;\]/s,
    );
    // Said when it begins, not when the first agent waits.
    const none = run(place.path);
    assert.equal(none.status, 0, none.stderr);
    assert.match(
      none.stderr,
      /^notify-send is not installed: the bell rings instead; --command .*\nno daemon is running, so there are no notifications for questions; tipstaff up starts one\n\x07$/,
    );
    writeFileSync(fake, "#!/bin/sh\nexit 1\n");
    const without = run(`${folder}:${process.env["PATH"]}`);
    assert.equal(without.status, 0);
    assert.match(
      without.stderr,
      /notify-send cannot show anything here \(1\); the bell rings instead\n\x07$/,
    );
  });
});

/** Resolves when whoever looks every second has looked. */
async function settled(place: Place): Promise<void> {
  const { code } = await place.run(
    "wait",
    "--until",
    "waiting",
    "--agent",
    "nobody",
    "--timeout",
    "1500ms",
  );
  assert.equal(code, 1);
}

/**
 * Where one host plays: a home of its own, a workspace, a model that says what the test wants, and the
 * status files of that home. Nothing of the user's is read, nothing outside is reached.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readDirectory, statusDirectory } from "../../src/status-files/index.ts";
import {
  type DerivedState,
  deriveState,
  limits,
  type StatusRecord,
} from "../../src/wire/status-file/index.ts";
import { type Scratch, scratch, until } from "../e2e/processes.ts";
import type { Installed } from "./installation.ts";
import { ModelServer } from "./model-server.ts";
import { Terminal } from "./terminal.ts";
import type { HostName } from "./versions.ts";

/** The package, as it is built. */
const root = fileURLToPath(new URL("../..", import.meta.url));
const tipstaff = join(root, "bin/tipstaff");
const run = promisify(execFile);

/** How long after the host itself has shown a step its file may still say something else. */
const lateMs = 1000;

/** How much longer we look, to say by how much it was late. */
const curiosityMs = 4000;

const lookEveryMs = 10;

/** Where the hosts are told that their tmux server listens. */
export const tmuxSocket = "/nonexistent/tmux";

export class Stage implements AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly model: ModelServer;
  /** What every host gets. */
  readonly env: Readonly<Record<string, string>>;
  /** How late the file was, step by step. */
  readonly delays: { readonly what: string; readonly ms: number }[] = [];
  readonly #host: Installed;
  readonly #scratch: Scratch;
  readonly #terminals: Terminal[] = [];

  static async open(host: Installed): Promise<Stage> {
    return new Stage(host, scratch(), await ModelServer.start());
  }

  private constructor(host: Installed, directory: Scratch, model: ModelServer) {
    this.#host = host;
    this.#scratch = directory;
    this.model = model;
    this.home = join(directory.path, "home");
    this.workspace = join(directory.path, "work");
    const temporary = join(directory.path, "tmp");
    for (const path of [this.home, this.workspace, temporary]) mkdirSync(path);
    execFileSync("git", ["init", "--quiet", this.workspace]);
    this.env = {
      HOME: this.home,
      PATH: `${host.path}:${process.env["PATH"] ?? "/usr/bin:/bin"}`,
      SHELL: "/bin/sh",
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      // As in a pane of tmux, whose server does not answer.
      TMUX: `${tmuxSocket},1,0`,
      TMUX_PANE: "%0",
      TMPDIR: temporary,
      // Whoever wants out in spite of its configuration ends at the model, which lets nobody through.
      HTTP_PROXY: model.url,
      HTTPS_PROXY: model.url,
      NO_PROXY: "127.0.0.1,localhost",
    };
  }

  /** A file of the host's configuration, below its home. */
  write(path: string, content: string): void {
    const whole = join(this.home, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, content);
  }

  /** Undefined if there is no such file. */
  read(path: string): string | undefined {
    const whole = join(this.home, path);
    return existsSync(whole) ? readFileSync(whole, "utf8") : undefined;
  }

  async install(host: HostName): Promise<void> {
    await run(tipstaff, ["install", host, "--yes"], { env: this.env });
  }

  /** A folder with nothing in it but the package, as one that was installed. */
  async unpack(): Promise<string> {
    const packed = ["pack", "--ignore-scripts", "--silent", "--pack-destination", this.home];
    const quiet = ["--cache", join(this.home, "npm"), "--logs-max=0"];
    const { stdout } = await run("npm", [...packed, ...quiet], { cwd: root });
    const directory = join(this.home, "node_modules", "tipstaff");
    mkdirSync(directory, { recursive: true });
    const archive = join(this.home, stdout.trim());
    execFileSync("tar", ["-xf", archive, "-C", directory, "--strip-components=1"]);
    return directory;
  }

  /**
   * Makes a git repository with the files of this checkout that hosts read, without anything that a build makes, and
   * lets git find it under an address that hosts accept. Answers that address, without `https://`.
   */
  serveClone(): string {
    const address = "git.example/tipstaff/tipstaff";
    const repository = join(this.#scratch.path, "repository");
    // A checkout may belong to another user.
    const listed = execFileSync(
      "git",
      [
        ...["-c", "safe.directory=*", "ls-files", "-z"],
        ...["--cached", "--others", "--exclude-standard", "--"],
        ...["package.json", "tools/prepare.js", "plugins", ".claude-plugin", ".agents"],
      ],
      { cwd: root, encoding: "utf8" },
    );
    for (const file of new Set(listed.split("\0"))) {
      if (file !== "" && existsSync(join(root, file))) {
        cpSync(join(root, file), join(repository, file));
      }
    }
    const git = (...words: readonly string[]): void => {
      execFileSync("git", ["-C", repository, ...words], { env: this.env });
    };
    git("init", "--quiet");
    git("add", "--all");
    const author = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"];
    git(...author, "commit", "--quiet", "--message=All");
    this.write(
      ".gitconfig",
      ["", ".git"]
        .map((end) => `[url "file://${repository}"]\n\tinsteadOf = https://${address}${end}\n`)
        .join(""),
    );
    return address;
  }

  /** `PATH` without the checkout's own Node, because plugins run on the user's Node. */
  get pathOfUser(): string {
    const places = this.env["PATH"]?.split(":") ?? [];
    return places.filter((place) => !place.endsWith("node_modules/.bin")).join(":");
  }

  /** Runs the host without a terminal, to its end. Rejects if it fails. */
  async run(env: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<void> {
    const options = { cwd: this.workspace, env: { ...this.env, ...env } };
    await run(join(this.#host.path, this.#host.command), words, options);
  }

  async uninstall(host: HostName): Promise<void> {
    await run(tipstaff, ["uninstall", host, "--yes"], { env: this.env });
  }

  /** Starts the host with these variables and words. */
  start(env: Readonly<Record<string, string>>, ...words: readonly string[]): Terminal {
    const command = [this.#host.command, ...words];
    const options = { command, directory: this.workspace, env: { ...this.env, ...env } };
    const terminal = new Terminal(options);
    this.#terminals.push(terminal);
    return terminal;
  }

  records(): readonly StatusRecord[] {
    const directory = statusDirectory({ env: {}, home: this.home });
    const { files, warnings } = readDirectory(directory);
    assert.deepEqual(warnings, []);
    return files.map(({ record }) => record);
  }

  /** The one record of this home says so within a second of `sinceMs`, when the host itself showed the step. */
  async says(seen: DerivedState, what: string, sinceMs: number): Promise<StatusRecord> {
    return await this.#awaits(what, sinceMs, seen, (records) => {
      const [record] = records;
      return records.length === 1 && record && wordOf(record) === seen ? record : undefined;
    });
  }

  /** Within a second, no record of this home is left. */
  async isGone(what: string, sinceMs: number): Promise<void> {
    await this.#awaits(what, sinceMs, "nothing", (records) => records.length === 0 || undefined);
  }

  /** For longer than it takes a writer to notice that a process is gone. */
  async staysWorking(): Promise<void> {
    const untilMs = performance.now() + lateMs;
    while (performance.now() < untilMs) {
      assert.deepEqual(this.records().map(wordOf), ["working"]);
      await sleep(lookEveryMs);
    }
  }

  async #awaits<Found>(
    what: string,
    sinceMs: number,
    wanted: string,
    find: (records: readonly StatusRecord[]) => Found | undefined,
  ): Promise<Found> {
    for (;;) {
      const records = this.records();
      const found = find(records);
      const ms = Math.max(0, Math.round(performance.now() - sinceMs));
      if (found !== undefined) {
        this.delays.push({ what, ms });
        assert(ms <= lateMs, `${what}: the file said ${wanted} only after ${ms} ms`);
        return found;
      }
      if (ms > lateMs + curiosityMs) {
        const words = records.map(wordOf).join(", ") || "nothing";
        assert.fail(`${what}: the file never said ${wanted}, but ${words}`);
      }
      await sleep(lookEveryMs);
    }
  }

  /** Says how late the file was, for whoever reads the tests' output. */
  reports(t: TestContext): void {
    const slowest = this.delays.toSorted((a, b) => b.ms - a.ms).slice(0, 5);
    t.diagnostic(
      `slowest of ${this.delays.length}: ${slowest.map(({ what, ms }) => `${what} ${ms} ms`).join(", ")}`,
    );
  }

  /** Resolves when a tool of the host runs this command. */
  async runs(command: string): Promise<void> {
    await until(() => this.#processes().some(({ text }) => text.includes(` ${command} `)), command);
  }

  /** Processes that were started from here and still run, such as a daemon of the host's own. */
  #processes(): readonly Running[] {
    return running().filter(({ text }) => text.includes(this.#scratch.path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const terminal of this.#terminals) terminal[Symbol.dispose]();
    for (const { pid } of this.#processes()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It went by itself.
      }
    }
    await this.model[Symbol.asyncDispose]();
    this.#scratch[Symbol.dispose]();
  }
}

type Running = {
  readonly pid: number;
  /** The command line and the environment of the process. One of them contains the directory of its stage. */
  readonly text: string;
};

function running(): readonly Running[] {
  if (process.platform !== "linux") {
    const options = { encoding: "utf8", maxBuffer: 2 ** 26 } as const;
    const lines = execFileSync("ps", ["axeww", "-o", "pid=,args="], options).split("\n");
    return lines.map((text) => ({ pid: Number.parseInt(text, 10), text }));
  }
  return readdirSync("/proc").flatMap((name) => {
    try {
      const read = (file: string): string => readFileSync(join("/proc", name, file), "utf8");
      const words = `${read("cmdline")}${read("environ")}`;
      return [{ pid: Number(name), text: ` ${words.replaceAll("\0", " ")}` }];
    } catch {
      // Not a process, one that has ended, or another user's.
      return [];
    }
  });
}

function wordOf(record: StatusRecord): DerivedState {
  return deriveState(record, { nowMs: Date.now(), staleAfterMs: limits.staleAfterMs });
}

/** A real terminal for a program: a tmux server of its own, with one window. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export type TerminalOptions = {
  readonly command: readonly string[];
  readonly directory: string;
  /** The whole environment of the command; nothing of ours is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
};

/** What a host on a busy machine may take to show something. */
const patienceMs = 30_000;

/** How long a dialog may ignore a key. */
const deafMs = 1_000;

/** Each look is a process, so not too often. */
const lookEveryMs = 30;

export class Terminal implements Disposable {
  readonly socket: string = `tipstaff-${randomUUID()}`;
  /** Of the command itself. */
  readonly pid: number;
  readonly #socketPath: string;

  constructor({ command, directory, env, columns = 120, rows = 40 }: TerminalOptions) {
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const size = ["-x", String(columns), "-y", String(rows)];
    // What the command inherits is what the server was started with, so that is all it gets.
    const server = ["-i", ...words, "tmux", "-L", this.socket, "-f", "/dev/null"];
    const keep = ["set-option", "-g", "remain-on-exit", "on", ";"];
    // A single word would be run by a shell, and not every shell makes way for it.
    const session = ["new-session", "-d", ...size, "-c", directory, "--", "env", ...command];
    leftovers.add(this);
    execFileSync("env", [...server, "start-server", ";", ...keep, ...session]);
    this.pid = Number(this.#tmux("display-message", "-p", "#{pane_pid}"));
    this.#socketPath = this.#tmux("display-message", "-p", "#{socket_path}").trim();
  }

  /** Keys by the names that tmux gives them: `Enter`, `Escape`, `C-c`. */
  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  type(text: string): void {
    this.#tmux("send-keys", "-l", text);
  }

  /** What a person sees now; a space is a space. */
  screen(): string {
    return this.#tmux("capture-pane", "-p").replaceAll("\u00a0", " ");
  }

  /** The same, with the sequences that colour it. */
  colouredScreen(): string {
    return this.#tmux("capture-pane", "-p", "-e");
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** What tmux knows about it, such as `#{alternate_on}`. */
  ask(format: string): string {
    return this.#tmux("display-message", "-p", format).trim();
  }

  /** Resolves when a person could read it; with the time, which is monotonic. */
  async shows(what: RegExp | string, patience: number = patienceMs): Promise<number> {
    return await this.#until(what, { isShown: true }, patience);
  }

  /** Resolves when a person could no longer read it. */
  async hides(what: RegExp | string, patience: number = patienceMs): Promise<number> {
    return await this.#until(what, { isShown: false }, patience);
  }

  /** Presses the key as soon as the text is there, until it is gone: a dialog may be deaf in its first moments. */
  async dismisses(what: RegExp | string, key: string): Promise<number> {
    const giveUpAtMs = (await this.shows(what)) + patienceMs;
    for (;;) {
      this.press(key);
      try {
        return await this.hides(what, deafMs);
      } catch (cause) {
        if (performance.now() > giveUpAtMs) throw cause;
      }
    }
  }

  /** Resolves when the command has ended. */
  async ends(): Promise<number> {
    const giveUpAtMs = performance.now() + patienceMs;
    while (!this.hasEnded) {
      assert(performance.now() < giveUpAtMs, `the command never ended:\n${this.screen()}`);
      await sleep(lookEveryMs);
    }
    return performance.now();
  }

  get hasEnded(): boolean {
    return this.ask("#{pane_dead}") === "1";
  }

  async #until(
    what: RegExp | string,
    { isShown }: { readonly isShown: boolean },
    patience: number,
  ): Promise<number> {
    const giveUpAtMs = performance.now() + patience;
    for (;;) {
      const screen = this.screen();
      const isThere = typeof what === "string" ? screen.includes(what) : what.test(screen);
      if (isThere === isShown) return performance.now();
      if (performance.now() > giveUpAtMs) {
        const never = isShown ? "never showed" : "never ceased to show";
        throw new Error(`the terminal ${never} ${what}:\n${screen}`);
      }
      await sleep(lookEveryMs);
    }
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync("tmux", ["-L", this.socket, ...words], { encoding: "utf8" });
  }

  [Symbol.dispose](): void {
    if (!leftovers.delete(this)) return;
    spawnSync("tmux", ["-L", this.socket, "kill-server"], { stdio: "ignore" });
    rmSync(this.#socketPath, { force: true });
  }
}

/** Whoever is still there when this process ends before its tests do. */
const leftovers = new Set<Terminal>();
process.once("exit", () => {
  for (const terminal of leftovers) terminal[Symbol.dispose]();
});

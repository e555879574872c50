/** A real terminal for a host: a tmux server of its own, with one window. */
import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { until } from "../e2e/processes.ts";

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

export class Terminal implements Disposable {
  readonly socket: string = `tipstaff-${randomUUID()}`;
  /** Of the command itself: tmux replaces its shell by it. */
  readonly pid: number;

  constructor({ command, directory, env, columns = 120, rows = 40 }: TerminalOptions) {
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const size = ["-x", String(columns), "-y", String(rows)];
    // What the command inherits is what the server was started with, so that is all it gets.
    const clean = ["env", "-i", ...words, "tmux", "-L", this.socket, "-f", "/dev/null"];
    const session = ["new-session", "-d", ...size, "-c", directory, "--", ...command];
    const keep = ["set-option", "-g", "remain-on-exit", "on", ";"];
    execFileSync(clean[0] ?? "", [...clean.slice(1), "start-server", ";", ...keep, ...session]);
    leftovers.add(this);
    this.pid = Number(this.#tmux("display-message", "-p", "#{pane_pid}"));
  }

  /** Keys by the names that tmux gives them: `Enter`, `Escape`, `C-c`. */
  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  type(text: string): void {
    this.#tmux("send-keys", "-l", text);
  }

  /** What a person sees now. */
  screen(): string {
    return this.#tmux("capture-pane", "-p");
  }

  /** Resolves when a person could read it. */
  async shows(what: RegExp | string, patience: number = patienceMs): Promise<void> {
    const isShown = (): boolean => {
      const screen = this.screen();
      return typeof what === "string" ? screen.includes(what) : what.test(screen);
    };
    try {
      await until(isShown, `the terminal to show ${what}`, patience);
    } catch (cause) {
      throw new Error(`the terminal never showed ${what}, but\n${this.screen()}`, { cause });
    }
  }

  get hasEnded(): boolean {
    return this.#tmux("display-message", "-p", "#{pane_dead}").trim() === "1";
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync("tmux", ["-L", this.socket, ...words], { encoding: "utf8" });
  }

  [Symbol.dispose](): void {
    if (!leftovers.delete(this)) return;
    spawnSync("tmux", ["-L", this.socket, "kill-server"], { stdio: "ignore" });
  }
}

/** Whoever is still there when this process ends before its tests do. */
const leftovers = new Set<Terminal>();
process.once("exit", () => {
  for (const terminal of leftovers) terminal[Symbol.dispose]();
});

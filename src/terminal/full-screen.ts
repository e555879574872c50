/**
 * The terminal, while a program has all of it. It is left as it was however the program ends: asked to, by
 * a signal, by a fault; and also while it is suspended.
 */
import { enterScreen, leaveScreen, paintOver, prepareScreen, repaint } from "./frame.ts";
import { type Key, KeyReader } from "./keys.ts";
import { limits } from "./limits.ts";
import { print } from "./output.ts";

export type Size = { readonly columns: number; readonly rows: number };

export type FullScreenOptions = {
  /**
   * Absent: keys are the terminal's. It shows what is typed, so each frame is drawn whole; and ctrl-c is a
   * signal, which is left to whoever shows something.
   */
  readonly onKey?: (key: Key) => void;
  /** The size is another, or what was shown is gone: `show` is due. */
  readonly onStale: () => void;
  /** The terminal is gone, or nobody reads it. */
  readonly onGone: () => void;
};

/** These end a program; each is passed on once the terminal is back. */
const endings = ["SIGTERM", "SIGHUP", "SIGQUIT"] as const;
const endingsWithKeys = [...endings, "SIGINT"] as const;

/** Whether there is somebody to look on and to press keys, on a terminal that can be drawn on. */
export function hasFullScreen(): boolean {
  const { isatty } = process.getBuiltinModule("node:tty");
  return isatty(0) && isatty(1) && process.env["TERM"] !== "dumb";
}

export class FullScreen implements Disposable {
  readonly #options: FullScreenOptions;
  readonly #keys = new KeyReader();
  /** What is on the screen now, if nobody else has written there. */
  #shown: readonly string[] | undefined;
  #isEntered = false;
  #escapeTimer: NodeJS.Timeout | undefined;

  /** Throws what the terminal refuses, and leaves it as it was then. */
  static open(options: FullScreenOptions): FullScreen {
    const screen = new FullScreen(options);
    try {
      screen.#listen();
      screen.#enter();
      return screen;
    } catch (error) {
      screen[Symbol.dispose]();
      throw error;
    }
  }

  private constructor(options: FullScreenOptions) {
    this.#options = options;
  }

  get #hasKeys(): boolean {
    return this.#options.onKey !== undefined;
  }

  get size(): Size {
    const { columns, rows } = process.stdout;
    return { columns: columns || 80, rows: rows || 24 };
  }

  /** Lines as bytes for the terminal. Only what differs from what is there is sent. */
  show(after: readonly string[]): void {
    if (!this.#isEntered) return;
    const bytes = this.#hasKeys ? repaint(this.#shown, after) : paintOver(after);
    this.#shown = after;
    if (bytes !== "" && !print(bytes)) this.#options.onGone();
  }

  /** Forgets what is on the screen: something else may have written there. */
  redraw(): void {
    this.#shown = undefined;
    this.#options.onStale();
  }

  /** Stops the job, as the terminal itself would if it still looked for the key. */
  suspend(): void {
    this.#stop(0);
  }

  [Symbol.dispose](): void {
    this.#leave();
    clearTimeout(this.#escapeTimer);
    if (this.#hasKeys) {
      process.stdin.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onEnd);
      process.stdin.pause();
      process.stdin.unref();
    }
    process.stdout.off("resize", this.#onResize);
    for (const signal of endingsWithKeys) process.off(signal, this.#onEnding);
    process.off("SIGTSTP", this.#onStop).off("SIGCONT", this.#onContinue);
    process.off("exit", this.#onExit).off("uncaughtExceptionMonitor", this.#onExit);
  }

  #listen(): void {
    if (this.#hasKeys) {
      process.stdin.setEncoding("utf8");
      process.stdin.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onEnd);
    }
    process.stdout.on("resize", this.#onResize);
    for (const signal of this.#hasKeys ? endingsWithKeys : endings)
      process.on(signal, this.#onEnding);
    process.on("SIGTSTP", this.#onStop).on("SIGCONT", this.#onContinue);
    // The message of a fault would be written to a screen that is gone a moment later.
    process.on("exit", this.#onExit).on("uncaughtExceptionMonitor", this.#onExit);
  }

  #enter(): void {
    if (this.#hasKeys) {
      // Node believes that the terminal still is as it was set: only a change is made.
      process.stdin.setRawMode(false);
      process.stdin.setRawMode(true);
    }
    print(this.#isEntered ? prepareScreen : `${enterScreen}${prepareScreen}`);
    this.#isEntered = true;
    this.#shown = undefined;
  }

  #leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    print(leaveScreen);
    if (!this.#hasKeys) return;
    try {
      process.stdin.setRawMode(false);
    } catch {
      // The terminal is gone, and with it what was set there.
    }
  }

  readonly #onData = (text: string): void => {
    clearTimeout(this.#escapeTimer);
    for (const key of this.#keys.read(text)) this.#options.onKey?.(key);
    if (!this.#keys.isPending) return;
    this.#escapeTimer = setTimeout(() => {
      for (const key of this.#keys.flush()) this.#options.onKey?.(key);
    }, limits.escapeMs);
  };

  readonly #onEnd = (): void => this.#options.onGone();

  /** Terminals move what is on the screen as they like when they are resized. */
  readonly #onResize = (): void => this.redraw();

  readonly #onExit = (): void => this.#leave();

  readonly #onEnding = (signal: NodeJS.Signals): void => {
    this[Symbol.dispose]();
    // Whoever waits for us sees that it was this signal.
    process.kill(process.pid, signal);
  };

  readonly #onStop = (): void => this.#stop(process.pid);

  /** By the default of the signal: the system does not stop what nobody could continue. */
  #stop(target: number): void {
    this.#leave();
    process.off("SIGTSTP", this.#onStop);
    process.kill(target, "SIGTSTP");
    // Here we are again.
    process.on("SIGTSTP", this.#onStop);
    this.#onContinue();
  }

  /** Also after a stop that could not be heard: the shell has used the terminal meanwhile. */
  readonly #onContinue = (): void => {
    this.#enter();
    // Whoever is not in the foreground is not told of a new size.
    process.kill(process.pid, "SIGWINCH");
    this.#options.onStale();
  };
}

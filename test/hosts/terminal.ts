/**
 * A real terminal for a program: a pseudo-terminal of the kernel, and an emulator that keeps the screen. Both run in
 * this process, so a test reads the screen without starting another program.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import headless, {
  type Terminal as Emulator,
  type IBufferLine,
  type IModes,
} from "@xterm/headless";

export type TerminalOptions = {
  readonly command: readonly string[];
  readonly directory: string;
  /** The whole environment of the command; nothing of ours is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
};

/** Terminal modes that a program can change and should restore when it exits. */
export type ScreenModes = IModes & {
  readonly isOnAlternateScreen: boolean;
  readonly isCursorVisible: boolean;
};

/** What a host on a busy machine may take to show something. */
const patienceMs = 30_000;

/** How long a dialog may ignore a key. */
const deafMs = 1_000;

const lookEveryMs = 10;

export class Terminal implements Disposable {
  readonly #pty: IPty;
  readonly #emulator: Emulator;
  #isCursorVisible = true;
  #hasEnded = false;

  constructor({ command, directory, env, columns = 120, rows = 40 }: TerminalOptions) {
    const [file = "", ...words] = command;
    const size = { cols: columns, rows };
    this.#emulator = new headless.Terminal({ ...size, allowProposedApi: true });
    this.#followCursor();
    this.#pty = spawn(file, words, {
      ...size,
      name: env["TERM"] ?? "xterm-256color",
      cwd: directory,
      env,
    });
    leftovers.add(this);
    this.#pty.onData((text) => this.#emulator.write(text));
    this.#pty.onExit(() => {
      this.#hasEnded = true;
    });
    // Programs ask the terminal what it is and where the cursor is. The emulator answers as if by keys.
    this.#emulator.onData((answer) => this.#pty.write(answer));
  }

  /** The process id of the command. */
  get pid(): number {
    return this.#pty.pid;
  }

  /** Keys by name: `Enter`, `Escape`, `Home`, `Down`, `BTab` (shift and tab), `C-c`, or one character. */
  press(...keys: readonly string[]): void {
    const { applicationCursorKeysMode } = this.#emulator.modes;
    for (const key of keys) this.#pty.write(bytesOf(key, applicationCursorKeysMode));
  }

  type(text: string): void {
    this.#pty.write(text);
  }

  /** What a person sees now, one line for each row, without the blanks at its end. */
  screen(): string {
    const { cols } = this.#emulator;
    return this.#rows()
      .map((line) =>
        line.translateToString(false, 0, cols).replace(/ +$/, "").replaceAll("\u00a0", " "),
      )
      .join("\n");
  }

  /** Whether anything on the screen has a colour, is bold, dim, inverse or underlined. */
  get isStyled(): boolean {
    const { cols } = this.#emulator;
    return this.#rows().some((line) => {
      for (let column = 0; column < cols; column += 1) {
        if (line.getCell(column)?.isAttributeDefault() === false) return true;
      }
      return false;
    });
  }

  get modes(): ScreenModes {
    const { modes, buffer } = this.#emulator;
    return {
      // Its properties are getters: they must be read now to be compared later.
      applicationCursorKeysMode: modes.applicationCursorKeysMode,
      applicationKeypadMode: modes.applicationKeypadMode,
      bracketedPasteMode: modes.bracketedPasteMode,
      insertMode: modes.insertMode,
      mouseTrackingMode: modes.mouseTrackingMode,
      originMode: modes.originMode,
      reverseWraparoundMode: modes.reverseWraparoundMode,
      sendFocusMode: modes.sendFocusMode,
      synchronizedOutputMode: modes.synchronizedOutputMode,
      wraparoundMode: modes.wraparoundMode,
      isOnAlternateScreen: buffer.active.type === "alternate",
      isCursorVisible: this.#isCursorVisible,
    };
  }

  resize(columns: number, rows: number): void {
    this.#emulator.resize(columns, rows);
    this.#pty.resize(columns, rows);
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
    while (!this.#hasEnded) {
      assert(performance.now() < giveUpAtMs, `the command never ended:\n${this.screen()}`);
      await sleep(lookEveryMs);
    }
    return performance.now();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  #rows(): readonly IBufferLine[] {
    const { active } = this.#emulator.buffer;
    return Array.from({ length: this.#emulator.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      assert(line);
      return line;
    });
  }

  /** The emulator does not tell whether the cursor is visible: `CSI ? 25 h` shows it, `CSI ? 25 l` hides it. */
  #followCursor(): void {
    for (const [final, isVisible] of [
      ["h", true],
      ["l", false],
    ] as const) {
      this.#emulator.parser.registerCsiHandler({ prefix: "?", final }, (modes) => {
        if (modes.includes(25)) this.#isCursorVisible = isVisible;
        return false;
      });
    }
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

  /** Ends the command. The kernel then hangs up on all that the command started in the foreground. */
  [Symbol.dispose](): void {
    if (leftovers.delete(this) && !this.#hasEnded) this.#pty.kill("SIGKILL");
  }
}

/** What a terminal sends for a key. Programs choose which of two forms the cursor keys have. */
function bytesOf(key: string, isApplicationMode: boolean): string {
  const cursor = isApplicationMode ? "\x1bO" : "\x1b[";
  switch (key) {
    case "Enter":
      return "\r";
    case "Escape":
      return "\x1b";
    case "BTab":
      return "\x1b[Z";
    case "Down":
      return `${cursor}B`;
    case "Home":
      return `${cursor}H`;
  }
  const [, letter] = /^C-([a-z])$/.exec(key) ?? [];
  if (letter !== undefined) return String.fromCharCode(letter.charCodeAt(0) & 0x1f);
  assert.equal([...key].length, 1, `${key} is not the name of a key`);
  return key;
}

/** Terminals that are still open when this process ends before its tests do. */
const leftovers = new Set<Terminal>();
process.once("exit", () => {
  for (const terminal of leftovers) terminal[Symbol.dispose]();
});

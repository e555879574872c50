/**
 * A terminal that is ours for a while: its other screen, without a cursor, and back again whatever happens.
 * A frame is written over the last one, line by line, so that nothing flickers; and always whole, because
 * whoever types meanwhile writes into it.
 */
import { print } from "../terminal/index.ts";

const enter = "\x1b[?1049h\x1b[?25l";
const leave = "\x1b[?25h\x1b[?1049l";
/** Terminals that know it show the frame at once. */
const hold = "\x1b[?2026h";
const release = "\x1b[?2026l";

export class Screen implements Disposable {
  readonly #redraw: () => void;
  #isOurs = false;

  /** `redraw` is called when the terminal has another size, or is ours again. */
  constructor(redraw: () => void) {
    this.#redraw = redraw;
    process.once("exit", this.#leave);
    process.on("SIGTSTP", this.#pause);
    process.on("SIGCONT", this.#goOn);
    for (const signal of deadly) process.on(signal, this.#die);
    process.stdout.on("resize", redraw);
    this.#goOn();
  }

  get rows(): number {
    return process.stdout.rows || 24;
  }

  /** False once nobody looks any more. What does not fit is left out, and the last line says so. */
  draw(lines: readonly string[]): boolean {
    if (!this.#isOurs) return true;
    const hasRoom = lines.length <= this.rows;
    const shown = hasRoom ? lines : [...lines.slice(0, this.rows - 1), "… more than fits here"];
    const text = shown.map((line) => `${line}\x1b[K`).join("\r\n");
    return print(`${hold}\x1b[H${text}\x1b[J${release}`);
  }

  [Symbol.dispose](): void {
    process.removeListener("exit", this.#leave);
    process.removeListener("SIGTSTP", this.#pause);
    process.removeListener("SIGCONT", this.#goOn);
    for (const signal of deadly) process.removeListener(signal, this.#die);
    process.stdout.removeListener("resize", this.#redraw);
    this.#leave();
  }

  readonly #goOn = (): void => {
    if (this.#isOurs) return;
    this.#isOurs = true;
    print(enter);
    this.#redraw();
  };

  readonly #leave = (): void => {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    print(leave);
  };

  /** Until the process is continued, the terminal is the shell's. */
  readonly #pause = (): void => {
    this.#leave();
    process.kill(process.pid, "SIGSTOP");
  };

  /** As if nobody had listened, but for the terminal. */
  readonly #die = (signal: NodeJS.Signals): void => {
    this.#leave();
    process.removeListener(signal, this.#die);
    process.kill(process.pid, signal);
  };
}

const deadly: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGQUIT"];

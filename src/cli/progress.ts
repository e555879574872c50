/** How far something is that takes a while: on standard error, and only where somebody looks on. */
import { say } from "../terminal/index.ts";
import { grouped } from "./times.ts";

/** What is done sooner needs none. */
const silentMs = 500;
const everyMs = 100;
const barCells = 20;

export class Progress {
  readonly #total: number;
  readonly #what: string;
  readonly #isShown = process.stderr.isTTY === true;
  #nextMs: number = performance.now() + silentMs;
  #done = 0;
  #isThere = false;

  constructor(total: number, what: string) {
    this.#total = total;
    this.#what = what;
  }

  /** One more is done, or so many. */
  advance(done: number = this.#done + 1): void {
    this.#done = done;
    if (!this.#isShown || performance.now() < this.#nextMs) return;
    this.#nextMs = performance.now() + everyMs;
    this.#isThere = true;
    const filled = Math.floor((barCells * this.#done) / Math.max(1, this.#total));
    const bar = "━".repeat(filled) + "╌".repeat(Math.max(0, barCells - filled));
    say(`\r  ${bar} ${grouped(this.#done)} of ${grouped(this.#total)} ${this.#what}`);
  }

  /** Leaves the line as it was. */
  end(): void {
    if (this.#isThere) say("\r\x1b[K");
  }
}

/**
 * All agents, as they change: agent-status, section 8.4. Changes come as events of the file system; the
 * interval is for ages, which pass by themselves. On a terminal a frame is drawn over the last one, on a
 * screen of its own; into a pipe each begins by clearing, as whoever reads the reference's expects.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Change, type Warning, WatchedFiles, watchDirectory } from "../status-files/index.ts";
import { FullScreen, fit, print, say } from "../terminal/index.ts";
import { agentOf, listingOf, printDocument } from "./json.ts";
import { limits } from "./limits.ts";
import { entryOf, type Listing, listFiles } from "./listing.ts";
import type { Given } from "./parse.ts";
import { Processes } from "./processes.ts";
import { printListing } from "./rows.ts";
import {
  directoryOf,
  isTerminal,
  nowMs,
  readOptions,
  staleAfterMsOf,
  styleOf,
} from "./surroundings.ts";
import { printWarnings, sayWarnings } from "./warnings.ts";

/** Who shows changes. */
type View = Disposable & { readonly show: (change: Change) => void };

export async function watch(given: Given): Promise<number> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  // Asked to end by hand, it has done what it should.
  process.once("SIGINT", end);
  const endsAtOnce = given.toggle("once-changed") === true;
  const staleAfterMs = staleAfterMsOf(given);
  const options = { ...readOptions(), signal: ending.signal, staleAfterMs, clock };
  {
    using view: View = given.toggle("json") ? new Lines(given, end) : new Frames(given, end);
    for await (const change of watchDirectory(directoryOf(given), options)) {
      view.show(change);
      if (endsAtOnce && change.type !== "snapshot" && change.type !== "warnings") break;
    }
  }
  process.removeListener("SIGINT", end);
  return 0;
}

const clock = {
  nowMs: () => nowMs(),
  until: (atMs: number, signal: AbortSignal): Promise<void> =>
    sleep(Math.min(Math.max(0, atMs - nowMs()), limits.timerMsMax), undefined, { signal }),
};

/** A line of JSON for each change. */
class Lines implements View {
  readonly #given: Given;
  readonly #directory: string;
  readonly #end: () => void;
  #processes: Processes;
  #lookedAtMs = performance.now();
  /** Each warning is said once for as long as it is there. */
  #said: ReadonlySet<string> = new Set();

  constructor(given: Given, end: () => void) {
    this.#given = given;
    this.#directory = directoryOf(given);
    this.#end = end;
    this.#processes = new Processes(this.#directory);
  }

  /** Warnings go where those of `list` go: a line of the output is an agent, or all of them. */
  show(change: Change): void {
    if ("warnings" in change) this.#warn(change.warnings);
    if (change.type === "warnings") return;
    if (!printDocument({ type: change.type, ...this.#contentsOf(change) })) this.#end();
  }

  [Symbol.dispose](): void {}

  #warn(warnings: readonly Warning[]): void {
    const lines = printWarnings(warnings);
    for (const line of lines) if (!this.#said.has(line)) say(`${line}\n`);
    this.#said = new Set(lines);
  }

  /** Not anew for each of many changes at once. */
  #lookAtProcesses(): Processes {
    const atMs = performance.now();
    if (atMs - this.#lookedAtMs > limits.processesMs) {
      this.#processes = new Processes(this.#directory);
      this.#lookedAtMs = atMs;
    }
    return this.#processes;
  }

  #contentsOf(change: Exclude<Change, { readonly type: "warnings" }>): object {
    const moment = { nowMs: nowMs(), staleAfterMs: staleAfterMsOf(this.#given) };
    const directory = this.#directory;
    switch (change.type) {
      case "snapshot":
        return listingOf(listFiles({ ...change, directory }, moment, this.#given));
      case "upsert":
      case "state": {
        const entry = { ...entryOf(change.file, moment), state: change.file.state };
        return agentOf(entry, moment.nowMs, this.#lookAtProcesses());
      }
      case "remove":
        return { agent_id: change.agentId, path: change.path };
    }
  }
}

/** The whole table for each change, and at least once in an interval. */
class Frames implements View {
  readonly #given: Given;
  readonly #directory: string;
  readonly #end: () => void;
  readonly #intervalMs: number;
  readonly #screen: FullScreen | undefined;
  readonly #redraw = (): void => this.#draw();
  readonly #watched = new WatchedFiles();
  #timer: NodeJS.Timeout | undefined;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  /** Something changed since the last frame, which was a moment ago. */
  #isBehind = false;

  constructor(given: Given, end: () => void) {
    this.#given = given;
    this.#directory = directoryOf(given);
    this.#end = end;
    const intervalMs = (given.number("interval") ?? limits.intervalSeconds) * 1_000;
    this.#intervalMs = Math.min(Math.max(intervalMs, limits.frameMsMin), limits.timerMsMax);
    const isScreen = isTerminal(1) && process.env["TERM"] !== "dumb";
    this.#screen = isScreen
      ? FullScreen.open({ onStale: this.#redraw, onGone: this.#end })
      : undefined;
  }

  show(change: Change): void {
    this.#watched.take(change);
    this.#drawSoon();
  }

  /** What was not drawn yet is drawn now: it may be what somebody waited for. */
  [Symbol.dispose](): void {
    if (this.#isBehind) this.#draw();
    clearTimeout(this.#timer);
    this.#screen?.[Symbol.dispose]();
  }

  #drawSoon(): void {
    const waitMs = this.#drawnAtMs + limits.frameMsMin - performance.now();
    if (waitMs <= 0) {
      this.#draw();
    } else if (!this.#isBehind) {
      this.#isBehind = true;
      this.#drawIn(waitMs);
    }
  }

  #drawIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#redraw, ms);
  }

  #draw(): void {
    // The terminal may change its size before anything is known.
    if (!this.#watched.hasBegun) return;
    this.#isBehind = false;
    this.#drawnAtMs = performance.now();
    this.#drawIn(this.#intervalMs);
    const moment = { nowMs: nowMs(), staleAfterMs: staleAfterMsOf(this.#given) };
    const { files, warnings } = this.#watched;
    const found = { directory: this.#directory, files, warnings };
    const isSeen = this.#write(listFiles(found, moment, this.#given));
    if (!isSeen) this.#end();
  }

  #write(listing: Listing): boolean {
    const style = styleOf(this.#given);
    if (this.#screen) {
      const { rows } = this.#screen.size;
      const pieces = [...printListing(listing, style, rows)];
      const lines = pieces.join("").trimEnd().split("\n");
      // What goes to the same terminal would be drawn over, or draw over.
      if (!isTerminal(2)) sayWarnings(listing.warnings);
      else
        for (const line of printWarnings(listing.warnings))
          lines.push(fit(line, style.columns ?? 80));
      this.#screen.show(cutTo(rows, lines));
      return true;
    }
    const isSeen = print(`\x1b[2J\x1b[H${[...printListing(listing, style)].join("")}`);
    sayWarnings(listing.warnings);
    return isSeen;
  }
}

/** What does not fit is left out, and the last line says so. */
function cutTo(rows: number, lines: readonly string[]): readonly string[] {
  return lines.length <= rows ? lines : [...lines.slice(0, rows - 1), "… more than fits here"];
}

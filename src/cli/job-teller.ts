/**
 * Tells the story of a job to who looks on: on a terminal its lines, and below them one that shows how it stands and is
 * drawn anew; in a pipe plain lines; for machines one line of JSON each.
 */
import {
  fit,
  jsonOf,
  paint,
  print,
  printable,
  printableLines,
  screen,
  widthOf,
} from "../terminal/index.ts";
import { duration, JobStory, type Line, type StoryEvent } from "./job-story.ts";
import { daemonIsAway, oneLine } from "./job-words.ts";
import type { Values } from "./table.ts";

export type Look = "lines" | "json" | "quiet";

export function lookIn(values: Values): Look {
  if (values["json"] === true) return "json";
  return values["quiet"] === true ? "quiet" : "lines";
}

export type Told = {
  readonly jobId: string;
  readonly agent: string;
};

/** Often enough to look alive. */
const drawMs = 120;
const barCells = 20;
const turning = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class JobTeller implements Disposable {
  readonly #look: Look;
  readonly #story = new JobStory();
  readonly #agent: string;
  readonly #isDrawn: boolean;
  readonly #beganAtMs = Date.now();
  #timer: ReturnType<typeof setInterval> | undefined;
  #turn = 0;
  #isThere = false;
  #note = "";
  #lull = "";
  #isHeard = true;
  #isAway: () => boolean = () => false;
  #cost = "";

  constructor({ jobId, agent }: Told, look: Look) {
    this.#look = look;
    this.#agent = printable(agent);
    this.#isDrawn =
      look === "lines" && screen().columns !== undefined && process.env["TERM"] !== "dumb";
    if (look === "json") this.#print(`${jsonOf({ job_id: jobId, agent })}\n`);
    if (look === "lines") {
      this.#print(`${paint("bold", this.#agent)} ${paint("dim", printable(jobId))}\n`);
    }
  }

  /** False once nobody reads any more. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Shows that it goes on, until it is over. `isAway`: whether nothing can be heard just now. */
  begin(isAway: () => boolean): void {
    this.#isAway = isAway;
    if (!this.#isDrawn) return;
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), drawMs);
  }

  /** Instead of what it does. */
  note(text: string): void {
    this.#note = text;
    if (this.#timer) this.#draw();
  }

  /** Why nothing comes just now, until something does. */
  explain(lull: string): void {
    if (lull === this.#lull) return;
    const before = this.#lull;
    this.#lull = lull;
    if (this.#timer) return this.#draw();
    const isBack = before === daemonIsAway;
    // In a pipe each text is a new line, so a reason that only counts down is printed once.
    const isNew = lull !== "" && (before === "" || isBack);
    const news = [...(isBack ? ["the daemon is back"] : []), ...(isNew ? [lull] : [])];
    this.#tell(news.map((text) => ({ text: printable(text), tone: "dim" })));
  }

  /**
   * The cost of the job so far, including delegated jobs; empty if unknown. The events of the job contain only its own
   * part.
   */
  setCost(cost: string): void {
    this.#cost = printable(cost);
  }

  take(event: StoryEvent, raw: unknown): void {
    const lines = this.#story.take(event);
    if (this.#look === "json") this.#print(`${jsonOf(raw)}\n`);
    else this.#tell(lines);
  }

  /** How it ended, for who looks on; then what came of it. */
  succeed(payload: Readonly<Record<string, unknown>>, whole: unknown): void {
    this.#end();
    if (this.#look === "json") {
      this.#print(`${jsonOf(payload)}\n`);
      return;
    }
    const cost = this.#cost === "" ? "" : ` · ${this.#cost}`;
    if (this.#look === "lines") {
      this.#print(`${paint("good", `✓ done in ${this.#took()}${cost}`)}\n`);
    }
    this.#print(printResult(whole));
  }

  /** Answers what is left to say of it, on standard error. */
  fail(payload: Readonly<Record<string, unknown>>, ended: Ended): string {
    this.#end();
    if (this.#look === "json") this.#print(`${jsonOf(payload)}\n`);
    const { elapsedMs } = this.#story;
    const facts = [
      ...(elapsedMs < 1_000 ? [] : [`after ${this.#took()}`]),
      ...(this.#cost === "" ? [] : [this.#cost]),
    ];
    const beside = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
    return `${this.#agent} failed${beside}: ${printable(`${ended.code} ${oneLine(ended.message)}`)}`;
  }

  /** It goes on without us, or is over: then there is a payload. */
  leave(words: string, payload?: Readonly<Record<string, unknown>>): void {
    this.#end();
    if (this.#look === "json" && payload) this.#print(`${jsonOf(payload)}\n`);
    const facts = [`${words} after ${duration(this.#sinceStartMs)}`, this.#cost];
    const text = facts.filter((fact) => fact !== "").join(" · ");
    if (this.#look === "lines") this.#print(`${paint("warn", `✗ ${text}`)}\n`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#erase();
  }

  #end(): void {
    if (this.#look === "lines") this.#tell(this.#story.end());
    this[Symbol.dispose]();
  }

  /** Until now. The last event may be older. */
  get #sinceStartMs(): number {
    return Math.max(0, Date.now() - (this.#story.startedAtMs ?? this.#beganAtMs));
  }

  #took(): string {
    return duration(this.#story.elapsedMs);
  }

  #tell(lines: readonly Line[]): void {
    if (this.#look !== "lines") return;
    const shown = lines.filter(({ isPassing }) => !this.#isDrawn || !isPassing);
    if (shown.length === 0) return;
    this.#erase();
    for (const line of shown) this.#print(`  ${printLine(line)}\n`);
    if (this.#timer) this.#draw();
  }

  #draw(): void {
    const { columns = 80 } = screen();
    const { progress, amount, doing } = this.#story.standing;
    this.#turn += 1;
    const { current = 0, total = 0 } = progress ?? {};
    const hasBar = progress !== undefined && total > 0;
    const sign = hasBar ? bar(current / total) : (turning[this.#turn % turning.length] ?? "");
    const note = this.#isAway() ? daemonIsAway : this.#note || this.#lull;
    const room = Math.max(1, columns - sign.length - 4);
    const took = duration(this.#sinceStartMs);
    const [first = ""] = doing.split("\n");
    // While there is something to say of it, that counts for more than what it says.
    const text = note
      ? fit(`${note} · ${took}`, room)
      : together([amount, first, this.#cost, took], room);
    this.#print(`\r  ${paint("good", sign)} ${text}\x1b[K`);
    this.#isThere = true;
  }

  #erase(): void {
    if (this.#isThere) this.#print("\r\x1b[K");
    this.#isThere = false;
  }

  #print(text: string | Uint8Array): void {
    if (!print(text)) this.#isHeard = false;
  }
}

export type Ended = { readonly code: string; readonly message: string };

function printLine({ text, tone, tail }: Line): string {
  const { columns } = screen();
  if (tail === undefined) return paint(tone, text);
  const whole = columns === undefined ? text : fit(text, Math.max(8, columns - 2 - widthOf(tail)));
  return `${paint(tone, whole)}${paint("dim", tail)}`;
}

/** Where there is too little room for all of it, the second gives way: what it does is longer than the figures. */
function together(parts: readonly [string, string, string, string], room: number): string {
  const join = (some: readonly string[]): string => some.filter(Boolean).join(separator);
  const [amount, doing, cost, took] = parts;
  const left = room - widthOf(join([amount, cost, took])) - separator.length;
  return fit(join([amount, left < doingCellsMin ? "" : fit(doing, left), cost, took]), room);
}

const separator = " · ";
/** Shorter than this, it says nothing. */
const doingCellsMin = 12;

function bar(part: number): string {
  const filled = Math.min(barCells, Math.max(0, Math.floor(part * barCells)));
  return "━".repeat(filled) + "╌".repeat(barCells - filled);
}

/** A text as it is, anything else as JSON; bytes as they are. Nothing, if there is none. */
function printResult(result: unknown): string | Uint8Array {
  if (result === null || result === undefined) return "";
  if (result instanceof Uint8Array) return result;
  const text = typeof result === "string" ? result : JSON.stringify(result, undefined, 2);
  const line = text.endsWith("\n") ? text : `${text}\n`;
  // A terminal does what is written to it; a file only keeps it.
  return screen().columns === undefined ? line : printableLines(line);
}

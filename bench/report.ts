/**
 * Where numbers are written down. A bench adds rows and notes; the report prints them with the
 * facts about the machine, and puts the same text between the bench's two markers in `README.md`,
 * so that no table there is ever written by hand.
 */
import { readFile, writeFile } from "node:fs/promises";
import os from "node:os";

/** Cells by column name; the name says the unit. Not every row needs every column. */
export type Row = Readonly<Record<string, number | string>>;

/** What a file in this folder exports to be a bench. `args` are its own command line options. */
export interface Bench {
  readonly question: string;
  run(report: Report, args: readonly string[]): Promise<void>;
}

export interface Report {
  /** Columns stand in the order in which they were first named. */
  add(label: string, row: Row): void;
  /** A sentence that stays under the table: settings, what the load generator cost, a surprise. */
  note(sentence: string): void;
  /** Progress for whoever looks on. It is not kept. */
  say(text: string): void;
}

/** A report that can be read when the bench is done. */
export class TableReport implements Report {
  readonly #question: string;
  readonly #machine = describeMachine();
  readonly #rows: { readonly label: string; readonly row: Row }[] = [];
  readonly #notes: string[] = [];

  constructor(question: string) {
    this.#question = question;
  }

  add(label: string, row: Row): void {
    this.#rows.push({ label, row });
  }

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  say(text: string): void {
    console.log(text);
  }

  toMarkdown(): string {
    const columns = [...new Set(this.#rows.flatMap(({ row }) => Object.keys(row)))];
    const table = [
      tableLine(["", ...columns]),
      tableLine(["---", ...columns.map(() => "--:")]),
      ...this.#rows.map(({ label, row }) =>
        tableLine([label, ...columns.map((column) => printCell(row[column]))]),
      ),
    ];
    const notes = this.#notes.map((sentence) => `- ${sentence}`);
    return [this.#question, "", ...table, "", `- ${this.#machine}`, ...notes].join("\n");
  }
}

/** Puts `text` between the two markers of `name`, leaving the rest of the file as it is. */
export async function writeBetweenMarkers(path: URL, name: string, text: string): Promise<void> {
  const before = await readFile(path, "utf8");
  await writeFile(path, replaceBetweenMarkers(before, name, text));
}

export function replaceBetweenMarkers(document: string, name: string, text: string): string {
  const begin = `<!-- ${name}:begin -->`;
  const end = `<!-- ${name}:end -->`;
  const from = document.indexOf(begin);
  const to = document.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`no place for the table: add ${begin} and ${end}`);
  return `${document.slice(0, from + begin.length)}\n\n${text}\n\n${document.slice(to)}`;
}

/** The date and the load before the bench began are part of it: a busy machine shows here. */
export function describeMachine(): string {
  const [load = 0] = os.loadavg();
  const processors = os.cpus();
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? "unknown processor"}`,
    `${printNumber(os.totalmem() / 2 ** 30)} GiB`,
    `${os.type()} ${os.release()}`,
    `Node ${process.versions.node}`,
    `load average before ${load.toFixed(2)}`,
    new Date().toISOString().slice(0, 10),
  ].join(", ");
}

/** Three figures at most below a thousand: the rest is noise. */
export function printNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  if (Math.abs(value) >= 10) return value.toFixed(1);
  if (Math.abs(value) >= 0.1 || value === 0) return value.toFixed(2);
  return value.toPrecision(2);
}

/** For options: a word on the command line that must be a positive number. */
export function readCount(text: string): number {
  const count = Number(text);
  if (!(count > 0)) throw new Error(`"${text}" is not a positive number`);
  return count;
}

function printCell(cell: number | string | undefined): string {
  if (cell === undefined) return "–";
  return typeof cell === "string" ? cell : printNumber(cell);
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

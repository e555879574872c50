/**
 * The last entry that is known to be durable, in a small file of its own. SQLite ignores whatever follows a damaged
 * place in its write-ahead log, so a damaged log can look like a shorter one. This file tells the two apart: a log
 * that ends before the marked entry has lost entries that were acknowledged.
 *
 * The mark is written after the entries were synced, and is not synced itself: after a power failure it may be older
 * than the log, never newer. It has two slots that are written in turn, each with a checksum and in a sector of its
 * own, so that a torn write leaves the one before.
 */
import { hash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

export const markName = "durable.mark";

export type DurableMark = {
  readonly logId: string;
  readonly sequence: number;
  /** The checksum of that entry. */
  readonly checksum: string;
};

export type FoundMark =
  /** There is no such file: the directory is new, or version 0.1.0 wrote it, or the file was deleted. */
  | { readonly state: "absent" }
  /** The file is there, and neither slot is intact. */
  | { readonly state: "damaged" }
  | {
      readonly state: "intact";
      readonly mark: DurableMark;
      readonly slot: number;
      /** One slot is intact and the other one is neither intact nor empty. */
      readonly isHalfDamaged: boolean;
    };

const slots = 2;
/** The size that a disk writes atomically. */
const slotBytes = 512;
const empty = "\n".repeat(slotBytes);

export function findMark(directory: string): FoundMark {
  let bytes: Buffer;
  try {
    bytes = readFileSync(join(directory, markName));
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return { state: "absent" };
    }
    return { state: "damaged" };
  }
  let found: { readonly mark: DurableMark; readonly slot: number } | undefined;
  let damaged = bytes.length === slots * slotBytes ? 0 : 1;
  for (let slot = 0; slot < slots; slot++) {
    const text = bytes.toString("latin1", slot * slotBytes, (slot + 1) * slotBytes);
    if (text === empty) continue;
    const mark = parseSlot(text);
    if (!mark) damaged += 1;
    else if (!found || mark.sequence >= found.mark.sequence) found = { mark, slot };
  }
  if (!found) return { state: "damaged" };
  return { state: "intact", ...found, isHalfDamaged: damaged > 0 };
}

export class MarkWriter implements Disposable {
  readonly #file: number;
  readonly #logId: string;
  readonly #bytes = Buffer.alloc(slotBytes, "\n");
  #nextSlot: number;

  /** Writes the mark of the log as it is now. A new file is synced, so that it outlives a power failure. */
  constructor(directory: string, mark: DurableMark, found: FoundMark) {
    const isIntact = found.state === "intact" && !found.isHalfDamaged;
    this.#file = openSync(join(directory, markName), isIntact ? "r+" : "w", 0o600);
    this.#logId = mark.logId;
    this.#nextSlot = isIntact ? 1 - found.slot : 0;
    if (!isIntact) writeSync(this.#file, empty.repeat(slots), 0, "latin1");
    this.write(mark.sequence, mark.checksum);
    if (!isIntact) fsyncSync(this.#file);
  }

  /** Only for entries that are synced. */
  write(sequence: number, checksum: string): void {
    const text = printSlot({ logId: this.#logId, sequence, checksum });
    const length = this.#bytes.write(text, 0, "latin1");
    this.#bytes.fill("\n", length);
    writeSync(this.#file, this.#bytes, 0, slotBytes, this.#nextSlot * slotBytes);
    this.#nextSlot = 1 - this.#nextSlot;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

function printSlot({ logId, sequence, checksum }: DurableMark): string {
  const line = `tipstaff durable 1 ${logId} ${sequence} ${checksum || "-"}`;
  return `${line} ${hash("sha256", line, "hex")}\n`;
}

function parseSlot(text: string): DurableMark | undefined {
  const line = text.slice(0, text.indexOf("\n") + 1);
  const [, , , logId = "", number, checksum] = line.split(" ");
  const sequence = Number(number);
  if (!Number.isSafeInteger(sequence) || checksum === undefined) return undefined;
  const mark = { logId, sequence, checksum: checksum === "-" ? "" : checksum };
  return text === printSlot(mark).padEnd(slotBytes, "\n") ? mark : undefined;
}

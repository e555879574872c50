/**
 * What stands for the entries that were cut: the last of them, by its sequence, time and checksum. The
 * first entry that is left must follow from it, so that a cut log is verified from end to end as any
 * other. It is written with the cut, in one transaction, and sealed: a mark that was changed, to make
 * missing entries look like a cut, shows.
 */
import { hash } from "node:crypto";
import { noChecksum } from "./entry.ts";

export type CutMark = {
  /** The last entry that was cut; 0 if none was. */
  readonly sequence: number;
  readonly atMs: number;
  readonly checksum: string;
};

export const nothingCut: CutMark = { sequence: 0, atMs: 0, checksum: noChecksum };

export function printMark(logId: string, mark: CutMark): string {
  const { sequence, atMs, checksum } = mark;
  return JSON.stringify({ sequence, atMs, checksum, seal: sealOf(logId, mark) });
}

/** Undefined if this is not a mark that was made for this log. */
export function parseMark(logId: string, text: string): CutMark | undefined {
  try {
    const mark: CutMark = JSON.parse(text);
    const isMade = Number.isSafeInteger(mark.sequence) && printMark(logId, mark) === text;
    return isMade ? mark : undefined;
  } catch {
    return undefined;
  }
}

function sealOf(logId: string, { sequence, atMs, checksum }: CutMark): string {
  return hash("sha256", `cut\n${logId}\n${sequence}\n${atMs}\n${checksum}`, "hex");
}

/**
 * Reads SQLite's write-ahead log (https://www.sqlite.org/fileformat2.html#walformat) and says where its checksums
 * stop. SQLite uses everything up to there and says nothing about the rest: for it, a damaged frame in the middle is
 * the same as an append that a crash interrupted.
 */
import { readFileSync } from "node:fs";

export type WalState = {
  readonly bytes: number;
  /**
   * What is wrong, as the end of a sentence; undefined if there is no sign of damage. An unfinished append at the end
   * is no damage.
   */
  readonly problem?: string;
  /** Whether it ends with an append that a crash interrupted, which SQLite drops. */
  readonly isUnfinished: boolean;
  /** How many transactions of the same generation follow the first bad frame. */
  readonly commitsAfterProblem: number;
};

const headerBytes = 32;
const frameHeaderBytes = 24;
const magic = 0x377f0682;

export function inspectWal(path: string): WalState {
  const wal = readWal(path);
  const bytes = wal.length;
  const finished = { bytes, isUnfinished: false, commitsAfterProblem: 0 };
  if (bytes === 0) return finished;
  if (bytes < headerBytes) return { ...finished, problem: "is shorter than its header" };
  const isBigEndian = (wal.readUInt32BE(0) & 1) === 1;
  const pageBytes = wal.readUInt32BE(8);
  const sum = new Sum(wal, isBigEndian);
  sum.add(0, headerBytes - 8);
  const isHeader = (wal.readUInt32BE(0) & ~1) >>> 0 === magic && sum.equals(headerBytes - 8);
  const isPageSize = pageBytes >= 512 && pageBytes <= 65_536;
  if (!isHeader || !isPageSize) {
    return { ...finished, problem: "has a damaged header", commitsAfterProblem: Infinity };
  }
  const frameBytes = frameHeaderBytes + pageBytes;
  /** Frames of an earlier generation have another salt: they were copied into the database, and are left over. */
  const isOfThisGeneration = (at: number): boolean =>
    wal.length >= at + 16 && wal.compare(wal, 16, 24, at + 8, at + 16) === 0;
  let at = headerBytes;
  let committed = at;
  let frame = 1;
  for (; at + frameBytes <= bytes; at += frameBytes, frame += 1) {
    sum.add(at, 8);
    sum.add(at + frameHeaderBytes, pageBytes);
    if (!isOfThisGeneration(at) || !sum.equals(at + 16) || wal.readUInt32BE(at) === 0) break;
    if (wal.readUInt32BE(at + 4) !== 0) committed = at + frameBytes;
  }
  let commits = 0;
  let followers = 0;
  // A crash can leave this frame unfinished, but not one with later frames of the same generation.
  for (let later = at + frameBytes; later + frameBytes <= bytes; later += frameBytes) {
    if (!isOfThisGeneration(later)) continue;
    followers += 1;
    if (wal.readUInt32BE(later + 4) !== 0) commits += 1;
  }
  const isUnfinished = at > committed || isOfThisGeneration(at);
  if (followers === 0) return { ...finished, isUnfinished };
  const problem = `is damaged at frame ${frame}`;
  return { bytes, problem, isUnfinished, commitsAfterProblem: commits };
}

function readWal(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return Buffer.alloc(0);
    }
    throw cause;
  }
}

/** SQLite's checksum: two sums over pairs of 32-bit words, carried on from frame to frame. */
class Sum {
  readonly #view: DataView;
  readonly #isLittleEndian: boolean;
  #first = 0;
  #second = 0;

  constructor(bytes: Buffer, isBigEndian: boolean) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#isLittleEndian = !isBigEndian;
  }

  add(from: number, length: number): void {
    const view = this.#view;
    const isLittleEndian = this.#isLittleEndian;
    let first = this.#first;
    let second = this.#second;
    for (let at = from; at < from + length; at += 8) {
      first = (first + view.getUint32(at, isLittleEndian) + second) >>> 0;
      second = (second + view.getUint32(at + 4, isLittleEndian) + first) >>> 0;
    }
    this.#first = first;
    this.#second = second;
  }

  equals(at: number): boolean {
    return (
      this.#view.getUint32(at) === this.#first && this.#view.getUint32(at + 4) === this.#second
    );
  }
}

/**
 * A file to which lines are appended, and what they come to. What was read is not read again; a long file is
 * read over several looks, and until all of it is read it comes to nothing that could be told.
 */
import { readBytes, withFile } from "../disk.ts";
import { limits } from "../limits.ts";

/** What may still be done at this look. */
export type Budget = {
  bytes: number;
  /** Records that are opened. */
  files: number;
  /** Places that are looked at to find one. */
  searches: number;
};

export function budgetOfLook(): Budget {
  return {
    bytes: limits.usageBytesPerLook,
    files: limits.usageFilesPerLook,
    searches: limits.usageSearchesPerLook,
  };
}

type Read<Total> = {
  readonly total: Total;
  readonly inode: number;
  offset: number;
  isBroken: boolean;
  /** Was read to its end when it was last looked at. */
  isWhole: boolean;
};

export class GrowingFiles<Total> {
  readonly #start: () => Total;
  readonly #needles: readonly Buffer[];
  readonly #add: (total: Total, line: string) => void;
  readonly #read = new Map<string, Read<Total>>();

  /** `add` is given only lines that contain one of the needles. */
  constructor(options: {
    readonly start: () => Total;
    readonly needles: readonly string[];
    readonly add: (total: Total, line: string) => void;
  }) {
    this.#start = options.start;
    this.#needles = options.needles.map((needle) => Buffer.from(needle));
    this.#add = options.add;
  }

  /**
   * Undefined if there is no such file, or if it was not read to its end. Where no more may be looked at it
   * comes to what it came to before.
   */
  total(path: string, budget: Budget): Total | undefined {
    if (budget.files <= 0) {
      const before = this.#read.get(path);
      return before?.isWhole ? before.total : undefined;
    }
    budget.files -= 1;
    return withFile(path, (file, { ino: inode, size }) => {
      const read = this.#of(path, { inode, size });
      read.isWhole = this.#readOn(read, { file, size, budget });
      return read.isWhole ? read.total : undefined;
    });
  }

  /** Whether all lines that are whole were read. */
  #readOn(
    read: Read<Total>,
    { file, size, budget }: { readonly file: number; readonly size: number; budget: Budget },
  ): boolean {
    while (!read.isBroken && read.offset < size && budget.bytes > 0) {
      const count = Math.min(limits.usageChunkBytes, size - read.offset);
      const chunk = readBytes(file, read.offset, count);
      budget.bytes -= chunk.length;
      const end = chunk.lastIndexOf(0x0a) + 1;
      if (end === 0) {
        // A line that is still being written, or one that is longer than lines are.
        if (count < limits.usageChunkBytes) return true;
        read.isBroken = true;
        break;
      }
      this.#take(read.total, chunk.subarray(0, end));
      read.offset += end;
    }
    return !read.isBroken && read.offset >= size;
  }

  #of(path: string, { inode, size }: { inode: number; size: number }): Read<Total> {
    const before = this.#read.get(path);
    if (before && before.inode === inode && before.offset <= size) return before;
    const read = { total: this.#start(), inode, offset: 0, isBroken: false, isWhole: false };
    this.#read.delete(path);
    this.#read.set(path, read);
    if (this.#read.size > limits.usageFilesMax) {
      const [oldest] = this.#read.keys();
      if (oldest !== undefined) this.#read.delete(oldest);
    }
    return read;
  }

  #take(total: Total, lines: Buffer): void {
    for (let from = 0; from < lines.length; ) {
      const end = lines.indexOf(0x0a, from);
      const line = lines.subarray(from, end);
      if (this.#needles.some((needle) => line.includes(needle))) this.#add(total, line.toString());
      from = end + 1;
    }
  }
}

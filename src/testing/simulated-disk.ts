/**
 * A disk that forgets like a real one. What was written is there for everyone to read, but only what
 * was synced is there after a crash; of the rest an arbitrary part survives, cut at any byte, and some
 * of that may have come out wrong. Renaming is atomic and lasts.
 */
import { randomUUID } from "node:crypto";
import type { Random } from "./random.ts";

type File = { synced: Buffer[]; unsynced: Buffer[] };

export class SimulatedDisk {
  readonly id: string;
  readonly #files = new Map<string, File>();

  constructor(id: string = randomUUID()) {
    this.id = id;
  }

  get names(): readonly string[] {
    return [...this.#files.keys()];
  }

  read(name: string): Buffer {
    const { synced, unsynced } = this.#files.get(name) ?? { synced: [], unsynced: [] };
    return Buffer.concat([...synced, ...unsynced]);
  }

  /** Adds to the end of the file. */
  write(name: string, bytes: Buffer): void {
    const file = this.#files.get(name) ?? { synced: [], unsynced: [] };
    file.unsynced.push(bytes);
    this.#files.set(name, file);
  }

  sync(name: string): void {
    const file = this.#files.get(name);
    if (!file) return;
    file.synced.push(...file.unsynced);
    file.unsynced = [];
  }

  /** Cuts the file, and syncs it. */
  cut(name: string, length: number): void {
    this.#files.set(name, { synced: [this.read(name).subarray(0, length)], unsynced: [] });
  }

  rename(from: string, to: string): void {
    const file = this.#files.get(from);
    this.#files.delete(from);
    if (file) this.#files.set(to, file);
  }

  delete(name: string): void {
    this.#files.delete(name);
  }

  /** Changes one byte of what was synced, as rot does. */
  damage(name: string, random: Random): void {
    const file = this.#files.get(name);
    if (file) file.synced = [scramble(Buffer.concat(file.synced), random)];
  }

  /** The power fails, or the process is killed and its machine with it. */
  crash(random: Random): void {
    for (const file of this.#files.values()) {
      const unsynced = Buffer.concat(file.unsynced);
      const much = random.weighted({ nothing: 1, part: 3, all: 2 });
      const lengths = {
        nothing: 0,
        part: random.between(0, unsynced.length),
        all: unsynced.length,
      };
      const left = unsynced.subarray(0, lengths[much]);
      const came = left.length > 0 && random.chance(30) ? scramble(left, random) : left;
      file.synced.push(came);
      file.unsynced = [];
    }
  }
}

/** One byte comes out as another; a digit as another digit, because that is the hardest to notice. */
function scramble(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  const digits = [...copy.keys()].filter((at) => isDigit(copy[at]));
  const at = random.pickAny(digits) ?? random.below(copy.length);
  const before = copy[at] ?? 0;
  copy[at] = isDigit(before) ? 48 + ((before - 48 + 1) % 10) : before ^ 1;
  return copy;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

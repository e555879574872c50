/**
 * Messages that are nearly right, and bytes that are nothing: made from a seed, so that the same seed
 * gives the same bytes on any machine.
 */
import type { Random } from "../../src/testing/random.ts";

/** Bytes for a message of which `valid` are good examples. */
export function badBytes(random: Random, valid: readonly Uint8Array[]): Buffer {
  const example = Buffer.from(random.pickAny(valid) ?? []);
  switch (random.weighted({ noise: 1, fields: 2, flipped: 3, cut: 2, spliced: 2, text: 2 })) {
    case "noise":
      return noise(random, random.below(60));
    case "fields":
      return fields(random, 0);
    case "flipped":
      return flipped(random, example);
    case "cut":
      return example.subarray(0, random.below(example.length + 1));
    case "spliced": {
      const at = random.below(example.length + 1);
      const other = Buffer.from(random.pickAny(valid) ?? []);
      return Buffer.concat([
        example.subarray(0, at),
        other.subarray(random.below(other.length + 1)),
      ]);
    }
    case "text":
      return withOddText(random, example);
  }
}

function noise(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

function flipped(random: Random, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  for (let count = random.between(1, 3); count > 0 && changed.length > 0; count--) {
    const at = random.below(changed.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
  }
  return changed;
}

/** Well-formed fields with numbers, types and contents at random; some nest. */
function fields(random: Random, depth: number): Buffer {
  const parts: Buffer[] = [];
  for (let count = random.below(6); count > 0; count--) {
    const number = random.chance(90) ? random.between(1, 8) : random.between(9, 3_000);
    const wireType = random.pick([0, 0, 1, 2, 2, 2, 5, 3, 4]);
    parts.push(varint((number << 3) | wireType), contents(random, wireType, depth));
  }
  return Buffer.concat(parts);
}

function contents(random: Random, wireType: number, depth: number): Buffer {
  switch (wireType) {
    case 0:
      return random.chance(20) ? noise(random, 10) : varint(random.below(2 ** 31));
    case 1:
      return noise(random, 8);
    case 2: {
      const inner = random.chance(40) && depth < 4 ? fields(random, depth + 1) : oddText(random);
      // Some lengths lie.
      const lie = random.chance(10) ? random.between(-2, 2) : 0;
      return Buffer.concat([varint(Math.max(0, inner.length + lie)), inner]);
    }
    case 5:
      return noise(random, 4);
    default:
      return Buffer.alloc(0);
  }
}

/** The example with a text of its own put in front as field 1 or 2. */
function withOddText(random: Random, example: Buffer): Buffer {
  const text = oddText(random);
  return Buffer.concat([example, Buffer.from([random.pick([10, 18])]), varint(text.length), text]);
}

function oddText(random: Random): Buffer {
  const odd = [
    "",
    "\0",
    "__proto__",
    "../../etc/passwd",
    "%00%0a",
    "a\r\nb",
    "😀",
    "\u202E",
    "x".repeat(1_024),
    "x".repeat(1_025),
    "é".repeat(600),
  ];
  if (random.chance(30)) return noise(random, random.between(1, 8));
  if (random.chance(20))
    return Buffer.from("c328eda080f4908080c0affffe".slice(0, 2 * random.between(1, 13)), "hex");
  return Buffer.from(random.pickAny(odd) ?? "");
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  while (left > 127) {
    bytes.push((left % 128) | 128);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
  return Buffer.from(bytes);
}

/**
 * What a pattern means. `*` stands for any run of characters, also for none; nothing else is special.
 * A pattern is taken apart once, when its policy is set.
 */
export type Pattern = {
  /** Without needless stars: patterns that mean the same are the same text. */
  readonly text: string;
  readonly isExact: boolean;
  /** What stands before the first star, between the stars, and behind the last one. */
  readonly head: string;
  readonly parts: readonly string[];
  readonly tail: string;
};

export function parsePattern(text: string): Pattern {
  if (!text.includes("*")) return { text, isExact: true, head: text, parts: [], tail: "" };
  const [head = "", ...rest] = text.split("*");
  const tail = rest.pop() ?? "";
  const parts = rest.filter((part) => part !== "");
  return { text: [head, ...parts, tail].join("*"), isExact: false, head, parts, tail };
}

/** Something to be looked for. */
export type Needle = {
  readonly text: string;
  /** Only if it is long: for each beginning of it, how much of its own end is also its beginning. */
  readonly borders: Uint32Array | undefined;
};

/** Up to this length, what the engine has is quicker, and at its worst not much slower. */
const shortLength = 32;

export function makeNeedle(text: string): Needle {
  if (text.length <= shortLength) return { text, borders: undefined };
  const borders = new Uint32Array(text.length);
  for (let at = 1, length = 0; at < text.length; at++) {
    length = extend(text, borders, length, text.charCodeAt(at));
    borders[at] = length;
  }
  return { text, borders };
}

/** Where it begins in the text, not before `from`; below zero if it does not. Linear in the text. */
export function find({ text: needle, borders }: Needle, text: string, from: number): number {
  if (text.startsWith(needle, from)) return from;
  if (!borders) return text.indexOf(needle, from);
  // By Knuth, Morris and Pratt: each character of the text is looked at twice at most.
  for (let at = from, length = 0; at < text.length; at++) {
    length = extend(needle, borders, length, text.charCodeAt(at));
    if (length === needle.length) return at - length + 1;
  }
  return -1;
}

function extend(needle: string, borders: Uint32Array, matched: number, letter: number): number {
  let length = matched;
  while (length > 0 && needle.charCodeAt(length) !== letter) length = borders[length - 1] ?? 0;
  return needle.charCodeAt(length) === letter ? length + 1 : length;
}

/**
 * Which of many patterns match a text, without trying them all.
 *
 * First, a walk along the text finds the parts (what stands between stars) that it has, and the first
 * place of each: the hash of what begins at a letter names a shelf where such parts stand. Then patterns
 * are tried, but only those whose one chosen piece the text has: a pattern stands with its head, its tail
 * or one of its parts, whichever has fewest patterns with it, so that what every pattern has (`tool:`)
 * does not fill up. Trying is cheap, since the places of the parts are known.
 *
 * Whatever the patterns and the text are, that is at most sixteen look-ups for each letter, one search
 * for each part and one comparison for each pattern.
 */
import { find, makeNeedle, type Needle, type Pattern, parsePattern } from "./pattern.ts";
import type { FiledPolicy } from "./policy-index.ts";
import { putUp, type Shelf, type Shelved, Shelves, takeDown } from "./shelves.ts";

/** A pattern that at least one policy has in this field. */
export interface KnownPattern extends Shelved<KnownPattern> {
  readonly text: string;
  readonly isExact: boolean;
  readonly head: string;
  readonly parts: readonly KnownPart[];
  readonly tail: string;
  /** In how many policies. */
  uses: number;
  /** Those of them that are looked for here, as a heap: see `policy-index.ts`. */
  readonly policies: FiledPolicy[];
  /** The weightiest of them. */
  top: FiledPolicy | undefined;
  /** Equal to the turn of a question: it matches. */
  turn: number;
  /** If it stands with its head or its tail. */
  readonly shelves: Shelves<KnownPattern> | undefined;
  readonly lowPairs: number;
  readonly highPairs: number;
}

/** A part of at least one pattern. */
interface KnownPart extends Needle, Shelved<KnownPart> {
  /** In how many patterns, counted as often as they have it. */
  uses: number;
  /** Those that stand with it. */
  readonly patterns: Shelf<KnownPattern>;
  readonly shelves: Shelves<KnownPart>;
  /** Where its window begins in it. */
  readonly windowAt: number;
  /** Equal to the turn of a question: the text has it, and first at `firstAt`. */
  turn: number;
  firstAt: number;
}

type ByLength<Item extends Shelved<Item>> = (Shelves<Item> | undefined)[];
type Spot = { readonly length: number; readonly hash: number };

/** Longer parts are found by a window of this length, and then looked at. */
const windowLengthMax = 16;
/**
 * In a longer text it is written down where each window is. Otherwise many patterns whose parts it has,
 * but not in their order, would each search all of it: 100,000 of them took four seconds for 64 KiB.
 */
const shortTextMax = 1_024;
/** Letters that are alike in these bits are counted together. */
const beginningMask = 0xff;
/** Longer heads and tails go by this much of them. */
const edgeLengthMax = 1_024;

const noParts: readonly KnownPart[] = [];

export class PatternIndex {
  readonly #exact = new Map<string, KnownPattern>();
  readonly #wild = new Map<string, KnownPattern>();
  readonly #heads: ByLength<KnownPattern> = [];
  readonly #tails: ByLength<KnownPattern> = [];
  readonly #parts = new Map<string, KnownPart>();
  readonly #windows: ByLength<KnownPart> = [];
  /** How many windows begin with a letter: at most letters of a text there is nothing to look for. */
  readonly #beginnings = new Uint32Array(beginningMask + 1);
  /** The pattern `*`. */
  #everything: KnownPattern | undefined;

  /** The text that is being matched, and the parts it has. No list is made anew for a question. */
  readonly #text = new Letters();
  readonly #present: KnownPart[] = [];
  #presentCount = 0;
  /** Of a long text: where visits are written down. */
  readonly #visited: Shelf<KnownPart>[] = [];
  /** What the last text matched: the first so many of them. */
  readonly matched: KnownPattern[] = [];
  matchedCount = 0;

  /** One more policy has this pattern. */
  add(text: string): KnownPattern {
    const pattern = parsePattern(text);
    const patterns = pattern.isExact ? this.#exact : this.#wild;
    const known = patterns.get(pattern.text) ?? this.#learn(pattern);
    patterns.set(pattern.text, known);
    known.uses += 1;
    return known;
  }

  /** One policy less has it. */
  remove(known: KnownPattern): void {
    known.uses -= 1;
    if (known.uses > 0) return;
    (known.isExact ? this.#exact : this.#wild).delete(known.text);
    if (known === this.#everything) this.#everything = undefined;
    if (known.shelves) known.shelves.remove(known);
    else takeDown(known);
    for (const part of known.parts) this.#removePart(part);
    if (known.shelves?.size === 0) {
      dropEmpty(this.#heads);
      dropEmpty(this.#tails);
    }
  }

  #learn({ text, isExact, head, parts, tail }: Pattern): KnownPattern {
    const knownParts = parts.length === 0 ? noParts : parts.map((part) => this.#addPart(part));
    const letters = new Letters();
    if (!isExact) for (const piece of [head, ...parts, tail]) letters.add(piece);

    const headSpot = isExact || head === "" ? undefined : headSpotOf(head);
    const tailSpot = tail === "" ? undefined : tailSpotOf(tail);
    const [part] = knownParts.toSorted((one, other) => crowdWith(one) - crowdWith(other));
    const withHead = headSpot ? crowdAt(this.#heads, headSpot) : Number.POSITIVE_INFINITY;
    const withTail = tailSpot ? crowdAt(this.#tails, tailSpot) : Number.POSITIVE_INFINITY;
    const withPart = part ? crowdWith(part) : Number.POSITIVE_INFINITY;
    const least = Math.min(withHead, withTail, withPart);
    const isWithHead = headSpot && withHead === least;
    const spot = isWithHead ? headSpot : withTail === least ? tailSpot : undefined;

    const known: KnownPattern = {
      text,
      isExact,
      head,
      parts: knownParts,
      tail,
      uses: 0,
      policies: [],
      top: undefined,
      turn: 0,
      hash: spot?.hash ?? 0,
      shelves: spot && shelvesAt(isWithHead ? this.#heads : this.#tails, spot.length),
      shelf: undefined,
      place: 0,
      lowPairs: letters.lowPairs,
      highPairs: letters.highPairs,
    };
    if (known.shelves) known.shelves.add(known);
    else if (part) putUp(known, part.patterns);
    else if (!isExact) this.#everything = known;
    return known;
  }

  #addPart(text: string): KnownPart {
    const part = this.#parts.get(text) ?? this.#learnPart(text);
    part.uses += 1;
    return part;
  }

  #learnPart(text: string): KnownPart {
    const { borders } = makeNeedle(text);
    const { length, hash, windowAt } = this.#windowOf(text);
    const part: KnownPart = {
      text,
      borders,
      uses: 0,
      patterns: { items: [], turn: 0, visits: undefined },
      hash,
      shelves: shelvesAt(this.#windows, length),
      shelf: undefined,
      place: 0,
      windowAt,
      turn: 0,
      firstAt: 0,
    };
    part.shelves.add(part);
    this.#parts.set(text, part);
    this.#countBeginning(part, 1);
    return part;
  }

  /** The whole of a part, or of a long one the window that fewest have. */
  #windowOf(text: string): Spot & { readonly windowAt: number } {
    const length = Math.min(text.length, windowLengthMax);
    const factor = firstFactor(length);
    let emptiest = { length, hash: 0, windowAt: 0 };
    let least = Number.POSITIVE_INFINITY;
    let hash = 0;
    for (let at = 0; at < text.length && least > 0; at++) {
      hash = append(hash, text.charCodeAt(at));
      const windowAt = at - length + 1;
      if (windowAt < 0) continue;
      const crowd = crowdAt(this.#windows, { length, hash });
      if (crowd < least) {
        least = crowd;
        emptiest = { length, hash, windowAt };
      }
      hash = dropFirst(hash, text.charCodeAt(windowAt), factor);
    }
    return emptiest;
  }

  #removePart(part: KnownPart): void {
    part.uses -= 1;
    if (part.uses > 0) return;
    this.#parts.delete(part.text);
    this.#countBeginning(part, -1);
    part.shelves.remove(part);
    if (part.shelves.size === 0) dropEmpty(this.#windows);
  }

  #countBeginning({ text, windowAt }: KnownPart, difference: number): void {
    const slot = text.charCodeAt(windowAt) & beginningMask;
    this.#beginnings[slot] = (this.#beginnings[slot] ?? 0) + difference;
  }

  /** Marks all patterns that match the text with this turn. */
  match(text: string, turn: number): void {
    this.matchedCount = 0;
    const exact = this.#exact.get(text);
    if (exact) this.#note(exact, turn);
    if (this.#everything) this.#note(this.#everything, turn);
    if (this.#wild.size === 0) return;
    this.#text.read(text);
    this.#presentCount = 0;
    if (this.#parts.size > 0) this.#findParts(text, turn);
    this.#tryHeads(text, turn);
    this.#tryTails(text, turn);
    for (let index = 0; index < this.#presentCount; index++) {
      const part = this.#present[index];
      if (part) this.#try(part.patterns, text, turn);
    }
    if (this.#visited.length > 0) this.#forgetVisits();
  }

  #forgetVisits(): void {
    for (const shelf of this.#visited) shelf.visits = undefined;
    this.#visited.length = 0;
  }

  #findParts(text: string, turn: number): void {
    const { codes } = this.#text;
    const byLength = this.#windows;
    const beginnings = this.#beginnings;
    for (let at = 0; at < text.length; at++) {
      if (beginnings[(codes[at] ?? 0) & beginningMask] === 0) continue;
      const longest = Math.min(text.length - at, byLength.length - 1);
      let hash = 0;
      for (let length = 1; length <= longest; length++) {
        hash = append(hash, codes[at + length - 1] ?? 0);
        const shelf = byLength[length]?.find(hash);
        if (shelf) this.#markParts(shelf, text, at, turn);
      }
    }
  }

  #markParts(shelf: Shelf<KnownPart>, text: string, at: number, turn: number): void {
    if (shelf.turn === turn) {
      shelf.visits?.push(at);
      return;
    }
    // The first visit: the text has no such window before `at`.
    shelf.turn = turn;
    if (text.length > shortTextMax) {
      shelf.visits = [at];
      this.#visited.push(shelf);
    }
    for (const part of shelf.items) {
      const firstAt = find(part, text, Math.max(0, at - part.windowAt));
      if (firstAt < 0) continue;
      part.turn = turn;
      part.firstAt = firstAt;
      this.#present[this.#presentCount++] = part;
    }
  }

  #tryHeads(text: string, turn: number): void {
    const { codes } = this.#text;
    const byLength = this.#heads;
    const longest = Math.min(text.length, byLength.length - 1);
    let hash = 0;
    for (let length = 1; length <= longest; length++) {
      hash = append(hash, codes[length - 1] ?? 0);
      const shelf = byLength[length]?.find(hash);
      if (shelf) this.#try(shelf, text, turn);
    }
  }

  #tryTails(text: string, turn: number): void {
    const { codes } = this.#text;
    const byLength = this.#tails;
    const longest = Math.min(text.length, byLength.length - 1);
    let hash = 0;
    for (let length = 1; length <= longest; length++) {
      hash = append(hash, codes[text.length - length] ?? 0);
      const shelf = byLength[length]?.find(hash);
      if (shelf) this.#try(shelf, text, turn);
    }
  }

  #try(shelf: Shelf<KnownPattern>, text: string, turn: number): void {
    if (shelf.turn === turn) return;
    shelf.turn = turn;
    const { codes, lowPairs, highPairs } = this.#text;
    for (const known of shelf.items) {
      if ((known.lowPairs & ~lowPairs) !== 0 || (known.highPairs & ~highPairs) !== 0) continue;
      if (fits(known, text, codes, turn)) this.#note(known, turn);
    }
  }

  #note(known: KnownPattern, turn: number): void {
    known.turn = turn;
    this.matched[this.matchedCount++] = known;
  }
}

/** Each part takes the earliest place it fits, which never needs to be taken back. */
function fits(
  { head, parts, tail }: KnownPattern,
  text: string,
  codes: Uint16Array,
  turn: number,
): boolean {
  const end = text.length - tail.length;
  if (end < head.length || !isAt(head, codes, 0) || !isAt(tail, codes, end)) return false;
  let from = head.length;
  for (const part of parts) {
    if (part.turn !== turn) return false;
    const at = part.firstAt >= from ? part.firstAt : findLater(part, text, from);
    if (at < 0) return false;
    from = at + part.text.length;
    if (from > end) return false;
  }
  return true;
}

/** Half of the letters are read already: that is quicker than `startsWith`. */
function isAt(piece: string, codes: Uint16Array, at: number): boolean {
  for (let index = 0; index < piece.length; index++) {
    if (piece.charCodeAt(index) !== codes[at + index]) return false;
  }
  return true;
}

/** The text has it, but first before `from`. */
function findLater(part: KnownPart, text: string, from: number): number {
  const visits = part.shelf?.visits;
  if (!visits) return find(part, text, from);
  const next = visits[firstNotBelow(visits, from + part.windowAt)];
  // None of it, or something else with this hash, or a long part of which only the window is there.
  return next === undefined ? -1 : find(part, text, next - part.windowAt);
}

/** The index of the first number that is not smaller. */
function firstNotBelow(sorted: readonly number[], least: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The letters of a text, and which neighbours they have, as a sieve of 64 bits. A pattern with a pair of
 * letters that the text lacks cannot match, and is passed over without looking at it any closer.
 */
class Letters {
  codes = new Uint16Array(64);
  lowPairs = 0;
  highPairs = 0;

  read(text: string): void {
    this.lowPairs = 0;
    this.highPairs = 0;
    this.add(text);
  }

  add(text: string): void {
    if (this.codes.length < text.length) this.codes = new Uint16Array(2 * text.length);
    const { codes } = this;
    let { lowPairs, highPairs } = this;
    let before = text.charCodeAt(0);
    codes[0] = before;
    for (let at = 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      codes[at] = code;
      const pair = Math.imul((before << 16) | code, base);
      // Without a branch, which nobody could predict: one half gets the bit, the other gets nothing.
      const half = pair >> 31;
      lowPairs |= (1 << (pair >>> 26)) & half;
      highPairs |= (1 << (pair >>> 26)) & ~half;
      before = code;
    }
    this.lowPairs = lowPairs;
    this.highPairs = highPairs;
  }
}

/** Odd and large; any such number does. */
const base = 0x9e37_79b1;

function append(hash: number, code: number): number {
  return (Math.imul(hash, base) + code) | 0;
}

/** What is left of the hash of a window without its first letter. */
function dropFirst(hash: number, code: number, factor: number): number {
  return (hash - Math.imul(code, factor)) | 0;
}

/** What the first letter of a window of this length has been multiplied with. */
function firstFactor(length: number): number {
  let factor = 1;
  for (let count = 1; count < length; count++) factor = Math.imul(factor, base);
  return factor;
}

function headSpotOf(head: string): Spot {
  const length = Math.min(head.length, edgeLengthMax);
  let hash = 0;
  for (let at = 0; at < length; at++) hash = append(hash, head.charCodeAt(at));
  return { length, hash };
}

/** From its end. */
function tailSpotOf(tail: string): Spot {
  const length = Math.min(tail.length, edgeLengthMax);
  let hash = 0;
  for (let at = 1; at <= length; at++) hash = append(hash, tail.charCodeAt(tail.length - at));
  return { length, hash };
}

function crowdAt<Item extends Shelved<Item>>(of: ByLength<Item>, { length, hash }: Spot): number {
  return of[length]?.find(hash)?.items.length ?? 0;
}

function crowdWith(part: KnownPart): number {
  return part.patterns.items.length;
}

function shelvesAt<Item extends Shelved<Item>>(of: ByLength<Item>, length: number): Shelves<Item> {
  const shelves = of[length] ?? new Shelves();
  while (of.length < length) of.push(undefined);
  of[length] = shelves;
  return shelves;
}

/** A length that nothing goes by costs nothing. */
function dropEmpty<Item extends Shelved<Item>>(of: ByLength<Item>): void {
  for (const [length, shelves] of of.entries()) {
    if (shelves?.size === 0) of[length] = undefined;
  }
  while (of.length > 0 && of.at(-1) === undefined) of.pop();
}

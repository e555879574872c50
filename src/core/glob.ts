/**
 * The patterns of grants (ARCP 1.1 contract, 9.2). A pattern is about whole texts, in parts that `/` separates:
 *
 * | token             | stands for                                                        |
 * |-------------------|-------------------------------------------------------------------|
 * | `*`               | any characters but `/`, also none                                 |
 * | `**`, or more     | any characters, also none                                         |
 * | `/**` at the end  | nothing, or `/` and anything: `/w/**` is `/w` and all that is in it |
 * | `/**` and `/`     | `/`, or `/`, anything and `/`                                      |
 * | any other         | itself                                                            |
 *
 * Tokens are read from the left and do not overlap. A pattern becomes an automaton whose states are the places
 * between its steps; several may hold at once. Characters are UTF-16 units: no token counts them, so it makes
 * no difference.
 */
import { limits } from "./limits.ts";

export type Glob = {
  /** Runs of stars are at most two long: patterns that differ in nothing else are the same text. */
  readonly text: string;
  /** What every match begins and ends with. Without a star, `head` is all there is. */
  readonly head: string;
  readonly tail: string;
  /** A character, or one of the steps below, for each state; the last one is `end`. */
  readonly steps: Int32Array;
  /** Whether it ends with `/**`: then the state before these two steps accepts, too. */
  readonly isTree: boolean;
  readonly middle: Middle;
};

/** How to look at what is between head and tail. The first four need no automaton. */
type Middle = "nothing" | "star" | "deep" | "tree" | Machine;

const star = -1;
const deep = -2;
/** Holds nowhere: goes on to the next state (`deep` and a slash), or over both. */
const fork = -3;
const end = -4;
const slash = 47;
const asterisk = 42;

export function compileGlob(pattern: string): Glob {
  const text = pattern.replace(/\*{3,}/g, "**");
  const steps: number[] = [];
  let isTree = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === asterisk) {
      const isDeep = text.charCodeAt(at + 1) === asterisk;
      steps.push(isDeep ? deep : star);
      if (isDeep) at++;
    } else if (letter === slash && text.startsWith("**", at + 1)) {
      steps.push(slash);
      if (at + 3 === text.length) isTree = true;
      if (text.charCodeAt(at + 3) === slash) {
        steps.push(fork, deep, slash);
        at += 3;
      }
    } else {
      steps.push(letter);
    }
  }
  return {
    text,
    isTree,
    ...takeApart(text, steps, isTree),
    steps: Int32Array.from([...steps, end]),
  };
}

function takeApart(
  text: string,
  steps: readonly number[],
  isTree: boolean,
): Pick<Glob, "head" | "tail" | "middle"> {
  const first = steps.findIndex((step) => step < 0);
  if (first < 0) return { head: text, tail: "", middle: "nothing" };
  const last = steps.findLastIndex((step) => step < 0);
  // The slash behind a fork may be skipped, and that of a tree may be missing.
  const from = isTree && first === steps.length - 1 ? first - 1 : first;
  const to = steps[last - 1] === fork ? last + 2 : last + 1;
  const [head, tail] = [printLetters(steps.slice(0, from)), printLetters(steps.slice(to))];
  return { head, tail, middle: readMiddle(steps.slice(from, to), isTree) };
}

function readMiddle(steps: readonly number[], isTree: boolean): Middle {
  if (isTree && steps.length === 2) return "tree";
  if (steps.length > 1) return buildMachine(steps, isTree);
  return steps[0] === star ? "star" : "deep";
}

function printLetters(letters: readonly number[]): string {
  return letters.map((letter) => String.fromCharCode(letter)).join("");
}

/** In time that grows with the pattern times the target, whatever both are. */
export function matches({ head, tail, middle }: Glob, target: string): boolean {
  if (middle === "nothing") return target === head;
  const to = target.length - tail.length;
  if (to < head.length || !target.startsWith(head) || !target.endsWith(tail)) return false;
  if (middle === "deep") return true;
  if (middle === "tree") return to === head.length || target.charCodeAt(head.length) === slash;
  if (middle === "star") {
    const next = target.indexOf("/", head.length);
    return next < 0 || next >= to;
  }
  return run(middle, target, head.length, to);
}

/** States as bits, 32 to a word; what a character does to them is done to 32 at once. */
type Machine = {
  readonly words: number;
  /** For each character, the states that it leads on from, as pairs: which word, which bits. */
  readonly letters: ReadonlyMap<number, readonly number[]>;
  /** States that stay whatever comes, or whatever comes but a slash. */
  readonly loops: Int32Array;
  readonly deepLoops: Int32Array;
  readonly forks: Int32Array | undefined;
  /** States that accept, and the one from which everything is accepted; below zero if there is none. */
  readonly last: number;
  readonly early: number;
  readonly swallowing: number;
};

function buildMachine(steps: readonly number[], isTree: boolean): Machine {
  const words = (steps.length >> 5) + 1;
  const letters = new Map<number, number[]>();
  const loops = new Int32Array(words);
  const deepLoops = new Int32Array(words);
  const forks = new Int32Array(words);
  for (const [at, step] of steps.entries()) {
    const word = at >> 5;
    if (step === fork) raise(forks, at);
    else if (step === deep) raise(deepLoops, at);
    if (step === star || step === deep) raise(loops, at);
    if (step < 0) continue;
    const pairs = letters.get(step) ?? [];
    if (pairs.at(-2) === word) pairs.push((pairs.pop() ?? 0) | (1 << at));
    else pairs.push(word, 1 << at);
    letters.set(step, pairs);
  }
  const last = steps.length;
  return {
    words,
    letters,
    loops,
    deepLoops,
    forks: steps.includes(fork) ? forks : undefined,
    last,
    early: isTree ? last - 2 : -1,
    swallowing: steps[last - 1] === deep ? last - 1 : -1,
  };
}

function run(machine: Machine, target: string, from: number, to: number): boolean {
  const { words, letters, swallowing } = machine;
  let now = new Int32Array(words);
  let next = new Int32Array(words);
  now[0] = 1;
  settle(machine, now);
  for (let at = from; at < to; at++) {
    if (holds(now, swallowing)) return true;
    const letter = target.charCodeAt(at);
    const loops = letter === slash ? machine.deepLoops : machine.loops;
    let moved = 0;
    for (let word = 0; word < words; word++) {
      const staying = (now[word] ?? 0) & (loops[word] ?? 0);
      next[word] = staying;
      moved |= staying;
    }
    const pairs = letters.get(letter);
    for (let pair = 0; pairs && pair < pairs.length; pair += 2) {
      const word = pairs[pair] ?? 0;
      const going = (now[word] ?? 0) & (pairs[pair + 1] ?? 0);
      moved |= going;
      advance(next, word, going);
    }
    if (moved === 0) return false;
    settle(machine, next);
    [now, next] = [next, now];
  }
  return holds(now, machine.last) || holds(now, machine.early);
}

/** Adds the states that are reached without a character. No loop leads to another one, and none to a fork. */
function settle({ words, loops, forks }: Machine, states: Int32Array): void {
  for (let word = 0; forks && word < words; word++) {
    const forking = (states[word] ?? 0) & (forks[word] ?? 0);
    if (forking === 0) continue;
    advance(states, word, forking);
    states[word] = (states[word] ?? 0) | (forking << 3);
    if (forking >>> 29 !== 0) states[word + 1] = (states[word + 1] ?? 0) | (forking >>> 29);
  }
  for (let word = 0; word < words; word++) {
    advance(states, word, (states[word] ?? 0) & (loops[word] ?? 0));
  }
}

function advance(states: Int32Array, word: number, bits: number): void {
  states[word] = (states[word] ?? 0) | (bits << 1);
  if (bits < 0) states[word + 1] = (states[word + 1] ?? 0) | 1;
}

function raise(states: Int32Array, at: number): void {
  states[at >> 5] = (states[at >> 5] ?? 0) | (1 << at);
}

function holds(states: Int32Array, at: number): boolean {
  return at >= 0 && ((states[at >> 5] ?? 0) & (1 << at)) !== 0;
}

/** Whether all that the child matches is matched by one of the parents or another. */
export function covers(parents: readonly Glob[], child: Glob): boolean {
  return findUncovered(parents, child, { stepsLeft: limits.coverStepsMax }) === undefined;
}

/** What a walk may still cost; one for all that is asked at once. */
export type Effort = { stepsLeft: number };

export type Uncovered = {
  /** Matched by the child and by no parent. Absent if the walk became too long to say. */
  readonly example?: string;
};

/** Nothing if the child is covered. Exact, but for what takes too long: that counts as not covered. */
export function findUncovered(
  parents: readonly Glob[],
  child: Glob,
  effort: Effort,
): Uncovered | undefined {
  if (child.middle === "nothing") {
    const isMatched = parents.some((parent) => matches(parent, child.text));
    return isMatched ? undefined : { example: child.text };
  }
  // All that the child matches begins with its head, so the other parents have no part in it.
  const near = parents.filter(
    ({ head }) => head.startsWith(child.head) || child.head.startsWith(head),
  );
  if (near.some(({ text }) => text === child.text)) return undefined;
  // One is mostly enough, and the walk against one is short where the walk against all explodes.
  const isCoveredBy = (parent: Glob): boolean =>
    child.head.startsWith(parent.head) && walk([parent], child, effort) === undefined;
  if (near.length > 1 && near.some(isCoveredBy)) return undefined;
  return walk(near, child, effort);
}

/** A place in the child, the places in all parents that the same text leads to, and that text. */
type Pair = {
  readonly place: number;
  readonly places: readonly number[];
  readonly text: string;
};

function walk(parents: readonly Glob[], child: Glob, effort: Effort): Uncovered | undefined {
  const union = join(parents);
  const own = join([child]);
  effort.stepsLeft -= union.steps.length + own.steps.length;
  const other = pickOther(union, own);
  const seen = new Set<string>();
  const pairs: Pair[] = [];
  const visit = (reached: readonly number[], places: readonly number[], text: string): void => {
    const key = places.join();
    for (const place of reached) {
      const name = `${place}:${key}`;
      if (!seen.has(name)) pairs.push({ place, places, text });
      seen.add(name);
    }
  };
  visit(enter(own, own.starts), enter(union, union.starts), "");
  // Grows while it is walked.
  for (const { place, places, text } of pairs) {
    if (pairs.length > limits.coverPairsMax || effort.stepsLeft < 0) return {};
    if (places.length === 0) return { example: text + readShortest(own, place) };
    if (own.accepts.has(place) && !places.some((at) => union.accepts.has(at))) {
      return { example: text };
    }
    if (places.some((at) => union.swallows.has(at))) continue;
    for (const letter of lettersFrom(own, place, union, places)) {
      effort.stepsLeft -= places.length + 1;
      const after = text + (letter === otherLetter ? other : String.fromCharCode(letter));
      visit(read(own, [place], letter), read(union, places, letter), after);
    }
  }
  return undefined;
}

/** Several automata side by side. */
type Union = {
  readonly steps: Int32Array;
  readonly starts: readonly number[];
  readonly accepts: ReadonlySet<number>;
  /** From here, everything is accepted. */
  readonly swallows: ReadonlySet<number>;
};

function join(globs: readonly Glob[]): Union {
  const length = globs.reduce((sum, { steps }) => sum + steps.length, 0);
  const steps = new Int32Array(length);
  const starts: number[] = [];
  const accepts = new Set<number>();
  const swallows = new Set<number>();
  let at = 0;
  for (const glob of globs) {
    starts.push(at);
    steps.set(glob.steps, at);
    at += glob.steps.length;
    accepts.add(at - 1);
    if (glob.isTree) accepts.add(at - 3);
    if (steps[at - 2] === deep) swallows.add(at - 2);
  }
  return { steps, starts, accepts, swallows };
}

const otherLetter = -1;

/** Characters after which something differs from what any other one does. */
function lettersFrom(
  own: Union,
  place: number,
  union: Union,
  places: readonly number[],
): ReadonlySet<number> {
  const step = own.steps[place] ?? end;
  const letters = new Set<number>();
  if (step >= 0) return letters.add(step);
  if (step !== star && step !== deep) return letters;
  letters.add(otherLetter).add(slash);
  for (const other of places) {
    const letter = union.steps[other] ?? end;
    if (letter >= 0) letters.add(letter);
  }
  if (step === star) letters.delete(slash);
  return letters;
}

/** Where a character leads, in order and each once. */
function read(union: Union, places: readonly number[], letter: number): readonly number[] {
  const reached: number[] = [];
  for (const place of places) {
    const step = union.steps[place] ?? end;
    if (step === deep || (step === star && letter !== slash)) reached.push(place);
    else if (step >= 0 && step === letter) reached.push(place + 1);
  }
  return enter(union, reached);
}

function enter({ steps }: Union, places: readonly number[]): readonly number[] {
  const entered = new Set<number>();
  const reach = (place: number): void => {
    entered.add(place);
    const step = steps[place] ?? end;
    if (step === star || step === deep || step === fork) reach(place + 1);
    if (step === fork) reach(place + 3);
  };
  for (const place of places) reach(place);
  return [...entered].sort((one, other) => one - other);
}

function readShortest(own: Union, from: number): string {
  const letters: number[] = [];
  let place = from;
  while (!own.accepts.has(place)) {
    const step = own.steps[place] ?? end;
    if (step >= 0) letters.push(step);
    place += step === fork ? 3 : 1;
  }
  return printLetters(letters);
}

/** A character that none of the patterns has. */
function pickOther(union: Union, own: Union): string {
  const taken = new Set([...union.steps, ...own.steps]);
  let letter = "x".charCodeAt(0);
  while (taken.has(letter)) letter++;
  return String.fromCharCode(letter);
}

/**
 * Likeness by shared words: Okapi BM25. A word counts for more the fewer documents have it, and the
 * larger its part in the document. Everything it reckons with is a count of what is there now, so the
 * same cards give the same scores, in whatever order they came and went.
 *
 * An occurrence is one number: the document in the upper 24 bits, how often it has the word in the lower 8.
 */
import type { Card } from "../core/index.ts";
import { limits } from "./limits.ts";
import { Postings } from "./postings.ts";
import type { Scores } from "./scores.ts";
import { backwards } from "./sorted-numbers.ts";
import { synonymsOf } from "./synonyms.ts";
import { wordsOfCard } from "./words.ts";

/** How soon a word's repetition stops to matter, and how much the length of a document does. */
const saturation = 1.2;
const lengthMatters = 0.25;
/** What a synonym is worth beside the word that was asked for. */
const synonymWorth = 0.3;

type Wanted = { readonly word: string; readonly count: number; readonly worth: number };

export class WordIndex {
  readonly #occurrences = new Postings();
  #lengths = new Uint16Array(0);
  #documents = 0;
  #totalLength = 0;

  /** Makes room for documents with smaller numbers than this. */
  reserve(documents: number): void {
    const lengths = new Uint16Array(documents);
    lengths.set(this.#lengths);
    this.#lengths = lengths;
  }

  add(document: number, card: Card): void {
    const words = wordsOfCard(card);
    for (const [word, times] of frequencies(words)) {
      this.#occurrences.add(word, occurrence(document, times));
    }
    this.#lengths[document] = words.length;
    this.#documents += 1;
    this.#totalLength += words.length;
  }

  /** The card is the one that was added. */
  delete(document: number, card: Card): void {
    const words = wordsOfCard(card);
    for (const [word, times] of frequencies(words)) {
      this.#occurrences.delete(word, occurrence(document, times));
    }
    this.#documents -= 1;
    this.#totalLength -= words.length;
  }

  /**
   * Adds to the score of every document that shares a word with the query: what the words that it has are
   * worth, of what all that were asked for are. A document of usual length that has them all gets 1. Each
   * word comes with how much it says by itself.
   */
  score(asked: ReadonlyMap<string, number>, scores: Scores): void {
    let whole = 0;
    for (const [word, weight] of asked) whole += weight * this.#rarity(word);
    if (whole === 0) return;
    let room: number = limits.occurrencesReadMax;
    for (const { word, worth, count } of this.#wanted(asked)) {
      room -= count;
      if (room < 0) return;
      this.#scoreWord(word, worth / whole, scores);
    }
  }

  has(document: number, word: string): boolean {
    return this.#occurrences.hasBetween(word, document * 256, document * 256 + limits.frequencyMax);
  }

  /** The words to look for, the rarest first. */
  #wanted(asked: ReadonlyMap<string, number>): Wanted[] {
    const worths = new Map<string, number>();
    for (const [word, weight] of asked) {
      if (weight === 0) continue;
      const worth = weight * this.#rarity(word);
      worths.set(word, worth);
      for (const synonym of synonymsOf(word)) {
        if (asked.has(synonym)) continue;
        // However rare a synonym is, it does not outweigh what was asked for.
        const less = synonymWorth * Math.min(worth, weight * this.#rarity(synonym));
        worths.set(synonym, Math.max(less, worths.get(synonym) ?? 0));
      }
    }
    return Array.from(worths, ([word, worth]) => ({ word, worth, count: this.#count(word) }))
      .filter(({ count }) => count > 0)
      .sort((one, other) => one.count - other.count);
  }

  #scoreWord(word: string, worth: number, scores: Scores): void {
    const lengths = this.#lengths;
    const fixed = saturation * (1 - lengthMatters);
    const perWord = (saturation * lengthMatters * this.#documents) / this.#totalLength;
    // Backwards, because the newest are likely to be last: they win ties, and those after them lose at once.
    for (const { values, length } of backwards(this.#occurrences.blocks(word))) {
      for (let index = length - 1; index >= 0; index--) {
        const value = values[index] ?? 0;
        const document = value >>> 8;
        const times = value & 0xff;
        const dampening = fixed + perWord * (lengths[document] ?? 0);
        scores.add(document, (worth * times * (saturation + 1)) / (times + dampening));
      }
    }
  }

  #rarity(word: string): number {
    const count = this.#count(word);
    return Math.log(1 + (this.#documents - count + 0.5) / (count + 0.5));
  }

  #count(word: string): number {
    return this.#occurrences.count(word);
  }
}

function frequencies(words: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const word of words) times.set(word, (times.get(word) ?? 0) + 1);
  return times;
}

function occurrence(document: number, times: number): number {
  return document * 256 + Math.min(times, limits.frequencyMax);
}

/**
 * Likeness by meaning: the cosine between what a query and a card say, by the table of word pieces. A card
 * is one vector, made of parts with weights of their own, so that a card with forty tools still is what its
 * description says. Metadata has no part in it: it is found by its words.
 *
 * Reading a card takes some 50 µs, and at opening there may be a hundred thousand of them. So cards wait, and
 * are read when `settle` is called; until then they are like nothing.
 */
import type { Card } from "../../core/index.ts";
import { limits } from "../limits.ts";
import { type Table, table } from "./table.ts";
import { Vectors } from "./vectors.ts";

/** What each part of a card is worth beside name and description together. */
const capabilitiesWorth = 0.3;
const toolsWorth = 0.1;
/** Of more tools than this, each says less about what the agent is for, and so do all together. */
const fewTools = 4;

export class MeaningIndex {
  readonly #table: Table = table();
  readonly #vectors = new Vectors(this.#table.width);
  readonly #nothing = new Float32Array(this.#table.width);
  /** By document, in the order in which they came. */
  readonly #unread = new Map<number, Card>();

  /** Makes room for documents with smaller numbers than this. */
  reserve(documents: number): void {
    this.#vectors.reserve(documents);
  }

  add(document: number, card: Card): void {
    this.#vectors.set(document, this.#nothing);
    this.#unread.set(document, card);
  }

  delete(document: number): void {
    this.#unread.delete(document);
  }

  /** Reads so many of the cards that wait. Answers whether none is left. */
  settle(cards: number): boolean {
    for (const [document, card] of this.#unread.entries().take(cards)) {
      this.#unread.delete(document);
      this.#vectors.set(document, this.#meaningOf(card));
    }
    return this.#unread.size === 0;
  }

  /** Compares with those that are asked about, whoever else is in it. */
  score(query: string): Vectors {
    const asked = new Float32Array(this.#table.width);
    this.#table.addTo(asked, query.slice(0, limits.queryCharactersMax), 1);
    this.#vectors.ask(asked);
    return this.#vectors;
  }

  /** How much a word says, from 0 to 1. */
  weightOf(word: string): number {
    return this.#table.weightOf(word);
  }

  #meaningOf({ name, description, capabilities, tools }: Card): Float32Array {
    const sum = new Float32Array(this.#table.width);
    const add = (text: string, weight: number): void =>
      this.#table.addTo(sum, text.slice(0, limits.meaningCharactersMax), weight);
    add(`${name}. ${description}`, 1);
    add(within(capabilities.map((each) => `${each.name}. ${each.description}`)), capabilitiesWorth);
    const focus = Math.min(1, fewTools / Math.max(tools.length, 1));
    add(within(tools), toolsWorth * focus ** 2);
    return sum;
  }
}

/** Only as many as are read: a list may be endless. */
function within(texts: readonly string[]): string {
  let text = "";
  for (const each of texts) {
    if (text.length >= limits.meaningCharactersMax) break;
    text += `${each}\n`;
  }
  return text;
}

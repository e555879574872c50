/**
 * What a text says, as words that can be compared: lower case, one for each part of a compound
 * (`web_search`, `fetchPages`), without the little words that say nothing, and stemmed.
 */
import type { Card } from "../core/index.ts";
import { limits } from "./limits.ts";
import { stem } from "./stem.ts";

/** Marks belong to the letter before them: without them, words of many scripts would fall apart. */
const wordPattern = /[\p{L}\p{N}\p{M}]+/gu;
/** fetch|Pages, HTTP|Server, v2|Api; but the plural of an acronym (APIs, PDFs) is one word. */
const humps = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})(?!\p{Lu}s(?!\p{Ll}))/u;

const littleWords: ReadonlySet<string> = new Set(
  (
    "a an and are as at be but by can do for from has have how i if in into is its me my of on or our " +
    "so that the their them then there these they this to was we what when which who will with you your"
  ).split(" "),
);

export function wordsOfCard(card: Card): string[] {
  const words: string[] = [];
  for (const word of textOf(card).match(wordPattern) ?? []) {
    if (words.length >= limits.cardWordsMax) break;
    addWord(words, word);
  }
  return words;
}

/** The words of a query as they were asked for, each with what it is compared by. */
export type AskedWords = ReadonlyMap<string, readonly string[]>;

export function askedWords(query: string): AskedWords {
  const asked = new Map<string, readonly string[]>();
  for (const spelled of spelledIn(query)) {
    if (asked.size >= limits.queryWordsMax) break;
    const words: string[] = [];
    addWord(words, spelled);
    if (words.length > 0) asked.set(spelled.slice(0, limits.wordLengthMax), words);
  }
  return asked;
}

function spelledIn(query: string): readonly string[] {
  return query.slice(0, limits.queryCharactersMax).normalize("NFKC").match(wordPattern) ?? [];
}

/** What is long comes last, where it may be cut off: a description must not hide the tools. */
function textOf({ name, tools, capabilities, description, metadata }: Card): string {
  let text = name.slice(0, limits.cardCharactersMax);
  const add = (more: string): boolean => {
    text += `\n${more.slice(0, limits.cardCharactersMax)}`;
    return text.length < limits.cardCharactersMax;
  };
  const isRead =
    tools.every(add) &&
    capabilities.every((capability) => add(capability.name)) &&
    add(description) &&
    capabilities.every((capability) => add(capability.description)) &&
    metadata.every(([, value]) => add(value));
  return (isRead ? text : text.slice(0, limits.cardCharactersMax)).normalize("NFKC");
}

/** `GitHub` is found as github, git and hub: whoever asks writes it in one of these ways. */
function addWord(words: string[], spelled: string): void {
  const word = spelled.slice(0, limits.wordLengthMax);
  const whole = word.toLowerCase();
  if (littleWords.has(whole)) return;
  words.push(stem(whole));
  if (word === whole) return;
  const parts = word.split(humps);
  if (parts.length === 1) return;
  for (const part of parts) {
    const lower = part.toLowerCase();
    if (!littleWords.has(lower)) words.push(stem(lower));
  }
}

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

/** Each once. */
export function wordsOfQuery(query: string): ReadonlySet<string> {
  const words: string[] = [];
  const read = query.slice(0, limits.queryCharactersMax).normalize("NFKC");
  for (const word of read.match(wordPattern) ?? []) addWord(words, word);
  return new Set(new Set(words).values().take(limits.queryWordsMax));
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

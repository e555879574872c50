/**
 * The evaluation set keeps its own rule: a query shares no word with the card it was written from, so
 * that whoever finds the card has understood the query and not compared letters.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stem } from "../../src/views/stem.ts";

type Card = {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly { readonly name: string; readonly description: string }[];
  readonly tools: readonly string[];
};
type Query = { readonly query: string; readonly card: string };

const cards: readonly Card[] = read(join(import.meta.dirname, "cards.json"));
const cardByName = new Map(cards.map((card) => [card.name, card]));

const halves = ["queries-open.json", "queries-sealed.json"].map((name) =>
  join(import.meta.dirname, name),
);

/** Words that hold a sentence together. Whatever could tell one agent from another is not among them. */
const littleWords: ReadonlySet<string> = new Set(
  (
    "a about after all am an and any anyone anything are as at back be been before being but by can " +
    "cannot could did do does don down each every everyone everything for from had has have he her his " +
    "how i if in into is it its itself just many may me might more most much must my neither no nobody " +
    "not of off on once one only or other our out over own really s same should so some somebody " +
    "someone something such t than that the their them themselves then there these they this those to " +
    "too two under until up us was we were what when where whether which while who whom why will with " +
    "without would you your"
  ).split(" "),
);

test("there are 150 cards, each with a name of its own, and each says what it does", () => {
  assert.equal(cards.length, 150);
  assert.equal(cardByName.size, cards.length);
  for (const { name, description, capabilities, tools } of cards) {
    assert.match(name, /^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    assert(description.length >= 20 && description.length <= 200, `${name}: its description`);
    assert(capabilities.length <= 3, `${name}: its capabilities`);
    assert(tools.length >= 1 && tools.length <= 4, `${name}: its tools`);
  }
});

for (const path of halves) {
  const queries: readonly Query[] = read(path);
  const half = path.split("/").at(-1);

  test(`${half}: at least 60 queries, each once, each for a card that exists`, () => {
    assert(queries.length >= 60, `only ${queries.length}`);
    assert.equal(new Set(queries.map(({ query }) => query.toLowerCase())).size, queries.length);
    const strangers = queries.filter(({ card }) => !cardByName.has(card));
    assert.deepEqual(strangers, []);
  });

  test(`${half}: a query has 3 to 14 words and none of its card's`, () => {
    assert.deepEqual(queries.flatMap(problemsOf), []);
  });
}

test("no query is in both halves", () => {
  const all = halves.flatMap((path) => read<readonly Query[]>(path).map(({ query }) => query));
  assert.equal(new Set(all).size, all.length);
});

test("the rule sees through endings, compounds and little words", () => {
  assert(isSameWord("invoicing", "invoices"));
  assert(isSameWord("translation", "translate"));
  assert(isSameWord("mailbox", "mail"));
  assert(!isSameWord("tax", "taxi"));
  assert(!isSameWord("contract", "concert"));
  assert.deepEqual(contentWords("When will fetch_pages be in GitHub?"), [
    "fetch",
    "pages",
    "git",
    "hub",
  ]);
});

function problemsOf({ query, card }: Query): readonly string[] {
  const count = query.split(/\s+/).length;
  const known = cardByName.get(card);
  const told = known ? contentWords(textOf(known)) : [];
  const shared = contentWords(query).flatMap((word) =>
    told.filter((other) => isSameWord(word, other)).map((other) => `${word} (${other})`),
  );
  return [
    ...(count < 3 || count > 14 ? [`${query}: ${count} words`] : []),
    ...(shared.length > 0 ? [`${query} [${card}]: ${[...new Set(shared)].join(", ")}`] : []),
  ];
}

/** Five letters in common count as the same root. That is too strict at times; a query can be reworded. */
function isSameWord(one: string, other: string): boolean {
  if (stem(one) === stem(other)) return true;
  const [short = "", long = ""] = [one, other].sort((a, b) => a.length - b.length);
  if (short.length >= 5) return short.slice(0, 5) === long.slice(0, 5);
  return short.length === 4 && long.length > 5 && long.startsWith(short);
}

function contentWords(text: string): readonly string[] {
  const words = text.replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " ").toLowerCase();
  return (words.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !littleWords.has(word));
}

function textOf({ name, description, capabilities, tools }: Card): string {
  const skills = capabilities.map((capability) => `${capability.name} ${capability.description}`);
  return [name, description, ...skills, ...tools].join(" ");
}

function read<Content>(path: string): Content {
  return JSON.parse(readFileSync(path, "utf8"));
}

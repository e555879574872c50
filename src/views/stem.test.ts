import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { stem } from "./stem.ts";

describe("stem", () => {
  for (const family of [
    "browse browses browsed browsing browser browsers",
    "fetch fetches fetched fetching fetcher",
    "run runs running runner",
    "scrape scrapes scraped scraping scraper scrapers",
    "crawl crawls crawled crawling crawler",
    "query queries queried querying",
    "search searches searched searching",
    "try tries tried trying",
    "apply applies applied applying",
    "plan plans planned planning planner",
    "log logs logged logging logger",
    "write writes writing writer",
    "page pages paged paging",
    "database databases",
    "process processes processed processing processor",
    "class classes",
    "box boxes",
    "cache caches cached caching",
    "analyze analyzes analyzing analyse analysis analyses analyzer",
    "summarize summarizes summarise summarizing summarization summarizer",
    "translate translates translated translating translation translations translator",
    "extract extracts extraction extractor",
    "classify classifies classification classifier classifiers",
    "verify verifies verified verification",
    "execute executes executing execution executor",
    "document documents documented documentation",
    "recommend recommends recommendation recommendations",
    "transform transforms transformation",
    "monitor monitors monitored monitoring",
    "transfer transfers transferred transferring",
    "edit edits editing editor",
    "code codes coded coding coder",
    "embed embeds embedding embeddings embedded",
    "movie movies",
    "api apis",
    "pdf pdfs",
    "engineer engineers engineering",
    "customer customers",
    "letter letters",
    "key keys",
    "see sees seeing",
  ]) {
    it(`brings together ${family}`, () => {
      assert.deepEqual([...new Set(family.split(" ").map(stem))].length, 1, stemsOf(family));
    });
  }

  for (const pair of [
    "customer custom",
    "author auth",
    "factor fact",
    "letter let",
    "engineer engine",
    "string str",
    "feed fe",
    "bring br",
    "status statu",
    "news new",
    "station state",
    "question quest",
    "image imagine",
    "mail male",
    "sql sq",
  ]) {
    it(`keeps apart ${pair}`, () => {
      assert.equal(new Set(pair.split(" ").map(stem)).size, 2, stemsOf(pair));
    });
  }

  it("leaves short words, digits and other scripts as they are", () => {
    for (const word of [
      "",
      "s",
      "is",
      "aws",
      "ing",
      "k8s",
      "gpt4s",
      "größen",
      "договоры",
      "検索",
    ]) {
      assert.equal(stem(word), word);
    }
  });

  it("leaves something of every word, and never more than there was", () => {
    const suffix = fc.constantFrom(
      "",
      "s",
      "es",
      "ies",
      "ing",
      "ed",
      "ied",
      "er",
      "ation",
      "y",
      "e",
    );
    const letters = fc.string({ unit: fc.constantFrom(..."aeioubdgmnprstyz"), maxLength: 8 });
    fc.assert(
      fc.property(letters, suffix, suffix, (start, middle, end) => {
        const word = start + middle + end;
        const root = stem(word);
        assert(root.length >= Math.min(word.length, 2) && root.length <= word.length, root);
      }),
    );
  });
});

function stemsOf(words: string): string {
  return words
    .split(" ")
    .map((word) => `${word}: ${stem(word)}`)
    .join(", ");
}

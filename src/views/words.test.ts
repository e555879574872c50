import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { askedWords } from "./words.ts";

describe("words", () => {
  for (const [text, words] of [
    ["", ""],
    [" \t--__!", ""],
    ["web_search-tool v2.1", "web search tool v2 1"],
    ["fetchPages", "fetchpag fetch pag"],
    ["HTTPServer", "httpserv http serv"],
    ["PostgreSQL", "postgresql postgr sql"],
    ["APIs PDFs LLMs", "api pdf llm"],
    ["k8s gpt4", "k8s gpt4"],
    ["web Web WEB", "web"],
    ["the agent that can browse", "agent brows"],
    ["don't", "don t"],
    ["ﬁle ｓｑｌ", "fil sql"],
    ["हिन्दी अनुवाद", "हिन्दी अनुवाद"],
    ["Größe ÉCOLE", "größe école"],
    ["😀 emoji", "emoji"],
  ] as const) {
    it(`of ${JSON.stringify(text)} are ${JSON.stringify(words)}`, () => {
      assert.equal([...new Set([...askedWords(text).values()].flat())].join(" "), words);
    });
  }
});

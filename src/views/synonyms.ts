/**
 * Words that people use for one another when they look for an agent. A row is a group; a word may be in
 * several. Kept short on purpose: a wrong neighbour is worse than a missing one.
 */
import { stem } from "./stem.ts";

const groups: readonly string[] = [
  "scrape crawl fetch browse",
  "fetch download retrieve",
  "web website internet",
  "search find lookup",
  "sql database query db",
  "postgres postgresql",
  "mail email",
  "image picture photo",
  "video film movie",
  "audio sound voice speech",
  "summarize summary digest",
  "translate localize",
  "write draft compose",
  "code program software",
  "develop development",
  "test qa",
  "bug defect",
  "fix repair patch",
  "review audit inspect",
  "deploy deployment release ship",
  "monitor watch observe",
  "notify alert",
  "chat conversation message",
  "document doc",
  "analyze analytics",
  "chart graph plot",
  "calculate compute math",
  "schedule calendar",
  "invoice bill payment",
  "buy purchase",
  "price cost",
  "customer client",
  "support help assist",
  "delete remove",
  "create generate",
  "login auth authentication",
  "secure security",
  "weather forecast",
  "news headline",
  "map geography location",
  "kubernetes k8s",
  "javascript js",
  "typescript ts",
  "python py",
];

const byStem: ReadonlyMap<string, ReadonlySet<string>> = index();
const none: ReadonlySet<string> = new Set();

/** Takes a stem and gives stems. */
export function synonymsOf(word: string): ReadonlySet<string> {
  return byStem.get(word) ?? none;
}

function index(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const group of groups) {
    const stems = group.split(" ").map(stem);
    for (const word of stems) {
      const others = found.get(word) ?? new Set();
      for (const other of stems) if (other !== word) others.add(other);
      found.set(word, others);
    }
  }
  return found;
}

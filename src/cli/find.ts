/** `tipstaff find`: who can do this? */
import { paint, printable } from "../terminal/index.ts";
import type { FindHit, Found, Input } from "../wire/api/index.ts";
import { type Cell, type Column, printColumns } from "./columns.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { limits } from "./limits.ts";
import { printOne } from "./lists.ts";
import type { Values } from "./table.ts";
import { countOf, grouped } from "./times.ts";
import { numberIn, textsIn } from "./values.ts";

export async function find(values: Values, words: readonly string[]): Promise<number> {
  const query = words.join(" ");
  const tool = textsIn(values, "tool");
  const limit = numberIn(values, "limit") ?? limits.foundDefault;
  const filter = tool ? { tool } : {};
  const found = await call(values, "findAgents", {
    limit,
    ...(query === "" ? {} : { query }),
    ...filter,
  });
  const isCut = found.hits.length >= limit && !values["json"];
  const total = isCut ? await countFindable(values, filter) : found.hits.length;
  printOne(values, found, (shown) => describe(shown, { total, isBlank: query === "" }));
  return found.hits.length === 0 ? exits.no : exits.ok;
}

/** Everybody alive is found, only not equally well. */
async function countFindable(values: Values, filter: Input<"listAgents">): Promise<number> {
  const { total } = await call(values, "listAgents", { ...filter, liveness: ["alive"], limit: 1 });
  return total;
}

type Question = {
  /** How many there are without the limit. */
  readonly total: number;
  /** Nothing was asked, so that all match equally. */
  readonly isBlank: boolean;
};

function describe({ hits, ranking, reason }: Found, { total, isBlank }: Question): string {
  if (hits.length === 0) return "nobody; tipstaff agents lists who is there\n";
  // What the numbers of a model mean is known to the model alone.
  const isJudged = ranking === "table" && !isBlank;
  const match: Column<FindHit> = { title: "MATCH", cell: ({ score }) => matchOf(score), weight: 9 };
  const table = printColumns(hits, [
    ...(isJudged ? [match] : []),
    { title: "AGENT", cell: ({ agent }) => agent.card.name, weight: 10, cellsMin: 10 },
    { title: "ID", cell: ({ agent }) => agent.id.slice(0, 8), weight: 8 },
    {
      title: "STATE",
      cell: ({ agent }) => ({
        text: agent.liveness,
        tone: agent.liveness === "alive" ? "good" : "bad",
      }),
      weight: 7,
    },
    { title: "TOOLS", cell: ({ agent }) => agent.card.tools.join(", "), weight: 5, cellsMin: 8 },
    { title: "WORDS", cell: ({ matched }) => matched.join(" "), weight: 4, cellsMin: 6 },
    { title: "DOES", cell: ({ agent }) => agent.card.description, weight: 6, cellsMin: 16 },
  ]);
  const why = reason === undefined ? "" : ` (${printable(reason)})`;
  const isCut = total > hits.length;
  const count = isCut
    ? `${grouped(hits.length)} of ${grouped(total)}; --limit shows more`
    : countOf(hits.length, "agent");
  const last = `${count} · ranked by ${rankings[ranking]}${why}`;
  return `${table}\n${paint("dim", last)}\n`;
}

function matchOf(score: number): Cell {
  if (score >= limits.strongScoreMin) return { text: "strong", tone: "good" };
  return score >= limits.fairScoreMin ? "fair" : { text: "weak", tone: "dim" };
}

export const rankings: Readonly<Record<Found["ranking"], string>> = {
  table: "the built-in table",
  model: "the model",
};

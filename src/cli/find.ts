/** `tipstaff find`: who can do this? */
import type { Found } from "../wire/api/index.ts";
import { printColumns } from "./columns.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { printOne } from "./lists.ts";
import type { Values } from "./table.ts";
import { paint } from "./terminal.ts";
import { printable } from "./text.ts";
import { countOf } from "./times.ts";
import { numberIn, textsIn } from "./values.ts";

export async function find(values: Values, words: readonly string[]): Promise<number> {
  const query = words.join(" ");
  const tool = textsIn(values, "tool");
  const found = await call(values, "findAgents", {
    limit: numberIn(values, "limit") ?? 10,
    ...(query === "" ? {} : { query }),
    ...(tool ? { tool } : {}),
  });
  printOne(values, found, describe);
  return found.hits.length === 0 ? exits.no : exits.ok;
}

function describe({ hits, ranking, reason }: Found): string {
  if (hits.length === 0) return "nobody; tipstaff agents lists who is there\n";
  const table = printColumns(hits, [
    { title: "SCORE", cell: ({ score }) => score.toFixed(2), weight: 9 },
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
  const last = `${countOf(hits.length, "agent")} · ranked by ${rankings[ranking]}${why}`;
  return `${table}\n${paint("dim", last)}\n`;
}

export const rankings: Readonly<Record<Found["ranking"], string>> = {
  table: "the table that comes along",
  model: "the model",
};

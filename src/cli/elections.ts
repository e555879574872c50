/** `tipstaff elections`: who leads which group. */
import { paint, printable } from "../terminal/index.ts";
import type { Election } from "../wire/api/index.ts";
import { findAgent } from "./agents.ts";
import { type Cell, type Column, printFacts } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { call } from "./daemon.ts";
import { no } from "./failure.ts";
import { collect, printList, printOne } from "./lists.ts";
import type { Values } from "./table.ts";
import { ago, countOf, grouped } from "./times.ts";
import { choiceIn, textIn } from "./values.ts";

export async function listElections(values: Values): Promise<number> {
  const listed = await collect(values, "listElections", {
    sort: choiceIn(values, "sort", ["newest", "group"]) ?? "newest",
  });
  const columns: readonly Column<Election>[] = [
    { title: "GROUP", cell: ({ group }) => group, weight: 10, cellsMin: 12 },
    { title: "LEADER", cell: leaderOf, weight: 9, cellsMin: 10 },
    { title: "ID", cell: ({ leader }) => leader?.slice(0, 8) ?? "", weight: 7 },
    { title: "TERM", cell: ({ term }) => term, weight: 6, align: "right" },
    {
      title: "CANDIDATES",
      cell: ({ candidateCount }) => grouped(candidateCount),
      weight: 5,
      align: "right",
    },
    { title: "CHANGED", cell: (row) => ago(row.changedAtMs, listed.nowMs), weight: 8 },
  ];
  return printList(values, listed, {
    columns,
    noun: ["group", "groups"],
    empty: "no groups: nobody stands for election",
    counts: (rows) => {
      const leaderless = rows.filter(({ leader }) => leader === undefined).length;
      return leaderless === 0 ? [] : [`${leaderless} without a leader`];
    },
  });
}

function leaderOf({ leader, leaderName }: Election): Cell {
  if (leader === undefined) return { text: "nobody", tone: "bad" };
  return leaderName ?? leader;
}

export async function getElection(
  values: Values,
  [group = ""]: readonly string[],
): Promise<number> {
  const election = await call(values, "getElection", { group });
  const { nowMs } = await call(values, "getOverview", {});
  return printOne(values, election, (shown) => describe(shown, nowMs));
}

function describe(election: Election, nowMs: number): string {
  const { candidates, candidateCount, leader } = election;
  const more = candidateCount - candidates.length;
  const facts: (readonly [string, Cell])[] = [
    ["leader", leaderOf(election)],
    ["term", election.term],
    ["changed", ago(election.changedAtMs, nowMs)],
    ...candidates.map(
      ({ agentId, name }) =>
        ["candidate", `${name} (${agentId})${agentId === leader ? ", leads" : ""}`] as const,
    ),
    ...(more > 0 ? [["", `and ${countOf(more, "more", "more")}`] as const] : []),
  ];
  return `${paint("bold", printable(election.group))}\n\n${printFacts(facts)}`;
}

export async function resign(values: Values, [group = ""]: readonly string[]): Promise<number> {
  const named = textIn(values, "agent");
  const before = await call(values, "getElection", { group });
  const agentId = named === undefined ? before.leader : (await findAgent(values, named)).id;
  if (agentId === undefined) throw no(`${printable(group)} has no leader that could stand down`);
  const name = named ?? before.leaderName ?? agentId;
  confirm(values, `Make ${name} stand down in ${group}?`);
  const after = await call(values, "resign", { group, agentId });
  return printOne(values, after, ({ leader, leaderName, term }) => {
    const now = leader === undefined ? "nobody" : printable(leaderName ?? leader);
    return `${printable(group)} is led by ${now} now, term ${term}\n`;
  });
}

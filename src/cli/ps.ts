/** `tipstaff ps`: every agent that is around, those that wait for you first. */
import { jsonOf, paint, print, say, screen } from "../terminal/index.ts";
import type { Sighting } from "../wire/api/index.ts";
import { type Column, printColumns } from "./columns.ts";
import { exits } from "./exits.ts";
import { limits } from "./limits.ts";
import { type Look, lookAround } from "./look-around.ts";
import {
  doingOf,
  isOfInterest,
  knownFrom,
  markOf,
  spentBy,
  summaryOf,
  toneOf,
  whereOf,
} from "./sighting-words.ts";
import type { Values } from "./table.ts";
import { countOf, forHowLong } from "./times.ts";

export async function ps(values: Values): Promise<number> {
  const look = await lookAround(values);
  const shown =
    values["all"] === true
      ? look.agents
      : look.agents.filter((agent) => isOfInterest(agent, look.nowMs));
  if (values["json"] === true) {
    const { agents, untold, nowMs, warnings } = look;
    print(`${jsonOf({ agents: shown, total: agents.length + untold, nowMs, warnings })}\n`);
    return exits.ok;
  }
  print(describeAround(shown, look));
  const broken = look.warnings.filter(({ kind }) => kind !== "id-mismatch").length;
  if (broken > 0) {
    say(`${countOf(broken, "status file")} cannot be read; agent-status list says why\n`);
  }
  return exits.ok;
}

/** Exported for its test: what else runs on a machine is not the test's to say. */
export function describeAround(shown: readonly Sighting[], look: Look): string {
  const { agents, untold, nowMs } = look;
  const hidden = agents.length - shown.length;
  const more = hidden === 0 ? "" : `${hidden} that ended or were lost: --all shows them`;
  if (shown.length === 0) {
    const empty = "no agents; tipstaff install claude-code makes yours tell what they do";
    return `${empty}\n${more === "" ? "" : `${paint("dim", more)}\n`}`;
  }
  const further =
    untold === 0 ? "" : `at least ${untold} more are registered: tipstaff agents lists them`;
  const summary = [summaryOf(shown), more, further].filter((part) => part !== "").join(" · ");
  return `${printColumns(shown, columnsAt(nowMs))}\n${paint("dim", summary)}\n`;
}

function isWide(): boolean {
  return (screen().columns ?? Number.POSITIVE_INFINITY) >= limits.wideColumns;
}

function columnsAt(nowMs: number): readonly Column<Sighting>[] {
  return [
    {
      title: "  STATE",
      cell: ({ state }) => ({ text: `${markOf[state]} ${state}`, tone: toneOf[state] }),
      weight: 10,
    },
    {
      title: "FOR",
      cell: ({ sinceMs }) => (sinceMs === undefined ? "" : forHowLong(nowMs - sinceMs)),
      weight: 9,
    },
    { title: "AGENT", cell: ({ name }) => name, weight: 8, cellsMin: 10 },
    { title: "WHERE", cell: whereOf, weight: 6, cellsMin: 14, cut: "start" },
    { title: "DOING", cell: doingOf, weight: 7, cellsMin: 16 },
    { title: "KNOWN FROM", cell: (agent) => knownFrom(agent, nowMs), weight: 5, cellsMin: 18 },
    { title: "SPENT", cell: spentBy, weight: 2 },
    // Only where nothing else has to give way for it.
    ...(isWide() ? [{ title: "ID", cell: ({ id }: Sighting) => id, weight: 1, cellsMin: 12 }] : []),
  ];
}

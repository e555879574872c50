/** `tipstaff status`: is it running, since when, what is in it. */
import { printable } from "../terminal/index.ts";
import type { Answer, Overview } from "../wire/api/index.ts";
import { type Cell, printFacts } from "./columns.ts";
import { type CallOptions, call } from "./daemon.ts";
import { Failure } from "./failure.ts";
import { rankings } from "./find.ts";
import { printOne } from "./lists.ts";
import { dataDirectoryFrom, printPath } from "./paths.ts";
import type { Values } from "./table.ts";
import { ago, bytesOf, countOf, forHowLong, grouped } from "./times.ts";
import { tokenPath } from "./token.ts";

export async function status(values: Values): Promise<number> {
  // Both at once: one after the other, the second would double the wait.
  const [overview, attention] = await Promise.all([
    askOverview(values),
    values["json"] ? 0 : countAttention(values),
  ]);
  return printOne(values, overview, (shown) => describe(shown, { values, attention }));
}

/** None, if it cannot be told: whether the daemon answers at all is said by the overview. */
async function countAttention(values: Values): Promise<number> {
  try {
    const { total }: Partial<Answer<"getAttention">> = await call(values, "getAttention", {});
    return total ?? 0;
  } catch (error) {
    if (error instanceof Failure) return 0;
    throw error;
  }
}

/** Another program may listen where we ask. What says our version is one of ours. */
export async function askOverview(values: Values, options: CallOptions = {}): Promise<Overview> {
  const overview: Partial<Overview> | null = await call(values, "getOverview", {}, options);
  if (typeof overview?.version !== "string" || typeof overview.counts !== "object") {
    throw new Failure("not_ours", "no daemon answers: what does is another program", [
      "say where the daemon is with --data-dir or --http",
    ]);
  }
  return overview as Overview;
}

function describe(
  overview: Overview,
  { values, attention }: { readonly values: Values; readonly attention: number },
): string {
  const { counts, dataDirectory, retained, nowMs, find } = overview;
  const { agents, tasks } = counts;
  const some = (count: number, name: string): readonly string[] =>
    count === 0 ? [] : [`${grouped(count)} ${name}`];
  const needed: Cell = { text: countOf(attention, "thing"), tone: "warn" };
  const facts: readonly (readonly [string, Cell])[] = [
    ...(attention === 0 ? [] : [["needs you", needed] as const]),
    ["dashboard", overview.httpAddress ? `http://${forPeople(overview.httpAddress)}` : "off"],
    ["gRPC", overview.grpcAddress ? forPeople(overview.grpcAddress) : "off"],
    ["ARCP", overview.arcpAddress ? forPeople(overview.arcpAddress) : "off"],
    [
      "agents",
      [
        `${grouped(agents.alive)} alive`,
        ...some(agents.unreachable, "unreachable"),
        ...some(agents.dead - (agents.left ?? 0), "died"),
      ].join(" · "),
    ],
    ["leases", `${grouped(counts.leases)} held`],
    ["elections", countOf(counts.elections, "group")],
    ["policies", grouped(counts.policies)],
    [
      "tasks",
      [
        `${grouped(tasks.pending)} pending`,
        `${grouped(tasks.claimed)} claimed`,
        ...some(tasks.delayed, "delayed"),
        ...some(tasks.dead, "dead"),
        ...some(tasks.completed, "completed"),
        ...some(tasks.cancelled, "cancelled"),
      ].join(" · "),
    ],
    ["watchers", grouped(counts.watchers)],
    [
      "log",
      [
        `entry ${grouped(overview.sequence)}`,
        bytesOf(retained.bytes),
        `since ${ago(retained.oldestAtMs, nowMs)}`,
        dataDirectory === undefined ? "in memory" : printPath(dataDirectory),
      ].join(" · "),
    ],
    ["find", `by ${rankings[find.ranking]}${find.reason === undefined ? "" : ` (${find.reason})`}`],
    ["token", printPath(tokenPath(dataDirectory ?? dataDirectoryFrom(values)))],
  ];
  const up = forHowLong(nowMs - overview.startedAtMs);
  return `tipstaff ${printable(overview.version)} · up ${up} · process ${overview.pid}\n\n${printFacts(facts)}`;
}

/** As people write it, and as the browser's cookie is for. */
export function forPeople(address: string): string {
  return address.replace(/^(127\.0\.0\.1|\[::1\]):/, "localhost:");
}

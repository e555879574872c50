/** `tipstaff status`: is it running, since when, what is in it. */
import type { Overview } from "../wire/api/index.ts";
import { askDaemon } from "./daemon.ts";
import { exits } from "./exits.ts";
import { printPath } from "./paths.ts";
import type { Values } from "./table.ts";

export async function status(values: Values): Promise<number> {
  let overview: Overview;
  try {
    overview = decodeOverview(await askDaemon("/api/v1/overview", values));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    process.stderr.write(`tipstaff: no daemon answers (${why}); start one with tipstaff up\n`);
    return exits.unreachable;
  }
  process.stdout.write(values["json"] ? printJson(overview) : printForPeople(overview));
  return exits.ok;
}

/** Another program may listen where we ask. What says our version is one of ours. */
function decodeOverview(answer: unknown): Overview {
  const overview = answer as Partial<Overview> | null;
  if (typeof overview?.version === "string" && typeof overview.counts === "object") {
    return overview as Overview;
  }
  throw new Error("what answers is another program");
}

/** The facts without the lists: one stable document. */
function printJson(overview: Overview): string {
  const { version, pid, startedAtMs, sequence, isKept, dataDirectory, grpcAddress, counts } =
    overview;
  const facts = { version, pid, startedAtMs, sequence, isKept, dataDirectory, grpcAddress, counts };
  return `${JSON.stringify(facts)}\n`;
}

function printForPeople(overview: Overview): string {
  const { counts, dataDirectory } = overview;
  const { agents, tasks } = counts;
  const rows = [
    ["agents", `${agents.alive} alive · ${agents.unreachable} unreachable · ${agents.dead} dead`],
    ["leases", `${counts.leases} held`],
    ["elections", `${counts.elections} groups`],
    ["policies", `${counts.policies}`],
    [
      "tasks",
      `${tasks.pending} pending · ${tasks.claimed} claimed · ${tasks.completed} completed · ${tasks.dead} dead`,
    ],
    [
      "log",
      `entry ${overview.sequence} · ${dataDirectory ? printPath(dataDirectory) : "in memory"}`,
    ],
    ["gRPC", overview.grpcAddress ?? "off"],
  ];
  const up = forHowLong(overview.nowMs - overview.startedAtMs);
  const lines = rows.map(([name = "", value = ""]) => `  ${name.padEnd(12)}${value}`);
  return [
    `tipstaff ${overview.version} · up ${up} · process ${overview.pid}`,
    "",
    ...lines,
    "",
  ].join("\n");
}

function forHowLong(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

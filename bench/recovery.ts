import { join } from "node:path";
import { parseArgs } from "node:util";
import { limits } from "../src/plane/index.ts";
import { cycle, openPlane, register } from "./plane.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch, startDaemon } from "./servers.ts";

export const question =
  "How long does the daemon take to start on a log of a million entries, whose last snapshot is 100,000 entries old?";

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      entries: { type: "string", default: "1000000" },
      agents: { type: "string", default: "1000" },
      rounds: { type: "string", default: "5" },
    },
  });
  const entries = readCount(values.entries);
  await using scratch = await openScratch();
  const written = await fill(join(scratch.path, "tipstaff"), {
    entries,
    agents: readCount(values.agents),
    report,
  });

  const startsMs: number[] = [];
  for (let round = 0; round < readCount(values.rounds); round++) {
    const startMs = performance.now();
    await using daemon = await startDaemon(scratch.path);
    startsMs.push(performance.now() - startMs);
    report.say(`  ${daemon.name} accepts connections after ${startsMs.at(-1)?.toFixed(0)} ms`);
  }
  startsMs.sort((one, other) => one - other);
  report.add(`${written.entries.toLocaleString("en-US")} entries`, {
    "since the snapshot": written.sinceSnapshot,
    "best ms": startsMs[0] ?? Number.NaN,
    "median ms": startsMs[Math.floor(startsMs.length / 2)] ?? Number.NaN,
    "worst ms": startsMs.at(-1) ?? Number.NaN,
  });
  report.note(
    "From starting the process to the first accepted connection, which is when it serves.",
  );
}

/** Fills a log through the plane itself, and stops just before the next snapshot would be made. */
async function fill(
  directory: string,
  {
    entries,
    agents,
    report,
  }: { readonly entries: number; readonly agents: number; readonly report: Report },
): Promise<{ readonly entries: number; readonly sinceSnapshot: number }> {
  await using opened = await openPlane(directory);
  const { plane } = opened;
  const ids = await Promise.all(
    Array.from({ length: agents }, (_, number) => register(plane, number)),
  );
  const last = Math.ceil(entries / limits.snapshotEntries) * limits.snapshotEntries - 2 * agents;
  while (plane.lastSequence < last) {
    await Promise.all(ids.slice(0, 500).map((id, number) => cycle(plane, id, `task-${number}`)));
  }
  report.say(`  ${plane.lastSequence} entries written`);
  return {
    entries: plane.lastSequence,
    sinceSnapshot: plane.lastSequence % limits.snapshotEntries,
  };
}

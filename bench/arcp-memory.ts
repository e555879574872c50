/**
 * One job says very much, once to a reader and once to one that stops reading at its start. Ours is looked at for a
 * million events; Python's, which keeps them all, for a tenth of that.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  type Contestant,
  contestants,
  preparePython,
  processorSeconds,
  startArcpServer,
  watchResident,
} from "./arcp-servers.ts";
import { RawSession } from "./load/arcp-client.ts";
import { printNumber, type Report, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question =
  "Does the memory of the ARCP runtime stay the same over a million events, read or not?";

type Steady = {
  readonly launch: { readonly python: string; readonly directory: string };
  readonly count: number;
};

const aims = {
  /** From the middle of the events to their end. */
  growthMB: 30,
  /** What a reader that does not read may cost, above one that does. */
  stalledMB: 100,
} as const;

/** So long a process does next to nothing before we call it still. */
const stillMs = 3_000;
const stillShare = 0.05;

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      events: { type: "string", default: "1000000" },
      only: { type: "string", default: "" },
    },
  });
  const events = readCount(values.events);
  const python = await preparePython();
  await using scratch = await openScratch();
  const launch = { python, directory: scratch.path };
  for (const contestant of contestants) {
    // What Python has in a file it has in memory no less, and it takes minutes.
    if (contestant === "Python, SQLite" || !contestant.startsWith(values.only)) continue;
    const isOurs = contestant.startsWith("ours");
    const count = isOurs ? events : events / 10;
    const read = await readAll(contestant, { launch, count });
    add(report, `${contestant}, read`, { count, samplesMB: read });
    const stalled = await stopReading(contestant, { launch, count });
    add(report, `${contestant}, not read for a while`, { count, samplesMB: stalled });
    if (isOurs) judge(report, contestant, { read, stalled });
  }
  report.note("looked at ten times a second; not read until the runtime has nothing left to do");
  report.note("every event came, in order, also to the reader that had stopped");
}

async function readAll(contestant: Contestant, { launch, count }: Steady): Promise<number[]> {
  await using server = await startArcpServer(contestant, launch);
  using session = await RawSession.open(server.url);
  using resident = watchResident(server.pid);
  await session.ended(await session.submit("burst", { count }));
  if (session.logEvents !== count) throw new Error(`${session.logEvents} of ${count} events came`);
  return [...resident.samplesMB];
}

async function stopReading(contestant: Contestant, { launch, count }: Steady): Promise<number[]> {
  await using server = await startArcpServer(contestant, launch);
  using session = await RawSession.open(server.url);
  using resident = watchResident(server.pid);
  const ended = session.submit("burst", { count }).then((jobId) => session.ended(jobId));
  session.stopReading();
  await untilStill(server.pid);
  session.readOn();
  await ended;
  if (session.logEvents !== count) throw new Error(`${session.logEvents} of ${count} events came`);
  return [...resident.samplesMB];
}

async function untilStill(pid: number): Promise<void> {
  for (;;) {
    const before = processorSeconds(pid);
    await sleep(stillMs);
    if (processorSeconds(pid) - before < (stillMs / 1_000) * stillShare) return;
  }
}

function add(
  report: Report,
  label: string,
  { count, samplesMB }: { readonly count: number; readonly samplesMB: readonly number[] },
): void {
  const series = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(at(samplesMB, share)));
  report.add(label, {
    events: count,
    seconds: samplesMB.length / 10,
    "MB at the most": Math.max(...samplesMB),
    "MB from start to end": series.join(", "),
  });
  report.say(`${label}: ${series.join(", ")} MB`);
}

function judge(
  report: Report,
  contestant: Contestant,
  { read, stalled }: { readonly read: readonly number[]; readonly stalled: readonly number[] },
): void {
  const growth = at(read, 1) - at(read, 0.5);
  const excess = Math.max(...stalled) - Math.max(...read);
  report.note(
    `${growth <= aims.growthMB ? "pass" : "**fail**"}: ${contestant} has ${printNumber(growth)} MB more at the end than in the middle (aim: at most ${aims.growthMB})`,
  );
  report.note(
    `${excess <= aims.stalledMB ? "pass" : "**fail**"}: ${contestant} has ${printNumber(excess)} MB more for a reader that stops than for one that reads (aim: at most ${aims.stalledMB})`,
  );
}

function at(samples: readonly number[], share: number): number {
  return samples[Math.round((samples.length - 1) * share)] ?? Number.NaN;
}

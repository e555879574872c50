/**
 * A watcher was away while a hundred thousand things happened, and comes back with the number of the last
 * entry it saw. What it is sent is read from the log on disk, printed, sent, read and parsed.
 */
import { parseArgs } from "node:util";
import { connect } from "../src/client/index.ts";
import { startDaemon } from "../src/embedded.ts";
import { median } from "./measure.ts";
import { cycle, openPlane, register } from "./plane.ts";
import { printNumber, type Report, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question = "How soon has a watcher that was away caught up with 100,000 entries?";

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      entries: { type: "string", default: "100000" },
      rounds: { type: "string", default: "5" },
    },
  });
  const entries = readCount(values.entries);
  const rounds = readCount(values.rounds);
  await using scratch = await openScratch();
  const dataDirectory = `${scratch.path}/data`;
  const afterSequence = await fill(dataDirectory, entries);
  report.say(`${entries} entries are there`);
  await using daemon = await startDaemon({ dataDirectory });

  await using watcher = await connect({ url: daemon.url, token: daemon.token });
  const tookMs: number[] = [];
  const firstMs: number[] = [];
  const cpuMs: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const before = process.cpuUsage();
    const startedMs = performance.now();
    let expected = afterSequence;
    for await (const { sequence } of watcher.watch({ afterSequence })) {
      expected += 1;
      if (sequence !== expected) throw new Error(`${sequence} came instead of ${expected}`);
      if (expected === afterSequence + 1) firstMs.push(performance.now() - startedMs);
      if (expected === afterSequence + entries) break;
    }
    tookMs.push(performance.now() - startedMs);
    const { user, system } = process.cpuUsage(before);
    cpuMs.push((user + system) / 1_000);
    report.say(`round ${round}: ${printNumber(tookMs.at(-1) ?? 0)} ms`);
  }
  report.add(`${entries.toLocaleString("en-US")} entries`, {
    "first entry ms": median(firstMs),
    "all, median ms": median(tookMs),
    "all, worst ms": Math.max(...tookMs),
    "entries/s": (entries * 1_000) / median(tookMs),
    "watcher CPU µs an entry": (median(cpuMs) * 1_000) / entries,
  });
  report.note(`${rounds} rounds; every sequence is checked: none missing, none twice`);
}

/** Leases that change hands, through the plane itself. Resolves with the entry before the first of them. */
async function fill(directory: string, entries: number): Promise<number> {
  await using opened = await openPlane(directory);
  const { plane } = opened;
  const ids = await Promise.all(
    Array.from({ length: 500 }, (_, number) => register(plane, number)),
  );
  const afterSequence = plane.lastSequence;
  while (plane.lastSequence < afterSequence + entries) {
    await Promise.all(ids.map((id, number) => cycle(plane, id, `task-${number}`)));
  }
  return afterSequence;
}

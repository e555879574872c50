/**
 * Callers acquire and release; every one of their events goes to every watcher. The load generator
 * decodes each event and checks that no watcher misses one or sees one twice.
 */
import { parseArgs } from "node:util";
import { buildLoad, type WatchLoad } from "./load.ts";
import { median, probeFsync } from "./measure.ts";
import { printNumber, type Report, type Row, readCount } from "./report.ts";
import { daemonPath, openScratch, startDaemon } from "./servers.ts";

export const question = "How many events a second reach 50 watchers, and how late?";

/** New connections settle, and the runtime compiles what has become hot. */
const warmUpSeconds = 3;

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { rounds, seconds, watchers, callerCounts, daemon } = readOptions(args);
  const load = await buildLoad();
  await using scratch = await openScratch();
  await using tipstaff = await startDaemon(scratch.path, daemon);
  for (const callers of callerCounts) {
    const label = callers === 1 ? "1 caller" : `${callers} callers`;
    const loads: WatchLoad[] = [];
    for (let round = 1; round <= rounds; round++) {
      const fsync = probeFsync(scratch.path);
      const seen = await load.watch(tipstaff, { watchers, callers, seconds, warmUpSeconds });
      loads.push(seen);
      report.say(
        `${label}, round ${round}: ${printNumber(seen.deliveriesPerSecond)} deliveries/s, p99 ${printNumber(seen.deliveryP99Ms)} ms; fsync p50 ${printNumber(fsync.p50)} ms`,
      );
    }
    report.add(label, rowOf(loads));
  }
  report.note(
    `${watchers} watchers over 8 connections, which the callers share; ${rounds} rounds of ${seconds} s for each row; medians, but for the maximum`,
  );
  report.note(
    "the times are from sending the call to having its event decoded, so the durable write is in them; CPU is for one delivery, with the calls that caused it",
  );
}

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly watchers: number;
  readonly callerCounts: readonly number[];
  readonly daemon: string;
};

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "5" },
      watchers: { type: "string", default: "50" },
      callers: { type: "string", default: "1,4,16,64" },
      daemon: { type: "string", default: daemonPath },
    },
  });
  return {
    rounds: readCount(values.rounds),
    seconds: readCount(values.seconds),
    watchers: readCount(values.watchers),
    callerCounts: values.callers.split(",").map(readCount),
    daemon: values.daemon,
  };
}

function rowOf(loads: readonly WatchLoad[]): Row {
  const middle = (number: (load: WatchLoad) => number) => median(loads.map(number));
  return {
    "events/s": middle((load) => load.eventsPerSecond),
    "deliveries/s": middle((load) => load.deliveriesPerSecond),
    "p50 ms": middle((load) => load.deliveryP50Ms),
    "p99 ms": middle((load) => load.deliveryP99Ms),
    "max ms": Math.max(...loads.map((load) => load.deliveryMaxMs)),
    "server CPU µs": middle((load) => (load.serverCpuSeconds / load.deliveries) * 1e6),
    "generator CPU µs": middle((load) => (load.generatorCpuSeconds / load.deliveries) * 1e6),
  };
}

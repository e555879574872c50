import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { AgentId } from "../src/core/index.ts";
import { type CutBounds, SqliteLog } from "../src/log/index.ts";
import { type Keep, keepTime, Plane, SteadyClock } from "../src/plane/index.ts";
import { probeFsync, spreadOf } from "./measure.ts";
import { cycle, register } from "./plane.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question =
  "What do callers notice while a log of a million entries is cut to its last 100 MB?";

const all: Keep = { ms: 2_592_000_000, bytes: 4_000_000_000 };
const few: Keep = { ms: 2_592_000_000, bytes: 100_000_000 };
const callers = 50;
const seconds = 8;

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      entries: { type: "string", default: "1000000" },
      // One in memory shows what is left when syncing costs nothing.
      directory: { type: "string" },
    },
  });
  await using scratch = await openScratch();
  const directory = values.directory ?? join(scratch.path, "data");
  const disk = probeFsync(scratch.path);
  await fill(directory, readCount(values.entries), report);

  for (const [name, keep, load] of [
    ["under load, nothing to cut", all, "load"],
    ["under load, cut", few, "load"],
    ["idle, cut to its end", few, "idle"],
  ] as const) {
    await using world = await open(directory, keep);
    report.add(name, await world.measure(load));
    report.say(`  ${name}: entries from ${world.plane.retained().oldestSequence} on are left`);
  }
  report.note(
    `fdatasync of 4 KiB before: p50 ${disk.p50.toFixed(2)} ms, p99 ${disk.p99.toFixed(2)} ms.`,
  );
  report.note(
    `${callers} callers in the same process, each acquiring and releasing; commits are timed as callers wait for them, cuts with the look at the snapshots that comes first. A pause is what a timer of 1 ms is late by.`,
  );
}

type World = {
  readonly plane: Plane;
  measure(load: "load" | "idle"): Promise<Readonly<Record<string, number>>>;
} & AsyncDisposable;

async function open(directory: string, keep: Keep): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const log = opened.use(SqliteLog.open(directory));
  const cutsMs: number[] = [];
  let cut = 0;
  const cutLog = log.cut.bind(log);
  log.cut = async (bounds: CutBounds): Promise<boolean> => {
    const before = log.oldestSequence;
    const startMs = performance.now();
    const isDone = await cutLog(bounds);
    if (log.oldestSequence > before) cutsMs.push(performance.now() - startMs);
    cut += log.oldestSequence - before;
    return isDone;
  };
  const commitsMs: number[] = [];
  const clock = new SteadyClock();
  const onFault = (fault: unknown): void => {
    throw fault;
  };
  const onCommit = ({ ms }: { readonly ms: number }): void => {
    commitsMs.push(ms);
  };
  const plane = opened.use(await Plane.open({ log, clock, keep, onFault, onCommit }));
  const stopping = new AbortController();
  const timing = keepTime(plane, clock, stopping.signal);
  opened.defer(async () => {
    stopping.abort();
    await timing;
  });
  const ids = await Promise.all(
    Array.from({ length: callers }, (_, number) => register(plane, number)),
  );
  // Until the older snapshot is verified, nothing is cut.
  const isToBeCut = keep !== all;
  while (isToBeCut && cutsMs.length === 0) await sleep(50);
  const closing = opened.move();
  return {
    plane,
    measure: async (load) => {
      commitsMs.length = 0;
      cutsMs.length = 0;
      cut = 0;
      const first = plane.lastSequence;
      const pauses = monitorEventLoopDelay({ resolution: 1 });
      pauses.enable();
      const startMs = performance.now();
      const isOver = (): boolean =>
        load === "load"
          ? performance.now() - startMs > seconds * 1_000
          : log.size().entriesBytes <= keep.bytes;
      if (load === "load") await Promise.all(ids.map((id) => callUntil(plane, id, isOver)));
      else while (!isOver()) await sleep(100);
      pauses.disable();
      const elapsed = (performance.now() - startMs) / 1_000;
      const commits = spreadOf(commitsMs);
      const cuts = spreadOf(cutsMs);
      return {
        "entries appended/s": (plane.lastSequence - first) / elapsed,
        "entries cut/s": cut / elapsed,
        "commit p50 ms": commits.p50,
        "commit p99 ms": commits.p99,
        "commit max ms": commits.max,
        "cut p50 ms": cuts.p50,
        "cut p99 ms": cuts.p99,
        "cut max ms": cuts.max,
        "pause p99 ms": pauses.percentile(99) / 1e6 - 1,
        "pause max ms": pauses.max / 1e6 - 1,
      };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function callUntil(plane: Plane, id: AgentId, isOver: () => boolean): Promise<void> {
  while (!isOver()) await cycle(plane, id, id);
}

async function fill(directory: string, entries: number, report: Report): Promise<void> {
  await using log = SqliteLog.open(directory);
  const onFault = (fault: unknown): void => {
    throw fault;
  };
  await using plane = await Plane.open({ log, clock: new SteadyClock(), keep: all, onFault });
  const ids = await Promise.all(
    Array.from({ length: 500 }, (_, number) => register(plane, number)),
  );
  while (plane.lastSequence < entries) {
    await Promise.all(ids.map((id, number) => cycle(plane, id, `task-${number}`)));
  }
  report.say(`  ${plane.lastSequence} entries written`);
}

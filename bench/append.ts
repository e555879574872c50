import { join } from "node:path";
import { type Event, printEvent, taskId, token } from "../src/core/index.ts";
import { type Entry, type Log, MemoryLog, SqliteLog } from "../src/log/index.ts";
import { measure, probeFsync } from "./measure.ts";
import { newAgentId } from "./plane.ts";
import type { Report } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question =
  "How many entries a second does the log make durable, by size of the batch?";

export async function run(report: Report): Promise<void> {
  await using scratch = await openScratch();
  const disk = probeFsync(scratch.path);
  for (const size of [1, 10, 100, 1_000]) {
    await using log = SqliteLog.open(join(scratch.path, `batch-${size}`));
    report.add(`sqlite, batches of ${size}`, await appending(log, size));
  }
  await using memory = new MemoryLog();
  report.add("memory, batches of 100", await appending(memory, 100));
  report.note(
    `fdatasync of 4 KiB before: p50 ${disk.p50.toFixed(2)} ms, p99 ${disk.p99.toFixed(2)} ms.`,
  );
  report.note("WAL, synchronous=FULL; each entry with its SHA-256. Times are for one batch.");
}

async function appending(log: Log, size: number): Promise<ReturnType<typeof measure>> {
  const holder = newAgentId();
  const nextBatch = (): Entry[] =>
    Array.from({ length: size }, (_, index) => makeEntry(log.lastSequence + 1 + index, holder));
  const measured = await measure(() => log.append(nextBatch(), log.lastSequence), { seconds: 3 });
  return { ...measured, "per second": measured["per second"] * size };
}

function makeEntry(sequence: number, holder: ReturnType<typeof newAgentId>): Entry {
  const atMs = 1_700_000_000_000 + sequence;
  const lease = {
    taskId: taskId(`task-${sequence % 1_000}`),
    holder,
    token: token(BigInt(atMs) * 1_000n),
    ttlMs: 60_000,
    acquiredAtMs: atMs,
    expiresAtMs: atMs + 60_000,
  };
  const event: Event = { type: "lease.acquired", lease };
  const body = printEvent(event);
  const stream = undefined;
  return { sequence, busSequence: sequence, atMs, actor: "bench", stream, event, body };
}

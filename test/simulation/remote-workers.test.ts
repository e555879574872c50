/**
 * Workers in a storm: connections that are cut, stall or come twice, processes that are killed, a runtime that
 * is stopped or crashes and starts anew on its log. `SIMULATION_SEED=4117` replays one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerStorm } from "./worker-storm.ts";

const one = process.env["SIMULATION_SEED"];
const count = Number(process.env["WORKER_STORMS"] ?? 25);

test("no job of a worker elsewhere is lost or doubled, whatever happens", async (context) => {
  const seen = new Map<string, number>();
  const seeds =
    one === undefined ? Array.from({ length: count }, (_, at) => at + 1) : [Number(one)];
  for (const seed of seeds) {
    await using storm = await WorkerStorm.open(seed);
    try {
      await storm.run(150);
    } catch (cause) {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
    for (const [what, often] of storm.seen) seen.set(what, (seen.get(what) ?? 0) + often);
  }
  context.diagnostic(`seeds 1 to ${seeds.length}`);
  for (const [what, often] of [...seen].sort()) context.diagnostic(`${what}: ${often}`);
  if (one !== undefined) return;
  const wanting = mustHappen.filter((what) => !seen.has(what));
  assert.deepEqual(wanting, [], "a storm in which this never happens proves little");
});

const mustHappen = [
  "cut, and both noticed",
  "cut, and only the worker noticed",
  "cut, and only the runtime noticed",
  "stalled",
  "connected twice",
  "killed a worker",
  "stopped the runtime",
  "crashed the runtime",
  "crashed the runtime with something decided and not kept",
  "away for too long",
  "cancelled",
  "job.orphaned",
  "job.reclaimed",
  "job.offered",
  "ended success",
  "ended error",
  "ended cancelled",
  "went on after the runtime was started anew",
  "ran again",
  "ended with an answer",
  "kept its question when it ran again",
  "question cannot_run_again",
  "question timed_out",
];

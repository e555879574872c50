/**
 * Sessions in a storm: connections that end within a frame, stall, arrive late or are raced for; a runtime that is
 * killed or stopped and opened anew on its log; readers that do not read. `SIMULATION_SEED=4117` replays one,
 * `ARCP_STORMS=500` lets more of them loose.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ArcpStorm } from "./arcp-storm.ts";

const one = process.env["SIMULATION_SEED"];
const count = Number(process.env["ARCP_STORMS"] ?? 6);

test("whoever resumes is told everything once and in order, whatever happens", async (context) => {
  const seen = new Map<string, number>();
  const seeds =
    one === undefined ? Array.from({ length: count }, (_, at) => at + 1) : [Number(one)];
  for (const seed of seeds) {
    await using storm = await ArcpStorm.open(seed);
    try {
      await storm.run(180);
    } catch (cause) {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
    for (const [what, often] of storm.seen) seen.set(what, (seen.get(what) ?? 0) + often);
  }
  context.diagnostic(`seeds ${seeds[0]} to ${seeds.at(-1)}`);
  for (const [what, often] of [...seen].sort()) context.diagnostic(`${what}: ${often}`);
  if (one !== undefined) return;
  const wanting = mustHappen.filter((what) => !seen.has(what));
  assert.deepEqual(wanting, [], "a storm in which this never happens proves little");
});

const mustHappen = [
  "cut, and both noticed",
  "cut, and only the client noticed",
  "cut, and only the runtime noticed",
  "half a frame",
  "stalled",
  "silent for long",
  "stopped reading",
  "killed the runtime",
  "killed it with jobs running",
  "killed it with something decided and not kept",
  "stopped the runtime",
  "resumed",
  "raced for",
  "taken over",
  "told of a gap: RESUME_WINDOW_EXPIRED",
  "asked again with the same key",
  "flood of short words",
  "flood of long words",
  "subscribed",
  "cancelled",
  "ran again",
  "an asker has its answer",
  "answered in a session",
  "not answered in a session: question_closed",
  "answered over HTTP: first",
  "answered over HTTP: question_closed",
  "question timed_out",
  "question cannot_run_again",
  "ended success",
  "ended error",
  "ended cancelled",
];

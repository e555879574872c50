/** The engine that the simulation runs on is held to the same contract as the real ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { entries } from "../testing/entries.ts";
import { Random } from "../testing/random.ts";
import { SimulatedDisk } from "../testing/simulated-disk.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { logContract } from "./contract.ts";

logContract("simulated", async () => {
  const disk = new SimulatedDisk();
  return {
    open: async () => SimulatedLog.open({ disk }),
    async [Symbol.asyncDispose]() {},
  };
});

test("whatever a crash leaves of an append, the log opens to what was promised or to all of it", async () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = new Random(seed);
    const disk = new SimulatedDisk();
    const steps: (() => void)[] = [];
    await SimulatedLog.open({ disk }).append(entries(1, 3), 0);
    const log = SimulatedLog.open({ disk, later: (run) => steps.push(run) });
    const appending = log.append(entries(4, 9), 3);
    const after = random.below(4);
    for (let step = 0; step < after; step++) {
      steps.shift()?.();
      await new Promise(setImmediate);
    }
    disk.crash(random);
    const reopened = SimulatedLog.open({ disk });
    assert([3, 9].includes(reopened.lastSequence), `seed ${seed}: ${reopened.lastSequence}`);
    assert.deepEqual(await reopened.read(0, 99), entries(1, reopened.lastSequence));
    if (after === 3) assert.equal(reopened.lastSequence, 9, "it was synced");
    await reopened.append(entries(reopened.lastSequence + 1, 10), reopened.lastSequence);
    assert.deepEqual(SimulatedLog.open({ disk }).warnings, [], "what was torn is gone for good");
    appending.catch(() => {});
  }
});

test("a damaged snapshot is passed over for the one before", async () => {
  const disk = new SimulatedDisk();
  const log = SimulatedLog.open({ disk });
  await log.append(entries(1, 9), 0);
  const sections = [{ name: "policy", rows: [] }] as const;
  for (const sequence of [3, 5])
    await log.saveSnapshot({ sequence, sections }, new AbortController().signal);
  disk.damage("5.snapshot", new Random(1));
  assert.equal(await log.loadSnapshot(() => {}), 3);
  assert.deepEqual(log.warnings, ["snapshot 5 is damaged and was passed over"]);
});

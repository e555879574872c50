/** The engine that the simulation runs on is held to the same contract as the real ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { entries } from "../testing/entries.ts";
import { Random } from "../testing/random.ts";
import { SimulatedDisk } from "../testing/simulated-disk.ts";
import { SimulatedLog } from "../testing/simulated-log.ts";
import { logContract } from "./contract.ts";

const sections = [{ name: "policy", rows: [] }] as const;

logContract("simulated", { isKept: true }, async () => {
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

test("wherever a crash comes during a cut, the log opens to what was before or after it", async () => {
  const firsts = new Map<number, number>();
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const disk = new SimulatedDisk();
    const before = SimulatedLog.open({ disk });
    await before.append(entries(1, 9), 0);
    for (const sequence of [4, 8]) await before.saveSnapshot({ sequence, sections });
    const steps: (() => void)[] = [];
    const log = SimulatedLog.open({ disk, later: (run) => steps.push(run) });
    const cutting = log.cut({ beforeMs: Number.POSITIVE_INFINITY, bytesMax: 0 });
    cutting.catch(() => {});
    for (let step = random.below(6); step > 0; step--) {
      steps.shift()?.();
      await new Promise(setImmediate);
    }
    disk.crash(random);
    const reopened = SimulatedLog.open({ disk });
    const { oldestSequence } = reopened;
    assert([1, 5].includes(oldestSequence), `seed ${seed}: ${oldestSequence}`);
    assert(oldestSequence >= log.oldestSequence, "a cut that was told of is not taken back");
    assert.deepEqual(await reopened.read(0, 99), entries(oldestSequence, 9));
    firsts.set(oldestSequence, (firsts.get(oldestSequence) ?? 0) + 1);
  }
  assert((firsts.get(1) ?? 0) > 20 && (firsts.get(5) ?? 0) > 20, "both were seen");
});

test("a damaged snapshot is passed over for the one before", async () => {
  const disk = new SimulatedDisk();
  const log = SimulatedLog.open({ disk });
  await log.append(entries(1, 9), 0);
  for (const sequence of [3, 5])
    await log.saveSnapshot({ sequence, sections }, new AbortController().signal);
  disk.damage("5.snapshot", new Random(1));
  assert.equal(await log.loadSnapshot(() => {}), 3);
  assert.deepEqual(log.warnings, ["snapshot 5 is damaged and was passed over"]);
});

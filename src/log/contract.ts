/**
 * What every log engine must do, as one suite. A new engine passes it unchanged; what is special to an
 * engine (locks, damage, a full disk) is tested beside that engine.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { capture, type SectionName, taskId, token } from "../core/index.ts";
import { BareLoop } from "../testing/bare-loop.ts";
import { createTask, register, setPolicy } from "../testing/commands.ts";
import { entries, entryOf, policyChanged } from "../testing/entries.ts";
import type { Entry } from "./entry.ts";
import type { CutBounds, Log } from "./log.ts";

/** Where a log is kept: a directory, a disk, the memory of a process. */
export interface Place extends AsyncDisposable {
  /** Opens the log that is kept here, or a new one. */
  open(): Promise<Log>;
}

const never = new AbortController().signal;

/** Texts that have been the end of many a format. */
const hardTexts = ["\0", "\n", "\r", "\u2028", "\u2029", "𝄞", '"\\', "'; drop table entries; --"];

export type ContractOptions = {
  /**
   * Whether the engine is durable: entries and snapshots are still there after it is closed and opened again. Tests of
   * durability run only if this is true.
   */
  readonly isKept: boolean;
};

export function logContract(
  engine: string,
  { isKept }: ContractOptions,
  makePlace: () => Promise<Place>,
): void {
  const claim = (name: string, run: (place: Place) => Promise<void>): void => {
    test(`${engine}: ${name}`, async () => {
      await using place = await makePlace();
      await run(place);
    });
  };

  const claimIfKept: typeof claim = isKept ? claim : () => {};

  claim("a new log is empty", async (place) => {
    await using log = await place.open();
    assert.equal(log.isKept, isKept);
    assert.deepEqual(
      [log.oldestSequence, log.oldestAtMs, log.lastSequence, log.lastAtMs, log.warnings],
      [1, 0, 0, 0, []],
    );
    assert.deepEqual(await log.read(0, 10), []);
    assert.equal(await log.loadSnapshot(noRow), 0);
  });

  claim("a log has an id of its own, and keeps it as long as it keeps anything", async (place) => {
    await using elsewhere = await makePlace();
    await using other = await elsewhere.open();
    const log = await place.open();
    assert.match(log.id, /^\S{8,}$/);
    assert.notEqual(log.id, other.id);
    await log[Symbol.asyncDispose]();
    await using again = await place.open();
    if (isKept) assert.equal(again.id, log.id);
    else assert.notEqual(again.id, log.id);
  });

  claim("what is appended is read again, in order and unchanged", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 3), 0);
    await log.append(entries(4, 4), 3);
    await log.append(entries(5, 9), 4);
    assert.deepEqual(await log.read(0, 100), entries(1, 9));
    assert.equal(log.lastSequence, 9);
    assert.equal(log.oldestSequence, 1);
    assert.equal(log.lastAtMs, entries(9, 9)[0]?.atMs);
  });

  claim(
    "an append that expects another last entry is refused, and leaves nothing",
    async (place) => {
      await using log = await place.open();
      await log.append(entries(1, 3), 0);
      for (const expected of [0, 2, 4]) {
        await assert.rejects(log.append(entries(expected + 1, expected + 2), expected), {
          code: "conflict",
        });
      }
      assert.deepEqual(await log.read(0, 100), entries(1, 3));
      assert.equal(log.lastSequence, 3);
      await log.append(entries(4, 4), 3);
      assert.deepEqual(await log.read(0, 100), entries(1, 4));
    },
  );

  claim("of an append that is under way, all or nothing is seen", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 2), 0);
    const appending = log.append(entries(3, 500), 2);
    const seen = await log.read(0, 1_000);
    assert([2, 500].includes(seen.length), `${seen.length} were seen`);
    await appending;
    assert.equal((await log.read(0, 1_000)).length, 500);
  });

  claim("an append of nothing changes nothing", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 2), 0);
    await log.append([], 2);
    assert.equal(log.lastSequence, 2);
    assert.equal(log.lastAtMs, entries(2, 2)[0]?.atMs);
    assert.deepEqual(await log.read(0, 10), entries(1, 2));
  });

  claim("a read begins after the given entry and ends at its limit", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 10), 0);
    assert.deepEqual(await log.read(0, 3), entries(1, 3));
    assert.deepEqual(await log.read(3, 3), entries(4, 6));
    assert.deepEqual(await log.read(9, 3), entries(10, 10));
    assert.deepEqual(await log.read(0, 0), []);
    assert.deepEqual(await log.read(10, 3), []);
    assert.deepEqual(await log.read(99, 3), []);
  });

  claim("a stream is read apart from all others, in pages", async (place) => {
    await using log = await place.open();
    const [one, other] = [{ stream: "job/1" }, { stream: "job/2" }];
    const whole = [
      ...entries(1, 3, one),
      ...entries(4, 5),
      ...entries(6, 7, other),
      ...entries(8, 9, one),
    ];
    await log.append(whole, 0);
    const its = whole.filter(({ stream }) => stream === "job/1");
    assert.deepEqual(await log.readStream("job/1", 0, 100), its);
    assert.deepEqual(await log.readStream("job/1", 0, 2), its.slice(0, 2));
    assert.deepEqual(await log.readStream("job/1", 2, 2), its.slice(2, 4));
    assert.deepEqual(await log.readStream("job/1", 9, 2), []);
    assert.deepEqual(await log.readStream("job/3", 0, 2), []);
    const back = its.toReversed();
    assert.deepEqual(await log.readStreamBack("job/1", 10, 100), back);
    assert.deepEqual(await log.readStreamBack("job/1", 99, 2), back.slice(0, 2));
    assert.deepEqual(await log.readStreamBack("job/1", 8, 2), back.slice(2, 4));
    assert.deepEqual(await log.readStreamBack("job/1", 1, 2), []);
    assert.deepEqual(await log.readStreamBack("job/3", 10, 2), []);
    assert.deepEqual(await log.read(0, 100), whole);
    await log[Symbol.asyncDispose]();
    await using again = await place.open();
    if (isKept) assert.deepEqual(await again.readStream("job/2", 0, 9), entries(6, 7, other));
  });

  claim(
    "of long entries of a stream a read gives at least one, and none out of turn",
    async (place) => {
      await using log = await place.open();
      const long = { stream: "job/1", text: "x".repeat(200_000) };
      await log.append(entries(1, 9, long), 0);
      const first = await log.readStream("job/1", 0, 9);
      assert(first.length >= 1);
      assert.deepEqual(first, entries(1, first.length, long));
      const last = await log.readStreamBack("job/1", 10, 9);
      assert(last.length >= 1);
      assert.deepEqual(last, entries(10 - last.length, 9, long).toReversed());
    },
  );

  claim("a long log is read in pages without a gap", async (place) => {
    await using log = await place.open();
    for (let last = 0; last < 2_500; last += 500) {
      await log.append(entries(last + 1, last + 500), last);
    }
    const seen: number[] = [];
    for (
      let page = await log.read(0, 700);
      page.length > 0;
      page = await log.read(seen.length, 700)
    ) {
      for (const { sequence } of page) seen.push(sequence);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 2_500 }, (_, at) => at + 1),
    );
  });

  claim("any text, any token and a large body survive", async (place) => {
    const lease = {
      taskId: taskId("t"),
      holder: hardTexts.join(),
      token: token(2n ** 64n - 1n),
      ttlMs: 4_294_967_295_000,
      acquiredAtMs: 0,
      expiresAtMs: 4_294_967_295_000,
    } as never;
    const written: readonly Entry[] = [
      ...hardTexts.map((text, at) => entryOf(at + 1, policyChanged(text), { actor: text })),
      entryOf(hardTexts.length + 1, { type: "lease.acquired", lease }, { actor: "" }),
      ...entries(hardTexts.length + 2, hardTexts.length + 2, { text: "x".repeat(3_000_000) }),
    ];
    await using log = await place.open();
    await log.append(written, 0);
    assert.deepEqual(await log.read(0, 100), written);
    await log[Symbol.asyncDispose]();
    await using again = await place.open();
    assert.deepEqual(await again.read(0, 100), isKept ? written : []);
  });

  claim("disposing twice is fine", async (place) => {
    const log = await place.open();
    await log.append(entries(1, 1), 0);
    await log[Symbol.asyncDispose]();
    await log[Symbol.asyncDispose]();
  });

  claimIfKept(
    "a log that is kept is the same when it is opened again, and goes on",
    async (place) => {
      {
        await using log = await place.open();
        await log.append(entries(1, 5), 0);
        await log.append(entries(6, 7), 5);
      }
      {
        await using log = await place.open();
        assert.deepEqual(log.warnings, []);
        assert.deepEqual([log.oldestSequence, log.lastSequence], [1, 7]);
        assert.equal(log.lastAtMs, entries(7, 7)[0]?.atMs);
        await assert.rejects(log.append(entries(6, 6), 5), { code: "conflict" });
        await log.append(entries(8, 9), 7);
      }
      await using log = await place.open();
      assert.deepEqual(await log.read(0, 100), entries(1, 9));
    },
  );

  claimIfKept("a log that is kept keeps snapshots, and gives the newest", async (place) => {
    {
      await using log = await place.open();
      await log.append(entries(1, 9), 0);
      for (const sequence of [3, 5, 7]) {
        await log.saveSnapshot({ sequence, sections: stateOf(`policy-${sequence}`) }, never);
      }
      assert.deepEqual(await load(log), { sequence: 7, rows: rowsOf(stateOf("policy-7")) });
    }
    await using log = await place.open();
    assert.deepEqual(await load(log), { sequence: 7, rows: rowsOf(stateOf("policy-7")) });
    assert.deepEqual(log.warnings, []);
  });

  claimIfKept("a snapshot that is given up leaves those that were kept", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 9), 0);
    for (const sequence of [3, 5]) {
      await log.saveSnapshot({ sequence, sections: stateOf(`policy-${sequence}`) }, never);
    }
    const reason = new Error("the plane closes");
    const sections = stateOf("policy-9");
    await assert.rejects(
      log.saveSnapshot({ sequence: 9, sections }, AbortSignal.abort(reason)),
      reason,
    );
    assert.deepEqual(await load(log), { sequence: 5, rows: rowsOf(stateOf("policy-5")) });
    await log.saveSnapshot({ sequence: 9, sections }, never);
    assert.deepEqual(await load(log), { sequence: 9, rows: rowsOf(sections) });
  });

  claim("without a snapshot nothing is cut", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 20), 0);
    assert.equal(await log.cut(everything), true);
    assert.equal(log.oldestSequence, 1);
  });

  claimIfKept("what comes after the older of two snapshots is never cut", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 20), 0);
    await log.saveSnapshot({ sequence: 8, sections: stateOf("a") }, never);
    assert.equal(await log.cut(everything), true);
    assert.equal(log.oldestSequence, 1, "should the one be damaged, all entries are needed");
    await log.saveSnapshot({ sequence: 15, sections: stateOf("b") }, never);
    await cutAll(log, everything);
    assert.deepEqual([log.oldestSequence, log.lastSequence], [9, 20]);
    await log.saveSnapshot({ sequence: 20, sections: stateOf("c") }, never);
    await cutAll(log, everything);
    assert.deepEqual([log.oldestSequence, log.lastSequence], [16, 20]);
    assert.equal(log.oldestAtMs, entries(16, 16)[0]?.atMs);
  });

  claimIfKept("a cut log reads from its first entry on, goes on, and stays cut", async (place) => {
    {
      await using log = await place.open();
      await log.append(entries(1, 20), 0);
      for (const sequence of [8, 15]) {
        await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
      }
      await cutAll(log, everything);
      for (const after of [0, 3, 8]) assert.deepEqual(await log.read(after, 99), entries(9, 20));
      assert.deepEqual(await log.read(0, 2), entries(9, 10));
      assert.deepEqual(await log.read(9, 2), entries(10, 11));
      await log.append(entries(21, 22), 20);
    }
    await using log = await place.open();
    assert.deepEqual(log.warnings, []);
    assert.deepEqual([log.oldestSequence, log.lastSequence], [9, 22]);
    assert.equal(log.oldestAtMs, entries(9, 9)[0]?.atMs);
    assert.deepEqual(await log.read(0, 99), entries(9, 22));
    assert.equal((await load(log)).sequence, 15);
    await log.append(entries(23, 23), 22);
    assert.deepEqual(await log.read(21, 99), entries(22, 23));
  });

  claimIfKept("entries from before a time are cut, and no others", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 3_000), 0);
    assert.equal(log.oldestAtMs, entries(1, 1)[0]?.atMs);
    for (const sequence of [2_900, 3_000]) {
      await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
    }
    for (const first of [1, 2, 7, 1_512]) {
      await cutAll(log, { beforeMs: atMs(first), bytesMax: Number.POSITIVE_INFINITY });
      assert.deepEqual([log.oldestSequence, log.oldestAtMs], [first, atMs(first)]);
    }
    await cutAll(log, { beforeMs: atMs(3), bytesMax: Number.POSITIVE_INFINITY });
    assert.equal(log.oldestSequence, 1_512);
  });

  claimIfKept("what somebody may ask for goes for its size, not for its age", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 300), 0);
    for (const sequence of [290, 300]) {
      await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
    }
    const old = { beforeMs: atMs(200), bytesMax: Number.POSITIVE_INFINITY };
    await cutAll(log, { ...old, neededSequence: 150 });
    assert.equal(log.oldestSequence, 150);
    assert.equal(await log.cut({ ...old, neededSequence: 150 }), true, "that was all for now");
    await cutAll(log, { ...old, neededSequence: 250 });
    assert.equal(log.oldestSequence, 200);
    await cutAll(log, { ...everything, neededSequence: 1 });
    assert.equal(log.oldestSequence, 291);
  });

  claimIfKept("of a log that is too large, no more is cut than must be", async (place) => {
    await using log = await place.open();
    await log.append(entries(1, 3_000, { text: "x".repeat(500) }), 0);
    for (const sequence of [2_900, 3_000]) {
      await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
    }
    const before = log.size();
    assert(before.diskBytes >= before.entriesBytes && before.entriesBytes > 1_500_000);
    const bytesMax = before.entriesBytes / 2;
    await cutAll(log, { beforeMs: 0, bytesMax: before.entriesBytes });
    assert.equal(log.oldestSequence, 1);
    await cutAll(log, { beforeMs: 0, bytesMax });
    const { entriesBytes } = log.size();
    assert(entriesBytes <= bytesMax && entriesBytes > bytesMax * 0.9, `${entriesBytes}`);
    assert(log.oldestSequence > 1_300 && log.oldestSequence < 1_700, `${log.oldestSequence}`);
    assert.deepEqual(await log.read(2_998, 9), entries(2_999, 3_000, { text: "x".repeat(500) }));
  });

  claimIfKept(
    "a cut takes no more than a slice at a time, and tells when it is done",
    async (place) => {
      await using log = await place.open();
      await log.append(entries(1, 5_000), 0);
      for (const sequence of [4_500, 5_000]) {
        await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
      }
      let cuts = 0;
      for (let before = 1; !(await log.cut(everything)); before = log.oldestSequence) {
        assert(log.oldestSequence > before, "there is progress");
        assert(log.oldestSequence - before <= 1_000, "and not too much of it");
        // Other work runs in between.
        await log.append(entries(log.lastSequence + 1, log.lastSequence + 1), log.lastSequence);
        cuts += 1;
      }
      assert(cuts >= 4);
      assert.equal(log.oldestSequence, 4_501);
      const { lastSequence } = log;
      assert.deepEqual(await log.read(0, 9_999), entries(4_501, lastSequence));
    },
  );

  for (const text of hardTexts) {
    claimIfKept(`a snapshot with ${JSON.stringify(text)} in it is intact`, async (place) => {
      await using log = await place.open();
      await log.append(entries(1, 3), 0);
      const sections = stateOf(`policy ${text} changed`);
      await log.saveSnapshot({ sequence: 3, sections }, never);
      assert.deepEqual(await load(log), { sequence: 3, rows: rowsOf(sections) });
      assert.deepEqual(log.warnings, []);
    });
  }
}

/** As much as may go. */
const everything: CutBounds = { beforeMs: Number.POSITIVE_INFINITY, bytesMax: 0 };

async function cutAll(log: Log, bounds: CutBounds): Promise<void> {
  while (!(await log.cut(bounds)));
}

function atMs(sequence: number): number {
  return entries(sequence, sequence)[0]?.atMs ?? 0;
}

function noRow(): void {
  assert.fail("there is no snapshot");
}

type Sections = ReturnType<typeof capture>;

/** A state with something in several sections. */
function stateOf(text: string): Sections {
  const loop = new BareLoop();
  loop.accept(register(text));
  loop.accept(createTask(text, { input: text }));
  loop.accept(setPolicy(text, "deny", "a b c"));
  return capture(loop.state);
}

async function load(log: Log): Promise<{ sequence: number; rows: readonly string[] }> {
  const rows: string[] = [];
  const add = (name: SectionName, row: string): void => {
    rows.push(`${name} ${row}`);
  };
  const sequence = await log.loadSnapshot(add);
  return { sequence, rows };
}

/** Printed by hand: what `printRow` makes of a row without big numbers. */
function rowsOf(sections: Sections): readonly string[] {
  return sections.flatMap(({ name, rows }) =>
    rows.map((row) => {
      const json = JSON.stringify(row, (_, value) =>
        typeof value === "bigint" ? String(value) : value,
      );
      return `${name} ${json}`;
    }),
  );
}

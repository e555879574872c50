import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { capture } from "../core/index.ts";
import { BareLoop } from "../testing/bare-loop.ts";
import { Child } from "../testing/child.ts";
import { setPolicy } from "../testing/commands.ts";
import { entries } from "../testing/entries.ts";
import { Random } from "../testing/random.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { acceptLoss } from "./accept-loss.ts";
import { logContract } from "./contract.ts";
import { type Entry, type Sealed, seal } from "./entry.ts";
import { limits } from "./limits.ts";
import type { CutBounds, Log } from "./log.ts";
import { LogReader } from "./reader.ts";
import { SqliteLog } from "./sqlite.ts";
import { verifyLog } from "./verify.ts";

const never = new AbortController().signal;
const walHeaderBytes = 32;
/** Where the header of the database has the number of pages. */
const pageCountAt = 28;

logContract("sqlite", { isKept: true }, async () => {
  const directory = await temporaryDirectory();
  return {
    open: async () => SqliteLog.open(directory.path),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
});

test("the directory is made if it is missing, for nobody but its owner", async () => {
  await using place = await temporaryDirectory();
  const path = join(place.path, "a", "b");
  await using _log = SqliteLog.open(path);
  assert.equal((await stat(path)).mode & 0o077, 0);
});

test("a directory that cannot be made is unusable", async () => {
  await using place = await temporaryDirectory();
  const path = join(place.path, "file");
  await writeFile(path, "");
  assert.throws(() => SqliteLog.open(join(path, "log")), { code: "unusable" });
});

test("a second daemon is refused the directory, and gets it when the first has closed", async () => {
  await using place = await temporaryDirectory();
  {
    await using first = SqliteLog.open(place.path);
    assert.throws(() => SqliteLog.open(place.path), { code: "in_use" });
    await first.append(entries(1, 1), 0);
    assert.throws(() => SqliteLog.open(place.path), { code: "in_use" });
    await using child = new Child(opening(place.path));
    assert.equal(await child.line(), "in_use");
  }
  await using second = SqliteLog.open(place.path);
  assert.equal(second.lastSequence, 1);
});

test("a daemon that was killed lets go of the directory, and lost nothing that it acknowledged", async () => {
  await using place = await temporaryDirectory();
  const program = `${opening(place.path)}
    let last = 0;
    for (;;) {
      await log.append(entries(last + 1, last + 3), last);
      last += 3;
      console.log(last);
    }`;
  await using child = new Child(program);
  assert.equal(await child.line(), "opened");
  assert.throws(() => SqliteLog.open(place.path), { code: "in_use" });
  let acknowledged = 0;
  while (acknowledged < 60) acknowledged = Number(await child.line());
  await child.kill();
  await using log = SqliteLog.open(place.path);
  assert(log.lastSequence >= acknowledged);
  assert.equal(log.lastSequence % 3, 0, "an append is there as a whole or not at all");
  assert.deepEqual(await log.read(0, log.lastSequence), entries(1, log.lastSequence));
});

test("a lock file that is no lock is not mistaken for another daemon", async () => {
  await using place = await temporaryDirectory();
  writeFileSync(join(place.path, "lock.db"), "not a database".repeat(500));
  assert.throws(() => SqliteLog.open(place.path), { code: "unusable" });
});

test("a log of a later release is refused, and is as it was for that release", async () => {
  await using place = await written(5);
  edit(place.path, "pragma user_version = 99");
  assert.throws(() => SqliteLog.open(place.path), { code: "too_new", message: /format 99/ });
  edit(place.path, "pragma user_version = 1");
  await using log = SqliteLog.open(place.path);
  assert.equal(log.lastSequence, 5);
});

const noProc = existsSync("/proc/self/fd") ? false : "there is no /proc here";

test("a log that is refused leaves no file open", { skip: noProc }, async () => {
  await using place = await written(5);
  edit(place.path, "pragma user_version = 99");
  assert.throws(() => SqliteLog.open(place.path), { code: "too_new" });
  assert.deepEqual(openFiles(place.path), []);
});

test("an entry of a later release is refused by name", async () => {
  await using place = await written(5);
  reseal(place.path, 3, (entry) => ({ ...entry, type: "agent.promoted" }));
  reseal(place.path, 4, (entry) => entry);
  reseal(place.path, 5, (entry) => entry);
  await rm(join(place.path, "durable.mark"));
  await using log = SqliteLog.open(place.path);
  await assert.rejects(log.read(0, 10), { code: "too_new", message: /entry 3 \(agent.promoted\)/ });
});

const damages: Readonly<Record<string, { readonly sql: string; readonly found: number }>> = {
  "another body": { sql: "update entries set body = '{}' where sequence = 5", found: 5 },
  "one letter": {
    sql: "update entries set body = replace(body, 'entry 5', 'entry 6') where sequence = 5",
    found: 5,
  },
  "another checksum": {
    sql: "update entries set checksum = replace(checksum, substr(checksum, 1, 1), 'x') where sequence = 5",
    found: 5,
  },
  "another time": { sql: "update entries set atMs = atMs + 1 where sequence = 5", found: 5 },
  "an impossible time": {
    sql: "update entries set atMs = 9223372036854775807 where sequence = 5",
    found: 5,
  },
  "another actor": { sql: "update entries set actor = 'mallory' where sequence = 5", found: 5 },
  "another type": {
    sql: "update entries set type = 'policy.deleted' where sequence = 5",
    found: 5,
  },
  "another place on the bus": { sql: "update entries set bus = 0 where sequence = 5", found: 5 },
  "a missing entry": { sql: "delete from entries where sequence = 5", found: 5 },
  "two entries in each other's place": {
    sql: `update entries set sequence = -4 where sequence = 4;
          update entries set sequence = 4 where sequence = 5;
          update entries set sequence = 5 where sequence = -4`,
    found: 4,
  },
};

for (const [damage, { sql, found }] of Object.entries(damages)) {
  test(`${damage} in the middle of history is found, and named`, async () => {
    await using place = await written(10);
    edit(place.path, sql);
    await using log = SqliteLog.open(place.path);
    await assert.rejects(log.read(0, 100), {
      code: "damaged",
      message: new RegExp(`entry ${found} of the log is damaged`),
    });
    assert.deepEqual(
      await log.read(0, found - 1),
      entries(1, found - 1),
      "what is before it reads",
    );
    await assert.rejects(log.read(found - 1, 1), { code: "damaged" });
  });
}

test("history that was rewritten with a checksum of its own does not fit what follows", async () => {
  await using place = await written(10);
  reseal(place.path, 5, (entry) => ({ ...entry, actor: "mallory" }));
  await using log = SqliteLog.open(place.path);
  await assert.rejects(log.read(0, 100), { code: "damaged", message: /entry 6/ });
});

test("history that was rewritten shows also where one page of reading ends", async () => {
  await using place = await written(10);
  reseal(place.path, 5, (entry) => ({ ...entry, actor: "mallory" }));
  await using log = SqliteLog.open(place.path);
  await assert.rejects(
    async () => {
      await log.read(0, 5);
      await log.read(5, 5);
    },
    { code: "damaged", message: /entry 6/ },
  );
});

test("pages of the file that come out as garbage are told as damage", async () => {
  await using place = await temporaryDirectory();
  {
    await using log = SqliteLog.open(place.path);
    await log.append(entries(1, 200, { text: "x".repeat(2_000) }), 0);
  }
  const path = join(place.path, "log.db");
  const bytes = readFileSync(path);
  const middle = (bytes.length >> 1) - ((bytes.length >> 1) % 4_096);
  bytes.fill(0xff, middle, middle + 4_096);
  writeFileSync(path, bytes);
  await assert.rejects(
    async () => {
      await using log = SqliteLog.open(place.path);
      await log.read(0, 1_000);
    },
    { name: "LogError", code: "damaged" },
  );
});

test("a last entry that does not read back is refused, with a mark or without", async () => {
  await using place = await written(10);
  edit(place.path, "update entries set body = 'torn' where sequence = 10");
  const refused = {
    code: "damaged",
    message: /log\.db is damaged: entry 10, the last one\. Nothing/,
  };
  assert.throws(() => SqliteLog.open(place.path), refused);
  await rm(join(place.path, "durable.mark"));
  assert.throws(() => SqliteLog.open(place.path), refused);
});

test("a log that ends before the mark is refused, and is as it was", async () => {
  await using place = await written(10);
  edit(place.path, "delete from entries where sequence > 7");
  const before = readFileSync(join(place.path, "log.db"));
  assert.throws(() => SqliteLog.open(place.path), {
    code: "damaged",
    message: /entries 8 to 10 were acknowledged and are missing\. Nothing was changed/,
  });
  assert.deepEqual(readFileSync(join(place.path, "log.db")), before);
});

const emptied: Readonly<Record<string, (path: string) => Promise<void>>> = {
  missing: (path) => rm(path),
  empty: (path) => writeFile(path, ""),
  // SQLite takes a file of one byte for an empty one.
  "of one byte": (path) => writeFile(path, "S"),
};

for (const [state, spoil] of Object.entries(emptied)) {
  test(`a database that is ${state} is not taken for a new log, and its write-ahead log is never deleted`, async () => {
    await using place = await temporaryDirectory();
    const source = join(place.path, "source");
    const copy = join(place.path, "copy");
    await using log = SqliteLog.open(source);
    await log.append(entries(1, 20), 0);
    execFileSync("cp", ["-r", source, copy]);
    await spoil(join(copy, "log.db"));
    const wal = readFileSync(join(copy, "log.db-wal"));

    const refused = { code: "damaged", message: /log\.db is missing or empty/ };
    assert.throws(() => SqliteLog.open(copy), refused);
    const { problems } = await verifyLog(copy, () => {});
    assert.match(
      problems.join(),
      /^\S+log\.db is missing or empty, but a log was in this directory$/,
    );
    assert.throws(() => LogReader.open(copy), { code: "unusable" });
    await assert.rejects(acceptLoss(copy, 0), refused);
    assert.deepEqual(readFileSync(join(copy, "log.db-wal")), wal, "it has the only copies");

    // As docs/damage.md says: what was never copied to the database can be read from the write-ahead log.
    await writeFile(join(copy, "log.db"), Buffer.alloc(4_096));
    await using rescued = SqliteLog.open(copy);
    await rescued.checkHistory(20);
    assert.deepEqual(await rescued.read(0, 99), entries(1, 20));
  });
}

test("where snapshots are, a missing database is not taken for a new log, also without a mark", async () => {
  await using place = await cutAt(10, { of: 20 });
  await rm(join(place.path, "durable.mark"));
  await rm(join(place.path, "log.db"));
  const refused = { code: "damaged", message: /log\.db is missing or empty/ };
  assert.throws(() => SqliteLog.open(place.path), refused);
  assert(!existsSync(join(place.path, "log.db")), "nothing was changed");
});

test("a log that was put in the place of another is refused", async () => {
  await using place = await written(10);
  await using other = await written(10);
  await rename(join(other.path, "log.db"), join(place.path, "log.db"));
  const refused = { code: "damaged", message: /log\.db .* its log id is not the one in .*durable/ };
  assert.throws(() => SqliteLog.open(place.path), refused);
});

test("history that was rewritten to its end does not have the checksum of the mark", async () => {
  await using place = await written(10);
  reseal(place.path, 10, (entry) => ({ ...entry, actor: "mallory" }));
  const refused = { code: "damaged", message: /entry 10 is not the one in .*durable\.mark/ };
  assert.throws(() => SqliteLog.open(place.path), refused);
});

const markDamages: Readonly<Record<string, (path: string) => Promise<void>>> = {
  missing: (path) => rm(path),
  empty: (path) => writeFile(path, ""),
  garbage: (path) => writeFile(path, Buffer.alloc(1_024, 0xfe)),
  "cut short": async (path) => truncateSync(path, 700),
  "flipped in one slot": async (path) => flipOneByte(path, 100),
  "flipped in the other slot": async (path) => flipOneByte(path, 612),
};

for (const [damage, spoil] of Object.entries(markDamages)) {
  test(`a mark that is ${damage} is warned about once, and written again`, async () => {
    await using place = await written(10);
    await spoil(join(place.path, "durable.mark"));
    {
      await using log = SqliteLog.open(place.path);
      assert.equal(log.lastSequence, 10);
      assert.match(log.warnings.join(), /^(half of )?\S+durable\.mark is (missing|damaged)[^,]*,/);
      assert.equal(log.warnings.length, 1);
    }
    await using log = SqliteLog.open(place.path);
    assert.deepEqual(log.warnings, []);
  });
}

test("a log of version 0.1.0 gets its mark without a warning", async () => {
  await using place = await written(10);
  edit(place.path, "delete from about where key = 'mark'");
  await rm(join(place.path, "durable.mark"));
  await using log = SqliteLog.open(place.path);
  assert.deepEqual(log.warnings, []);
  assert(existsSync(join(place.path, "durable.mark")));
});

test("a mark that is older than the log is as good as one that is not", async () => {
  await using place = await temporaryDirectory();
  await using log = SqliteLog.open(place.path);
  await log.append(entries(1, 5), 0);
  const old = readFileSync(join(place.path, "durable.mark"));
  await log.append(entries(6, 9), 5);
  await log[Symbol.asyncDispose]();
  writeFileSync(join(place.path, "durable.mark"), old);
  await using reopened = SqliteLog.open(place.path);
  assert.deepEqual([reopened.lastSequence, reopened.warnings], [9, []]);
});

test("a log whose beginning is missing says so, and from where on it can be read", async () => {
  await using place = await written(10);
  edit(place.path, "delete from entries where sequence < 4");
  await using log = SqliteLog.open(place.path);
  assert.deepEqual([log.oldestSequence, log.lastSequence], [4, 10]);
  assert.deepEqual(await log.read(3, 100), entries(4, 10));
  assert.match(log.warnings.join(), /^entries 1 to 3 are missing, and were not cut/);
});

const cutDamages: Readonly<
  Record<string, { readonly sql: string; readonly told: RegExp; readonly problem: RegExp }>
> = {
  "entries that went after the cut": {
    sql: "delete from entries where sequence < 12",
    told: /entries 9 to 11 are missing, and were not cut/,
    problem: /^entries 9 to 11 are missing$/m,
  },
  "a mark that is gone": {
    sql: "delete from about where key = 'cut'",
    told: /entries 1 to 8 are missing, and were not cut/,
    problem: /^entries 1 to 8 are missing$/m,
  },
  "a mark that was moved to hide what is missing": {
    sql: `delete from entries where sequence < 12;
          update about set value = replace(value, '"sequence":8', '"sequence":11') where key = 'cut'`,
    told: /the record of which old entries were deleted is damaged/,
    problem: /^the record of which old entries were deleted is damaged \(\S+log\.db\)$/m,
  },
  "an entry in the middle": {
    sql: "delete from entries where sequence = 14",
    told: /^$/,
    problem: /^entries 14 to 14 are missing$/m,
  },
};

for (const [damage, { sql, told, problem }] of Object.entries(cutDamages)) {
  test(`of a cut log, ${damage}: it is told when it opens or is read, and by the doctor`, async () => {
    await using place = await cutAt(8, { of: 20 });
    assert.deepEqual((await verifyLog(place.path, () => {})).problems, []);
    edit(place.path, sql);
    assert.match((await verifyLog(place.path, () => {})).problems.join("\n"), problem);
    await using log = SqliteLog.open(place.path);
    assert.match(log.warnings.join("\n"), told);
    if (log.warnings.length === 0) await assert.rejects(log.read(0, 99), { code: "damaged" });
  });
}

test("the first entry that is left must follow from what was cut", async () => {
  await using place = await cutAt(8, { of: 20 });
  reseal(place.path, 9, (entry) => entry);
  const { problems } = await verifyLog(place.path, () => {});
  assert.equal(problems[0], "entry 9 does not follow from what was cut before it");
  await using log = SqliteLog.open(place.path);
  await assert.rejects(log.read(0, 1), { code: "damaged", message: /entry 9/ });
});

test("a log of which more was cut than its snapshots stand for is not well", async () => {
  await using place = await cutAt(8, { of: 20 });
  await rm(join(place.path, "snapshots", "8.snapshot"));
  await rename(
    join(place.path, "snapshots", "15.snapshot"),
    join(place.path, "snapshots", "7.snapshot"),
  );
  const { problems } = await verifyLog(place.path, () => {});
  assert.deepEqual(problems, [
    "snapshot 7 is damaged",
    "what was cut, up to entry 8, is in no snapshot: the log cannot be opened",
  ]);
});

test("snapshots that are damaged do not count, and an intact one is not given up for them", async () => {
  await using place = await written(20);
  {
    await using log = SqliteLog.open(place.path);
    for (const sequence of [5, 8]) {
      await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
    }
  }
  const directory = join(place.path, "snapshots");
  await writeFile(join(directory, "8.snapshot"), "nonsense");
  await using log = SqliteLog.open(place.path);
  await cutAll(log);
  assert.equal(log.oldestSequence, 1, "only one is intact");
  await log.saveSnapshot({ sequence: 20, sections: stateOf("c") }, never);
  assert.deepEqual((await readdir(directory)).sort(), ["20.snapshot", "5.snapshot"]);
  await cutAll(log);
  assert.equal(log.oldestSequence, 6);
});

test("a snapshot that somebody removed does not count", async () => {
  await using place = await written(20);
  await using log = SqliteLog.open(place.path);
  for (const sequence of [5, 8]) {
    await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
  }
  await rm(join(place.path, "snapshots", "5.snapshot"));
  await cutAll(log);
  assert.equal(log.oldestSequence, 1);
});

test("what else lies in the directory of snapshots is left alone, and does no harm", async () => {
  await using place = await written(20);
  const directory = join(place.path, "snapshots");
  await mkdir(join(directory, "17.snapshot"), { recursive: true });
  await symlink("/dev/zero", join(directory, "18.snapshot"));
  execFileSync("mkfifo", [join(directory, "19.snapshot")]);
  const names = [
    "0.snapshot",
    "-3.snapshot",
    "9999999999999999.snapshot",
    "9.snapshot~",
    "notes.txt",
  ];
  for (const name of names) {
    await writeFile(join(directory, name), "mine");
  }
  const odd = (await readdir(directory)).sort();
  await using log = SqliteLog.open(place.path);
  assert.equal(await log.loadSnapshot(() => assert.fail("none is ours")), 0);
  for (const sequence of [3, 5, 8]) {
    await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
  }
  assert.deepEqual((await readdir(directory)).sort(), [...odd, "5.snapshot", "8.snapshot"].sort());
  assert.equal(await log.loadSnapshot(() => {}), 8);
  assert.deepEqual(log.warnings, []);
  await cutAll(log);
  assert.equal(log.oldestSequence, 6);
  assert.deepEqual((await verifyLog(place.path, () => {})).problems, []);
});

test("a file named like a snapshot of the future is passed over, and goes when there are two others", async () => {
  await using place = await written(20);
  const directory = join(place.path, "snapshots");
  await mkdir(directory);
  await writeFile(join(directory, "999999999999999.snapshot"), "nonsense");
  await using log = SqliteLog.open(place.path);
  assert.equal(await log.loadSnapshot(() => {}), 0);
  for (const sequence of [3, 5, 8]) {
    await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
  }
  assert.deepEqual((await readdir(directory)).sort(), ["5.snapshot", "8.snapshot"]);
});

test("what is cut makes room for what is written: the file does not grow", async () => {
  await using place = await temporaryDirectory();
  await using log = SqliteLog.open(place.path);
  const text = "x".repeat(400);
  const sizes: number[] = [];
  for (let round = 0; round < 6; round++) {
    const last = log.lastSequence;
    await log.append(entries(last + 1, last + 5_000, { text }), last);
    for (const sequence of [last + 4_000, last + 4_900]) {
      await log.saveSnapshot({ sequence, sections: stateOf("a") }, never);
    }
    await cutAll(log);
    sizes.push((await stat(join(place.path, "log.db"))).size);
    assert(log.size().entriesBytes < 1_500_000, `${log.size().entriesBytes} in use`);
  }
  const [, second = 0] = sizes;
  assert((sizes.at(-1) ?? 0) <= second * 1.05, sizes.join());
});

test("a daemon that was killed while it cut lost nothing that it should have kept", async () => {
  await using place = await temporaryDirectory();
  const cutting = `${opening(place.path)}
    const sections = [{ name: "policy", rows: [] }];
    let last = log.lastSequence;
    for (;;) {
      await log.append(entries(last + 1, last + 2_000), last);
      for (const at of [500, 2_000]) await log.saveSnapshot({ sequence: last + at, sections });
      last += 2_000;
      let isDone = false;
      while (!isDone) {
        isDone = await log.cut({ beforeMs: Infinity, bytesMax: 0 });
        console.log(last, log.oldestSequence);
      }
    }`;
  const random = new Random(20_262);
  for (let round = 0; round < 5; round++) {
    await using child = new Child(cutting);
    assert.equal(await child.line(), "opened");
    let [acknowledged = 0, oldest = 0] = [0, 0];
    for (let lines = random.between(3, 12); lines > 0; lines--) {
      [acknowledged = 0, oldest = 0] = (await child.line()).split(" ").map(Number);
    }
    await child.kill();
    const { problems } = await verifyLog(place.path, () => {});
    assert.deepEqual(problems, []);
    await using log = SqliteLog.open(place.path);
    assert.deepEqual(log.warnings, []);
    assert(log.lastSequence >= acknowledged);
    assert(log.oldestSequence >= oldest, "a process that ends takes no cut back");
    const newest = await log.loadSnapshot(() => {});
    assert(newest >= log.oldestSequence, "the older snapshot has all that comes after it");
    assert.deepEqual(await readAll(log), entries(log.oldestSequence, log.lastSequence));
  }
});

test("wherever the write-ahead log ends, a cut was made as a whole or not at all", async () => {
  await using place = await temporaryDirectory();
  const source = join(place.path, "source");
  const copy = join(place.path, "copy");
  const random = new Random(20_263);
  await using log = SqliteLog.open(source);
  await log.append(entries(1, 300), 0);
  for (const sequence of [290, 300]) {
    await log.saveSnapshot({ sequence, sections: stateOf(`${sequence}`) }, never);
  }
  const firsts = [1];
  for (let first = 10; first < 200; first += random.between(1, 20)) {
    await cutAll(log, { beforeMs: entries(first, first)[0]?.atMs ?? 0, bytesMax: 1e9 });
    firsts.push(first);
    await log.append(entries(log.lastSequence + 1, log.lastSequence + 1), log.lastSequence);
  }
  const walLength = (await stat(join(source, "log.db-wal"))).size;
  const seen = new Set<number>();
  for (let cut = 0; cut < 40; cut++) {
    execFileSync("cp", ["-r", source, copy]);
    // Without its mark the log is as a power failure in the middle of an append may leave it.
    await rm(join(copy, "durable.mark"));
    truncateSync(join(copy, "log.db-wal"), random.between(walHeaderBytes, walLength));
    {
      await using reopened = SqliteLog.open(copy);
      const { oldestSequence, lastSequence } = reopened;
      if (lastSequence > 0) {
        assert(firsts.includes(oldestSequence), `${oldestSequence} is in the middle of a cut`);
        assert.deepEqual(await reopened.read(0, 999), entries(oldestSequence, lastSequence));
        seen.add(oldestSequence);
      }
    }
    execFileSync("rm", ["-r", copy]);
  }
  assert(seen.size > 5, "cuts at many places were tried");
});

const snapshotDamages: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  "with one other byte": (bytes) => {
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    return bytes;
  },
  "that was cut short": (bytes) => bytes.subarray(0, bytes.length - 40),
  "that is empty": () => Buffer.alloc(0),
  "that is garbage": (bytes) => Buffer.alloc(bytes.length, 0xfe),
  "with a line too many": (bytes) => Buffer.from(`${bytes}`.replace("end ", "policy {}\nend ")),
};

for (const [damage, spoil] of Object.entries(snapshotDamages)) {
  test(`a snapshot ${damage} is passed over for the one before`, async () => {
    await using place = await written(10);
    await using log = SqliteLog.open(place.path);
    for (const sequence of [4, 8]) {
      await log.saveSnapshot({ sequence, sections: stateOf(`policy-${sequence}`) }, never);
    }
    const path = join(place.path, "snapshots", "8.snapshot");
    await writeFile(path, spoil(await readFile(path)));
    const rows: string[] = [];
    assert.equal(await log.loadSnapshot((_, row) => rows.push(row)), 4);
    assert(rows.some((row) => row.includes("policy-4")));
    assert(!rows.some((row) => row.includes("policy-8")), "nothing of the damaged one is used");
    assert.deepEqual(log.warnings, ["snapshot 8 is damaged and was passed over"]);
  });
}

test("two snapshots are kept, and nothing of one that was never finished", async () => {
  await using place = await written(10);
  await using log = SqliteLog.open(place.path);
  const directory = join(place.path, "snapshots");
  await log.saveSnapshot({ sequence: 1, sections: stateOf("a") }, never);
  await assert.rejects(
    log.saveSnapshot({ sequence: 2, sections: stateOf("a") }, AbortSignal.abort()),
  );
  for (const sequence of [3, 5]) {
    await log.saveSnapshot({ sequence, sections: stateOf("b") }, never);
  }
  assert.deepEqual((await readdir(directory)).sort(), ["3.snapshot", "5.snapshot"]);
});

test("a log that ends before its snapshot has lost entries, and is refused", async () => {
  await using place = await written(10);
  await using log = SqliteLog.open(place.path);
  await log.saveSnapshot({ sequence: 11, sections: stateOf("a") }, never);
  await assert.rejects(
    log.loadSnapshot(() => {}),
    { code: "damaged", message: /entries are missing/ },
  );
});

test("wherever the write-ahead log is cut, the log opens to a prefix of what was written", async () => {
  await using place = await temporaryDirectory();
  const source = join(place.path, "source");
  const copy = join(place.path, "copy");
  const random = new Random(20_261);
  await using log = SqliteLog.open(source);
  const ends = [0];
  for (let batch = 0; batch < 25; batch++) {
    const last = ends.at(-1) ?? 0;
    const next = last + random.between(1, 6);
    await log.append(entries(last + 1, next, { text: "x".repeat(random.below(900)) }), last);
    ends.push(next);
  }
  const all = await log.read(0, 1_000);
  const walLength = (await stat(join(source, "log.db-wal"))).size;
  assert(walLength > 100_000, "nothing was checkpointed yet");
  const seen = new Set<number>();
  for (let cut = 0; cut < 60; cut++) {
    // In another process: closing a file here would drop the locks that SQLite holds on it.
    execFileSync("cp", ["-r", source, copy]);
    // Without its mark the log is as a power failure in the middle of an append may leave it.
    await rm(join(copy, "durable.mark"));
    truncateSync(join(copy, "log.db-wal"), random.between(walHeaderBytes, walLength));
    {
      await using reopened = SqliteLog.open(copy);
      const { lastSequence } = reopened;
      assert(ends.includes(lastSequence), `${lastSequence} is in the middle of an append`);
      assert.deepEqual(await reopened.read(0, 1_000), all.slice(0, lastSequence));
      await reopened.append(entries(lastSequence + 1, lastSequence + 1), lastSequence);
      seen.add(lastSequence);
    }
    execFileSync("rm", ["-r", copy]);
  }
  assert(seen.size > 10, "cuts at many places were tried");
});

test("a damaged write-ahead log is refused by name, also without a mark, and doctor says so", async () => {
  await using place = await temporaryDirectory();
  const source = join(place.path, "source");
  const copy = join(place.path, "copy");
  await using log = SqliteLog.open(source);
  for (let last = 0; last < 120; last++) await log.append(entries(last + 1, last + 1), last);
  const length = (await stat(join(source, "log.db-wal"))).size;
  for (const isMarked of [true, false]) {
    execFileSync("cp", ["-r", source, copy]);
    if (!isMarked) await rm(join(copy, "durable.mark"));
    const bytes = readFileSync(join(copy, "log.db-wal"));
    bytes.fill(0x5a, length >> 3, (length >> 3) + 8);
    writeFileSync(join(copy, "log.db-wal"), bytes);
    assert.throws(() => SqliteLog.open(copy), {
      code: "damaged",
      message: /log\.db-wal is damaged at frame \d+\. Nothing was changed; restore/,
    });
    assert.deepEqual(
      readFileSync(join(copy, "log.db-wal")),
      bytes,
      "what could be rescued is there",
    );
    const { problems } = await verifyLog(copy, () => {});
    assert.match(problems.join(), /log\.db-wal is damaged at frame/);
    execFileSync("rm", ["-r", copy]);
  }
});

test("an append that was never finished is dropped, with a warning", async () => {
  await using place = await temporaryDirectory();
  const source = join(place.path, "source");
  const copy = join(place.path, "copy");
  await using log = SqliteLog.open(source);
  await log.append(entries(1, 3), 0);
  const acknowledged = readFileSync(join(source, "durable.mark"));
  await log.append(entries(4, 40, { text: "x".repeat(900) }), 3);
  execFileSync("cp", ["-r", source, copy]);
  writeFileSync(join(copy, "durable.mark"), acknowledged);
  const wal = join(copy, "log.db-wal");
  truncateSync(wal, (await stat(wal)).size - 6_000);
  await using reopened = SqliteLog.open(copy);
  assert.match(
    reopened.warnings.join(),
    /^\S+log\.db-wal ends with an append that was never finished/,
  );
  assert.deepEqual(await reopened.read(0, 99), entries(1, 3));
});

test("a write-ahead log that lost its end is refused by name", async () => {
  await using place = await temporaryDirectory();
  const source = join(place.path, "source");
  const copy = join(place.path, "copy");
  await using log = SqliteLog.open(source);
  await log.append(entries(1, 20), 0);
  for (let last = 20; last < 40; last++) await log.append(entries(last + 1, last + 1), last);
  const length = (await stat(join(source, "log.db-wal"))).size;
  execFileSync("cp", ["-r", source, copy]);
  truncateSync(join(copy, "log.db-wal"), length - 3 * (24 + 4_096));
  assert.throws(() => SqliteLog.open(copy), {
    code: "damaged",
    message:
      /log\.db-wal is damaged or incomplete: entries \d+ to 40 were acknowledged and are missing/,
  });
});

test("a damaged index is built again from the entries, and that is told", async () => {
  await using place = await temporaryDirectory();
  {
    await using log = SqliteLog.open(place.path);
    await log.append(entries(1, 9, { stream: "job/a" }), 0);
  }
  {
    const page = rootOfIndex(join(place.path, "log.db"));
    const bytes = readFileSync(join(place.path, "log.db"));
    // Lowers the cell count in the header of the index's root page by one, so that the index misses an entry.
    bytes.writeUInt16BE(bytes.readUInt16BE(page + 3) - 1, page + 3);
    writeFileSync(join(place.path, "log.db"), bytes);
  }
  await using log = SqliteLog.open(place.path);
  await log.checkHistory(9);
  assert.match(log.warnings.join(), /^an index in \S+log\.db was damaged, and was built again/);
  assert.deepEqual(await log.readStream("job/a", 0, 99), entries(1, 9, { stream: "job/a" }));
});

test("of a log too large to verify at a start, every damage is told soon after it, by its file", async () => {
  await using place = await temporaryDirectory();
  const text = "x".repeat(1_000_000);
  const first = entries(1, 18, { text, stream: "job/a" });
  const second = entries(19, 36, { text, stream: "job/b" });
  {
    await using log = SqliteLog.open(place.path);
    await log.append(first, 0);
    await log.append(second, 18);
  }
  const path = join(place.path, "log.db");
  const whole = readFileSync(path);
  assert(whole.length > limits.verifiedBytesMax);
  const check = async (): Promise<readonly string[]> => {
    await using log = SqliteLog.open(place.path);
    await log.checkHistory(36);
    assert.deepEqual(log.warnings, []);
    const problems: string[] = [];
    for (;;) {
      const { isDone, problem } = log.checkMore();
      if (problem !== undefined) problems.push(problem);
      if (isDone) break;
    }
    const last = await log.readStreamBack("job/b", 37, 1);
    assert.equal(last[0]?.sequence, 36);
    return problems;
  };
  assert.deepEqual(await check(), []);

  const flipped = Buffer.from(whole);
  flipped[whole.indexOf("entry 5 x") + 100] = 0x79;
  writeFileSync(path, flipped);
  assert.deepEqual(await check(), [
    `entry 5 of the log is damaged (${path}); restore the directory from a backup, or see docs/damage.md`,
  ]);

  // In the index, the last entry of a stream is put under another name: the stream would end sooner.
  const misplaced = Buffer.from(whole);
  const inIndex = whole.indexOf("job/b", rootOfIndex(path));
  misplaced.write("job/z", inIndex);
  // A page that nothing refers to: only a check of the whole file finds it, which would stop the daemon for long.
  const unused = Buffer.concat([misplaced, Buffer.alloc(4_096)]);
  unused.writeUInt32BE(unused.length / 4_096, pageCountAt);
  for (const bytes of [misplaced, unused]) {
    // A log without a new entry keeps its write-ahead log when it closes, here with the index that was built again.
    rmSync(`${path}-wal`, { force: true });
    writeFileSync(path, bytes);
    const [problem, ...others] = await check();
    assert.match(problem ?? "", /^an index in \S+log\.db was damaged, and was built again/);
    assert.deepEqual(others, []);
  }
});

test("an append of which one entry cannot be stored leaves none of them", async () => {
  await using place = await written(3);
  {
    await using log = SqliteLog.open(place.path);
    const twice = [...entries(4, 6), ...entries(5, 5)];
    await assert.rejects(log.append(twice, 3), { code: "cannot_write" });
    assert.equal(log.lastSequence, 3);
    assert.deepEqual(await log.read(0, 100), entries(1, 3));
  }
  await using log = SqliteLog.open(place.path);
  assert.deepEqual(await log.read(0, 100), entries(1, 3));
});

test("a disk that takes no more is told as such, and what was acknowledged is still there", async () => {
  await using place = await temporaryDirectory();
  const program = `${opening(place.path)}
    let last = 0;
    try {
      for (;;) {
        await log.append(entries(last + 1, last + 3, { text: "x".repeat(1_000) }), last);
        last += 3;
      }
    } catch (error) {
      const seen = await log.read(0, 1_000_000).then((found) => found.length, (error) => error.code);
      console.log(JSON.stringify({ code: error.code, last, seen }));
    }`;
  // No file may grow beyond 1,000 blocks of 512 bytes: the kernel refuses the write, as a full disk would.
  const args = ["-c", 'trap "" XFSZ; ulimit -f 1000; exec "$@"', "sh"];
  await using child = new Child(program, { command: "sh", args });
  assert.equal(await child.line(), "opened");
  const { code, last, seen } = JSON.parse(await child.line());
  assert.equal(code, "cannot_write");
  assert(last > 0);
  assert.equal(seen, last, "nothing of the failed append is read");
  await child.rest();
  await using log = SqliteLog.open(place.path);
  assert.equal(log.lastSequence, last);
  const kept = await log.read(0, 1_000_000);
  assert.deepEqual(kept, entries(1, last, { text: "x".repeat(1_000) }));
});

test("every append is synced before it resolves, however many entries it has", {
  skip: process.platform !== "linux" && "system calls are traced on Linux only",
}, async () => {
  await using place = await temporaryDirectory();
  const trace = join(place.path, "trace.txt");
  const data = join(place.path, "data");
  const program = `${opening(data)}
    let last = 0;
    for (const count of [1, 1, 100, 1, 2_000, 1]) {
      await log.append(entries(last + 1, last + count), last);
      last += count;
      console.log("resolved", count);
      // A cut is not synced, but the append after it is.
      for (const sequence of [last, last + 1]) await log.saveSnapshot({ sequence, sections: [] });
      if (last > 1) await log.cut({ beforeMs: Infinity, bytesMax: 0 });
      console.log("cut");
    }`;
  const tracer = fileURLToPath(new URL("../testing/trace.py", import.meta.url));
  await using child = new Child(program, { command: "python3", args: [tracer, trace] });
  await child.rest();

  const appends: { readonly count: number; readonly syncs: number }[] = [];
  let syncs = 0;
  for (const line of (await readFile(trace, "utf8")).split("\n")) {
    if (line === `sync ${data}/log.db-wal`) syncs += 1;
    if (line === "print opened" || line === "print cut") syncs = 0;
    const resolved = /^print resolved (\d+)/.exec(line);
    if (!resolved) continue;
    appends.push({ count: Number(resolved[1]), syncs });
    syncs = 0;
  }
  assert.deepEqual(
    appends.map(({ count }) => count),
    [1, 1, 100, 1, 2_000, 1],
  );
  for (const { count, syncs } of appends) {
    assert(syncs >= 1, `an append of ${count} was not synced`);
    assert(syncs <= 3, `an append of ${count} was synced ${syncs} times`);
  }
});

test("of cuts that follow each other without an append, at most one is not synced", {
  skip: process.platform !== "linux" && "system calls are traced on Linux only",
}, async () => {
  await using place = await temporaryDirectory();
  const trace = join(place.path, "trace.txt");
  const data = join(place.path, "data");
  const program = `${opening(data)}
    const written = entries(1, 60);
    await log.append(written, 0);
    for (const sequence of [59, 60]) await log.saveSnapshot({ sequence, sections: [] });
    console.log("appended");
    for (const { atMs } of written.slice(1, 31)) {
      await log.cut({ beforeMs: atMs, bytesMax: Infinity });
      console.log("cut", log.oldestSequence);
    }`;
  const tracer = fileURLToPath(new URL("../testing/trace.py", import.meta.url));
  await using child = new Child(program, { command: "python3", args: [tracer, trace] });
  assert.equal((await child.rest()).at(-1), "cut 31");

  let cuts = 0;
  let unsynced = 0;
  let unsyncedMax = 0;
  let isSynced = false;
  for (const line of (await readFile(trace, "utf8")).split("\n")) {
    if (line === `sync ${data}/log.db-wal`) isSynced = true;
    if (!line.startsWith("print cut")) continue;
    cuts += 1;
    unsynced = isSynced ? 0 : unsynced + 1;
    isSynced = false;
    unsyncedMax = Math.max(unsyncedMax, unsynced);
  }
  assert.equal(cuts, 30);
  assert.equal(unsyncedMax, limits.unsyncedCommitsMax - 1, "an append may follow");
});

/** Opens the log in another process, and prints how that went. */
function opening(path: string): string {
  const sqlite = new URL("./sqlite.ts", import.meta.url).href;
  const testing = new URL("../testing/entries.ts", import.meta.url).href;
  return `
    import { SqliteLog } from ${JSON.stringify(sqlite)};
    import { entries } from ${JSON.stringify(testing)};
    let log;
    try {
      log = SqliteLog.open(${JSON.stringify(path)});
      console.log("opened");
    } catch (error) {
      console.log(error.code);
    }`;
}

/** A directory with a log of so many entries, closed. */
async function written(count: number): ReturnType<typeof temporaryDirectory> {
  const place = await temporaryDirectory();
  await using log = SqliteLog.open(place.path);
  await log.append(entries(1, count), 0);
  return place;
}

/** A directory with a log that was cut behind its older snapshot, closed. */
async function cutAt(
  sequence: number,
  { of }: { readonly of: number },
): ReturnType<typeof temporaryDirectory> {
  const place = await written(of);
  await using log = SqliteLog.open(place.path);
  for (const at of [sequence, 15]) {
    await log.saveSnapshot({ sequence: at, sections: stateOf(`${at}`) }, never);
  }
  await cutAll(log);
  assert.equal(log.oldestSequence, sequence + 1);
  return place;
}

async function cutAll(log: Log, bounds: Partial<CutBounds> = {}): Promise<void> {
  const all = { beforeMs: Number.POSITIVE_INFINITY, bytesMax: 0, ...bounds };
  while (!(await log.cut(all)));
}

/** However many there are: one read gives no more than so many bytes. */
async function readAll(log: SqliteLog): Promise<readonly Entry[]> {
  const all: Entry[] = [];
  for (;;) {
    const next = await log.read(all.at(-1)?.sequence ?? 0, 100_000);
    if (next.length === 0) return all;
    all.push(...next);
  }
}

/** Behind the log's back, as another program would. */
function edit(path: string, sql: string): void {
  using database = new DatabaseSync(join(path, "log.db"));
  database.exec(sql);
}

/** Rewrites one entry with a checksum that is right in itself, on top of the one before. */
function reseal(path: string, sequence: number, change: (entry: Sealed) => Sealed): void {
  using database = new DatabaseSync(join(path, "log.db"));
  const select = database.prepare("select * from entries where sequence = ?");
  const before = select.get(sequence - 1) as Sealed | undefined;
  const { type, stream, ...changed } = change(select.get(sequence) as Sealed);
  const parts = { busSequence: changed.bus, stream: stream ?? undefined, event: { type } as never };
  const sealed = seal({ ...changed, ...parts }, before?.checksum ?? "");
  database
    .prepare(
      "update entries set type = ?, actor = ?, body = ?, previous = ?, checksum = ? where sequence = ?",
    )
    .run(type, sealed.actor, sealed.body, sealed.previous, sealed.checksum, sequence);
}

function flipOneByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  writeFileSync(path, bytes);
}

/** The files under a directory that this process has open. */
function openFiles(path: string): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const target = readlinkSync(join("/proc/self/fd", descriptor));
      return target.startsWith(path) ? [target] : [];
    } catch {
      // The descriptor that the directory itself was read with.
      return [];
    }
  });
}

function stateOf(text: string): ReturnType<typeof capture> {
  const loop = new BareLoop();
  loop.accept(setPolicy(text, "deny", "a b c"));
  return capture(loop.state);
}

/** Where the root page of the index of streams begins in the file. */
function rootOfIndex(path: string): number {
  using database = new DatabaseSync(path);
  const root = database
    .prepare("select rootpage from sqlite_schema where name = 'entries_by_stream'")
    .get();
  return (Number(root?.["rootpage"]) - 1) * 4_096;
}

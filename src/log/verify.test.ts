import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { jobId } from "../core/index.ts";
import { jsonText } from "../testing/commands.ts";
import { entries, entryOf } from "../testing/entries.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { unprivileged } from "../testing/unprivileged.ts";
import { LogReader } from "./reader.ts";
import { SqliteLog } from "./sqlite.ts";
import { verifyLog } from "./verify.ts";

const never = new AbortController().signal;
const sections = [{ name: "policy", rows: [] }] as const;

test("of a log in which all is well, no problem is told, even while it is in use", async () => {
  await using place = await temporaryDirectory();
  await using log = SqliteLog.open(place.path);
  await log.append(entries(1, 20), 0);
  await log.saveSnapshot({ sequence: 10, sections }, never);
  assert.deepEqual(await verifyLog(place.path, () => {}), {
    entries: 20,
    firstSequence: 1,
    lastSequence: 20,
    snapshots: [{ sequence: 10, isIntact: true }],
    problems: [],
    warnings: [],
  });
  await log.append(entries(21, 21), 20);
});

test("every damage is told, each by its place", async () => {
  await using place = await temporaryDirectory();
  {
    await using log = SqliteLog.open(place.path);
    await log.append(entries(1, 20), 0);
    await log.saveSnapshot({ sequence: 10, sections }, never);
  }
  {
    using database = new DatabaseSync(join(place.path, "log.db"));
    database.exec("update entries set body = '{}' where sequence = 4");
    database.exec("delete from entries where sequence in (8, 9)");
    database.exec("update entries set previous = 'x' where sequence = 15");
  }
  await writeFile(join(place.path, "snapshots", "10.snapshot"), "nonsense");
  const verdict = await verifyLog(place.path, () => {});
  assert.deepEqual(verdict.problems, [
    "entry 4 is damaged",
    "entries 8 to 9 are missing",
    "entry 15 does not follow from the one before",
    "entry 15 is damaged",
    "snapshot 10 is damaged",
  ]);
});

test("where there is no log, there is nothing to verify", async () => {
  await using place = await temporaryDirectory();
  await assert.rejects(
    verifyLog(place.path, () => {}),
    { code: "unusable" },
  );
});

test("a log that may not be read is not called damaged", async () => {
  await using place = await temporaryDirectory();
  {
    await using log = SqliteLog.open(place.path);
    await log.append(entries(1, 20), 0);
  }
  await unprivileged(place.path, async () => {
    const refused = { code: "unusable", message: /^cannot read \S+log\.db: / };
    // SQLite must write beside a database to read it.
    await chmod(place.path, 0o500);
    await assert.rejects(
      verifyLog(place.path, () => {}),
      refused,
    );
    await chmod(place.path, 0o700);
    await chmod(join(place.path, "log.db"), 0o000);
    await assert.rejects(
      verifyLog(place.path, () => {}),
      refused,
    );
    await chmod(join(place.path, "log.db"), 0o600);
    await writeFile(join(place.path, "log.db-wal"), "", { mode: 0o000 });
    await assert.rejects(
      verifyLog(place.path, () => {}),
      refused,
    );
  });
});

test("a log whose numbers are beyond belief is told as damaged, not as our fault", async () => {
  await using place = await temporaryDirectory();
  {
    await using log = SqliteLog.open(place.path);
    await log.append(entries(1, 20), 0);
  }
  {
    using database = new DatabaseSync(join(place.path, "log.db"));
    database.exec("update entries set atMs = 9223372036854775807 where sequence = 4");
  }
  const verdict = await verifyLog(place.path, () => {});
  assert.deepEqual(verdict.problems, ["entry 4 is damaged"]);
});

test("an event of a job whose body is not valid JSON is reported, and all others can be read", async () => {
  await using place = await temporaryDirectory();
  const body = `{"jobId":"job_a","kind":"metric","ownSequence":1,"body":{"value":-Infinity}}`;
  const event = {
    type: "job.emitted",
    jobId: jobId("job_a"),
    kind: "metric",
    body: jsonText("{}"),
  } as const;
  const stream = "job/job_a";
  {
    await using log = SqliteLog.open(place.path);
    await log.append(entries(1, 3, { stream }), 0);
    await log.append([{ ...entryOf(4, event, { actor: "test", stream }), body }], 3);
    await log.append(entries(5, 6, { stream }), 4);
  }
  const { problems, warnings } = await verifyLog(place.path, () => {});
  assert.deepEqual(problems, []);
  assert.deepEqual(warnings, [
    "entry 4 (job.emitted) has a body that is not valid JSON; readers show it as text",
  ]);
  await using log = SqliteLog.open(place.path);
  using reader = LogReader.open(place.path);
  for (const read of [await log.readStream(stream, 0, 9), reader.readStream(stream, 0, 9)]) {
    assert.deepEqual(
      read.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5, 6],
    );
    const bad = read[3]?.event;
    assert(bad?.type === "job.emitted");
    assert.deepEqual(JSON.parse(bad.body), { unreadable: '{"value":-Infinity}' });
  }
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { temporaryDirectory } from "../../testing/temporary.ts";
import { replayFile } from "./event-files.ts";

function frame(seq: number | undefined, payload: object = {}): string {
  return JSON.stringify({ arcp: "1.1", id: `m${seq}`, type: "job.event", event_seq: seq, payload });
}

test("[ARCP-194] a file of the TypeScript SDK is read, without the frames that have no number", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "events.sqlite");
  {
    using database = new DatabaseSync(path);
    database.exec(
      `create table events (session_id text, id text, type text, trace_id text, job_id text, event_seq integer,
        raw text, inserted_at text, primary key (session_id, id))`,
    );
    const insert = database.prepare("insert into events values (?, ?, ?, null, ?, ?, ?, '')");
    insert.run("s", "a", "job.event", "j", 2, frame(2));
    insert.run("s", "b", "job.event", "j", 1, frame(1));
    insert.run("s", "c", "job.accepted", "j", null, frame(undefined));
    insert.run("other", "d", "job.event", "k", 1, frame(1));
  }
  const all = [...replayFile(path, "s", 0)];
  assert.deepEqual(
    all.map(({ text }) => text),
    [frame(1), frame(2)],
  );
  assert.deepEqual(all[0], { text: frame(1), type: "job.event", jobId: "j" });
  assert.equal([...replayFile(path, "s", 1)].length, 1);
  assert.equal([...replayFile(path, "nobody", 0)].length, 0);
});

test("[ARCP-195] secrets that another SDK has stored are not printed", async () => {
  await using scratch = await temporaryDirectory();
  const path = join(scratch.path, "events.db");
  const value = { kind: "status", body: { phase: "credential_rotated", id: "c", value: "hush" } };
  const credentials = [{ id: "c", scheme: "bearer", value: "hush" }];
  const metric = { kind: "metric", body: { name: "x", value: 1 } };
  {
    using database = new DatabaseSync(path);
    database.exec(
      `create table events (session_id text, event_seq integer, job_id text, type text, envelope text,
        created_at real, primary key (session_id, event_seq))`,
    );
    const insert = database.prepare("insert into events values ('s', ?, 'j', 'job.event', ?, 0)");
    for (const [at, payload] of [
      value,
      { credentials },
      { resume_token: "hush" },
      metric,
    ].entries()) {
      insert.run(at + 1, frame(at + 1, payload));
    }
  }
  const texts = [...replayFile(path, "s", 0)].map(({ text }) => text);
  assert.equal(texts.length, 4);
  assert.doesNotMatch(texts.join(), /hush/);
  assert.equal(texts[3], frame(4, metric));
});

test("[ARCP-227] what is no log is refused, and not made", async () => {
  await using scratch = await temporaryDirectory();
  const text = join(scratch.path, "notes.txt");
  writeFileSync(text, "not a database, but long enough to be looked at twice");
  for (const path of [text, join(scratch.path, "absent.db"), scratch.path]) {
    assert.throws(() => [...replayFile(path, "s", 0)], { code: "unusable" }, path);
  }
});

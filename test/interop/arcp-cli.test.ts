/** Our `arcp` against runtimes of the published Python SDK, and on the file that its `serve --db` leaves behind. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { freePort } from "../../src/testing/free-port.ts";
import { ArcpCommand, arcp } from "../cli/arcp-command.ts";
import { scratch, until } from "../e2e/processes.ts";
import { preparePythonSdk, start, startExampleServer } from "./arcp/python-sdk.ts";

const sdk = await preparePythonSdk();
const skip = "unavailable" in sdk ? sdk.unavailable : false;

test("[PYA-3] [ARCP-194] submit, tail and list work with Python's `arcp serve`, and replay with its file", {
  skip,
}, async () => {
  if ("unavailable" in sdk) return;
  using place = scratch();
  const db = join(place.path, "events.db");
  const port = await freePort();
  const flags = ["--port", String(port), "--token", "secret", "--db", db];
  await using python = start(sdk, ["-m", "arcp", "serve", ...flags]);
  await until(() => python.output().includes("listening on"), "the Python runtime to listen");
  const env = { ARCP_URL: `ws://127.0.0.1:${port}/arcp`, ARCP_TOKEN: "secret" };

  const submitted = await arcp(["submit", "--agent", "echo", "--input", '{"hi": 1}'], env);
  assert.equal(submitted.code, 0, submitted.stderr);
  assert.deepEqual(JSON.parse(submitted.stdout).result, { echoed: { hi: 1 } });

  const [listed, unknown] = await Promise.all([
    arcp(["list"], env),
    arcp(["submit", "--agent", "nobody"], env),
  ]);
  assert.match(unknown.stderr, /^arcp submit: AGENT_NOT_AVAILABLE .+\n$/);
  assert.equal(unknown.code, 1);
  const [job] = JSON.parse(listed.stdout).jobs;
  assert.deepEqual([job.agent, job.status], ["echo", "success"]);

  // Python's own tail waits for ever here.
  const tailed = await arcp(["tail", "--job-id", job.job_id], env);
  assert.equal(tailed.code, 0, tailed.stderr);
  const [log = "", end = ""] = tailed.stdout.split("\n");
  assert.equal(JSON.parse(log).body.message, "echo started");
  assert.deepEqual(JSON.parse(end).result, { echoed: { hi: 1 } });

  const stored = storedIn(db);
  assert(stored.length >= 2, python.output());
  const sessions = new Set(stored.map(({ session_id }) => session_id));
  for (const session of sessions) {
    const replayed = await arcp(["replay", "--db", db, "--session", session]);
    const own = stored.filter(({ session_id }) => session_id === session);
    assert.deepEqual(
      replayed.stdout.trimEnd().split("\n"),
      own.map(({ envelope }) => envelope),
    );
  }
});

test("[PYA-3] tail follows a running job of a Python runtime, and cancel ends it", {
  skip,
}, async () => {
  if ("unavailable" in sdk) return;
  await using python = await startExampleServer(sdk, "cancel");
  const env = { ARCP_URL: `ws://127.0.0.1:${python.port}/arcp`, ARCP_TOKEN: "demo-token" };
  await using submitting = new ArcpCommand(["submit", "--agent", "patient", "--events"], env);
  await until(() => submitting.stderr.includes("tick 1"), "the job to run");
  const listed = await arcp(["list", "--status", "running"], env);
  const [job] = JSON.parse(listed.stdout).jobs;
  await using tailing = new ArcpCommand(["tail", "--job-id", job.job_id], env);
  await until(() => tailing.lines.length > 0, "what it says");
  const cancelled = await arcp(["cancel", "--job-id", job.job_id], env);
  assert.deepEqual(JSON.parse(cancelled.stdout), { job_id: job.job_id, cancelled: true });
  assert.equal((await tailing.end()).code, 1);
  assert.match(tailing.lines.at(-1) ?? "", /"final_status":"cancelled"/);
  assert.equal((await submitting.end()).code, 1);
});

function storedIn(path: string): readonly { session_id: string; envelope: string }[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const select = database.prepare(
    "select session_id, envelope from events order by session_id, event_seq",
  );
  return select.all().map(({ session_id, envelope }) => ({
    session_id: String(session_id),
    envelope: String(envelope),
  }));
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { jobId } from "../../core/index.ts";
import { MemoryLog } from "../../log/index.ts";
import {
  cancelJob,
  emit,
  endJob,
  openSession,
  reserve,
  settle,
  startJob,
  submitJob,
} from "../../testing/commands.ts";
import { openTestDoor, type TestDoor, testToken } from "../../testing/http-door.ts";
import { test as me } from "../../testing/test-plane.ts";
import type { Entry, WorkEntry } from "../../wire/api/index.ts";
import { limits } from "./limits.ts";

const secret = "rob the bank";
const ann = { actor: "principal/ann" };

test("jobs are listed with where they stand, those that run first", async () => {
  await using to = await openCrowd();
  const { rows, counts, total } = await to.done("listJobs", {});
  assert.deepEqual(
    rows.map(({ id, state }) => `${id} ${state}`),
    ["job_root running", "job_child running", "job_waits pending", "job_bad error"],
  );
  assert.equal(total, 4);
  assert.deepEqual(counts, {
    pending: 1,
    running: 2,
    waiting: 0,
    success: 0,
    error: 1,
    cancelled: 0,
    timed_out: 0,
  });
  assert.deepEqual((await to.done("getOverview", {})).counts.jobs, counts);
  const [, child, , bad] = rows;
  assert.deepEqual([child?.parentId, child?.delegateId, child?.depth], ["job_root", "draft", 1]);
  assert.deepEqual(bad?.failure, { code: "boom", message: "it broke", isRetryable: false });
});

test("a job that was submitted over HTTP has no session, and the context that the caller named", async () => {
  await using to = await openTestDoor();
  const { id, contextId } = await to.done("submitJob", {
    agent: "echo",
    contextId: "trip to Oslo",
  });
  assert.equal(contextId, "trip to Oslo");
  const detail = await to.done("getJob", { jobId: id });
  assert.deepEqual([detail.contextId, detail.sessionIds], ["trip to Oslo", []]);
  assert.match(detail.traceId, /^[0-9a-f]{32}$/);
  const other = await to.done("submitJob", { agent: "echo" });
  assert.equal(other.contextId, undefined);
  assert.notEqual((await to.done("getJob", { jobId: other.id })).traceId, detail.traceId);
  const found = await to.done("listJobs", { query: "oslo" });
  assert.deepEqual(
    found.rows.map((row) => row.id),
    [id],
  );
  const refused = await to.refused("submitJob", { agent: "echo", contextId: "" });
  assert.equal(refused.code, "invalid_argument");
});

test("a job that waits says how many that could run it are there", async () => {
  const there = new Map([["echo", 2]]);
  await using to = await openCrowd({ workersOf: (agent) => there.get(agent) ?? 0 });
  const waitingOf = async (): Promise<unknown[]> =>
    (await to.done("listJobs", {})).rows.map(({ waiting }) => waiting?.workers);
  assert.deepEqual(await waitingOf(), [undefined, undefined, 2, undefined]);
  there.clear();
  assert.deepEqual(await waitingOf(), [undefined, undefined, 0, undefined]);
  const { waiting } = await to.done("getJob", { jobId: "job_waits" });
  assert.deepEqual(waiting, { workers: 0 });
  await using unaware = await openCrowd();
  assert.equal((await unaware.done("getJob", { jobId: "job_waits" })).waiting, undefined);
});

test("a list is narrowed by state, agent, principal, parent and words, and goes on after a page", async () => {
  await using to = await openCrowd();
  const ids = async (input: Parameters<typeof to.done<"listJobs">>[1]): Promise<string[]> =>
    (await to.done("listJobs", input)).rows.map(({ id }) => id);
  assert.deepEqual(await ids({ state: ["error", "pending"] }), ["job_waits", "job_bad"]);
  assert.deepEqual(await ids({ agent: "writer" }), ["job_child"]);
  assert.deepEqual(await ids({ agent: "writer@2" }), ["job_child"]);
  assert.deepEqual(await ids({ principal: "bob" }), ["job_bad"]);
  assert.deepEqual(await ids({ parent: "job_root" }), ["job_child"]);
  assert.deepEqual(await ids({ query: "ann PENDING" }), ["job_waits"]);
  const first = await to.done("listJobs", { limit: 2, sort: "oldest" });
  assert.deepEqual(
    first.rows.map(({ id }) => id),
    ["job_root", "job_child"],
  );
  const { next: after = "" } = first;
  const rest = await to.done("listJobs", { sort: "oldest", after });
  assert.deepEqual(
    rest.rows.map(({ id }) => id),
    ["job_waits", "job_bad"],
  );
});

test("one job tells its budget, grant, family, progress and what it does", async () => {
  await using to = await openCrowd();
  const job = await to.done("getJob", { jobId: "job_child" });
  assert.deepEqual(job.budget, [{ currency: "USD", cap: "2.00", spent: "0.75", reserved: "0.50" }]);
  assert.deepEqual(job.grant.capabilities["cost.budget"], ["USD:2.00"]);
  assert.deepEqual(job.progress, { current: 3, total: 10, units: "pages" });
  assert.equal(job.doing, "calls search");
  assert.deepEqual(job.input, { plan: secret });
  assert.deepEqual([job.attempt, job.worker], [1, { id: "worker", isRemote: false }]);
  assert.deepEqual(
    job.tree.map(({ id, depth }) => `${depth} ${id}`),
    ["0 job_root", "1 job_child"],
  );
  const root = await to.done("getJob", { jobId: "job_root" });
  assert.deepEqual([root.children, root.childCount], [["job_child"], 1]);
  assert.deepEqual(root.budget[0]?.spent, "0.75", "what its child spent is its own too");
});

test("what a job spends without a budget is told too, beside what it spends of one, also after a restart", async () => {
  const log = new MemoryLog();
  await using to = await openCrowd({ log });
  const euros = { currency: "EUR", value: { units: 5n, scale: 1 } };
  await run(to, emit("job_child", { kind: "metric", body: "{}", spent: euros }));
  const { budget, unbudgeted } = await to.done("getJob", { jobId: "job_child" });
  assert.deepEqual([budget.length, unbudgeted], [1, [{ currency: "EUR", spent: "0.5" }]]);
  const { rows } = await to.done("listJobs", {});
  const spent = rows.map(({ id, unbudgeted: of = [] }) => `${id} ${of[0]?.spent ?? ""}`.trim());
  assert.deepEqual(spent, ["job_root 0.5", "job_child 0.5", "job_waits", "job_bad"]);
  const { cost } = await to.done("getJob", { jobId: "job_root" });
  assert.deepEqual(cost, [
    {
      currency: "USD",
      total: "0.75",
      own: "0",
      children: "0.75",
      cap: "5.00",
      reserved: "0.50",
    },
    { currency: "EUR", total: "0.5", own: "0", children: "0.5" },
  ]);
  await to[Symbol.asyncDispose]();
  await using again = await openTestDoor({ log });
  const [dollars, ...others] = (await again.done("getJob", { jobId: "job_root" })).cost;
  // What its child had set aside was spent when its worker was lost.
  assert.deepEqual([dollars?.total, dollars?.children], ["1.25", "1.25"]);
  assert.deepEqual(others, cost.slice(1));
});

test("of a family that is too large to be shown, the job that was asked for and all above it are", async () => {
  await using to = await openCrowd();
  for (let at = 0; at < limits.kinShownMax; at += 1) {
    const [id, parentId] = [`job_x${at}`, jobId("job_root")];
    await run(to, submitJob(id, "ann", { parentId, delegateId: id }), startJob(id), endJob(id));
  }
  const last = `job_x${limits.kinShownMax - 1}`;
  const { tree } = await to.done("getJob", { jobId: last });
  assert.equal(tree.length, limits.kinShownMax);
  assert.deepEqual([tree[0]?.id, tree.at(-1)?.id], ["job_root", last]);
});

test("how a job ended, and what it was given, is there also after a restart", async () => {
  const log = new MemoryLog();
  await using first = await openCrowd({ log });
  await run(first, endJob("job_child", { outcome: { status: "success", result: '{"pages":10}' } }));
  const before = await first.done("getJob", { jobId: "job_child" });
  assert.deepEqual([before.state, before.result], ["success", { pages: 10 }]);
  assert.deepEqual(before.input, { plan: secret });
  assert.equal(before.progress, undefined, "what has ended makes none");
  await first[Symbol.asyncDispose]();
  await using again = await openTestDoor({ log });
  const { tree: _, ...after } = await again.done("getJob", { jobId: "job_child" });
  const { tree: __, ...told } = before;
  assert.deepEqual(after, told);
  const [bad] = (await again.done("listJobs", { state: ["error"], principal: "bob" })).rows;
  assert.equal(bad?.failure?.message, "it broke");
});

test("why a job ended is told in the words that ARCP has for it, whoever ended it", async () => {
  await using to = await openCrowd();
  await run(to, cancelJob("job_waits"));
  const isOf = { state: ["cancelled"] } as const;
  const [listed] = (await to.done("listJobs", isOf)).rows;
  assert.equal(listed?.failure?.code, "CANCELLED");
  assert.equal((await to.done("getJob", { jobId: "job_waits" })).failure?.code, "CANCELLED");
  const [last] = (await to.done("listJobEvents", { jobId: "job_waits" })).rows;
  assert.equal(last && "failure" in last && last.failure?.code, "CANCELLED");
});

test("what a job says is read newest first, or on from an entry, and by kind", async () => {
  await using to = await openCrowd();
  const told = ({ rows }: { readonly rows: readonly Entry[] }): string[] =>
    rows.map((row) => `${row.type}${"kind" in row && row.kind ? ` ${row.kind}` : ""}`);
  const all = await to.done("listJobEvents", { jobId: "job_child" });
  const newest = [
    "job.emitted tool_call",
    "job.emitted metric",
    "job.emitted progress",
    "job.emitted log",
    "job.started",
    "job.accepted",
  ];
  assert.deepEqual(told(all), newest);
  assert.equal(all.next, undefined);
  const page = await to.done("listJobEvents", { jobId: "job_child", limit: 4 });
  assert.deepEqual(told(page), newest.slice(0, 4));
  const before = page.next ?? 0;
  const older = await to.done("listJobEvents", { jobId: "job_child", before });
  assert.deepEqual(told(older), newest.slice(4));

  const begin = await to.done("listJobEvents", { jobId: "job_child", after: 0, limit: 2 });
  assert.deepEqual(told(begin), newest.toReversed().slice(0, 2));
  const after = begin.next ?? 0;
  const rest = await to.done("listJobEvents", { jobId: "job_child", after });
  assert.deepEqual(told(rest), newest.toReversed().slice(2));

  const some = await to.done("listJobEvents", { jobId: "job_child", kind: ["log", "progress"] });
  assert.deepEqual(told(some), ["job.emitted progress", "job.emitted log"]);
  const [progress] = some.rows as readonly (Entry & WorkEntry)[];
  assert.deepEqual(progress?.body, { current: 3, total: 10, units: "pages" });
});

test("of a job that says much, a page is bounded in entries that are looked at", async () => {
  await using to = await openCrowd();
  const many = limits.entriesScannedMax + 10;
  for (let said = 0; said < many; said += 1) {
    void to.plane.submit(
      emit("job_root", { body: '{"level":"info","message":"on"}' }),
      me,
      () => 0,
    );
  }
  await to.plane.settled();
  const page = await to.done("listJobEvents", { jobId: "job_root", kind: ["artifact_ref"] });
  assert.deepEqual(page.rows, []);
  assert(page.next !== undefined, "and says where to go on");
  const rest = await to.done("listJobEvents", {
    jobId: "job_root",
    kind: ["artifact_ref"],
    before: page.next,
  });
  assert.deepEqual([rest.rows, rest.next], [[], undefined]);
});

test("a job that waits ends at once when it is cancelled, one that runs is asked to", async () => {
  await using to = await openCrowd();
  const waits = await to.done("cancelJob", { jobId: "job_waits", reason: "not needed" });
  assert.equal(waits.state, "cancelled");
  const runs = await to.done("cancelJob", { jobId: "job_root", reason: "too slow" });
  assert.deepEqual([runs.state, runs.cancelling?.reason], ["running", "too slow"]);
  const again = await to.done("cancelJob", { jobId: "job_root", reason: "other" });
  assert.equal(again.cancelling?.reason, "too slow", "it is being cancelled already");
  await to.clock.pass(limits.cancelGraceMs);
  const ended = await to.done("getJob", { jobId: "job_root" });
  assert.deepEqual([ended.state, ended.failure?.message], ["cancelled", "too slow"]);
  const late = await to.done("cancelJob", { jobId: "job_root" });
  assert.equal(late.state, "cancelled");
});

test("without the token nothing of a job is told but its id, by no way", async () => {
  await using to = await openCrowd();
  for (const refused of [
    await to.refused("listJobs", {}, { token: null }),
    await to.refused("getJob", { jobId: "job_child" }, { token: null }),
    await to.refused("listJobEvents", { jobId: "job_child" }, { token: null }),
    await to.refused("cancelJob", { jobId: "job_child" }, { token: null }),
    await to.refused("submitJob", { agent: "echo" }, { token: null }),
  ]) {
    assert.equal(refused.code, "token_required");
  }
  const { rows } = await to.done("listEntries", { about: "job_child" }, { token: null });
  for (const row of rows) {
    const fields = Object.keys(row).toSorted();
    const bare = ["actor", "atMs", "busSequence", "id", "sequence", "topic", "type"];
    assert.deepEqual(fields, bare, row.type);
    assert.equal(row.actor, "principal", "and not which");
  }
  const heard = await streamed(to, "topic=job/job_child", null);
  assert.match(heard, /"id":"job_child"/);
  assert.doesNotMatch(heard, /writer|search|pages|rob|principal\/ann/);
});

test("a stream tells what one job says where that job is named, and of others that they speak", async () => {
  await using to = await openCrowd();
  const own = await streamed(to, "topic=job/job_child");
  assert.match(own, /"kind":"tool_call","body":\{"tool":"search"/);
  assert.match(own, /"type":"job.accepted".*"agent":"writer@2"/);
  assert.doesNotMatch(own, /"id":"job_root"/);
  assert.doesNotMatch(own, new RegExp(secret), "what it was given is asked for by itself");
  const all = await streamed(to, "");
  assert.match(all, /"id":"job_child","kind":"tool_call"/);
  assert.doesNotMatch(all, /"body"/);
  const states = await streamed(to, "topic=job.ended&topic=job.started");
  assert.match(states, /"id":"job_bad","state":"error","failure":\{"code":"boom"/);
  assert.doesNotMatch(states, /job\.emitted/);
});

test("a credential that was made anew is shown to nobody", async () => {
  await using to = await openCrowd();
  const body = { phase: "credential_rotated", id: "cred_1", value: "sk-live-1" };
  await run(to, emit("job_child", { kind: "status", body: JSON.stringify(body) }));
  const page = await to.done("listJobEvents", { jobId: "job_child", kind: ["status"] });
  assert.match(JSON.stringify(page), /credential_rotated.*cred_1/);
  const seen = [
    JSON.stringify(page),
    JSON.stringify(await to.done("getJob", { jobId: "job_child" })),
    await streamed(to, "topic=job/job_child"),
  ];
  assert.doesNotMatch(seen.join(), /sk-live/);
});

test("a job that is being prepared is shown to nobody", async () => {
  await using to = await openCrowd();
  await run(to, submitJob("job_secret", "ann", { needsPreparing: true }));
  assert.equal((await to.refused("getJob", { jobId: "job_secret" })).code, "job_not_found");
  assert.equal((await to.done("listJobs", {})).total, 4);
});

test("a door that takes no jobs says where they are taken", async () => {
  await using door = await openTestDoor();
  await using bare = await openTestDoor({ submitJob: undefined });
  assert.equal((await door.done("submitJob", { agent: "echo" })).state, "pending");
  const { code, message } = await bare.refused("submitJob", { agent: "echo" });
  assert.deepEqual(
    [code, message],
    ["skill_not_found", "jobs are not taken over HTTP here; submit them over ARCP"],
  );
});

test("jobs are counted for Prometheus by where they stand", async () => {
  await using to = await openCrowd();
  const { text } = await to.ask("GET", "/metrics");
  assert.match(text, /^tipstaff_jobs\{state="running"\} 2$/m);
  assert.match(text, /^tipstaff_jobs\{state="success"\} 0$/m);
});

/** Two that run, the one for the other; one that waits; one that failed, and is somebody else's. */
async function openCrowd(options: Parameters<typeof openTestDoor>[0] = {}): Promise<TestDoor> {
  const to = await openTestDoor(options);
  const grant = { "cost.budget": ["USD:5.00"], "agent.delegate": ["*"] };
  await run(to, openSession("ann"), openSession("bob"));
  await run(to, submitJob("job_root", "ann", { agent: { name: "planner" }, capabilities: grant }));
  await run(to, startJob("job_root"));
  await to.clock.pass(10);
  await run(
    to,
    submitJob("job_child", "ann", {
      agent: { name: "writer@2" },
      input: JSON.stringify({ plan: secret }),
      capabilities: { "cost.budget": ["USD:2.00"] },
      parentId: jobId("job_root"),
      delegateId: "draft",
    }),
    startJob("job_child"),
    emit("job_child"),
    emit("job_child", { kind: "progress", body: '{"current":3,"total":10,"units":"pages"}' }),
    reserve("job_child", "r", "USD:0.50"),
    settle("job_child", "r", "USD:0.50"),
    emit("job_child", {
      kind: "metric",
      body: '{"name":"cost","value":0.25,"unit":"USD"}',
      spent: { currency: "USD", value: { units: 25n, scale: 2 } },
    }),
    reserve("job_child", "s", "USD:0.50"),
    emit("job_child", { kind: "tool_call", body: '{"tool":"search","call_id":"c1"}' }),
  );
  await to.clock.pass(10);
  await run(to, submitJob("job_waits", "ann"));
  await run(to, submitJob("job_bad", "bob"), startJob("job_bad"));
  const failure = { code: "boom", message: "it broke", isRetryable: false };
  await run(to, endJob("job_bad", { outcome: { status: "error", failure } }));
  return to;
}

async function run(to: TestDoor, ...commands: Parameters<TestDoor["plane"]["submit"]>[0][]) {
  for (const command of commands) {
    const { refusal } = await to.plane.submit(command, ann, () => undefined);
    assert.equal(refusal, undefined);
  }
}

/** All that a stream tells from the beginning of the log up to now. */
async function streamed(
  to: TestDoor,
  query: string,
  token: string | null = testToken,
): Promise<string> {
  const gone = new AbortController();
  const headers: Record<string, string> =
    token === null ? {} : { Authorization: `Bearer ${token}` };
  // Each ends with an entry that everyone is told of.
  const mark = `mark-${query.length}`;
  await run(to, openSession(mark));
  const url = `http://127.0.0.1:${to.port}/api/v1/events?after=0&${query}${query === "" ? "" : "&topic=session.opened"}`;
  const response = await fetch(url, { headers, signal: gone.signal });
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk);
    if (text.includes(`sess_${mark}`)) break;
  }
  gone.abort();
  return text;
}

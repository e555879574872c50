import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId, jobId, observedId, questionId } from "../../core/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { endJob, startJob, submitJob } from "../../testing/commands.ts";
import { openTestDoor, type TestDoor } from "../../testing/http-door.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { test as me } from "../../testing/test-plane.ts";
import {
  type Agent,
  type Attention,
  limits as apiLimits,
  type SightingState,
  type SourceKind,
} from "../../wire/api/index.ts";
import { limits } from "./limits.ts";

test("where all is well nothing needs a person", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "worker");
  for (const state of ["thinking", "reading", "writing", "idle"] as const) {
    await to.done("heartbeat", { agentId, activity: { state } });
    assert.deepEqual(await attention(to), []);
  }
  await to.done("createTask", { type: "index", requiredTools: ["browser"] });
  await to.done("campaign", { group: "g", agentId });
  assert.deepEqual(await attention(to), []);
});

test("an agent that waits for a person says for what and since when", async () => {
  await using to = await openTestDoor();
  const { id } = await register(to, "claude");
  const sinceMs = to.clock.nowMs();
  const asks = { state: "waiting", note: "delete 3 files?" } as const;
  await to.done("heartbeat", { agentId: id, activity: asks });
  await to.clock.pass(2_000, 1_000);
  const item = { kind: "agent_waiting", source: "registry", id, name: "claude", sinceMs } as const;
  assert.deepEqual(await attention(to), [{ ...item, text: "asks: delete 3 files?" }]);
  await to.done("heartbeat", { agentId: id, activity: { state: "waiting", note: "" } });
  assert.deepEqual(await attention(to), [{ ...item, text: "waits for a person" }]);
  await to.done("deregisterAgent", { agentId: id });
  assert.deepEqual(await attention(to), [], "the dead wait for nobody");
});

test("a question that a file tells of is not hidden because its agent is registered", async () => {
  const known = [
    { source: "file", state: "waiting", word: "input-required", heardAtMs: 900 },
    { source: "registry", state: "unknown", word: "alive", heardAtMs: 950 },
  ] as const;
  const ada = { id: "ada", name: "ada", host: "here", state: "waiting", sinceMs: 500 } as const;
  await using to = await openTestDoor({
    lookAround: async () => [{ ...ada, doing: "may I delete it?", known, isContradicted: false }],
  });
  const item = { kind: "agent_waiting", source: "file", id: "ada", name: "ada", sinceMs: 500 };
  assert.deepEqual(await attention(to), [{ ...item, text: "asks: may I delete it?" }]);
});

const sinceMs = new ManualClock().nowMs() - 500;

const told = (state: SightingState) => (state === "silent" ? "working" : state);

const sighting = (id: string, state: SightingState, source: SourceKind, doing?: string) => ({
  id,
  name: "codex",
  host: "here",
  state,
  sinceMs,
  known: [{ source, state: told(state), word: told(state), heardAtMs: 900 }],
  isContradicted: false,
  ...(doing === undefined ? {} : { doing }),
});

test("an agent that was not heard since the restart is missed since then, not since an old heartbeat", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  let id = "";
  {
    await using before = await openTestDoor({ log, clock });
    id = (await register(before, "ada", 10_000)).id;
    clock.leap(4_000);
    await before.done("heartbeat", { agentId: id });
  }
  clock.leap(600_000);
  await using to = await openTestDoor({ log, clock });
  const unheardSinceMs = clock.nowMs();
  assert.equal((await to.done("getAgent", { agentId: id })).unheardSinceMs, unheardSinceMs);
  const { id: other } = await register(to, "other");
  await passWithHeartbeats(to, other, 12_000);
  const text = "not heard since the restart; what it holds is freed when it is declared dead";
  const about = { kind: "agent_unreachable", source: "registry", id, name: "ada" } as const;
  assert.deepEqual(await attention(to), [{ ...about, sinceMs: unheardSinceMs, text }]);
  const { rows } = await to.done("listEntries", { type: ["agent.unreachable"] });
  assert.deepEqual(
    rows.map((entry) => "agent" in entry && entry.agent.unheardSinceMs),
    [unheardSinceMs],
  );
  await to.done("heartbeat", { agentId: id });
  assert.deepEqual(await attention(to), []);
  const heard = await to.done("getAgent", { agentId: id });
  assert.deepEqual([heard.lastHeartbeatAtMs, heard.unheardSinceMs], [clock.nowMs(), undefined]);
});

test("an agent that registered over HTTP is dead two ttls and 5 s after a restart, unless it is heard", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  const ids: string[] = [];
  {
    await using before = await openTestDoor({ log, clock });
    for (const name of ["silent", "heard"]) ids.push((await register(before, name, 10_000)).id);
  }
  const [silent = "", heard = ""] = ids;
  await using to = await openTestDoor({ log, clock });
  const liveness = async (): Promise<string> =>
    (await to.done("getAgent", { agentId: silent })).liveness;
  await passWithHeartbeats(to, heard, 24_000);
  assert.equal(await liveness(), "unreachable");
  await passWithHeartbeats(to, heard, 2_000);
  assert.equal(await liveness(), "dead");
  assert.equal((await to.done("getAgent", { agentId: heard })).liveness, "alive");
});

test("who was lost more than a day ago needs nobody any more", async () => {
  let lostAtMs = 0;
  await using to = await openTestDoor({
    lookAround: async () => [{ ...sighting("codex-1", "lost", "hook"), sinceMs: lostAtMs }],
  });
  const dayMs = 86_400_000;
  lostAtMs = to.clock.nowMs() - dayMs;
  assert.equal((await attention(to)).length, 1);
  lostAtMs -= 1;
  assert.deepEqual(await attention(to), []);
});

test("who does not speak to us is told with how we know, if it waits, is silent or is lost", async () => {
  await using to = await openTestDoor({
    lookAround: async () => [
      sighting("codex-1", "waiting", "hook", "delete 3 files?"),
      sighting("codex-2", "lost", "file"),
      sighting("codex-3", "silent", "file", "npm test"),
      sighting("codex-4", "working", "process"),
      sighting("codex-5", "lost", "registry"),
    ],
  });
  const about = { name: "codex", sinceMs } as const;
  assert.deepEqual(await attention(to), [
    {
      kind: "agent_waiting",
      source: "hook",
      id: "codex-1",
      ...about,
      text: "asks: delete 3 files?",
    },
    {
      kind: "agent_silent",
      source: "file",
      id: "codex-3",
      ...about,
      text: "says it works, but made no progress; last: npm test",
    },
    {
      kind: "agent_unreachable",
      source: "file",
      id: "codex-2",
      ...about,
      text: "its status file is not kept up to date any more; if it is gone, agent-status prune --prune-after 60 removes the file",
    },
  ]);
});

test("what needs a person says of an agent what the list says of it", async () => {
  let state: SightingState = "working";
  const ids: string[] = [];
  await using to = await openTestDoor({
    lookAround: async () => ids.map((id) => sighting(id, state, "registry", "main.tf")),
  });
  const { id } = await register(to, "ada");
  await to.done("heartbeat", { agentId: id, activity: { state: "waiting", note: "may I?" } });
  assert.equal(
    (await attention(to))[0]?.text,
    "asks: may I?",
    "whoever is not shown speaks itself",
  );
  ids.push(id);
  assert.deepEqual(await attention(to), [], "another source may know of its progress");
  state = "silent";
  const [item] = await attention(to);
  assert.deepEqual([item?.kind, item?.source, item?.id], ["agent_silent", "registry", id]);
});

test("agents that are only observed are counted apart from those that are registered", async () => {
  await using to = await openTestDoor();
  const seen = { name: "codex", note: "", goal: "", workspace: "", source: "hook" } as const;
  const observed = { ...seen, id: observedId("codex-1"), state: "waiting" } as const;
  await to.plane.submit({ type: "observed.report", observed }, me, () => ({}));
  const { text: metrics } = await to.ask("GET", "/metrics");
  assert.match(metrics, /^tipstaff_agents_observed\{state="waiting"\} 1$/m);
  assert.match(metrics, /^agentkeeper_agents_alive 0$/m);
});

test("an agent that says it works, and nothing more for five minutes, is silent", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "scraper");
  const sinceMs = to.clock.nowMs();
  await to.done("heartbeat", { agentId, activity: { state: "writing", note: "main.tf" } });
  await passWithHeartbeats(to, agentId, apiLimits.silentAfterMs);
  assert.deepEqual(await attention(to), []);
  await passWithHeartbeats(to, agentId, 4_000);
  const text = "says it works, but made no progress; last: main.tf";
  const item = {
    kind: "agent_silent",
    source: "registry",
    id: agentId,
    name: "scraper",
    sinceMs,
    text,
  } as const;
  assert.deepEqual(await attention(to), [item]);
  await to.done("heartbeat", { agentId, activity: { state: "writing", note: "main.tf" } });
  assert.deepEqual(await attention(to), [], "it said so again");
});

test("an agent whose heartbeats stopped may be gone", async () => {
  await using to = await openTestDoor();
  const { id, ttlMs } = await register(to, "lost", 1_000);
  const sinceMs = to.clock.nowMs();
  await to.clock.pass(ttlMs + 600);
  const [item] = await attention(to);
  assert.deepEqual([item?.kind, item?.id, item?.sinceMs], ["agent_unreachable", id, sinceMs]);
  await to.clock.pass(ttlMs + 600);
  assert.deepEqual(await attention(to), [], "it is dead");
});

test("a task that failed for good says why", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "worker");
  for (const reason of ["disk full", ""]) {
    await to.done("createTask", { type: "index" });
    const { task } = await to.done("claimTask", { agentId });
    await to.done("failTask", { taskId: task?.id ?? "", agentId, reason });
    to.clock.leap(1);
  }
  const items = await attention(to);
  assert.deepEqual(
    items.map(({ kind, name, text }) => [kind, name, text]),
    [
      ["task_dead", "index", "failed for good: disk full"],
      ["task_dead", "index", "failed for good"],
    ],
  );
  await to.done("requeueTask", { taskId: items[0]?.id ?? "" });
  assert.equal((await attention(to)).length, 1);
});

test("a task that nobody has the tools for is stuck after a minute", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "worker");
  const first = await to.done("createTask", { type: "draw", requiredTools: ["pen", "paper"] });
  await to.done("createTask", { type: "draw", requiredTools: ["paper", "pen"] });
  await to.done("createTask", { type: "browse", requiredTools: ["browser"] });
  await to.done("createTask", { type: "any" });
  // The first look says so: it does not take one to begin counting.
  await passWithHeartbeats(to, agentId, limits.stuckMs);
  const { id, createdAtMs: sinceMs } = first;
  const text = "2 waiting for an agent with pen, paper; there is none";
  const tools = ["pen", "paper"];
  assert.deepEqual(await attention(to), [
    { kind: "task_stuck", source: "registry", id, name: "draw", sinceMs, text, tools },
  ]);
  await to.done("registerAgent", { card: { name: "artist", tools: ["paper", "pen"] } });
  assert.deepEqual(await attention(to), []);
});

test("a task that was delayed is stuck a minute after it could be claimed", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "worker");
  const delayMs = limits.stuckMs * 2;
  await to.done("createTask", { type: "draw", requiredTools: ["pen"], delayMs });
  await passWithHeartbeats(to, agentId, delayMs - 4_000);
  assert.deepEqual(await attention(to), []);
  await passWithHeartbeats(to, agentId, 4_000);
  const sinceMs = to.clock.nowMs();
  assert.deepEqual(await attention(to), [], "it has only just become ready");
  await passWithHeartbeats(to, agentId, limits.stuckMs - 4_000);
  assert.deepEqual(await attention(to), []);
  await passWithHeartbeats(to, agentId, 4_000);
  const [item] = await attention(to);
  assert.deepEqual([item?.kind, item?.sinceMs], ["task_stuck", sinceMs]);
});

test("a group without candidates needs nobody, and is neither listed nor counted; its term is kept", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  const group = "planners";
  {
    await using to = await openTestDoor({ log, clock });
    const { id: agentId } = await register(to, "a");
    await to.done("campaign", { group, agentId });
    assert.equal((await to.done("getOverview", {})).counts.elections, 1);
    await to.done("deregisterAgent", { agentId });
    assert.deepEqual(await attention(to), []);
    assert.deepEqual((await to.done("listElections", {})).rows, []);
    assert.equal((await to.done("getOverview", {})).counts.elections, 0);
    assert.equal((await to.done("getElection", { group })).term, "2");
  }
  await using to = await openTestDoor({ log, clock });
  assert.equal((await to.done("getOverview", {})).counts.elections, 0);
  const { id: agentId } = await register(to, "b");
  assert.equal((await to.done("campaign", { group, agentId })).term, "3");
  assert.equal((await to.done("listElections", {})).total, 1);
});

test("a dismissed item is hidden until the same happens again, and the log says who dismissed it", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  const says = (to: TestDoor, agentId: string, note: string) =>
    to.done("heartbeat", { agentId, activity: { state: "waiting", note } });
  let id = "";
  {
    await using to = await openTestDoor({ log, clock });
    id = (await register(to, "payer", 86_400_000)).id;
    await says(to, id, "pay?");
    const [item] = await attention(to);
    assert(item);
    const { kind, sinceMs } = item;
    await to.done("dismissNeed", { kind, id, sinceMs });
    assert.deepEqual(await attention(to), []);
    const hidden = await to.done("getAttention", { dismissed: true });
    const dismissed = { by: "local", atMs: clock.nowMs() };
    assert.deepEqual(hidden, { items: [{ ...item, dismissed }], total: 1 });
    const { rows } = await to.done("listEntries", { type: ["need."] });
    assert.deepEqual(
      rows.map((entry) => "dismissal" in entry && entry.dismissal),
      [{ kind, id, sinceMs, ...dismissed }],
    );
    const personal = await to.done("listEntries", { type: ["need."] }, { token: null });
    assert.deepEqual(personal.rows, [], "it may name what is the user's alone");
  }
  await using to = await openTestDoor({ log, clock });
  assert.deepEqual(await attention(to), [], "also after a restart");
  await to.done("heartbeat", { agentId: id, activity: { state: "idle" } });
  clock.leap(1_000);
  await says(to, id, "pay now?");
  const [anew] = await attention(to);
  assert(anew);
  await to.done("dismissNeed", { kind: "agent_waiting", id, sinceMs: anew.sinceMs });
  assert.deepEqual(await attention(to), []);
  await to.done("restoreNeed", { kind: "agent_waiting", id });
  assert.equal((await attention(to)).length, 1);
});

test("what is snoozed comes back in time", async () => {
  await using to = await openTestDoor();
  const { id } = await register(to, "payer", 86_400_000);
  await to.done("heartbeat", { agentId: id, activity: { state: "waiting", note: "pay?" } });
  const sinceMs = to.clock.nowMs();
  await to.done("dismissNeed", { kind: "agent_waiting", id, sinceMs, forMs: 60_000 });
  await passWithHeartbeats(to, id, 56_000);
  assert.deepEqual(await attention(to), []);
  await passWithHeartbeats(to, id, 4_000);
  assert.equal((await attention(to)).length, 1);
});

test("agents of one process that are lost are one row, and others are rows of their own", async () => {
  await using to = await openTestDoor();
  const { id: other } = await register(to, "other");
  const ttlMs = 8_000;
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) {
    ids.push((await to.done("registerAgent", { card: { name }, ttlMs, process: "p1" })).id);
  }
  await to.done("registerAgent", { card: { name: "lonely" }, ttlMs, process: "p2" });
  for (const name of ["d", "e"]) {
    const metadata = { host: "here", pid: "42" };
    await to.done("registerAgent", { card: { name, metadata }, ttlMs });
  }
  await passWithHeartbeats(to, other, 12_000);
  const items = await attention(to);
  assert.deepEqual(items.map(({ name, agentCount }) => [name, agentCount]).sort(), [
    ["a and 2 more", 3],
    ["d and 1 more", 2],
    ["lonely", undefined],
  ]);
  const together = items.find(({ agentCount }) => agentCount === 3);
  assert.deepEqual(
    together?.agents?.map(({ id }) => id),
    ids,
  );
  assert.equal(together?.text, "3 agents of one process: heartbeats stopped; a, b, c");
  for (const { kind, id, sinceMs } of items) await to.done("dismissNeed", { kind, id, sinceMs });
  assert.deepEqual(await attention(to), []);
});

test("an open question comes before everything else, for the user alone, until it is answered", async () => {
  await using to = await openTestDoor();
  const { id: waiting } = await register(to, "waits");
  await to.done("heartbeat", { agentId: waiting, activity: { state: "waiting" } });
  to.clock.leap(1_000);
  const { id: agent } = await register(to, "payer");
  const id = questionId("q_1");
  const asker = { of: "agent", agentId: agentId(agent) } as const;
  const ask = { questionId: id, asker, key: "1", prompt: "pay 3 EUR?" } as const;
  await to.plane.submit({ type: "question.ask", ...ask, expects: { of: "text" } }, me, () => ({}));
  const [first, second] = await attention(to);
  assert.deepEqual(first, {
    kind: "question",
    source: "registry",
    id,
    name: "payer",
    sinceMs: to.clock.nowMs(),
    asker: { kind: "agent", id: agent },
    text: "asks: pay 3 EUR?",
  });
  assert.equal(second?.kind, "agent_waiting");
  const anybody = await to.done("getAttention", {}, { token: null });
  assert.deepEqual(
    anybody.items.map(({ kind }) => kind),
    ["agent_waiting"],
  );
  const answer = { questionId: id, answer: '"yes"', by: { name: "me" } } as const;
  await to.plane.submit({ type: "question.answer", ...answer }, me, () => ({}));
  assert.deepEqual(
    (await attention(to)).map(({ kind }) => kind),
    ["agent_waiting"],
  );
});

test("a request for access says to which files, and when it closes", async () => {
  await using to = await openTestDoor();
  const { id: agent } = await register(to, "reader");
  const scope = {
    read: ["docs/**"],
    writePrefix: "out/",
    mode: "read_only",
    ttlMs: 1_000,
  } as const;
  const asker = { of: "agent", agentId: agentId(agent) } as const;
  const ask = { questionId: questionId("q_1"), asker, key: "1", prompt: "to compare" } as const;
  const rest = { expects: { of: "scope", scope }, timeoutMs: 40_000 } as const;
  await to.plane.submit({ type: "question.ask", ...ask, ...rest }, me, () => ({}));
  const [item] = await attention(to);
  assert.equal(item?.text, "wants to read docs/** and write out/: to compare");
  assert.equal(item.expiresAtMs, to.clock.nowMs() + 40_000);
});

test("a job that failed needs a person, unless another job asked for it or somebody cancelled it", async () => {
  await using to = await openTestDoor();
  const failure = { code: "internal", message: "broken", isRetryable: false } as const;
  const outcomes = {
    j1: { status: "error", failure },
    j2: { status: "success" },
    j3: { status: "timed_out", failure },
    j4: { status: "cancelled", failure },
  } as const;
  for (const [id, outcome] of Object.entries(outcomes)) {
    for (const command of [submitJob(id, "local"), startJob(id), endJob(id, { outcome })]) {
      await to.plane.submit(command, me, () => ({}));
    }
  }
  const child = submitJob("child", "local", { parentId: jobId("parent") });
  const parent = submitJob("parent", "local");
  const ends = endJob("child", { outcome: { status: "error", failure } });
  for (const command of [parent, startJob("parent"), child, startJob("child"), ends]) {
    assert.equal((await to.plane.submit(command, me, () => ({}))).refusal, undefined);
  }
  const items = await attention(to);
  assert.deepEqual(
    items.map(({ kind, id, text }) => [kind, id, text]),
    [
      ["job_failed", "j1", "failed: broken"],
      ["job_failed", "j3", "timed out: broken"],
    ],
  );
  const anybody = await to.done("getAttention", {}, { token: null });
  assert.equal(anybody.total, 0, "jobs are told only to the user");
});

test("who waits for a person comes first, and of each kind the longest", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "leader");
  await to.done("createTask", { type: "index", maxRetries: 0 });
  const { task } = await to.done("claimTask", { agentId });
  await to.done("failTask", { taskId: task?.id ?? "", agentId });
  const ids: string[] = [];
  for (let count = 0; count < limits.attentionMax + 5; count++) {
    const { id } = await register(to, `agent-${count}`);
    ids.push(id);
    await to.done("heartbeat", { agentId: id, activity: { state: "waiting" } });
    to.clock.leap(1);
  }
  const { items, total } = await to.done("getAttention", {});
  assert.equal(total, limits.attentionMax + 6);
  assert.deepEqual(
    items.map(({ id }) => id),
    ids.slice(0, limits.attentionMax),
  );
});

async function attention(to: TestDoor): Promise<readonly Attention[]> {
  const { items, total } = await to.done("getAttention", {});
  assert.equal(total, items.length);
  return items;
}

function register(to: TestDoor, name: string, ttlMs = 60_000): Promise<Agent> {
  return to.done("registerAgent", { card: { name, tools: ["browser"] }, ttlMs });
}

/** In steps that are too short for the plane to think that it was suspended. */
async function passWithHeartbeats(to: TestDoor, agentId: string, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 4_000) {
    to.clock.leap(Math.min(4_000, left));
    await to.done("heartbeat", { agentId });
  }
}

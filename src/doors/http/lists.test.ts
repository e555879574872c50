import assert from "node:assert/strict";
import { test } from "node:test";
import { policyId } from "../../core/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { openTestDoor, type TestDoor } from "../../testing/http-door.ts";
import type { Agent, Entry, Input, TaskSort } from "../../wire/api/index.ts";
import { limits } from "./limits.ts";

test("agents come in the order that is asked for, by default those that need a person first", async () => {
  await using to = await openTestDoor();
  for (const name of ["Dora", "alive", "waits", "lost", "dead"]) {
    await register(to, name, { ttlMs: name === "lost" ? 1_000 : 60_000 });
    to.clock.leap(1);
  }
  const named = new Map((await rows(to, {})).map(({ card, id }) => [card.name, id]));
  const waiting = named.get("waits") ?? "";
  await to.done("heartbeat", { agentId: waiting, activity: { state: "waiting" } });
  await to.done("deregisterAgent", { agentId: named.get("dead") ?? "" });
  await to.clock.pass(1_600);
  const names = async (input: Input<"listAgents">): Promise<readonly string[]> =>
    (await rows(to, input)).map(({ card }) => card.name);
  assert.deepEqual(await names({}), ["waits", "lost", "alive", "Dora", "dead"]);
  assert.deepEqual(await names({ sort: "attention" }), await names({}));
  assert.deepEqual(await names({ sort: "newest" }), ["dead", "lost", "waits", "alive", "Dora"]);
  assert.deepEqual(await names({ sort: "oldest" }), ["Dora", "alive", "waits", "lost", "dead"]);
  assert.deepEqual(await names({ sort: "name" }), ["alive", "dead", "Dora", "lost", "waits"]);
  assert.deepEqual(await names({ liveness: ["dead", "unreachable"] }), ["lost", "dead"]);
  assert.deepEqual(await names({ hasLeft: true }), ["dead"]);
  assert.deepEqual(await names({ hasLeft: false, sort: "name" }), [
    "alive",
    "Dora",
    "lost",
    "waits",
  ]);
  assert.deepEqual(await names({ offset: 1, limit: 2 }), ["lost", "alive"]);
});

test("a search looks at all that an agent says of itself, and at its id", async () => {
  await using to = await openTestDoor();
  const card = {
    name: "Scraper",
    description: "Fetches PAGES from the web",
    version: "2.7.1",
    tools: ["browser", "http"],
    capabilities: [{ name: "crawl", description: "x" }],
  };
  const { id } = await to.done("registerAgent", { card });
  await register(to, "other", { tools: ["shell"] });
  for (const query of [
    "scrap",
    "pages FETCHES",
    "2.7",
    "http",
    "crawl",
    id.slice(3, 12),
    " web  ",
  ]) {
    assert.deepEqual(
      (await rows(to, { query })).map(({ id }) => id),
      [id],
      query,
    );
  }
  assert.equal((await rows(to, { query: "scraper shell" })).length, 0);
  assert.equal((await rows(to, { query: "" })).length, 2);
  assert.deepEqual(
    (await rows(to, { tool: ["http", "browser"] })).map(({ id }) => id),
    [id],
  );
  assert.equal((await rows(to, { tool: ["htt"] })).length, 0, "a tool is a whole word");
  assert.equal((await rows(to, { tool: ["http", "shell"] })).length, 0);
});

test("leases are found by task and by holder", async () => {
  await using to = await openTestDoor();
  const [one, two] = [await register(to, "One"), await register(to, "Two")];
  for (const [taskId, { id: agentId }, ttlMs] of [
    ["b", one, 3_000],
    ["a", two, 9_000],
    ["c", one, 6_000],
  ] as const) {
    await to.done("acquireLease", { taskId, agentId, ttlMs });
    to.clock.leap(1);
  }
  const tasks = async (input: Input<"listLeases">): Promise<string> =>
    (await to.done("listLeases", input)).rows.map(({ taskId }) => taskId).join("");
  assert.equal(await tasks({}), "cab");
  assert.equal(await tasks({ sort: "newest" }), "cab");
  assert.equal(await tasks({ sort: "oldest" }), "bac");
  assert.equal(await tasks({ sort: "expiry" }), "bca");
  assert.equal(await tasks({ sort: "task" }), "abc");
  assert.equal(await tasks({ holder: one.id }), "cb");
  assert.equal(await tasks({ query: "two" }), "a");
  assert.equal(await tasks({ query: one.id.slice(0, 20), sort: "task" }), "bc");
});

test("groups are found by name and by leader", async () => {
  await using to = await openTestDoor();
  const [one, two] = [await register(to, "One"), await register(to, "Two")];
  for (const [group, { id: agentId }] of [
    ["b", one],
    ["a", two],
  ] as const) {
    await to.done("campaign", { group, agentId });
    to.clock.leap(1);
  }
  const groups = async (input: Input<"listElections">): Promise<string> =>
    (await to.done("listElections", input)).rows.map(({ group }) => group).join("");
  assert.deepEqual([await groups({}), await groups({ sort: "newest" })], ["ab", "ab"]);
  await to.done("resign", { group: "b", agentId: one.id });
  assert.equal(await groups({ sort: "newest" }), "a", "nobody stands for the other");
  await to.done("campaign", { group: "b", agentId: two.id });
  assert.equal(await groups({ sort: "newest" }), "ba", "by its last change");
  assert.equal(await groups({ sort: "group" }), "ab");
  assert.equal(await groups({ query: "two" }), "ba");
  assert.equal(await groups({ query: "one" }), "", "it leads no more");
});

test("policies are found by anything in them", async () => {
  await using to = await openTestDoor();
  const set = (policyId: string, subject: string, effect: "allow" | "deny" = "allow") =>
    to.done("setPolicy", { policyId, subject, action: "call", resource: "tool:*", effect });
  for (const id of ["b", "c", "a"]) await set(id, `agent:${id}`);
  const ids = async (input: Input<"listPolicies">): Promise<string> =>
    (await to.done("listPolicies", input)).rows.map(({ id }) => id).join("");
  assert.deepEqual([await ids({}), await ids({ sort: "id" })], ["abc", "abc"]);
  assert.equal(await ids({ sort: "newest" }), "acb");
  await set("b", "agent:b", "deny");
  await set("d", "agent:d");
  await to.done("deletePolicy", { policyId: "c" });
  const news = await ids({ sort: "newest" });
  assert.deepEqual([...news].sort(), ["a", "b", "d"]);
  assert(news.endsWith("a"), "what was set since comes before what was there");
  assert.equal(await ids({ query: "DENY call" }), "b");
  assert.equal(await ids({ query: "agent:d" }), "d");
  await set("e", "agent:*");
  await set("f", "user:a");
  assert.equal(await ids({ subjectPrefix: "agent:" }), "abde");
  assert.equal(await ids({ subjectPrefix: "agent:*" }), "e", "a prefix has no wildcards");
  assert.equal(await ids({ subjectPrefix: "agent", query: "deny" }), "b");
  assert.equal(await ids({ subjectPrefix: "" }), "abdef");
  assert.equal(await ids({ subjectPrefix: "gent" }), "");
});

test("the newest policies keep their places while others come and go", async () => {
  await using to = await openTestDoor();
  const rule = { subject: "a", action: "b", resource: "c", effect: "allow" } as const;
  for (const policyId of ["1", "2", "3", "4", "5", "6"]) {
    await to.done("setPolicy", { policyId, ...rule });
  }
  const first = await to.done("listPolicies", { sort: "newest", limit: 3 });
  assert.deepEqual(
    first.rows.map(({ id }) => id),
    ["6", "5", "4"],
  );
  await to.done("deletePolicy", { policyId: "5" });
  await to.done("deletePolicy", { policyId: "2" });
  await to.done("setPolicy", { policyId: "7", ...rule });
  const { next: after = "" } = first;
  const rest = await to.done("listPolicies", { sort: "newest", after });
  assert.deepEqual(
    rest.rows.map(({ id }) => id),
    ["3", "1"],
  );
});

test("tasks come with what needs a person first, and are found by anything but their payload", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "Worker", { tools: ["pen"] });
  const create = (type: string, rest: Partial<Input<"createTask">> = {}) =>
    to.done("createTask", { type, ...rest });
  await create("dead");
  await fail(to, agentId, "Disk Full");
  to.clock.leap(1);
  await create("completed");
  await complete(to, agentId);
  to.clock.leap(1);
  const claimed = await create("claimed", { requiredTools: ["pen"], input: "c2VjcmV0" });
  await to.done("claimTask", { agentId });
  to.clock.leap(1);
  const cancelled = await create("cancelled");
  await to.done("cancelTask", { taskId: cancelled.id });
  to.clock.leap(1);
  await create("delayed", { delayMs: 60_000 });
  to.clock.leap(1);
  await create("pending");

  const types = async (input: Input<"listTasks">): Promise<readonly string[]> => {
    const { rows, total } = await to.done("listTasks", input);
    assert.equal(total, rows.length);
    return rows.map(({ type }) => type);
  };
  const expected: Readonly<Record<TaskSort, readonly string[]>> = {
    attention: ["dead", "claimed", "pending", "delayed", "cancelled", "completed"],
    newest: ["pending", "delayed", "cancelled", "claimed", "completed", "dead"],
    oldest: ["dead", "completed", "claimed", "cancelled", "delayed", "pending"],
  };
  assert.deepEqual(await types({}), expected.attention);
  for (const sort of ["attention", "newest", "oldest"] as const) {
    assert.deepEqual(await types({ sort }), expected[sort]);
  }
  assert.deepEqual(await types({ state: ["pending", "delayed"] }), ["pending", "delayed"]);
  assert.deepEqual(await types({ type: "dead" }), ["dead"]);
  assert.deepEqual(await types({ claimant: agentId }), ["dead", "claimed", "completed"]);
  assert.deepEqual(await types({ query: "disk full" }), ["dead"]);
  assert.deepEqual(await types({ query: "pen worker" }), ["claimed"]);
  assert.deepEqual(await types({ query: claimed.id.slice(0, 12) }), ["claimed"]);
  assert.deepEqual(await types({ query: "c2VjcmV0" }), []);
});

test("walking through the pages gives each row once, in every order", async () => {
  await using to = await openTestDoor();
  const ids = new Set<string>();
  for (let count = 0; count < 25; count++) {
    ids.add((await register(to, `agent-${count % 3}`)).id);
    if (count % 4 === 0) to.clock.leap(1);
  }
  for (const sort of ["attention", "newest", "oldest", "name"] as const) {
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await to.done("listAgents", { sort, limit: 4, ...(after ? { after } : {}) });
      assert.equal(page.total, 25);
      seen.push(...page.rows.map(({ id }) => id));
      after = page.next;
    } while (after);
    assert.deepEqual([seen.length, new Set(seen)], [25, ids], sort);
  }
  const { next: after = "" } = await to.done("listAgents", { sort: "name", limit: 4 });
  const { message } = await to.refused("listAgents", { sort: "newest", after });
  assert.match(message, /^after: /, "a cursor belongs to its order");
});

test("a page names the entry after which it is true", async () => {
  await using to = await openTestDoor();
  await register(to, "a");
  const page = await to.done("listAgents", {});
  assert.deepEqual([page.sequence, page.nowMs], [to.plane.durableSequence, to.clock.nowMs()]);
});

test("the log is shown newest first, page by page", async () => {
  await using to = await openTestDoor();
  for (let count = 0; count < 7; count++) await register(to, `agent-${count}`);
  const sequences: number[] = [];
  let before: number | undefined;
  do {
    const page = await to.done("listEntries", { limit: 3, ...(before ? { before } : {}) });
    assert.deepEqual([page.oldestSequence, page.sequence], [1, 8]);
    sequences.push(...page.rows.map(({ sequence }) => sequence));
    before = page.next;
  } while (before !== undefined);
  assert.deepEqual(sequences, [8, 7, 6, 5, 4, 3, 2, 1]);
  const beyond = await to.done("listEntries", { before: Number.MAX_SAFE_INTEGER, limit: 1 });
  assert.equal(beyond.rows[0]?.sequence, 8);
  assert.deepEqual((await to.done("listEntries", { before: 1 })).rows, []);
});

test("the log is searched by type, by what it is about, and by words", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to, "Scraper");
  const { id: other } = await register(to, "other");
  await to.done("acquireLease", { taskId: "invoice-42", agentId });
  await to.done("campaign", { group: "planners", agentId });
  await to.done("setPolicy", {
    policyId: "p",
    subject: "s",
    action: "a",
    resource: "r",
    effect: "deny",
  });
  const task = await to.done("createTask", { type: "index", input: "c2VjcmV0" });
  await to.done("claimTask", { agentId: other });
  await to.done("heartbeat", { agentId, activity: { state: "waiting", note: "Really?" } });
  await to.done("deregisterAgent", { agentId });
  const types = async (input: Input<"listEntries">): Promise<readonly string[]> =>
    (await to.done("listEntries", input)).rows.map(({ type }) => type).reverse();
  assert.deepEqual(await types({ type: ["lease."] }), ["lease.acquired", "lease.released"]);
  assert.deepEqual(await types({ type: ["policy.changed", "task"] }), [
    "policy.changed",
    "task.created",
    "task.claimed",
  ]);
  assert.deepEqual((await types({ about: agentId })).toSorted(), [
    "agent.active",
    "agent.died",
    "agent.registered",
    "election.joined",
    "election.left",
    "leader.changed",
    "lease.acquired",
    "lease.released",
  ]);
  assert.deepEqual(await types({ about: "invoice-42" }), ["lease.acquired", "lease.released"]);
  assert.deepEqual(await types({ about: "planners", type: ["leader"] }), [
    "leader.changed",
    "leader.changed",
  ]);
  assert.deepEqual(await types({ about: "p" }), ["policy.changed"]);
  assert.deepEqual(await types({ about: task.id }), ["task.created", "task.claimed"]);
  assert.deepEqual(await types({ about: other }), ["agent.registered", "task.claimed"]);
  assert.deepEqual(await types({ query: "REALLY waiting" }), ["agent.active"]);
  assert.deepEqual(await types({ query: "c2VjcmV0" }), [], "payloads are not shown");
  assert.deepEqual(await types({ about: "nothing" }), []);
});

test("a search that finds nothing for long says how far it came", async () => {
  await using to = await openTestDoor();
  const needle = await register(to, "needle");
  const rule = { subject: "s", action: "a", resource: "r", effect: "deny" } as const;
  const { plane } = to;
  for (let count = 0; count < limits.entriesScannedMax; count++) {
    const command = { type: "policy.set", policy: { id: policyId("p"), ...rule } } as const;
    void plane.submit(command, { actor: "tester" }, () => undefined);
    if (count % 1_000 === 0) await plane.settled();
  }
  await plane.settled();
  const first = await to.done("listEntries", { query: "needle" });
  assert.deepEqual(first.rows, []);
  const { next: before = 0 } = first;
  assert.equal(before, plane.durableSequence + 1 - limits.entriesScannedMax);
  const { rows, next } = await to.done("listEntries", { query: "needle", before });
  assert.deepEqual(rows.map(idIn), [needle.id]);
  assert.equal(next, undefined);
});

test("long entries make short pages, and none is left out", async () => {
  await using to = await openTestDoor();
  const description = "x".repeat(60_000);
  const capabilities = ["a", "b", "c"].map((name) => ({ name, description }));
  const wanted: string[] = [];
  for (let count = 0; count < 40; count++) {
    const card = { name: `agent-${count}`, description, capabilities };
    wanted.unshift((await to.done("registerAgent", { card })).id);
  }
  const input = "A".repeat(2_666_664);
  for (let count = 0; count < 8; count++) await to.done("createTask", { type: "big", input });
  const seen: string[] = [];
  let before: number | undefined;
  let pages = 0;
  do {
    const asked = { type: ["agent."], ...(before ? { before } : {}) };
    const page = await to.done("listEntries", asked);
    seen.push(...page.rows.map(idIn));
    before = page.next;
    pages += 1;
  } while (before !== undefined);
  assert.deepEqual(seen, wanted);
  assert(pages > 2, `${pages}`);
});

test("what the log has forgotten is not looked for", async () => {
  class CutLog extends MemoryLog {
    cutAt = 1;

    override get oldestSequence(): number {
      return Math.max(this.cutAt, super.oldestSequence);
    }
  }
  const log = new CutLog();
  await using to = await openTestDoor({ log });
  for (const name of ["a", "b", "c", "d"]) await register(to, name);
  log.cutAt = 4;
  const page = await to.done("listEntries", {});
  assert.deepEqual(
    page.rows.map(({ sequence }) => sequence),
    [5, 4],
  );
  assert.deepEqual([page.oldestSequence, page.next], [4, undefined]);
  assert.deepEqual((await to.done("listEntries", { before: 3 })).rows, []);
});

test("reading the log stops when the caller is gone, and that is nobody's fault", {
  timeout: 10_000,
}, async () => {
  await using to = await openTestDoor();
  const history = to.plane.history.bind(to.plane);
  const leaving = new AbortController();
  let reads = 0;
  for (let count = 0; count < limits.entriesReadMax * 10; count++) {
    const policy = { id: policyId(`p${count}`), subject: "*", action: "*", resource: "*" } as const;
    const command = { type: "policy.set", policy: { ...policy, effect: "allow" } } as const;
    void to.plane.submit(command, { actor: "tester" }, () => undefined);
  }
  await to.plane.read(() => undefined);
  const { promise: isLeft, resolve: left } = Promise.withResolvers<void>();
  to.plane.history = async (...range) => {
    reads += 1;
    leaving.abort();
    await isLeft;
    return history(...range);
  };
  const asking = to.call("listEntries", { query: "needle" }, { signal: leaving.signal });
  await assert.rejects(asking, { name: "AbortError" });
  // Whoever comes later is answered later: by then the door has heard that the first is gone.
  await to.done("getOverview", {});
  left();
  await to.done("listEntries", { query: "needle" });
  const readsOfTwo = reads;
  await to.done("listEntries", { query: "needle" });
  assert(reads - readsOfTwo > 5);
  assert.equal(readsOfTwo, 1 + (reads - readsOfTwo));
  assert.deepEqual(to.faults, []);
});

async function rows(to: TestDoor, input: Input<"listAgents">): Promise<readonly Agent[]> {
  const { rows, total } = await to.done("listAgents", input);
  if (input.limit === undefined) assert.equal(total, rows.length);
  return rows;
}

function register(
  to: TestDoor,
  name: string,
  {
    ttlMs = 60_000,
    tools = [],
  }: { readonly ttlMs?: number; readonly tools?: readonly string[] } = {},
): Promise<Agent> {
  return to.done("registerAgent", { card: { name, tools }, ttlMs });
}

async function complete(to: TestDoor, agentId: string): Promise<void> {
  const { task } = await to.done("claimTask", { agentId });
  await to.done("completeTask", { taskId: task?.id ?? "", agentId });
}

async function fail(to: TestDoor, agentId: string, reason: string): Promise<void> {
  const { task } = await to.done("claimTask", { agentId });
  await to.done("failTask", { taskId: task?.id ?? "", agentId, reason });
}

function idIn(entry: Entry): string {
  return "agent" in entry ? entry.agent.id : "";
}

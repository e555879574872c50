/** Leading, finding, deciding and looking things up, through the client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until, within } from "../e2e/processes.ts";
import { MovableClock, openPlane } from "./plane.ts";

const patienceMs = 15_000;

test("the standby hears that it leads now", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using first = await client.register({ name: "first" });
  await using second = await client.register({ name: "second" });
  const office = await first.campaign("planners");
  await using standby = await second.campaign("planners");
  assert.deepEqual([office.isLeader, standby.isLeader], [true, false]);
  assert.equal(standby.leader, first.id);
  const changes = standby.changes();
  assert.deepEqual((await changes.next()).value, { term: 1n, leader: first.id, isLeader: false });
  await office.resign();
  assert.equal(office.isLeader, false);
  const next = await within(patienceMs, changes.next(), "the change");
  assert.deepEqual(next.value, { term: 2n, leader: second.id, isLeader: true });
  await standby.resign();
  const last = await within(patienceMs, changes.next(), "the end");
  assert.equal(last.value?.isLeader, false);
  assert.equal((await changes.next()).done, true);
});

test("work is done while its agent leads, stops when it does not, and begins anew with the next term", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  await using rival = await client.register({ name: "rival" });
  const terms: bigint[] = [];
  const led = agent.onLeadership("planners", async (term, signal) => {
    terms.push(term);
    if (terms.length === 2) return "done";
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    assert.equal(signal.reason.code, "leadership_lost");
    return "never seen";
  });
  await until(() => terms.length === 1, "the work to begin");
  const standby = await rival.campaign("planners");
  // Somebody resigns in its name; the rival leads, until it has enough of it.
  await client.call("resign", { group: "planners", agentId: agent.id });
  await until(() => standby.isLeader, "the rival to lead");
  await client.call("campaign", { group: "planners", agentId: agent.id });
  await standby.resign();
  assert.equal(await within(patienceMs, led, "the second time"), "done");
  assert.deepEqual(terms, [1n, 3n]);
  assert.equal((await client.elections.get("planners")).leader, undefined, "it resigned when done");
});

test("work that fails is told, and its agent does not lead any more", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "worker" });
  const broken = agent.onLeadership("planners", () => {
    throw new Error("broken");
  });
  await assert.rejects(broken, /broken/);
  assert.equal((await client.elections.get("planners")).candidateCount, 0);
});

test("a leader that slept does not lead until it has heard that it lives", async (t) => {
  await using plane = await openPlane(t);
  const clock = new MovableClock();
  await using client = await plane.connect({ clock });
  await using agent = await client.register({ name: "laptop", ttlMs: 30_000 });
  await using candidacy = await agent.campaign("planners");
  assert.equal(candidacy.isLeader, true);
  const signals: AbortSignal[] = [];
  const stopping = new AbortController();
  const leading = agent.onLeadership(
    "planners",
    async (_, signal) => {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    { signal: stopping.signal },
  );
  await until(() => signals.length === 1, "the work to begin");
  clock.sleep(60_000);
  assert.equal(candidacy.isLeader, false);
  await until(() => signals.length === 2, "it to lead again, in the same term");
  assert.equal(signals[0]?.aborted, true);
  assert.equal(candidacy.isLeader, true);
  assert.equal(candidacy.term, 1n);
  stopping.abort(new Error("enough"));
  await assert.rejects(leading, /enough/);
});

test("policies are set, asked, explained and taken back", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using _ = await client.register({ name: "parser" });
  const policy = {
    id: "read",
    subject: "agent:*",
    action: "read",
    resource: "invoice:*",
    effect: "allow",
  } as const;
  assert.deepEqual(await client.policies.set(policy), policy);
  const question = { subject: "agent:parser", action: "read", resource: "invoice:42" };
  assert.equal((await client.policies.check(question)).allowed, true);
  assert.deepEqual((await client.policies.explain(question)).matches, [policy]);
  const who = await client.policies.who({ action: "read", resource: "invoice:42" });
  assert.deepEqual(
    who.agents.map(({ name, allowed }) => [name, allowed]),
    [["parser", true]],
  );
  assert.deepEqual(await Array.fromAsync(client.policies.list()), [policy]);
  const { subject } = policy;
  const found = client.policies.list({ subjectPrefix: subject.slice(0, 2) });
  assert.deepEqual(await Array.fromAsync(found), [policy]);
  const others = client.policies.list({ subjectPrefix: `${subject}x` });
  assert.deepEqual(await Array.fromAsync(others), []);
  await client.policies.delete("read");
  await client.policies.delete("read");
  assert.equal((await client.policies.check(question)).allowed, false);
  await assert.rejects(client.policies.get("read"), { code: "policy_not_found" });
});

test("a list longer than a page comes whole, each row once", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  const created = await Promise.all(
    Array.from({ length: 450 }, (_, number) => client.tasks.create({ type: "x", input: number })),
  );
  const listed = await Array.fromAsync(client.tasks.list({ sort: "oldest" }));
  assert.equal(listed.length, 450);
  assert.deepEqual(new Set(listed.map(({ id }) => id)), new Set(created.map(({ id }) => id)));
});

test("an agent is found by what it says of itself, and must have the tools", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using _scraper = await client.register({
    name: "scraper",
    description: "Fetches invoices from web pages",
    tools: ["browser"],
  });
  await using _parser = await client.register({
    name: "parser",
    description: "Reads totals from invoices",
    tools: ["pdf"],
  });
  const [best] = await client.find("get a web page");
  assert.equal(best?.agent.card.name, "scraper");
  const withTool = await client.find("get a web page", { tools: ["pdf"], limit: 5 });
  assert.deepEqual(
    withTool.map(({ agent }) => agent.card.name),
    ["parser"],
  );
});

test("what an agent says it is doing is shown, and since when", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await using agent = await client.register({ name: "writer" });
  await agent.report({ state: "writing", note: "chapter 2" });
  const { activity } = await client.agents.get(agent.id);
  assert.deepEqual([activity?.state, activity?.note], ["writing", "chapter 2"]);
});

test("a watch sees what it asks for, from now or from any entry on", async (t) => {
  await using plane = await openPlane(t);
  await using client = await plane.connect();
  await client.policies.set({ id: "a", subject: "*", action: "*", resource: "*", effect: "deny" });
  const { sequence } = await client.overview();
  await using watch = client.watch({ topics: ["policy.", "ext.policy"] });
  const { planeId } = await watch.ready;
  await client.tasks.create({ type: "x" });
  await client.policies.set({ id: "b", subject: "*", action: "*", resource: "*", effect: "deny" });
  const { value } = await within(patienceMs, watch.next(), "an entry");
  assert(value?.type === "policy.changed");
  assert.equal(value.policy.id, "b");
  assert.equal(value.sequence, sequence + 2);
  assert.equal(watch.position, value.sequence);

  await using past = client.watch({ afterSequence: sequence, planeId });
  const types = [(await past.next()).value?.type, (await past.next()).value?.type];
  assert.deepEqual(types, ["task.created", "policy.changed"]);

  const elsewhere = client.watch({ afterSequence: sequence, planeId: "another" });
  await assert.rejects(elsewhere.ready, { code: "other_log" });
  await assert.rejects(elsewhere.next(), { code: "other_log" });
});

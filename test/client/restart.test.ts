/** The daemon is killed and comes back while clients watch, hold, wait, lead and work. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Client, connect, type Entry, TipstaffError } from "../../src/client/index.ts";
import { until, within } from "../e2e/processes.ts";
import { RestartableDaemon } from "./daemon.ts";

const patienceMs = 20_000;

// They mostly wait, for daemons to start and for clients to come back.
describe("a daemon that is killed and comes back", { concurrency: 2 }, () => {
  test("a watch misses nothing and sees nothing twice while the daemon is killed three times", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    const connections: boolean[] = [];
    await using watch = client.watch({
      afterSequence: 0,
      onConnection: ({ isLive }) => connections.push(isLive),
    });
    const seen: Entry[] = [];
    const watching = (async () => {
      for await (const entry of watch) seen.push(entry);
    })();
    const created: string[] = [];
    for (let round = 0; round < 3; round++) {
      for (let number = 0; number < 20; number++) {
        const { id } = await client.tasks.create({ type: `round-${round}`, input: number });
        created.push(id);
        // In the middle of a round, with calls under way before and after.
        if (number === 10) await daemon.restart();
      }
    }
    await until(() => seen.filter(({ type }) => type === "task.created").length >= 60, "all of it");
    await watch[Symbol.asyncDispose]();
    await within(patienceMs, watching, "the loop to end");

    const sequences = seen.map(({ sequence }) => sequence);
    assert.deepEqual(
      sequences,
      [...sequences.keys()].map((index) => index + 1),
    );
    const tasks = seen.flatMap((entry) => (entry.type === "task.created" ? [entry.task.id] : []));
    assert.deepEqual(tasks, created, "each task once, in the order in which they were made");
    assert.equal(seen.filter(({ type }) => type === "plane.opened").length, 4);
    assert.deepEqual(
      connections,
      [true, false, true, false, true, false, true].slice(0, connections.length),
    );
    assert.equal(connections.at(-1), true);
  });

  test("an agent, its lease and its office survive a kill of the daemon", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    await using agent = await client.register({ name: "keeper", ttlMs: 6_000 });
    await using lease = await agent.acquire("invoice-42", { ttlMs: 6_000 });
    await using candidacy = await agent.campaign("planners");
    assert.deepEqual([candidacy.isLeader, candidacy.term], [true, 1n]);
    await daemon.restart();
    // Waits for the next renewal.
    const before = (await client.leases.get("invoice-42")).expiresAtMs;
    await until(
      async () => (await client.leases.get("invoice-42")).expiresAtMs > before,
      "a renewal",
    );
    assert.equal(lease.isHeld, true);
    assert.equal(lease.signal.aborted, false);
    assert.equal(candidacy.isLeader, true);
    assert.equal(candidacy.term, 1n);
    assert.equal(agent.signal.aborted, false);
    assert.equal((await client.leases.check("invoice-42", lease.token)).isCurrent, true);
    const types = await typesIn(client);
    assert.equal(types.filter((type) => type === "agent.registered").length, 1);
    assert.equal(types.filter((type) => type === "lease.acquired").length, 1);
    assert.equal(types.filter((type) => type === "leader.changed").length, 1);
  });

  test("tasks are worked on once each while the daemon is killed under their workers", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    await using agent = await client.register({ name: "worker" });
    const stopping = new AbortController();
    const done: number[] = [];
    const work = async (): Promise<void> => {
      for await (const task of client.tasks.claim(agent, {
        types: ["count"],
        signal: stopping.signal,
      })) {
        const number = task.input.json<number>();
        await task.complete({ number });
        done.push(number);
      }
    };
    const loops = [work(), work(), work()];
    const ids: string[] = [];
    for (let number = 0; number < 40; number++) {
      const { id } = await client.tasks.create({ type: "count", input: number });
      ids.push(id);
      if (number === 15 || number === 30) await daemon.restart();
    }
    await until(() => done.length >= 40, "all tasks to be done");
    stopping.abort(new Error("enough"));
    for (const loop of loops) await assert.rejects(loop, /enough/);
    assert.deepEqual(
      done.toSorted((one, other) => one - other),
      [...Array(40).keys()],
    );
    for (const [number, id] of ids.entries()) {
      const { state, deliveries, output } = await client.tasks.get(id);
      assert.deepEqual([state, deliveries, output.json()], ["completed", 1, { number }]);
    }
  });

  test("a waiting acquirer gets the lease once although the daemon was killed while it waited", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    await using first = await client.register({ name: "first" });
    await using second = await client.register({ name: "second" });
    const held = await first.acquire("invoice-42");
    const waiting = second.acquire("invoice-42", { wait: true });
    await daemon.restart();
    await held.release();
    await using lease = await within(patienceMs, waiting, "the lease");
    assert(lease.token > held.token);
    assert.equal(lease.isHeld, true);
    const acquired = (await typesIn(client)).filter((type) => type === "lease.acquired");
    assert.equal(acquired.length, 2);
  });

  test("the successor of a leader whose process fell silent is told, also across a kill of the daemon", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    await using leader = await client.register({ name: "leader" });
    await using standby = await client.register({ name: "standby" });
    await using office = await leader.campaign("planners");
    await using candidacy = await standby.campaign("planners");
    const heard: (readonly [bigint, boolean])[] = [];
    const listening = (async () => {
      for await (const { term, isLeader } of candidacy.changes()) heard.push([term, isLeader]);
    })();
    await until(() => heard.length === 1, "how it stands");
    await daemon.kill();
    await daemon.start();
    await office.resign();
    await until(() => candidacy.isLeader, "the succession");
    await candidacy.resign();
    await within(patienceMs, listening, "the end of the changes");
    assert.deepEqual(heard.slice(0, 2), [
      [1n, false],
      [2n, true],
    ]);
  });

  test("a daemon that stays away is told as unreachable, with the way out", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon, { patienceMs: 300 });
    await using agent = await client.register({ name: "lonely", ttlMs: 400 });
    await using candidacy = await agent.campaign("planners");
    const lease = await agent.acquire("invoice-42", { ttlMs: 400 });
    await daemon.kill();
    await assert.rejects(client.overview(), (error) => {
      assert(error instanceof TipstaffError);
      assert.equal(error.code, "unreachable");
      assert.match(error.message, /^no daemon answers at .*; start one with tipstaff up$/);
      assert.equal(error.retryable, true);
      return true;
    });
    await until(() => !agent.isAlive, "the agent to know that it may count as dead");
    assert.equal(lease.isHeld, false);
    assert.equal(lease.signal.reason.code, "lease_lost");
    assert.equal(candidacy.isLeader, false);
    assert.equal(agent.signal.aborted, false, "only the daemon declares it dead");
    // Releasing what is lost, at a daemon that is away, does not throw at the end of a block.
    await lease[Symbol.asyncDispose]();
  });

  test("an agent outlives a daemon that is away for longer than two of its ttls", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    await using agent = await client.register({ name: "patient", ttlMs: 400 });
    await using candidacy = await agent.campaign("planners");
    await daemon.kill();
    await until(() => !agent.isAlive, "the agent to know that it may count as dead");
    await daemon.start();
    await until(() => agent.isAlive, "the daemon to hear it again");
    await until(() => candidacy.isLeader, "the leader to lead again");
    assert.equal(candidacy.term, 1n, "nobody else has led");
    const types = await typesIn(client);
    assert.equal(types.includes("agent.died"), false);
  });

  test("an agent that the daemon declared dead while they were apart is told", async () => {
    await using daemon = await RestartableDaemon.start();
    await using client = await connectTo(daemon);
    await using other = await connectTo(daemon);
    await using agent = await client.register({ name: "unlucky", ttlMs: 400 });
    await other.call("deregisterAgent", { agentId: agent.id });
    const reason = await within(patienceMs, agent.died, "the agent to be told");
    assert.equal(reason.code, "agent_dead");
    assert.match(reason.message, /^agent unlucky was declared dead/);
  });
});

async function connectTo(
  { url, token }: RestartableDaemon,
  options: { readonly patienceMs?: number } = {},
): Promise<Client> {
  return await connect({ url, token, ...options });
}

/** The types of all entries, oldest first. */
async function typesIn(client: Client): Promise<readonly string[]> {
  const { rows } = await client.call("listEntries", { limit: 1_000 });
  return rows.map(({ type }) => type).reverse();
}

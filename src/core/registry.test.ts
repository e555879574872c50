import assert from "node:assert/strict";
import { test } from "node:test";
import { card, heartbeat, register } from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import { refuse } from "./decision.ts";
import { type AgentId, agentId } from "./ids.ts";
import { limits } from "./limits.ts";
import {
  type Agent,
  deadlinesOf,
  decide,
  die,
  dueAtMs,
  emptyRegistry,
  evolve,
  lastHeard,
  livingCount,
  loseSight,
  type OwnRegistry,
  type RegistryEvent,
} from "./registry.ts";

const scraper = agentId("scraper");
const alive: Agent = {
  id: scraper,
  card: card("scraper"),
  ttlMs: 30_000,
  registeredAtMs: 1_000,
  liveness: "alive",
};
const unreachable: Agent = { ...alive, liveness: "unreachable" };
const dead: Agent = { ...alive, liveness: "dead", diedAtMs: 90_000 };

test("whoever registers is alive, and was heard of just then", () => {
  const decision = decide(emptyRegistry(), register("scraper"), 1_000);
  const registered = { type: "agent.registered", agent: alive, lastHeartbeatAtMs: 1_000 };
  assert.deepEqual(decision, { events: [registered] });
});

test("two agents may bear one name", () => {
  const registry = given(is("agent.registered", alive));
  const twin = { ...register("scraper"), agentId: agentId("another") };
  assert.equal(decide(registry, twin, 2_000).refusal, undefined);
  evolve(registry, is("agent.registered", { ...alive, id: agentId("another") }));
  assert.equal(livingCount(registry), 2);
});

test("registering the same agent twice makes one, and another under its id is refused", () => {
  const described = {
    ...card("scraper", ["a", "b"]),
    capabilities: [{ name: "n", description: "d" }],
    metadata: [
      ["x", "1"],
      ["y", "2"],
    ],
  } as const;
  const registry = given(is("agent.registered", { ...alive, card: described }));
  const asked = { ...register("scraper"), card: described };
  assert.deepEqual(decide(registry, asked, 2_000), { events: [] });
  const swapped = { ...described, metadata: described.metadata.toReversed() };
  assert.deepEqual(decide(registry, { ...asked, card: swapped }, 2_000), { events: [] });
  for (const other of [
    { name: "parser" },
    { description: "else" },
    { version: "2" },
    { tools: ["b", "a"] },
    { capabilities: [] },
    { metadata: [["x", "1"]] },
  ] as const) {
    const command = { ...asked, card: { ...described, ...other } };
    assert.equal(decide(registry, command, 2_000).refusal?.code, "key_reused");
  }
  assert.equal(decide(registry, { ...asked, ttlMs: 1 }, 2_000).refusal?.code, "key_reused");
  evolve(registry, is("agent.died", { ...dead, card: described }));
  assert.equal(decide(registry, asked, 2_000).refusal?.code, "agent_dead");
});

test("an agent can be told when it will be missed, and when it will be given up", () => {
  const registry = given(is("agent.registered", alive));
  const unheard = { unreachableAtMs: 31_500, deadAtMs: 61_500 };
  assert.deepEqual(deadlinesOf(registry, alive), unheard);
  assert.deepEqual(deadlinesOf(registry, unreachable), unheard);
  registry.listeningSinceMs = 500_000;
  const grace = { unreachableAtMs: 530_500, deadAtMs: 650_000 };
  assert.deepEqual(deadlinesOf(registry, alive), grace);
  assert.deepEqual(deadlinesOf(registry, dead), { unreachableAtMs: 90_000, deadAtMs: 90_000 });
});

test("a beat of an agent that is alive is no fact worth keeping", () => {
  const registry = given(is("agent.registered", alive));
  assert.deepEqual(decide(registry, heartbeat("scraper"), 20_000), { events: [] });
});

test("a beat of an unreachable agent makes it alive again", () => {
  const registry = given(is("agent.registered", alive), is("agent.unreachable", unreachable));
  const recovered = { type: "agent.recovered", agent: alive, lastHeartbeatAtMs: 40_000 };
  assert.deepEqual(decide(registry, heartbeat("scraper"), 40_000), { events: [recovered] });
});

test("what an agent says it does is a fact when it changes, and only then", () => {
  const registry = given(is("agent.registered", alive));
  const says = (doing: string, nowMs: number): readonly RegistryEvent[] => {
    const { events = [] } = { events: [], ...decide(registry, heartbeat("scraper", doing), nowMs) };
    for (const event of events) evolve(registry, event);
    return events;
  };
  const active = (
    state: "reading" | "waiting",
    note: string,
    times: { readonly sinceMs: number; readonly reportedAtMs?: number },
  ): RegistryEvent => ({
    type: "agent.active",
    agentId: scraper,
    activity: { state, note, ...times },
  });
  assert.deepEqual(says("reading page 1", 2_000), [
    active("reading", "page 1", { sinceMs: 2_000 }),
  ]);
  assert.deepEqual(says("reading page 1", 3_000), []);
  assert.deepEqual(says("reading page 2", 4_000), [
    active("reading", "page 2", { sinceMs: 2_000, reportedAtMs: 4_000 }),
  ]);
  assert.deepEqual(says("waiting for a yes", 5_000), [
    active("waiting", "for a yes", { sinceMs: 5_000 }),
  ]);
  evolve(registry, is("agent.died", dead));
  assert.equal(registry.activities.size, 0, "the dead do nothing");
});

test("an unknown agent cannot beat, and a dead one is told that it is dead", () => {
  assert.deepEqual(
    decide(emptyRegistry(), heartbeat("scraper"), 0),
    refuse("agent_not_found", "agent not found: scraper"),
  );
  assert.deepEqual(
    decide(given(is("agent.died", dead)), heartbeat("scraper"), 100_000),
    refuse("agent_dead", "agent is dead: scraper"),
  );
});

test("an agent is missed half a second after its ttl, and dead after one more ttl", () => {
  const registry = given(is("agent.registered", alive));
  assert.equal(dueAtMs(registry, alive), 1_000 + 30_000 + 500);
  evolve(registry, is("agent.unreachable", unreachable));
  assert.equal(dueAtMs(registry, unreachable), 1_000 + 60_000 + 500);
});

test("a ttl of 2^32 - 1 seconds does not overflow", () => {
  const patient: Agent = { ...alive, ttlMs: 4_294_967_295_000 };
  const registry = given(is("agent.registered", patient));
  assert.equal(dueAtMs(registry, patient), 1_000 + 4_294_967_295_000 + 500);
  const lost: Agent = { ...patient, liveness: "unreachable" };
  assert.equal(dueAtMs(registry, lost), 1_000 + 8_589_934_590_000 + 500);
});

test("a beat postpones what is due, without moving where the agent is filed", () => {
  const registry = given(is("agent.registered", alive));
  registry.heartbeats.set(scraper, 20_000);
  assert.equal(dueAtMs(registry, alive), 20_000 + 30_500);
  assert.deepEqual({ ...registry.due.first }.at, 1_000 + 30_500);
});

test("silence before the plane listened is no agent's fault", () => {
  const registry = given(is("agent.registered", alive));
  registry.listeningSinceMs = 500_000;
  assert.equal(dueAtMs(registry, alive), 500_000 + 30_500);
  assert.equal(dueAtMs(registry, unreachable), 500_000 + 150_000, "the grace is longer here");
  const patient: Agent = { ...unreachable, ttlMs: 100_000 };
  assert.equal(dueAtMs(registry, patient), 500_000 + 200_500, "two ttls are longer here");
});

test("an agent whose client reconnects soon has two ttls and 5 s after a restart", () => {
  const decision = decide(emptyRegistry(), { ...register("scraper"), reconnectsSoon: true }, 1_000);
  const soon: Agent = { ...alive, reconnectsSoon: true };
  assert.deepEqual(decision, {
    events: [{ type: "agent.registered", agent: soon, lastHeartbeatAtMs: 1_000 }],
  });
  const registry = given(is("agent.registered", soon));
  registry.listeningSinceMs = 500_000;
  const lost = loseSight(registry, soon, { openedAtMs: 500_000 });
  assert("agent" in lost);
  assert.equal(dueAtMs(registry, lost.agent), 500_000 + 65_000, "events keep the mark");
  const [died] = die(registry, lost.agent, { nowMs: 565_000, openedAtMs: 500_000 });
  assert(died && "agent" in died && died.agent.reconnectsSoon);
  registry.heartbeats.set(scraper, 510_000);
  assert.equal(dueAtMs(registry, lost.agent), 510_000 + 60_500, "heard, it has no more grace");
});

test("an agent that was heard since the plane listens has had its grace", () => {
  const registry = given(is("agent.registered", alive));
  registry.listeningSinceMs = 500_000;
  registry.heartbeats.set(scraper, 510_000);
  assert.equal(dueAtMs(registry, unreachable), 510_000 + 60_500);
});

test("each event tells when the agent was last heard of", () => {
  const registry = given(is("agent.registered", alive));
  registry.heartbeats.set(scraper, 20_000);
  assert.deepEqual(loseSight(registry, alive, { openedAtMs: 0 }), {
    type: "agent.unreachable",
    agent: unreachable,
    lastHeartbeatAtMs: 20_000,
  });
  assert.deepEqual(die(registry, unreachable, { nowMs: 90_000, openedAtMs: 0 }), [
    { type: "agent.died", agent: dead, lastHeartbeatAtMs: 20_000 },
  ]);
});

test("an agent that was not heard since the restart is said to be so, until it is heard", () => {
  const registry = given(is("agent.registered", alive));
  const openedAtMs = 50_000;
  const unheard = { lastHeartbeatAtMs: 1_000, unheardSinceMs: openedAtMs };
  assert.deepEqual(lastHeard(registry, alive, openedAtMs), unheard);
  assert.deepEqual(loseSight(registry, alive, { openedAtMs }), {
    type: "agent.unreachable",
    agent: unreachable,
    ...unheard,
  });
  assert.deepEqual(die(registry, unreachable, { nowMs: 90_000, openedAtMs }), [
    { type: "agent.died", agent: dead, ...unheard },
  ]);
  registry.heartbeats.set(scraper, openedAtMs);
  assert.deepEqual(lastHeard(registry, alive, openedAtMs), { lastHeartbeatAtMs: openedAtMs });
  registry.heartbeats.set(scraper, 1_000);
  assert.deepEqual(lastHeard(registry, dead, openedAtMs), { lastHeartbeatAtMs: 1_000 });
});

test("the dead do not count as living, and are forgotten after a day", () => {
  const registry = given(is("agent.registered", alive), is("agent.died", dead));
  assert.equal(livingCount(registry), 0);
  assert.equal(registry.agents.get(scraper)?.liveness, "dead");
  assert.equal(dueAtMs(registry, dead), 90_000 + 86_400_000);
  evolve(registry, { type: "agent.forgotten", agentId: scraper });
  assert.deepEqual(
    [registry.agents.size, registry.dead.size, registry.heartbeats.size, registry.due.size],
    [0, 0, 0, 0],
  );
});

test("an agent that left is counted apart from those that died, until it is forgotten", () => {
  const registry = given(is("agent.registered", alive));
  const [left] = die(registry, alive, { nowMs: 90_000, openedAtMs: 0, hasLeft: true });
  assert(left && "agent" in left);
  assert.deepEqual(left.agent, { ...dead, hasLeft: true });
  evolve(registry, left);
  evolve(registry, is("agent.died", { ...dead, id: agentId("another") }));
  assert.deepEqual([registry.counts.dead, registry.leftCount], [2, 1]);
  evolve(registry, { type: "agent.forgotten", agentId: scraper });
  assert.deepEqual([registry.counts.dead, registry.leftCount], [1, 0]);
});

test("when too many have died, the one that died first is forgotten", () => {
  const registry = emptyRegistry();
  for (let index = 0; index < limits.deadAgentsMax; index++) {
    evolve(registry, is("agent.died", { ...dead, id: agentId(`dead-${index}`) }));
  }
  const events = die(registry, alive, { nowMs: 90_000, openedAtMs: 0 });
  assert.deepEqual(events[1], { type: "agent.forgotten", agentId: agentId("dead-0") });
  for (const event of events) evolve(registry, event);
  assert.equal(registry.dead.size, limits.deadAgentsMax);
  assert(registry.agents.has(scraper) && !registry.agents.has(agentId("dead-0")));
});

test("there is a bound on the living, and it is told", () => {
  const full = { ...emptyRegistry(), agents: new Crowd<AgentId, Agent>(limits.agentsMax) };
  assert.equal(decide(full, register("scraper"), 0).refusal?.code, "limit_reached");
});

function is(
  type: "agent.registered" | "agent.unreachable" | "agent.recovered" | "agent.died",
  agent: Agent,
): RegistryEvent {
  return { type, agent, lastHeartbeatAtMs: agent.registeredAtMs };
}

function given(...events: RegistryEvent[]): OwnRegistry {
  const registry = emptyRegistry();
  for (const event of events) evolve(registry, event);
  return registry;
}

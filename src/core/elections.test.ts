import assert from "node:assert/strict";
import { test } from "node:test";
import { campaign, resign } from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import {
  decide,
  type Election,
  type ElectionCommand,
  type ElectionEvent,
  emptyElections,
  evolve,
  leaveAll,
  type OwnElections,
} from "./elections.ts";
import { agentId, type GroupName, groupName } from "./ids.ts";
import { limits } from "./limits.ts";
import type { Liveness } from "./registry.ts";

test("the first to campaign leads, in term 1", () => {
  const elections = emptyElections();
  const events = carryOut(elections, campaign("shift", "ada"), { nowMs: 5_000 });
  assert.deepEqual(events, [
    { type: "election.joined", group: "shift", agentId: "ada" },
    { type: "leader.changed", group: "shift", term: 1n, changedAtMs: 5_000, leader: "ada" },
  ]);
  assert.deepEqual(elections.groups.get(groupName("shift")), {
    group: "shift",
    candidates: ["ada"],
    term: 1n,
    leader: "ada",
    changedAtMs: 5_000,
    busSequence: 7,
  });
});

test("a newcomer displaces nobody and changes no term", () => {
  const elections = given(campaign("shift", "ada"));
  const events = carryOut(elections, campaign("shift", "bob"));
  assert.deepEqual(events, [{ type: "election.joined", group: "shift", agentId: "bob" }]);
  assert.deepEqual(stateOf(elections, "shift"), "ada term 1 of ada,bob");
});

test("campaigning again changes nothing", () => {
  const elections = given(campaign("shift", "ada"), campaign("shift", "bob"));
  assert.deepEqual(carryOut(elections, campaign("shift", "ada")), []);
  assert.deepEqual(carryOut(elections, campaign("shift", "bob")), []);
});

test("when the leader resigns, who has waited longest leads in the next term", () => {
  const elections = given(
    campaign("shift", "ada"),
    campaign("shift", "zoe"),
    campaign("shift", "bob"),
  );
  carryOut(elections, resign("shift", "ada"));
  assert.equal(stateOf(elections, "shift"), "zoe term 2 of zoe,bob");
});

test("a candidate that may be gone is passed over for one that is there", () => {
  const elections = given(
    campaign("shift", "ada"),
    campaign("shift", "bob"),
    campaign("shift", "cyd"),
  );
  carryOut(elections, resign("shift", "ada"), { liveness: { bob: "unreachable" } });
  assert.equal(stateOf(elections, "shift"), "cyd term 2 of bob,cyd");
});

test("if no candidate is surely there, the earliest of the others leads", () => {
  const elections = given(
    campaign("shift", "ada"),
    campaign("shift", "bob"),
    campaign("shift", "cyd"),
  );
  const liveness = { bob: "unreachable", cyd: "unreachable" } as const;
  carryOut(elections, resign("shift", "ada"), { liveness });
  assert.equal(stateOf(elections, "shift"), "bob term 2 of bob,cyd");
});

test("when the last candidate leaves, nobody leads, in a term of its own", () => {
  const elections = given(campaign("shift", "ada"));
  const events = carryOut(elections, resign("shift", "ada"), { nowMs: 9_000 });
  assert.deepEqual(events[1], {
    type: "leader.changed",
    group: "shift",
    term: 2n,
    changedAtMs: 9_000,
  });
  assert.equal(stateOf(elections, "shift"), "nobody term 2 of ");
  carryOut(elections, campaign("shift", "bob"));
  assert.equal(stateOf(elections, "shift"), "bob term 3 of bob");
});

test("a standby leaves without a change of term, and stands last when it comes back", () => {
  const elections = given(
    campaign("shift", "ada"),
    campaign("shift", "bob"),
    campaign("shift", "cyd"),
  );
  const events = carryOut(elections, resign("shift", "bob"));
  assert.deepEqual(events, [{ type: "election.left", group: "shift", agentId: "bob" }]);
  carryOut(elections, campaign("shift", "bob"));
  assert.equal(stateOf(elections, "shift"), "ada term 1 of ada,cyd,bob");
});

test("resigning where one does not stand is no mistake", () => {
  assert.deepEqual(carryOut(emptyElections(), resign("shift", "ada")), []);
  assert.deepEqual(carryOut(given(campaign("shift", "ada")), resign("shift", "bob")), []);
});

test("a death ends candidacies group by group, in the order of their names", () => {
  const elections = given(
    campaign("night", "ada"),
    campaign("early", "ada"),
    campaign("late", "bob"),
    campaign("late", "ada"),
    campaign("early", "bob"),
  );
  const livenessOf = (): Liveness => "alive";
  const events = leaveAll(elections, agentId("ada"), { nowMs: 1, livenessOf });
  assert.deepEqual(
    events.map((event) => `${event.type} ${event.group}`),
    [
      "election.left early",
      "leader.changed early",
      "election.left late",
      "election.left night",
      "leader.changed night",
    ],
  );
  for (const event of events) evolve(elections, event, { busSequence: 0 });
  assert.equal(stateOf(elections, "early"), "bob term 2 of bob");
  assert.equal(stateOf(elections, "late"), "bob term 1 of bob");
  assert.equal(stateOf(elections, "night"), "nobody term 2 of ");
  assert.deepEqual([...elections.byCandidate.keys()], ["bob"]);
});

test("there are bounds on groups and candidates", () => {
  const groups = new Crowd<GroupName, Election>(limits.groupsMax);
  const elections = { ...emptyElections(), groups };
  const nowMs = 0;
  const livenessOf = (): Liveness => "alive";
  const code = (command: ElectionCommand): string | undefined =>
    decide(elections, command, { nowMs, livenessOf }).refusal?.code;
  assert.equal(code(campaign("one-more", "ada")), "limit_reached");

  const candidates = Array.from({ length: limits.candidatesMax }, (_, at) => agentId(`c${at}`));
  const crowded = given(campaign("shift", "ada")).groups.get(groupName("shift"));
  assert(crowded);
  groups.set(groupName("shift"), { ...crowded, candidates });
  assert.equal(code(campaign("shift", "ada")), "limit_reached");
});

type Circumstances = {
  readonly nowMs?: number;
  readonly liveness?: Readonly<Record<string, Liveness>>;
};

function carryOut(
  elections: OwnElections,
  command: ElectionCommand,
  { nowMs = 0, liveness = {} }: Circumstances = {},
): readonly ElectionEvent[] {
  const decision = decide(elections, command, {
    nowMs,
    livenessOf: (id) => liveness[id] ?? "alive",
  });
  assert(!decision.refusal);
  for (const event of decision.events) evolve(elections, event, { busSequence: 7 });
  return decision.events;
}

function given(...commands: ElectionCommand[]): OwnElections {
  const elections = emptyElections();
  for (const command of commands) carryOut(elections, command);
  return elections;
}

function stateOf(elections: OwnElections, group: string): string {
  const election = elections.groups.get(groupName(group));
  return `${election?.leader ?? "nobody"} term ${election?.term} of ${election?.candidates}`;
}

/**
 * Reads the log as it becomes durable, entry by entry, and objects to whatever should not have
 * happened. It keeps the plainest model of the world that will do, and shares no rule with the core:
 * where both agree on a million entries, they are probably right.
 */
import assert from "node:assert/strict";
import {
  type Agent,
  type Event,
  type Lease,
  type Policy,
  type Task,
  topics,
} from "../../src/core/index.ts";
import type { Entry } from "../../src/log/index.ts";
import { QuestionReferee } from "./question-referee.ts";
import { WorkReferee } from "./work-referee.ts";

type Group = { candidates: string[]; leader: string | undefined; term: bigint };

export class Referee {
  readonly agents: Map<string, Agent> = new Map();
  readonly leases: Map<string, Lease> = new Map();
  readonly policies: Map<string, Policy> = new Map();
  readonly work: WorkReferee = new WorkReferee();
  readonly questions: QuestionReferee = new QuestionReferee(this.work.ledger, this.agents);
  readonly #groups = new Map<string, Group>();
  readonly #tasks = new Map<string, Task>();
  /** How often each task was handed out since it was created or requeued. */
  readonly #handedOut = new Map<string, number>();
  /** What must come next, word for word, because somebody died. */
  #aftermath: string[] = [];
  #listeningSinceMs = 0;
  #lastToken = 0n;
  #lastBusSequence = 0;
  #lastAtMs = 0;
  lastSequence = 0;

  /** `heardAtMs` tells when an agent was last heard of before an entry was decided. */
  judge(entry: Entry, heardAtMs: (agentId: string, sequence: number) => number): void {
    const { event, sequence, busSequence, atMs } = entry;
    assert.equal(sequence, this.lastSequence + 1, "the log has no gap");
    assert(atMs >= this.#lastAtMs, "time does not go back");
    const isPublished = topics[event.type] !== "";
    assert.equal(busSequence, isPublished ? this.#lastBusSequence + 1 : 0, "the bus has no gap");
    if (isPublished) this.#lastBusSequence += 1;
    this.lastSequence = sequence;
    this.#lastAtMs = atMs;
    const expected = this.#aftermath.shift();
    if (expected !== undefined) assert.equal(inShort(event), expected, "what a death entails");
    this.work.judge(entry);
    this.#judgeEvent(entry, {
      isAftermath: expected !== undefined,
      heardAtMs: (agentId) => heardAtMs(agentId, sequence),
    });
    this.questions.judge(entry);
  }

  /** Nothing more was appended together with what was judged so far. */
  judgeEndOfAppend(): void {
    assert.deepEqual(this.#aftermath, [], "a death and what it entails are one append");
    this.work.judgeEndOfAppend();
    this.questions.judgeEndOfAppend();
    for (const { holder, taskId } of this.leases.values()) {
      assert(this.#isLiving(holder), `${taskId} is held by ${holder}, who is dead`);
    }
    for (const [group, { candidates, leader }] of this.#groups) {
      for (const candidate of candidates) {
        assert(this.#isLiving(candidate), `${candidate} stands for ${group}, and is dead`);
      }
      if (leader === undefined) assert.deepEqual(candidates, [], `${group} has no leader`);
      else assert(candidates.includes(leader), `${leader} leads ${group} without standing for it`);
    }
    for (const task of this.#tasks.values()) {
      if (task.state !== "claimed") continue;
      assert(this.#isLiving(task.claimant), `${task.id} is claimed by the dead ${task.claimant}`);
    }
  }

  #judgeEvent(
    { event, atMs, actor }: Entry,
    {
      isAftermath,
      heardAtMs,
    }: { readonly isAftermath: boolean; readonly heardAtMs: (agentId: string) => number },
  ): void {
    switch (event.type) {
      case "plane.opened":
        assert(event.lastToken >= this.#lastToken, "tokens outlive a restart");
        assert.equal(event.lastBusSequence, this.#lastBusSequence, "so does the bus");
        this.#lastToken = event.lastToken;
        this.#listeningSinceMs = atMs;
        return;
      case "plane.resumed":
        this.#listeningSinceMs = atMs;
        return;

      case "agent.registered":
        assert(!this.agents.has(event.agent.id), "an id is given once");
        assert.equal(event.agent.liveness, "alive");
        this.agents.set(event.agent.id, event.agent);
        return;
      case "agent.unreachable": {
        const before = this.#require(event.agent.id, "alive");
        const sinceMs = Math.max(heardAtMs(before.id), this.#listeningSinceMs);
        assert(atMs >= sinceMs + before.ttlMs + 500, `${before.id} was given up too soon`);
        this.agents.set(before.id, event.agent);
        return;
      }
      case "agent.recovered":
        this.#require(event.agent.id, "unreachable");
        this.agents.set(event.agent.id, event.agent);
        return;
      case "agent.died": {
        const before = this.agents.get(event.agent.id);
        assert(before && before.liveness !== "dead", "one dies once");
        if (actor === "system") this.#judgeTimeOfDeath(before, atMs, heardAtMs(before.id));
        this.agents.set(before.id, event.agent);
        this.#aftermath = this.#aftermathOf(before.id);
        return;
      }
      case "agent.active":
        this.#require(event.agentId, "alive");
        assert(event.activity.sinceMs <= atMs, "nobody knows what it will do");
        return;
      case "agent.forgotten": {
        const dead = this.agents.get(event.agentId);
        assert(dead?.liveness === "dead" && atMs >= dead.diedAtMs + 86_400_000, "too soon");
        this.agents.delete(event.agentId);
        return;
      }

      case "lease.acquired": {
        const { taskId, holder, token, expiresAtMs, ttlMs } = event.lease;
        const current = this.leases.get(taskId);
        assert(!current || current.holder === holder, `${taskId} has two holders`);
        assert(this.#isLiving(holder), `${holder} is dead, and acquires ${taskId}`);
        assert.equal(token, this.#lastToken + 1n, "each acquisition has the next token");
        assert.equal(expiresAtMs, atMs + ttlMs);
        this.#lastToken = token;
        this.leases.set(taskId, event.lease);
        return;
      }
      case "lease.renewed": {
        const current = this.#requireLease(event.lease);
        assert(atMs < current.expiresAtMs, "an expired lease cannot be renewed");
        assert.equal(event.lease.acquiredAtMs, current.acquiredAtMs);
        this.leases.set(event.lease.taskId, event.lease);
        return;
      }
      case "lease.expired":
        assert(atMs >= this.#requireLease(event.lease).expiresAtMs, "expired too soon");
        this.leases.delete(event.lease.taskId);
        return;
      case "lease.released":
        this.#requireLease(event.lease);
        if (actor === "system") assert(isAftermath, "nobody released it");
        this.leases.delete(event.lease.taskId);
        return;

      case "election.joined": {
        const group = this.#group(event.group);
        assert(this.#isLiving(event.agentId) && !group.candidates.includes(event.agentId));
        group.candidates.push(event.agentId);
        return;
      }
      case "election.left": {
        const group = this.#group(event.group);
        assert(group.candidates.includes(event.agentId));
        group.candidates = group.candidates.filter((id) => id !== event.agentId);
        return;
      }
      case "leader.changed": {
        const group = this.#group(event.group);
        assert.equal(event.term, group.term + 1n, "terms rise by one");
        assert(
          group.leader === undefined || !group.candidates.includes(group.leader),
          "a leader is never displaced",
        );
        assert.equal(event.leader, this.#successorOf(group), "who has waited longest leads");
        group.term = event.term;
        group.leader = event.leader;
        return;
      }

      case "policy.changed":
        this.policies.set(event.policy.id, event.policy);
        return;
      case "policy.deleted":
        assert(this.policies.delete(event.policy.id));
        return;

      case "task.created":
        assert(!this.#tasks.has(event.task.id), "an id is given once");
        this.#judgePlace(event.task);
        this.#judgeDelay(event.task, atMs);
        this.#tasks.set(event.task.id, event.task);
        this.#handedOut.set(event.task.id, 0);
        return;
      case "task.ready": {
        const before = this.#requireTask(event.task, "delayed");
        assert(before.state === "delayed" && atMs >= before.readyAtMs, "too soon");
        assert.equal(event.task.state, "pending");
        this.#judgePlace(event.task);
        this.#tasks.set(before.id, event.task);
        return;
      }
      case "task.claimed": {
        const before = this.#requireTask(event.task, "pending");
        assert(event.task.state === "claimed");
        const claimant = this.#require(event.task.claimant, "alive");
        const fits = (task: Task): boolean =>
          task.requiredTools.every((tool) => claimant.card.tools.includes(tool));
        assert(fits(before), `${claimant.id} lacks the tools for ${before.id}`);
        for (const other of this.#tasks.values()) {
          // Which types the claimant asked for is not told here; all of this one, in any case.
          if (other.state !== "pending" || other.type !== before.type || !fits(other)) continue;
          const isHigher = other.priority > before.priority;
          const isOlder = other.priority === before.priority && other.place < before.place;
          assert(!isHigher && !isOlder, `${other.id} comes before ${before.id}`);
        }
        assert.equal(event.task.deliveries, before.deliveries + 1);
        assert.equal(event.task.expiresAtMs, atMs + before.claimMs);
        this.#tasks.set(before.id, event.task);
        this.#count(before.id, 1);
        return;
      }
      case "task.extended": {
        const before = this.#requireClaim(event.task, atMs);
        assert.equal(event.task.state, "claimed");
        assert.equal(event.task.deliveries, before.deliveries, "it is the same claim");
        this.#tasks.set(before.id, event.task);
        return;
      }
      case "task.completed":
        this.#requireClaim(event.task, atMs);
        this.#tasks.set(event.task.id, event.task);
        return;
      case "task.failed": {
        const before = this.#requireTask(event.task, "claimed");
        assert.equal(event.task.retryCount, before.retryCount + 1);
        assert(event.task.retryCount <= event.task.maxRetries, "more retries than allowed");
        this.#judgePlace(event.task);
        this.#judgeDelay(event.task, atMs);
        this.#tasks.set(event.task.id, event.task);
        return;
      }
      case "task.dead": {
        const before = this.#requireTask(event.task, "claimed");
        assert(before.state === "claimed" && event.task.state === "dead");
        assert.equal(event.task.claimant, before.claimant);
        this.#tasks.set(event.task.id, event.task);
        if (actor === "client" && !isAftermath) {
          assert(atMs < before.expiresAtMs, "the claim had run out");
          assert.equal(before.retryCount, before.maxRetries, "it could have been retried");
          return;
        }
        if (!isAftermath) assert(atMs >= before.expiresAtMs, "a claim was cut short");
        assert(this.#isPoison(before), "it could have been handed out again");
        return;
      }
      case "task.requeued":
        this.#judgeRequeued(event.task, { atMs, actor, isAftermath });
        this.#tasks.set(event.task.id, event.task);
        return;
      case "task.cancelled": {
        const before = this.#tasks.get(event.task.id);
        assert(before && ["delayed", "pending", "claimed"].includes(before.state));
        assert.equal(event.task.state, "cancelled");
        this.#tasks.set(event.task.id, event.task);
        return;
      }
      case "task.forgotten": {
        const task = this.#tasks.get(event.taskId);
        assert(task && ["completed", "dead", "cancelled"].includes(task.state));
        this.#tasks.delete(event.taskId);
        return;
      }
    }
  }

  #judgeRequeued(
    task: Task,
    how: { readonly atMs: number; readonly actor: string; readonly isAftermath: boolean },
  ): void {
    const before = this.#tasks.get(task.id);
    assert(before, task.id);
    assert.equal(task.state, "pending");
    assert.equal(task.deliveries, before.deliveries, "claim tokens never go back");
    if (before.state !== "claimed") {
      assert(before.state === "dead" || before.state === "cancelled", "it was not gone");
      assert.equal(how.actor, "client", "someone asks for that");
      assert.equal(task.retryCount, 0);
      this.#judgePlace(task);
      this.#handedOut.set(task.id, 0);
      return;
    }
    assert.equal(task.retryCount, before.retryCount, "that is no failure");
    const isGivenBack = how.actor === "client" && !how.isAftermath;
    if (isGivenBack) {
      assert.equal(task.place, before.place, "what nobody was told of keeps its place");
      this.#count(task.id, -1);
      return;
    }
    if (!how.isAftermath) assert(how.atMs >= before.expiresAtMs, "a claim was cut short");
    assert(!this.#isPoison(before), "it was handed out often enough");
    this.#judgePlace(task);
  }

  #count(id: string, times: number): void {
    this.#handedOut.set(id, (this.#handedOut.get(id) ?? 0) + times);
  }

  /** Whether it was handed out as often as it may be. */
  #isPoison({ id, deliveriesMax }: Task): boolean {
    return deliveriesMax > 0 && (this.#handedOut.get(id) ?? 0) >= deliveriesMax;
  }

  #judgeDelay(task: Task, atMs: number): void {
    if (task.state === "delayed") assert(task.readyAtMs > atMs, "what is ready is not delayed");
    else assert.equal(task.state, "pending");
  }

  #judgeTimeOfDeath(agent: Agent, atMs: number, heardAtMs: number): void {
    assert.equal(agent.liveness, "unreachable", "nobody goes from alive to dead by itself");
    const patienceMs = 2 * agent.ttlMs + 500;
    const wasHeard = heardAtMs >= this.#listeningSinceMs;
    const sinceMs = wasHeard ? heardAtMs : this.#listeningSinceMs;
    const longGraceMs = Math.max(patienceMs, 150_000);
    const graceMs = agent.reconnectsSoon ? 2 * agent.ttlMs + 5_000 : longGraceMs;
    const deadAtMs = sinceMs + (wasHeard ? patienceMs : graceMs);
    assert(atMs >= deadAtMs, `${agent.id} was declared dead too soon`);
  }

  /** Leases by token, then groups by name, then tasks by place. */
  #aftermathOf(agentId: string): string[] {
    const leases = [...this.leases.values()]
      .filter(({ holder }) => holder === agentId)
      .sort((one, other) => Number(one.token - other.token))
      .map(({ taskId, token }) => `lease.released ${taskId} ${token}`);
    const groups = [...this.#groups.keys()].sort().flatMap((name) => {
      const { candidates, leader } = this.#group(name);
      if (!candidates.includes(agentId)) return [];
      const left = `election.left ${name} ${agentId}`;
      return leader === agentId ? [left, `leader.changed ${name}`] : [left];
    });
    const tasks = [...this.#tasks.values()]
      .filter((task) => task.state === "claimed" && task.claimant === agentId)
      .sort((one, other) => one.place - other.place)
      .map((task) => `${this.#isPoison(task) ? "task.dead" : "task.requeued"} ${task.id}`);
    return [...leases, ...groups, ...tasks];
  }

  #successorOf({ candidates }: Group): string | undefined {
    const livenessOf = (id: string): string | undefined => this.agents.get(id)?.liveness;
    return candidates.find((id) => livenessOf(id) === "alive") ?? candidates[0];
  }

  #judgePlace({ id, place }: Task): void {
    for (const task of this.#tasks.values()) {
      assert(task.id === id || task.place < place, `${id} jumped the queue`);
    }
  }

  #isLiving(agentId: string): boolean {
    const agent = this.agents.get(agentId);
    return agent !== undefined && agent.liveness !== "dead";
  }

  #require(agentId: string, liveness: Agent["liveness"]): Agent {
    const agent = this.agents.get(agentId);
    assert.equal(agent?.liveness, liveness, agentId);
    assert(agent);
    return agent;
  }

  #requireLease({ taskId, token, holder }: Lease): Lease {
    const current = this.leases.get(taskId);
    assert(current?.token === token && current.holder === holder, `${taskId} changed hands`);
    return current;
  }

  #requireTask({ id }: Task, state: Task["state"]): Task {
    const task = this.#tasks.get(id);
    assert.equal(task?.state, state, id);
    assert(task);
    return task;
  }

  /** The claim under which a task ends: it must be its own, and not have run out. */
  #requireClaim(task: Task, atMs: number): Task {
    const before = this.#requireTask(task, "claimed");
    assert(before.state === "claimed" && "claimant" in task);
    assert.equal(task.claimant, before.claimant, "only the claimant ends a task");
    assert(atMs < before.expiresAtMs, "the claim had run out");
    return before;
  }

  #group(name: string): Group {
    const group = this.#groups.get(name) ?? { candidates: [], leader: undefined, term: 0n };
    this.#groups.set(name, group);
    return group;
  }
}

function inShort(event: Event): string {
  switch (event.type) {
    case "lease.released":
      return `${event.type} ${event.lease.taskId} ${event.lease.token}`;
    case "election.left":
      return `${event.type} ${event.group} ${event.agentId}`;
    case "leader.changed":
      return `${event.type} ${event.group}`;
    case "task.requeued":
    case "task.dead":
      return `${event.type} ${event.task.id}`;
    default:
      return event.type;
  }
}

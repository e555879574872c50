/**
 * What one caller asked for, what it was told, and what must therefore be true, however often its
 * server is killed in between. Each caller has things of its own, that nobody else touches, and calls
 * one thing at a time: so at most one of its calls is without an answer when the server dies, and
 * everything else is known exactly.
 */
import assert from "node:assert/strict";
import type { Random } from "../../src/testing/random.ts";
import {
  AgentStatus,
  type CampaignResponse,
  type Lease,
  PolicyEffect,
  TaskStatus,
} from "../../src/wire/agentkeeper/index.ts";
import { done, type KeeperClient, millis, type Policy, type Reply } from "./client.ts";

export interface Ledger {
  /** One call. False if it had no answer: then no other may follow before `verify`. */
  act(client: KeeperClient, random: Random): Promise<boolean>;
  /** Everything must be as it was told, or as the call without an answer would have left it. */
  verify(client: KeeperClient): Promise<void>;
  /** Also what has not changed for long; slow. For those whose `verify` looks at changes only. */
  verifyAll?(client: KeeperClient): Promise<void>;
}

/** Clocks of two processes of one machine may be this far apart. */
const slackMs = 50;

/** Every token that anyone was given. They only grow, whatever is restarted. */
export class TokenMark {
  readonly given: Set<bigint> = new Set();
  #largest = 0n;

  /** To be asked before an acquisition. */
  get largest(): bigint {
    return this.#largest;
  }

  /** `above` was the largest when the acquisition was asked for. */
  give(token: bigint, above: bigint): void {
    assert(token > above, `token ${token} is not above ${above}, which was given before`);
    assert(!this.given.has(token), `token ${token} was given twice`);
    this.given.add(token);
    if (token > this.#largest) this.#largest = token;
  }
}

type KnownLease = {
  readonly token: bigint;
  readonly acquiredAtMs: number;
  readonly expiresAtMs: number;
};
type LeaseWish = { readonly startedAtMs: number; readonly ttlMs: number } & (
  | { readonly type: "acquire"; readonly above: bigint }
  | { readonly type: "renew" | "release" }
);
type LeaseThing = { lease?: KnownLease | undefined; wish?: LeaseWish | undefined };

export class LeaseLedger implements Ledger {
  readonly #holder: string;
  readonly #prober: string;
  readonly #tokens: TokenMark;
  readonly #things: ReadonlyMap<string, LeaseThing>;

  /** `prober` is another living agent, which finds out who holds what. */
  constructor(parts: {
    readonly name: string;
    readonly holder: string;
    readonly prober: string;
    readonly tokens: TokenMark;
  }) {
    this.#holder = parts.holder;
    this.#prober = parts.prober;
    this.#tokens = parts.tokens;
    const keys = Array.from({ length: 6 }, (_, index) => `${parts.name}/lease/${index}`);
    this.#things = new Map(keys.map((key) => [key, {}]));
  }

  async act(client: KeeperClient, random: Random): Promise<boolean> {
    const [key, thing] = random.pickAny([...this.#things]) ?? assert.fail();
    const ttlSeconds = random.pick([1, 2, 600]);
    const timing = { startedAtMs: Date.now(), ttlMs: ttlSeconds * 1_000 };
    if (!thing.lease || random.chance(20)) {
      const above = this.#tokens.largest;
      thing.wish = { type: "acquire", above, ...timing };
      const reply = await client.acquire(key, this.#holder, ttlSeconds);
      if (reply.type === "unknown") return false;
      const { acquired, lease } = done(reply);
      assert(acquired, `${key} is ours alone, but is held by ${lease?.holderAgentId}`);
      thing.lease = known(lease);
      this.#tokens.give(thing.lease.token, above);
    } else if (random.chance(60)) {
      thing.wish = { type: "renew", ...timing };
      const { token } = thing.lease;
      const reply = await client.renew(key, this.#holder, token, ttlSeconds);
      if (reply.type === "unknown") return false;
      if (reply.type === "done") {
        const { acquiredAtMs } = thing.lease;
        thing.lease = known(reply.value.lease);
        assert.equal(thing.lease.token, token);
        assert.equal(thing.lease.acquiredAtMs, acquiredAtMs);
      } else thing.lease = mustHaveEnded(key, thing.lease, reply);
    } else {
      thing.wish = { type: "release", ...timing };
      const reply = await client.release(key, this.#holder, thing.lease.token);
      if (reply.type === "unknown") return false;
      if (reply.type === "refused") mustHaveEnded(key, thing.lease, reply);
      thing.lease = undefined;
    }
    thing.wish = undefined;
    return true;
  }

  async verify(client: KeeperClient): Promise<void> {
    await Promise.all([...this.#things].map(([key, thing]) => this.#probe(client, key, thing)));
  }

  async #probe(client: KeeperClient, key: string, thing: LeaseThing): Promise<void> {
    const above = this.#tokens.largest;
    const startedAtMs = Date.now();
    const { acquired, lease } = done(await client.acquire(key, this.#prober, 600));
    const found = known(lease);
    const told = `${print(thing)}; found ${acquired ? "free" : print(found)}`;
    if (acquired) {
      assert(mayBeFree(thing, Date.now()), `${key} lost its lease: ${told}`);
      this.#tokens.give(found.token, above);
      done(await client.release(key, this.#prober, found.token));
      thing.lease = undefined;
    } else {
      assert.equal(lease?.holderAgentId, this.#holder);
      assert(found.expiresAtMs > startedAtMs - slackMs, `${key} outlived its time: ${told}`);
      assert(mayBe(thing, found), `${key} is not as it was told: ${told}`);
      const isNew = found.token !== thing.lease?.token;
      if (isNew && thing.wish?.type === "acquire") this.#tokens.give(found.token, thing.wish.above);
      thing.lease = found;
    }
    thing.wish = undefined;
  }
}

function known(lease: Lease | undefined): KnownLease {
  const token = lease?.token?.value;
  assert(lease && token !== undefined, "a lease has a token");
  return {
    token,
    acquiredAtMs: millis(lease.acquiredAt),
    expiresAtMs: millis(lease.expiresAt),
  };
}

/** The only one who may change a lease is told that there is none: its time must have come. */
function mustHaveEnded(key: string, lease: KnownLease, reply: Reply<unknown>): undefined {
  assert.equal(reply.type === "refused" && reply.code, "NOT_FOUND", key);
  assert(lease.expiresAtMs <= Date.now() + slackMs, `${key} ended too early: ${print(lease)}`);
}

function mayBeFree({ lease, wish }: LeaseThing, nowMs: number): boolean {
  if (!lease || lease.expiresAtMs <= nowMs + slackMs || wish?.type === "release") return true;
  // The wish may have been fulfilled, and its lease have ended since.
  return wish !== undefined && wish.startedAtMs + wish.ttlMs <= nowMs + slackMs;
}

function mayBe({ lease, wish }: LeaseThing, found: KnownLease): boolean {
  if (lease && isSame(lease, found)) return true;
  switch (wish?.type) {
    case "acquire":
      return (
        found.token > wish.above &&
        found.acquiredAtMs >= wish.startedAtMs - slackMs &&
        found.expiresAtMs === found.acquiredAtMs + wish.ttlMs
      );
    case "renew":
      return (
        found.token === lease?.token &&
        found.acquiredAtMs === lease.acquiredAtMs &&
        found.expiresAtMs >= wish.startedAtMs + wish.ttlMs - slackMs
      );
    case "release":
    case undefined:
      return false;
  }
}

function isSame(one: KnownLease, other: KnownLease): boolean {
  return (
    one.token === other.token &&
    one.acquiredAtMs === other.acquiredAtMs &&
    one.expiresAtMs === other.expiresAtMs
  );
}

type PolicyThing = { policy?: Policy | undefined; wish?: { readonly policy?: Policy } | undefined };

export class PolicyLedger implements Ledger {
  readonly #subject: string;
  readonly #things: ReadonlyMap<string, PolicyThing>;
  #made = 0;

  constructor({ name }: { readonly name: string }) {
    this.#subject = `${name}/`;
    const ids = Array.from({ length: 5 }, (_, index) => `${name}/policy/${index}`);
    this.#things = new Map(ids.map((id) => [id, {}]));
  }

  async act(client: KeeperClient, random: Random): Promise<boolean> {
    const [id, thing] = random.pickAny([...this.#things]) ?? assert.fail();
    if (thing.policy && random.chance(30)) {
      thing.wish = {};
      const reply = await client.deletePolicy(id);
      if (reply.type === "unknown") return false;
      done(reply);
      thing.policy = undefined;
    } else {
      this.#made += 1;
      const effect = random.pick([PolicyEffect.ALLOW, PolicyEffect.DENY]);
      const subject = `${this.#subject}${this.#made}`;
      const policy = { id, subject, action: "call", resource: "tool:*", effect };
      thing.wish = { policy };
      const reply = await client.setPolicy(policy);
      if (reply.type === "unknown") return false;
      assert.deepEqual(done(reply).policy, policy);
      thing.policy = policy;
    }
    thing.wish = undefined;
    return true;
  }

  async verify(client: KeeperClient): Promise<void> {
    const { policies } = done(await client.listPolicies(this.#subject));
    const byId = new Map(policies.map((policy) => [policy.id, policy]));
    for (const [id, thing] of this.#things) {
      const found = byId.get(id);
      byId.delete(id);
      const possible = [thing.policy, ...(thing.wish ? [thing.wish.policy] : [])];
      const isPossible = possible.some((one) => print(one) === print(found));
      assert(isPossible, `${id} is not as it was told: ${print(thing)}; found ${print(found)}`);
      thing.policy = found;
      thing.wish = undefined;
    }
    assert.deepEqual([...byId.keys()], [], "policies that nobody set");
  }
}

type TaskFacts = {
  readonly status: TaskStatus;
  readonly claimant: string;
  readonly retryCount: number;
  readonly output: string;
  readonly reason: string;
};
type TaskThing = {
  readonly label: string;
  readonly maxRetries: number;
  facts: TaskFacts;
  wish?: TaskFacts | undefined;
};

const fresh: TaskFacts = {
  status: TaskStatus.PENDING,
  claimant: "",
  retryCount: 0,
  output: "",
  reason: "",
};

export class TaskLedger implements Ledger {
  readonly #name: string;
  readonly #agent: string;
  readonly #things = new Map<string, TaskThing>();
  /** Those that may still change, and those that ended since the last look. */
  readonly #open = new Set<string>();
  /** Created without an answer, so without a known id: they turn up when they are claimed, or never. */
  readonly #unborn = new Map<string, number>();
  #made = 0;
  #isClaiming = false;

  /** `agent` has a tool of that name, and is the only one that does. */
  constructor({ name, agent }: { readonly name: string; readonly agent: string }) {
    this.#name = name;
    this.#agent = agent;
  }

  async act(client: KeeperClient, random: Random): Promise<boolean> {
    const claimed = random.pickAny(this.#with(TaskStatus.CLAIMED));
    const pending = this.#with(TaskStatus.PENDING);
    if (claimed && random.chance(60)) return await this.#finish(client, random, claimed);
    if (pending.length > 3) return await this.#claim(client);
    return await this.#create(client, random);
  }

  async verify(client: KeeperClient): Promise<void> {
    await this.#verify(client, this.#open);
    for (const id of this.#open) if (this.#isOver(id)) this.#open.delete(id);
    this.#isClaiming = false;
  }

  async verifyAll(client: KeeperClient): Promise<void> {
    await this.#verify(client, [...this.#things.keys()].slice(-1_000));
  }

  async #create(client: KeeperClient, random: Random): Promise<boolean> {
    this.#made += 1;
    const label = `${this.#name}/${this.#made}`;
    const maxRetries = random.below(2);
    this.#unborn.set(label, maxRetries);
    const options = { input: label, requiredTools: [this.#name], maxRetries };
    const reply = await client.createTask("work", options);
    if (reply.type === "unknown") return false;
    const { task } = done(reply);
    assert(task && task.status === TaskStatus.PENDING);
    this.#unborn.delete(label);
    this.#add(task.id, { label, maxRetries, facts: fresh });
    return true;
  }

  async #claim(client: KeeperClient): Promise<boolean> {
    this.#isClaiming = true;
    const reply = await client.claimTask(this.#agent);
    if (reply.type === "unknown") return false;
    const { task } = done(reply);
    assert(task && task.claimedByAgentId === this.#agent);
    const label = String(task.input);
    const maxRetries = this.#unborn.get(label);
    if (this.#unborn.delete(label)) {
      this.#add(task.id, { label, maxRetries: maxRetries ?? 0, facts: fresh });
    }
    const thing = this.#things.get(task.id);
    assert.equal(thing?.label, label, "a task that nobody created");
    assert.equal(thing.facts.status, TaskStatus.PENDING, `${label} was claimed twice`);
    thing.facts = { ...thing.facts, status: TaskStatus.CLAIMED, claimant: this.#agent };
    this.#isClaiming = false;
    return true;
  }

  async #finish(client: KeeperClient, random: Random, id: string): Promise<boolean> {
    const thing = this.#things.get(id) ?? assert.fail();
    const { facts, maxRetries } = thing;
    let reply: Reply<unknown>;
    if (random.chance(60)) {
      const output = `output of ${thing.label}`;
      thing.wish = { ...facts, status: TaskStatus.COMPLETED, output };
      reply = await client.completeTask(id, this.#agent, output);
    } else {
      const reason = `failure ${random.hex(8)}`;
      thing.wish =
        facts.retryCount < maxRetries
          ? { ...fresh, retryCount: facts.retryCount + 1, reason }
          : { ...facts, status: TaskStatus.DEAD, reason };
      reply = await client.failTask(id, this.#agent, reason);
    }
    if (reply.type === "unknown") return false;
    done(reply);
    thing.facts = thing.wish;
    thing.wish = undefined;
    return true;
  }

  async #verify(client: KeeperClient, ids: Iterable<string>): Promise<void> {
    let claims = 0;
    const look = async (id: string): Promise<void> => {
      const thing = this.#things.get(id) ?? assert.fail();
      const { task } = done(await client.getTask(id));
      assert.equal(String(task?.input), thing.label);
      const found: TaskFacts = {
        status: task?.status ?? TaskStatus.UNSPECIFIED,
        claimant: task?.claimedByAgentId ?? "",
        retryCount: task?.retryCount ?? 0,
        output: String(task?.output),
        reason: task?.failureReason ?? "",
      };
      const claimed = { ...thing.facts, status: TaskStatus.CLAIMED, claimant: this.#agent };
      const isClaim = thing.facts.status === TaskStatus.PENDING && print(found) === print(claimed);
      if (isClaim) claims += 1;
      const isPossible =
        print(found) === print(thing.facts) ||
        (thing.wish !== undefined && print(found) === print(thing.wish)) ||
        (isClaim && this.#isClaiming);
      assert(isPossible, `a task is not as it was told: ${print(thing)}; found ${print(found)}`);
      thing.facts = found;
      thing.wish = undefined;
    };
    await Promise.all([...ids].map(look));
    assert(claims <= 1, "one claim without an answer took several tasks");
  }

  #with(status: TaskStatus): string[] {
    return [...this.#open].filter((id) => this.#things.get(id)?.facts.status === status);
  }

  #isOver(id: string): boolean {
    const status = this.#things.get(id)?.facts.status;
    return status === TaskStatus.COMPLETED || status === TaskStatus.DEAD;
  }

  #add(id: string, thing: TaskThing): void {
    assert(!this.#things.has(id), "an id was given twice");
    this.#things.set(id, thing);
    this.#open.add(id);
  }
}

type Election = { readonly candidates: readonly string[]; readonly term: bigint };

/** The first candidate leads, because a newcomer joins at the end and all of them live. */
export class ElectionLedger implements Ledger {
  readonly #group: string;
  readonly #agents: readonly [string, ...string[]];
  #election: Election = { candidates: [], term: 0n };
  #wish: Election | undefined;

  constructor(parts: { readonly name: string; readonly agents: readonly [string, ...string[]] }) {
    this.#group = `${parts.name}/group`;
    this.#agents = parts.agents;
  }

  async act(client: KeeperClient, random: Random): Promise<boolean> {
    const agent = random.pick(this.#agents);
    if (random.chance(50)) {
      this.#wish = join(this.#election, agent);
      const reply = await client.campaign(this.#group, agent);
      if (reply.type === "unknown") return false;
      assert.equal(print(seenIn(reply)), print(shown(this.#wish)));
    } else {
      this.#wish = leave(this.#election, agent);
      const reply = await client.resign(this.#group, agent);
      if (reply.type === "unknown") return false;
      done(reply);
    }
    this.#election = this.#wish;
    this.#wish = undefined;
    return true;
  }

  /** There is no way to look without standing for election, so the look itself is a call. */
  async verify(client: KeeperClient): Promise<void> {
    const [agent] = this.#agents;
    const reply = await client.campaign(this.#group, agent);
    const found = print(seenIn(reply));
    const possible = [this.#election, ...(this.#wish ? [this.#wish] : [])]
      .map((election) => join(election, agent))
      .filter((election) => print(shown(election)) === found);
    const [election] = possible;
    const told = `${print(this.#election)}, asked for ${print(this.#wish)}; found ${found}`;
    assert(election, `${this.#group} is not as it was told: ${told}`);
    this.#election = election;
    // Both may look the same to who asks; resigning all tells where both stand.
    this.#wish = undefined;
    if (possible.length > 1) await this.#clear(client, possible);
  }

  async #clear(client: KeeperClient, possible: readonly Election[]): Promise<void> {
    const [agent] = this.#agents;
    for (const one of this.#agents) done(await client.resign(this.#group, one));
    const found = print(seenIn(await client.campaign(this.#group, agent)));
    const cleared = possible
      .map((election) => join(this.#agents.reduce(leave, election), agent))
      .find((election) => print(shown(election)) === found);
    assert(cleared, `${this.#group} is not as it was told: ${print(possible)}; found ${found}`);
    this.#election = cleared;
  }
}

function join({ candidates, term }: Election, agent: string): Election {
  if (candidates.includes(agent)) return { candidates, term };
  return { candidates: [...candidates, agent], term: candidates.length === 0 ? term + 1n : term };
}

function leave({ candidates, term }: Election, agent: string): Election {
  const rest = candidates.filter((candidate) => candidate !== agent);
  return { candidates: rest, term: candidates[0] === agent ? term + 1n : term };
}

function shown({ candidates, term }: Election): unknown {
  return { leader: candidates[0] ?? "", term };
}

function seenIn(reply: Reply<CampaignResponse>): unknown {
  const { state } = done(reply);
  return { leader: state?.leaderAgentId, term: state?.term };
}

type AgentThing = { readonly name: string; isDead: boolean; isLeaving: boolean };

export class AgentLedger implements Ledger {
  readonly #name: string;
  readonly #things = new Map<string, AgentThing>();
  readonly #changed = new Set<string>();
  #made = 0;

  constructor({ name }: { readonly name: string }) {
    this.#name = name;
  }

  async act(client: KeeperClient, random: Random): Promise<boolean> {
    const leaver = random.pickAny([...this.#things].filter(([, { isDead }]) => !isDead));
    if (leaver && random.chance(40)) {
      const [id, thing] = leaver;
      thing.isLeaving = true;
      this.#changed.add(id);
      const reply = await client.deregister(id);
      if (reply.type === "unknown") return false;
      done(reply);
      thing.isDead = true;
      return true;
    }
    this.#made += 1;
    const name = `${this.#name}/agent/${this.#made}`;
    const reply = await client.register(name, { tools: ["hammer", name] });
    if (reply.type === "unknown") return false;
    const { agentId } = done(reply);
    assert(!this.#things.has(agentId), "an id was given twice");
    this.#things.set(agentId, { name, isDead: false, isLeaving: false });
    this.#changed.add(agentId);
    return true;
  }

  async verify(client: KeeperClient): Promise<void> {
    await this.#verify(client, this.#changed);
    this.#changed.clear();
  }

  async verifyAll(client: KeeperClient): Promise<void> {
    await this.#verify(client, [...this.#things.keys()].slice(-1_000));
  }

  async #verify(client: KeeperClient, ids: Iterable<string>): Promise<void> {
    const look = async (id: string): Promise<void> => {
      const thing = this.#things.get(id) ?? assert.fail();
      const { agent } = done(await client.getAgent(id));
      assert.equal(agent?.card?.name, thing.name);
      assert.deepEqual(agent.card.tools, ["hammer", thing.name]);
      assert.equal(agent.card.metadata.get("made-by"), thing.name);
      const isDead = agent.status === AgentStatus.DEAD;
      const isPossible = isDead ? thing.isDead || thing.isLeaving : !thing.isDead;
      assert(isPossible, `${thing.name} has status ${agent.status}, but: ${print(thing)}`);
      thing.isDead = isDead;
      thing.isLeaving = false;
    };
    await Promise.all([...ids].map(look));
  }
}

function print(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner) =>
    typeof inner === "bigint" ? String(inner) : inner,
  );
}

/**
 * Many callers want the same few leases at once, from connections of their own, and the daemon is
 * killed and started again in the middle. What all of them saw must be explained by one lease for each
 * task. LINEARIZABILITY_SEED repeats the choices of an earlier run, not its timing.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Asked,
  findTokenViolation,
  findViolation,
  type Granted,
  type LeaseCall,
  type Seen,
} from "../../src/testing/linearizability.ts";
import { Random } from "../../src/testing/random.ts";
import type { Lease } from "../../src/wire/agentkeeper/index.ts";
import { done, KeeperClient, millis, type Reply } from "./client.ts";
import { Daemon, freePort, heard, scratch } from "./processes.ts";

const seed = Number(process.env["LINEARIZABILITY_SEED"] ?? Date.now() % 1_000_000);
const callers = 10;
const keys = ["invoice-1", "invoice-2", "invoice-3", "invoice-4"] as const;
const halfMs = 3_000;
/** The server's clock is the machine's; ours is the machine's at our start, and counts on from there. */
const slackMs = 50;

test("what ten callers see of four leases, over a crash, is what one lease each would show", async (context) => {
  context.diagnostic(`LINEARIZABILITY_SEED=${seed}`);
  using directory = scratch();
  const port = await freePort();
  const options = {
    dataDirectory: join(directory.path, "data"),
    address: `127.0.0.1:${port}`,
  };
  const histories = new Map<string, LeaseCall[]>(keys.map((key) => [key, []]));
  const parts = { address: options.address, histories, randomOf: new Random(seed) };
  const people = Array.from(
    { length: callers },
    (_, index) => new Caller(`caller-${index}`, parts),
  );

  {
    await using daemon = await Daemon.start(options);
    await Promise.all(people.map((caller) => caller.register()));
    const working = heard(Promise.all(people.map((caller) => caller.work(daemon))));
    await sleep(halfMs);
    await daemon.end("SIGKILL");
    const killedAtMs = nowMs();
    await working;
    for (const caller of people) caller.giveUp(killedAtMs);
  }
  await using daemon = await Daemon.start(options);
  const untilMs = nowMs() + halfMs;
  await Promise.all(people.map((caller) => caller.work(daemon, { untilMs })));

  const grants: Granted[] = [];
  let ended = 0;
  for (const [key, history] of histories) {
    const counts = countBy(history, ({ seen }) => seen.type);
    ended += countEnds(history);
    const startedMs = performance.now();
    const violation = findViolation(history, { slackMs });
    const took = Math.round(performance.now() - startedMs);
    context.diagnostic(`${key}: checked in ${took} ms: ${JSON.stringify(counts)}`);
    assert.equal(violation, undefined, `${key}, LINEARIZABILITY_SEED=${seed}\n${violation}`);
    grants.push(...history.flatMap(grantOf));
  }
  assert.equal(findTokenViolation(grants), undefined);
  context.diagnostic(`${ended} leases ended by themselves`);
  // A run in which callers did not get into each other's way would prove nothing.
  const all = countBy(
    [...histories.values()].flat(),
    ({ asked, seen }) => `${asked.type} ${seen.type}`,
  );
  for (const what of ["acquire held", "renew leased", "renew mismatch", "release released"]) {
    assert((all[what] ?? 0) > 0, `nobody saw: ${what}`);
  }
  assert(ended > 0, "no lease ended by itself");
});

type Parts = {
  readonly address: string;
  readonly histories: ReadonlyMap<string, LeaseCall[]>;
  readonly randomOf: Random;
};

/** A call that has no answer. */
type Lost = { readonly key: string; readonly asked: Asked; readonly startedAtMs: number };

/** One process's worth of calls: a connection and an agent of its own, one call at a time. */
class Caller {
  readonly #name: string;
  readonly #address: string;
  readonly #histories: ReadonlyMap<string, LeaseCall[]>;
  readonly #random: Random;
  /** The tokens it was given, the last one last. */
  readonly #tokens = new Map<string, bigint[]>();
  #given: string | undefined;
  /** Tasks it does not touch, and until when. */
  readonly #forgotten = new Map<string, number>();
  #agentId = "";
  #lost: Lost | undefined;

  constructor(name: string, { address, histories, randomOf }: Parts) {
    this.#name = name;
    this.#address = address;
    this.#histories = histories;
    this.#random = new Random(randomOf.below(2 ** 32));
  }

  async register(): Promise<void> {
    using client = new KeeperClient(this.#address);
    this.#agentId = done(await client.register(this.#name)).agentId;
  }

  /** Calls until the time is over, or the daemon was killed and an answer stays out. */
  async work(daemon: Daemon, { untilMs = Number.POSITIVE_INFINITY } = {}): Promise<void> {
    using client = new KeeperClient(this.#address);
    while (nowMs() < untilMs && !this.#lost) {
      await this.#call(client, daemon, this.#chooseKey());
      if (this.#random.chance(30)) await sleep(this.#random.between(0, 20));
    }
  }

  /** The call that has no answer can have taken effect until then. */
  giveUp(endedAtMs: number): void {
    if (!this.#lost) return;
    const { key, ...call } = this.#lost;
    this.#record(key, { ...call, endedAtMs, seen: { type: "unknown" } });
    this.#lost = undefined;
  }

  async #call(client: KeeperClient, daemon: Daemon, key: string): Promise<void> {
    const asked = this.#choose(key);
    const startedAtMs = nowMs();
    const reply = await ask(client, key, asked);
    const endedAtMs = nowMs();
    if (reply.type === "unknown") {
      assert(daemon.wasSignalled, `no answer, but ${reply.code}: ${reply.message}`);
      this.#lost = { key, asked, startedAtMs };
      return;
    }
    const seen = reply.type === "done" ? reply.value : refusalOf(reply);
    this.#record(key, { asked, seen, startedAtMs, endedAtMs });
    this.#given = seen.type === "leased" ? key : undefined;
    if (asked.type !== "acquire" || seen.type !== "leased") return;
    this.#tokens.set(key, [...(this.#tokens.get(key) ?? []).slice(-4), seen.token]);
  }

  /** Who has just been given a lease uses it, or forgets about it: then its time must end it. */
  #chooseKey(): string {
    if (this.#given !== undefined && this.#random.chance(4)) {
      this.#forgotten.set(this.#given, nowMs() + 2_500);
      this.#given = undefined;
    }
    if (this.#given !== undefined && this.#random.chance(70)) return this.#given;
    const remembered = keys.filter((key) => (this.#forgotten.get(key) ?? 0) < nowMs());
    return this.#random.pickAny(remembered) ?? this.#random.pick(keys);
  }

  #choose(key: string): Asked {
    const holder = this.#agentId;
    const tokens = this.#tokens.get(key) ?? [];
    const ttlMs = this.#random.pick([1_000, 1_000, 2_000]);
    // Mostly its latest token; sometimes one that others have made stale.
    const token = this.#random.chance(80) ? tokens.at(-1) : this.#random.pickAny(tokens);
    if (token === undefined || this.#random.chance(50)) return { type: "acquire", holder, ttlMs };
    if (this.#random.chance(45)) return { type: "renew", holder, token, ttlMs };
    return { type: "release", holder, token };
  }

  #record(key: string, call: LeaseCall): void {
    this.#histories.get(key)?.push(call);
  }
}

/** What the server answers, in the words of the check. */
async function ask(client: KeeperClient, key: string, asked: Asked): Promise<Reply<Seen>> {
  const { holder } = asked;
  switch (asked.type) {
    case "acquire": {
      const reply = await client.acquire(key, holder, asked.ttlMs / 1_000);
      return translate(reply, ({ acquired, lease }) => {
        const facts = factsOf(lease);
        if (!acquired) return { type: "held", holder: lease?.holderAgentId ?? "", ...facts };
        assert.equal(facts.expiresAtMs - millis(lease?.acquiredAt), asked.ttlMs);
        return { type: "leased", ...facts };
      });
    }
    case "renew": {
      const reply = await client.renew(key, holder, asked.token, asked.ttlMs / 1_000);
      return translate(reply, ({ lease }) => ({ type: "leased", ...factsOf(lease) }));
    }
    case "release":
      return translate(await client.release(key, holder, asked.token), () => ({
        type: "released",
      }));
  }
}

function translate<Response>(
  reply: Reply<Response>,
  inOurWords: (response: Response) => Seen,
): Reply<Seen> {
  return reply.type === "done" ? { type: "done", value: inOurWords(reply.value) } : reply;
}

function refusalOf({ code, message }: Reply<Seen> & { readonly type: "refused" }): Seen {
  switch (code) {
    case "NOT_FOUND":
      return { type: "not_found" };
    case "PERMISSION_DENIED":
      return { type: "mismatch" };
    default:
      throw new Error(`refused with ${code}: ${message}`);
  }
}

function factsOf(lease: Lease | undefined): { token: bigint; expiresAtMs: number } {
  const token = lease?.token?.value;
  assert(lease && token !== undefined, "a lease has a token");
  return { token, expiresAtMs: millis(lease.expiresAt) };
}

function grantOf({ asked, seen, startedAtMs, endedAtMs }: LeaseCall): Granted[] {
  const isGrant = asked.type === "acquire" && seen.type === "leased";
  return isGrant ? [{ token: seen.token, startedAtMs, endedAtMs }] : [];
}

/** Grants of a lease that was another's a moment ago, and that nobody released. */
function countEnds(history: readonly LeaseCall[]): number {
  const released = new Set<bigint>();
  for (const { asked, seen } of history) {
    if (asked.type === "release" && seen.type !== "mismatch") released.add(asked.token);
  }
  const holders = history.flatMap(({ asked, seen }) =>
    asked.type === "acquire" && seen.type === "leased" ? { ...seen, holder: asked.holder } : [],
  );
  holders.sort((one, other) => (one.token < other.token ? -1 : 1));
  return holders.filter(({ holder }, index) => {
    const before = holders[index - 1];
    return before && before.holder !== holder && !released.has(before.token);
  }).length;
}

/** Of all callers one clock: real order is real order, to the microsecond. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function countBy<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1;
  return counts;
}

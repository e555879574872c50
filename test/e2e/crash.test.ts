/**
 * `kill -9` at any moment, under load, again and again on the same directory: what was acknowledged is
 * there, nothing goes back, and the daemon always starts again. CRASH_ROUNDS asks for more rounds,
 * CRASH_SEED for the choices of an earlier run (its timing cannot be had again).
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isEventType, topics } from "../../src/core/index.ts";
import { limits } from "../../src/plane/index.ts";
import { Random } from "../../src/testing/random.ts";
import { PolicyEffect } from "../../src/wire/agentkeeper/index.ts";
import { done, type Event, type EventWatch, KeeperClient } from "./client.ts";
import { fill, snapshotsIn } from "./fill.ts";
import {
  AgentLedger,
  ElectionLedger,
  LeaseLedger,
  type Ledger,
  PolicyLedger,
  TaskLedger,
  TokenMark,
} from "./ledger.ts";
import {
  Daemon,
  heard,
  patienceMs,
  scratch,
  tipstaff,
  until,
  warningsIn,
  within,
} from "./processes.ts";

const rounds = Number(process.env["CRASH_ROUNDS"] ?? 30);
const seed = Number(process.env["CRASH_SEED"] ?? Date.now() % 1_000_000);
const callers = 6;

// Takes over 20 s: 36 starts of the daemon, each with a load and a look at everything that was acknowledged.
test(`${rounds} kills under load lose nothing that was acknowledged`, async (context) => {
  await endAgainAndAgain(context, "SIGKILL", rounds);
});

test("nor do a few orderly stops under load, each within 3 s", async (context) => {
  await endAgainAndAgain(context, "SIGTERM", 4);
});

/** Starts, verifies, loads and ends the daemon so many times; at the end, looks at the whole log. */
async function endAgainAndAgain(
  context: TestContext,
  signal: "SIGKILL" | "SIGTERM",
  times: number,
): Promise<void> {
  context.diagnostic(`CRASH_SEED=${seed}`);
  using directory = scratch();
  const random = new Random(seed);
  const options = { dataDirectory: join(directory.path, "data") };
  const tokens = new TokenMark();
  const watched: (readonly Event[])[] = [];
  let crowd: Crowd | undefined;
  let calls = 0;

  for (let round = 0; round < times; round += 1) {
    if (round % 5 === 4) await killAtStart(options, random);
    await using daemon = await Daemon.start(options);
    using client = new KeeperClient(daemon.address);
    using watch = client.watch();
    await within(patienceMs, watch.began, "the watch to begin");
    try {
      crowd ??= await Crowd.gather(client, tokens);
      await crowd.verify(client);
      const load = heard(crowd.load(daemon, random));
      const blocked = client.claimTask(crowd.prober);
      await sleep(random.between(20, 400));
      const sentMs = performance.now();
      const exit = await daemon.end(signal);
      if (signal === "SIGTERM") {
        assert.deepEqual(exit, { code: 0, signal: null }, daemon.stderr);
        assert(performance.now() - sentMs < 3_000, "it took too long to stop");
      }
      calls += await load;
      assert.equal((await blocked).type, "unknown", "a claim that waits for nothing was answered");
      watched.push(await eventsOf(watch));
    } catch (cause) {
      throw new Error(`in round ${round} of CRASH_SEED=${seed}`, { cause });
    }
  }

  await using daemon = await Daemon.start(options);
  {
    using client = new KeeperClient(daemon.address);
    await crowd?.verify(client);
    await crowd?.verifyAll(client);
  }
  assert.deepEqual(await daemon.end("SIGTERM"), { code: 0, signal: null });
  assert.deepEqual(warningsIn(daemon.stderr), []);

  const { code, stdout } = await tipstaff("doctor", "--data-dir", options.dataDirectory);
  assert.match(stdout, /^no check failed/m);
  assert.equal(code, 0);
  const log = readLog(options.dataDirectory);
  assertContinuous(log);
  assertSeenIsInLog(log, watched);
  assertTokensAreInLog(log, tokens);
  report(context, { calls, entries: log.length, events: watched.flat().length });
}

test("a kill while a snapshot is written leaves a log that opens, and loses nothing", async (context) => {
  context.diagnostic(`CRASH_SEED=${seed}`);
  using directory = scratch();
  const random = new Random(seed);
  const dataDirectory = join(directory.path, "data");
  // The next few entries make a snapshot due, and it takes a while to write.
  await fill(dataDirectory, limits.snapshotEntries - 20);
  const told = new Set<string>();
  let hasSnapshot = false;
  for (let round = 0; round < 4; round += 1) {
    await using daemon = await Daemon.start({ dataDirectory });
    using client = new KeeperClient(daemon.address);
    for (let made = 0; made < 40; made += 1) {
      const id = `late-${round}-${made}`;
      const rule = { subject: "late", action: "call", resource: "*", effect: PolicyEffect.DENY };
      if (done(await client.setPolicy({ id, ...rule })).policy?.id === id) told.add(id);
    }
    // The last one is let finish: the next start begins with it.
    if (round === 3) await until(() => snapshotsIn(dataDirectory).length > 0, "a snapshot");
    else await sleep(random.between(0, 100));
    await daemon.end("SIGKILL");
    hasSnapshot = snapshotsIn(dataDirectory).length > 0;
  }
  assert(hasSnapshot);

  await using daemon = await Daemon.start({ dataDirectory });
  using client = new KeeperClient(daemon.address);
  const late = done(await client.listPolicies("late")).policies.map(({ id }) => id);
  assert.deepEqual(new Set(late), told);
  const early = done(await client.listPolicies("agent:999")).policies;
  assert.equal(early.length, 1 + 10 + 80);
  await daemon.end("SIGTERM");
  const { stdout } = await tipstaff("doctor", "--data-dir", dataDirectory);
  assert.match(stdout, /^no check failed: [\d,]+ entries and [12] snapshots?/m);
});

// Takes over 20 s: there must be so much to cut that the daemon is still cutting when it is killed.
test("a kill while the log is cut leaves a log that opens, and loses nothing that is true", async (context) => {
  context.diagnostic(`CRASH_SEED=${seed}`);
  using directory = scratch();
  const random = new Random(seed);
  const dataDirectory = join(directory.path, "data");
  // More than may be kept from then on, and two snapshots near its end.
  const keep = { ms: 86_400_000, bytes: 40_000_000 };
  await fill(dataDirectory, 80_000, { keep, snapshots: 2 });
  const flags = ["--metrics-addr=", "--keep-bytes=16M"];
  const told = new Set<string>();
  let oldest = await firstIn(dataDirectory);
  for (let round = 0; round < 4; round += 1) {
    await using daemon = await Daemon.start({ dataDirectory, flags });
    using client = new KeeperClient(daemon.address);
    const work = heard(setPolicies(client, `late-${round}`, told));
    {
      using database = new DatabaseSync(join(dataDirectory, "log.db"), { readOnly: true });
      const first = database.prepare("select min(sequence) as first from entries");
      await until(() => Number(first.get()?.["first"]) > oldest, "the log to be cut");
    }
    await sleep(random.between(0, 250));
    await daemon.end("SIGKILL");
    await work;
    const first = await firstIn(dataDirectory);
    assert(first > oldest, `what was cut is back: ${first}`);
    oldest = first;
  }

  await using daemon = await Daemon.start({ dataDirectory, flags });
  using client = new KeeperClient(daemon.address);
  const late = new Set(done(await client.listPolicies("late")).policies.map(({ id }) => id));
  assert(told.isSubsetOf(late), "what was acknowledged is there");
  const early = done(await client.listPolicies("agent:599")).policies;
  assert.equal(early.length, 1 + 10 + 100, "also what only cut entries say");
  await daemon.end("SIGTERM");
  assert.deepEqual(warningsIn(daemon.stderr), []);
  context.diagnostic(`${told.size} policies were acknowledged, ${oldest - 1} entries were cut`);
});

/** One after the other, until the daemon is gone. */
async function setPolicies(client: KeeperClient, name: string, told: Set<string>): Promise<void> {
  const rule = { subject: "late", action: "call", resource: "*", effect: PolicyEffect.DENY };
  for (let made = 0; ; made += 1) {
    const id = `${name}-${made}`;
    const reply = await client.setPolicy({ id, ...rule });
    if (reply.type === "unknown") return;
    if (done(reply).policy?.id === id) told.add(id);
  }
}

/** The first entry of a log in which all is well. */
async function firstIn(dataDirectory: string): Promise<number> {
  const { stdout } = await tipstaff("doctor", "--json", "--data-dir", dataDirectory);
  const { problems, firstSequence } = JSON.parse(stdout);
  assert.deepEqual(problems, []);
  return firstSequence;
}

/** Everyone who calls, and one who looks whether it was kept. */
class Crowd {
  readonly prober: string;
  readonly #ledgers: readonly (readonly Ledger[])[];
  readonly #tokens: TokenMark;
  readonly #names: readonly string[];

  static async gather(client: KeeperClient, tokens: TokenMark): Promise<Crowd> {
    const register = async (name: string): Promise<string> =>
      done(await client.register(name, { tools: [name] })).agentId;
    const prober = await register("prober");
    const ledgers: Ledger[][] = [];
    const names: string[] = [];
    for (let index = 0; index < callers; index += 1) {
      const name = `caller-${index}`;
      const agent = await register(name);
      const other = await register(`${name}-standby`);
      names.push(agent);
      ledgers.push([
        new LeaseLedger({ name, holder: agent, prober, tokens }),
        new PolicyLedger({ name }),
        new TaskLedger({ name, agent }),
        new ElectionLedger({ name, agents: [agent, other] }),
        new AgentLedger({ name }),
      ]);
    }
    return new Crowd({ prober, ledgers, tokens, names });
  }

  private constructor(parts: {
    readonly prober: string;
    readonly ledgers: readonly (readonly Ledger[])[];
    readonly tokens: TokenMark;
    readonly names: readonly string[];
  }) {
    this.prober = parts.prober;
    this.#ledgers = parts.ledgers;
    this.#tokens = parts.tokens;
    this.#names = parts.names;
  }

  async verify(client: KeeperClient): Promise<void> {
    await Promise.all(this.#ledgers.flat().map((ledger) => ledger.verify(client)));
  }

  async verifyAll(client: KeeperClient): Promise<void> {
    for (const ledger of this.#ledgers.flat()) await ledger.verifyAll?.(client);
  }

  /** All call until the daemon is gone; answers how many calls were answered. */
  async load(daemon: Daemon, random: Random): Promise<number> {
    const answered = this.#ledgers.map((ledgers, index) =>
      this.#call(daemon, new Random(random.below(2 ** 32)), ledgers, this.#names[index] ?? ""),
    );
    return (await Promise.all(answered)).reduce((sum, calls) => sum + calls, 0);
  }

  async #call(
    daemon: Daemon,
    random: Random,
    ledgers: readonly Ledger[],
    agent: string,
  ): Promise<number> {
    using client = new KeeperClient(daemon.address);
    const [leases, policies, tasks, elections, agents] = ledgers;
    const weights = { leases: 6, policies: 2, tasks: 4, elections: 2, agents: 1, shared: 2 };
    const byName = { leases, policies, tasks, elections, agents };
    for (let calls = 0; ; calls += 1) {
      const what = random.weighted(weights);
      const isAnswered =
        what === "shared"
          ? await this.#contend(client, random, agent)
          : await byName[what]?.act(client, random);
      if (isAnswered) continue;
      assert(daemon.wasSignalled, `a call about ${what} had no answer, and the daemon lives`);
      return calls;
    }
  }

  /** A lease that all want: nothing can be said about its holder here, but its tokens only grow. */
  async #contend(client: KeeperClient, random: Random, agent: string): Promise<boolean> {
    const key = random.pick(["shared/1", "shared/2"]);
    const above = this.#tokens.largest;
    const reply = await client.acquire(key, agent, 1);
    if (reply.type === "unknown") return false;
    const { acquired, lease } = done(reply);
    const token = lease?.token?.value ?? 0n;
    if (!acquired) return true;
    this.#tokens.give(token, above);
    if (random.chance(50)) return true;
    return (await client.release(key, agent, token)).type !== "unknown";
  }
}

/** A daemon that is killed before, while or just after it opens the log. */
async function killAtStart(
  options: { readonly dataDirectory: string },
  random: Random,
): Promise<void> {
  await using daemon = Daemon.spawn(options);
  await sleep(random.between(50, 300));
  await daemon.end("SIGKILL");
}

/** What a watch saw until its server was gone. */
async function eventsOf(watch: EventWatch): Promise<readonly Event[]> {
  const { code } = await within(patienceMs, watch.ended, "the watch to end");
  assert.equal(code, "UNAVAILABLE");
  return watch.events;
}

type Line = {
  readonly sequence: number;
  readonly bus: number;
  readonly type: string;
  readonly body: string;
};

function readLog(directory: string): readonly Line[] {
  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  try {
    const select = "select sequence, bus, type, body from entries order by sequence";
    return database.prepare(select).all() as unknown as Line[];
  } finally {
    database.close();
  }
}

/** Neither entries nor published events have a gap, and opening goes on where the last one stopped. */
function assertContinuous(log: readonly Line[]): void {
  let bus = 0;
  log.forEach((line, index) => {
    assert.equal(line.sequence, index + 1);
    if (line.type === "plane.opened") assert.equal(JSON.parse(line.body).lastBusSequence, bus);
    if (line.bus > 0) bus += 1;
    assert(line.bus === 0 || line.bus === bus, `entry ${line.sequence} has bus ${line.bus}`);
  });
}

/**
 * Whoever watched saw events of the log and no others, in their order and without a gap, from the
 * first that was published after the start on. Only what falls due at the start may come before a
 * watch can begin.
 */
function assertSeenIsInLog(log: readonly Line[], watched: readonly (readonly Event[])[]): void {
  const byBus = new Map(log.map((line, index) => [line.bus, { line, index }]));
  let lastSeen = 0;
  for (const events of watched) {
    const [first] = events;
    assert(first, "a watch saw nothing");
    assert(Number(first.sequenceNumber) > lastSeen, "the sequence went back");
    let index = (byBus.get(Number(first.sequenceNumber))?.index ?? assert.fail()) - 1;
    for (; log[index]?.type !== "plane.opened"; index -= 1) {
      const { type, bus } = log[index] ?? assert.fail();
      const isDueAtStart = type === "lease.expired" || type === "task.requeued";
      assert(bus === 0 || isDueAtStart, `a watch missed event ${bus}, ${type}`);
    }
    lastSeen = Number(first.sequenceNumber) - 1;
    for (const { sequenceNumber, topic } of events) {
      assert.equal(Number(sequenceNumber), lastSeen + 1, "a watch skipped an event");
      lastSeen = Number(sequenceNumber);
      const type = byBus.get(lastSeen)?.line.type ?? "";
      assert(isEventType(type) && topics[type] === topic, `event ${lastSeen} is not in the log`);
    }
  }
}

function assertTokensAreInLog(log: readonly Line[], tokens: TokenMark): void {
  const missing = new Set(tokens.given);
  let last = 0n;
  for (const { type, body } of log) {
    if (type !== "lease.acquired") continue;
    const token = BigInt(JSON.parse(body).lease.token);
    assert(token > last, `token ${token} comes after ${last}`);
    last = token;
    missing.delete(token);
  }
  assert.deepEqual([...missing], [], "tokens that were given and are not in the log");
}

function report(context: TestContext, counts: Readonly<Record<string, number>>): void {
  const words = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  context.diagnostic(words.join(", "));
}

/**
 * The world in which a story is told: one plane on a simulated disk, a clock that is moved by hand, and
 * agents whose names are their ids. Each sentence is carried out and answers with what came of it.
 * Times and tokens are told as if they had begun at zero.
 */
import assert from "node:assert/strict";
import { type Command, check, type Event, type State, topics } from "../../src/core/index.ts";
import type { Entry } from "../../src/log/index.ts";
import * as say from "../../src/testing/commands.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import { SimulatedDisk } from "../../src/testing/simulated-disk.ts";
import { SimulatedLog } from "../../src/testing/simulated-log.ts";
import { openPlane, type TestPlane, test, turns } from "../../src/testing/test-plane.ts";

const beginMs = 1_700_000_000_000;
/** Tokens start at the wall clock in microseconds. */
const firstToken = BigInt(beginMs) * 1_000n;

type Words = Readonly<Record<string, string | undefined>>;
type Sentence = {
  readonly pattern: RegExp;
  readonly carryOut: (world: World, words: Words) => Promise<readonly string[]>;
};

/** Everything that can be said in a story. */
const sentences: readonly Sentence[] = [
  sentence("(?<who>\\S+) registers for (?<ttl>\\S+)s(?: with (?<tools>\\S+))?", (world, words) => {
    const tools = words["tools"]?.split(",") ?? [];
    return world.submit(say.register(words["who"] ?? "", { ttlMs: ms(words["ttl"]), tools }));
  }),
  sentence("(?<who>\\S+) beats", (world, words) => world.submit(say.heartbeat(words["who"] ?? ""))),
  sentence("(?<who>\\S+) deregisters", (world, words) =>
    world.submit(say.deregister(words["who"] ?? "")),
  ),
  sentence("(?<who>\\S+) acquires (?<what>\\S+) for (?<ttl>\\S+)s", (world, words) =>
    world.submit(say.acquire(words["what"] ?? "", words["who"] ?? "", ms(words["ttl"]))),
  ),
  sentence(
    "(?<who>\\S+) renews (?<what>\\S+)(?: for (?<ttl>\\S+)s)?(?: with token (?<token>\\d+))?",
    (world, { who = "", what = "", ttl, token }) => {
      const presented = world.tokenOf(who, what, token);
      const ttlMs = ttl === undefined ? undefined : ms(ttl);
      return world.submit(say.renew(what, who, presented, ttlMs));
    },
  ),
  sentence(
    "(?<who>\\S+) releases (?<what>\\S+)(?: with token (?<token>\\d+))?",
    (world, { who = "", what = "", token }) => {
      const presented = world.tokenOf(who, what, token);
      return world.submit(say.release(what, who, presented));
    },
  ),
  sentence("(?<who>\\S+) campaigns for (?<group>\\S+)", (world, words) =>
    world.submit(say.campaign(words["group"] ?? "", words["who"] ?? "")),
  ),
  sentence("(?<who>\\S+) resigns from (?<group>\\S+)", (world, words) =>
    world.submit(say.resign(words["group"] ?? "", words["who"] ?? "")),
  ),
  sentence(
    "policy (?<id>\\S+) (?<effect>allows|denies) (?<subject>\\S+) to (?<action>\\S+) (?<resource>\\S+)",
    (world, { id = "", effect, subject, action, resource }) => {
      const rule = `${subject} ${action} ${resource}` as const;
      return world.submit(say.setPolicy(id, effect === "allows" ? "allow" : "deny", rule));
    },
  ),
  sentence("policy (?<id>\\S+) is deleted", (world, words) =>
    world.submit(say.deletePolicy(words["id"] ?? "")),
  ),
  sentence(
    "may (?<subject>\\S+) (?<action>\\S+) (?<resource>\\S+)\\?",
    async (world, { subject = "", action = "", resource = "" }) => {
      const { allowed, decidedBy } = await world.read((state) =>
        check(state.entitlements, { subject, action, resource }),
      );
      return [
        `${allowed ? "yes" : "no"}, ${decidedBy ? `says ${decidedBy.id}` : "nothing applies"}`,
      ];
    },
  ),
  sentence(
    "task (?<what>\\S+) is created for (?<ttl>\\S+)s(?: needing (?<tools>\\S+))?(?: with (?<retries>\\d+) retr(?:y|ies))?",
    (world, { what = "", ttl, tools, retries = "0" }) => {
      const requiredTools = tools?.split(",") ?? [];
      const options = { requiredTools, maxRetries: Number(retries), claimMs: ms(ttl) };
      return world.submit(say.createTask(what, options));
    },
  ),
  sentence("(?<who>\\S+) claims", (world, words) => world.claim(words["who"] ?? "")),
  sentence("(?<who>\\S+) completes (?<what>\\S+)", (world, words) =>
    world.submit(say.complete(words["what"] ?? "", words["who"] ?? "")),
  ),
  sentence("(?<who>\\S+) fails (?<what>\\S+) because (?<reason>.+)", (world, words) =>
    world.submit(say.fail(words["what"] ?? "", words["who"] ?? "", words["reason"])),
  ),
  sentence("tick", (world) => world.tick()),
  sentence("the machine sleeps", (world) => world.sleep()),
  sentence("the machine wakes", (world) => world.tick()),
  sentence("the plane is killed", (world) => world.kill()),
  sentence("the plane starts", (world) => world.start()),
];

export class World {
  readonly #disk = new SimulatedDisk();
  readonly #clock = new ManualClock(beginMs);
  readonly #tokens = new Map<string, bigint>();
  #log: SimulatedLog = SimulatedLog.open({ disk: this.#disk });
  #opened: TestPlane | undefined;
  #isAsleep = false;
  #toldSequence = 0;
  /** What became of claims that had to wait. */
  readonly #asides: string[] = [];

  /** Carries out one sentence at its time; answers what happened until then, and of it. */
  async at(seconds: number, text: string): Promise<readonly string[]> {
    const atMs = beginMs + Math.round(seconds * 1_000);
    assert(atMs >= this.#clock.nowMs(), `the story goes back in time: ${text}`);
    const told = sentences.find(({ pattern }) => pattern.test(text));
    assert(told, `nobody understands: ${text}`);
    await this.#pass(atMs);
    const outcome = await told.carryOut(this, told.pattern.exec(text)?.groups ?? {});
    this.#isAsleep = text === "the machine sleeps" || text === "the plane is killed";
    await turns();
    const events = await this.#newEvents(atMs);
    const happened = [...events, ...this.#asides.splice(0), ...outcome];
    return happened.length > 0 ? happened : ["ok"];
  }

  async submit(command: Command): Promise<readonly string[]> {
    const { refusal } = await this.#plane.plane.submit(command, test, () => {});
    return refusal ? [`refused ${refusal.code}`] : [];
  }

  async claim(name: string): Promise<readonly string[]> {
    const { signal } = new AbortController();
    let answer: string | undefined;
    const claiming = this.#plane.plane.wait(say.claim(name), test, () => {}, { signal });
    const answered = claiming.then(({ refusal }) => {
      answer = refusal ? `refused ${refusal.code}` : "";
      return answer;
    });
    await turns();
    if (answer !== undefined) return answer === "" ? [] : [answer];
    answered
      .then((late) => late !== "" && this.#asides.push(`${name}'s claim is ${late}`))
      .catch((fault: unknown) => this.#asides.push(String(fault)));
    return [`${name} waits`];
  }

  read<Value>(look: (state: State) => Value): Promise<Value> {
    return this.#plane.plane.read(look);
  }

  async tick(): Promise<readonly string[]> {
    this.#plane.plane.tick();
    return [];
  }

  async sleep(): Promise<readonly string[]> {
    return [];
  }

  async kill(): Promise<readonly string[]> {
    this.#opened = undefined;
    return [];
  }

  async start(): Promise<readonly string[]> {
    const isFirst = this.#log.lastSequence === 0;
    this.#log = SimulatedLog.open({ disk: this.#disk });
    this.#opened = await openPlane({ log: this.#log, clock: this.#clock });
    // That it was opened before the story begins goes without saying.
    if (isFirst) this.#toldSequence = this.#log.lastSequence;
    return [];
  }

  /** The token that is named; otherwise the last that the agent was given for the task. */
  tokenOf(name: string, task: string, named: string | undefined): bigint {
    if (named !== undefined) return firstToken + BigInt(named);
    return this.#tokens.get(`${name} ${task}`) ?? 0n;
  }

  get #plane(): TestPlane {
    assert(this.#opened, "the plane is not running");
    return this.#opened;
  }

  /** Time passes as it does with a timer: everything that falls due ends at its own time. */
  async #pass(untilMs: number): Promise<void> {
    const { plane } = this.#opened ?? {};
    while (plane && !this.#isAsleep && this.#clock.nowMs() < untilMs) {
      const dueAtMs = Math.max(plane.nextDueAtMs(), this.#clock.nowMs());
      const nextMs = Math.min(dueAtMs, untilMs, this.#clock.nowMs() + 1_000);
      this.#clock.leap(nextMs - this.#clock.nowMs());
      if (nextMs < untilMs) plane.tick();
    }
    this.#clock.leap(untilMs - this.#clock.nowMs());
  }

  async #newEvents(nowMs: number): Promise<readonly string[]> {
    await this.#opened?.plane.settled();
    const entries = await this.#log.read(this.#toldSequence, 1_000);
    this.#toldSequence += entries.length;
    for (const { event } of entries) {
      if (event.type !== "lease.acquired") continue;
      const { holder, taskId, token } = event.lease;
      this.#tokens.set(`${holder} ${taskId}`, token);
    }
    return entries.filter(isTold).map(({ atMs, event }) => {
      const when = atMs < nowMs ? `(at ${(atMs - beginMs) / 1_000}s) ` : "";
      return `${when}${print(event)}`;
    });
  }
}

/** Whether a story mentions it: what is published, and what the plane says of itself. */
function isTold({ event }: Entry): boolean {
  return topics[event.type] !== "" || event.type.startsWith("plane.");
}

function print(event: Event): string {
  switch (event.type) {
    case "plane.opened":
    case "plane.resumed":
      return event.type;
    case "agent.registered":
    case "agent.unreachable":
    case "agent.recovered":
    case "agent.died":
      return `${event.type} ${event.agent.id}`;
    case "lease.acquired":
    case "lease.renewed":
    case "lease.released":
    case "lease.expired":
      return `${event.type} ${event.lease.taskId} ${event.lease.holder} token=${event.lease.token - firstToken}`;
    case "leader.changed":
      return `${event.type} ${event.group} ${event.leader ?? "nobody"} term=${event.term}`;
    case "policy.changed":
    case "policy.deleted":
      return `${event.type} ${event.policy.id}`;
    case "task.created":
    case "task.completed":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead": {
      const { id, retryCount, failureReason } = event.task;
      const claimant = "claimant" in event.task ? ` ${event.task.claimant}` : "";
      const failure = failureReason === "" ? "" : ` retries=${retryCount} (${failureReason})`;
      return `${event.type} ${id}${claimant}${failure}`;
    }
    case "agent.active":
    case "agent.forgotten":
      return `${event.type} ${event.agentId}`;
    case "task.forgotten":
      return `${event.type} ${event.taskId}`;
    case "election.joined":
    case "election.left":
      return `${event.type} ${event.group} ${event.agentId}`;
  }
}

function sentence(pattern: string, carryOut: Sentence["carryOut"]): Sentence {
  return { pattern: new RegExp(`^${pattern}$`), carryOut };
}

function ms(seconds: string | undefined): number {
  return Math.round(Number(seconds) * 1_000);
}

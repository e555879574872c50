/**
 * The world in which a story is told: one plane on a simulated disk, a clock that is moved by hand, and
 * agents whose names are their ids. Each sentence is carried out and answers with what came of it.
 * Times and tokens are told as if they had begun at zero.
 */
import assert from "node:assert/strict";
import {
  agentId,
  type Command,
  check,
  claimByKey,
  type Event,
  findQuestion,
  free,
  idOfWork,
  isWorkEvent,
  jobId,
  lastEventSequence,
  printAmount,
  printDecimal,
  type Question,
  type Refusal,
  remaining,
  type State,
  type Stretch,
  sessionId,
  stretchesAfter,
  topics,
  type WorkEvent,
} from "../../src/core/index.ts";
import type { Entry } from "../../src/log/index.ts";
import type { WaitingCommand } from "../../src/plane/index.ts";
import * as say from "../../src/testing/commands.ts";
import { ManualClock } from "../../src/testing/manual-clock.ts";
import { SimulatedDisk } from "../../src/testing/simulated-disk.ts";
import { SimulatedLog } from "../../src/testing/simulated-log.ts";
import { openPlane, type TestPlane, test, turns } from "../../src/testing/test-plane.ts";

const beginMs = 1_700_000_000_000;
/** Tokens start at the wall clock in microseconds. */
const firstToken = BigInt(beginMs) * 1_000n;

const hungUp = new Error("hung up");

type Words = Readonly<Record<string, string | undefined>>;
type Sentence = {
  readonly pattern: RegExp;
  readonly carryOut: (world: World, words: Words, text: string) => Promise<readonly string[]>;
};

/** Everything that can be said in a story. */
const sentences: readonly Sentence[] = [
  sentence("(?<who>\\S+) registers for (?<ttl>\\S+)s(?: with (?<tools>\\S+))?", (world, words) => {
    const tools = words["tools"]?.split(",") ?? [];
    return world.submit(say.register(words["who"] ?? "", { ttlMs: ms(words["ttl"]), tools }));
  }),
  sentence("(?<who>\\S+), which reconnects soon, registers for (?<ttl>\\S+)s", (world, words) => {
    const options = { ttlMs: ms(words["ttl"]), reconnectsSoon: true };
    return world.submit(say.register(words["who"] ?? "", options));
  }),
  sentence("(?<who>\\S+) beats", (world, words) => world.submit(say.heartbeat(words["who"] ?? ""))),
  sentence("(?<who>\\S+) deregisters", (world, words) =>
    world.submit(say.deregister(words["who"] ?? "")),
  ),
  sentence(
    "(?<who>\\S+) acquires (?<what>\\S+) for (?<ttl>\\S+)s(?: with key (?<key>\\S+))?",
    (world, { who = "", what = "", ttl, key }) =>
      world.submit(say.acquire(what, who, ms(ttl), key)),
  ),
  sentence(
    "(?<who>\\S+) waits for (?<what>\\S+) for (?<ttl>\\S+)s(?: with key (?<key>\\S+))?",
    (world, { who = "", what = "", ttl, key }) =>
      world.wait(who, say.acquire(what, who, ms(ttl), key)),
  ),
  sentence("(?<who>\\S+) hangs up", (world, words) => world.hangUp(words["who"] ?? "")),
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
    "task (?<what>\\S+) is created for (?<ttl>\\S+)s(?: of type (?<type>\\S+))?(?: needing (?<tools>\\S+))?" +
      "(?: with (?<retries>\\d+) retr(?:y|ies))?(?: at priority (?<priority>\\S+))?" +
      "(?: after (?<delay>\\S+)s)?(?: and (?<deliveries>\\d+) deliver(?:y|ies))?",
    (world, { what = "", ttl, type, tools, retries, priority, delay, deliveries }) =>
      world.submit(
        say.createTask(what, {
          taskType: type ?? "work",
          requiredTools: tools?.split(",") ?? [],
          maxRetries: Number(retries ?? 0),
          claimMs: ms(ttl),
          priority: Number(priority ?? 0),
          delayMs: ms(delay ?? "0"),
          deliveriesMax: Number(deliveries ?? 0),
        }),
      ),
  ),
  sentence(
    "(?<who>\\S+) claims(?: (?<types>\\S+))?(?: with key (?<key>\\S+))?",
    (world, { who = "", types, key }) => {
      const wish = { ...(types && { types: types.split(",") }), ...(key && { key }) };
      return world.wait(who, say.claim(who, wish));
    },
  ),
  sentence(
    "(?<who>\\S+) extends (?<what>\\S+)(?: for (?<ttl>\\S+)s)?(?: with claim (?<claim>\\d+))?",
    (world, { who = "", what = "", ttl, claim }) => {
      const asked = { ...under(claim), ...(ttl && { claimMs: ms(ttl) }) };
      return world.submit(say.extend(what, who, asked));
    },
  ),
  sentence(
    "(?<who>\\S+) completes (?<what>\\S+)(?: with claim (?<claim>\\d+))?",
    (world, { who = "", what = "", claim }) =>
      world.submit(say.complete(what, who, "", under(claim))),
  ),
  sentence(
    "(?<who>\\S+) fails (?<what>\\S+)(?: with claim (?<claim>\\d+))?(?: for (?<after>\\S+)s)? because (?<reason>.+)",
    (world, { who = "", what = "", claim, after, reason }) => {
      const asked = { ...under(claim), ...(after && { retryAfterMs: ms(after) }) };
      return world.submit(say.fail(what, who, reason, asked));
    },
  ),
  sentence("task (?<what>\\S+) is cancelled", (world, words) =>
    world.submit(say.cancel(words["what"] ?? "")),
  ),
  sentence("task (?<what>\\S+) is requeued", (world, words) =>
    world.submit(say.requeue(words["what"] ?? "")),
  ),
  sentence(
    "(?<who>\\S+) opens a session(?: of (?<whose>\\S+))?(?: for (?<window>\\S+)s)?(?: without (?<skips>\\S+))?",
    (world, { who = "", whose = who, window = "600", skips }) =>
      world.submit(
        say.openSession(who, {
          principal: whose,
          windowMs: ms(window),
          skips: skips?.split(",") ?? [],
        }),
      ),
  ),
  sentence("(?<who>\\S+) disconnects", (world, { who = "" }) => world.disconnect(who)),
  sentence(
    "(?<who>\\S+) resumes(?: with the token before)?(?: after #(?<after>\\d+))?",
    (world, { who = "", after = "0" }, text) =>
      world.resume(who, Number(after), { isStale: text.includes("the token before") }),
  ),
  sentence(
    "(?<who>\\S+) submits (?<job>\\S+)(?: again as (?<again>\\S+))?(?: below (?<parent>\\S+))?(?: with key (?<key>\\S+))?" +
      "(?: to spend (?<budget>\\S+))?(?: for (?<run>\\S+)s)?(?<repeatable>, repeatable)?",
    (world, { who = "", job = "", again, parent, key, budget, run, repeatable }) =>
      world.ask(who, {
        ...say.submitJob(again ?? job, who, {
          requestId: again === undefined ? `request of ${job}` : `request of ${again}`,
          isRepeatable: repeatable !== undefined,
        }),
        ...(key && { key: { text: key, fingerprint: job } }),
        ...(parent && { parentId: jobId(parent) }),
        ...(budget && { capabilities: { "cost.budget": budget.split(",") } }),
        ...(run && { runMsMax: ms(run) }),
      }),
  ),
  sentence("a worker(?<where> elsewhere)? starts (?<job>\\S+)", (world, { where, job = "" }) =>
    world.submit(say.startJob(job, { isRemote: where !== undefined })),
  ),
  sentence(
    "(?<job>\\S+) says (?<kind>\\S+)(?: at a cost of (?<cost>\\S+))?",
    (world, { job = "", kind = "", cost }) =>
      world.work(job, (attempt) =>
        say.emit(job, { attempt, kind, body: "{}", ...(cost && { spent: say.amount(cost) }) }),
      ),
  ),
  sentence(
    "(?<job>\\S+) sets (?<amount>\\S+) aside as (?<id>\\S+)",
    (world, { job = "", amount = "", id = "" }) =>
      world.work(job, (attempt) => ({ ...say.reserve(job, id, amount), attempt })),
  ),
  sentence(
    "(?<job>\\S+) settles (?<id>\\S+) with (?<amount>\\S+)",
    (world, { job = "", amount = "", id = "" }) =>
      world.work(job, (attempt) => ({ ...say.settle(job, id, amount), attempt })),
  ),
  sentence("what is left of (?<job>\\S+)\\?", (world, { job = "" }) => world.left(job)),
  sentence("(?<job>\\S+) (?<how>succeeds|goes wrong)", (world, { job = "", how }) => {
    const failure = { code: "OOPS", message: "it went wrong", isRetryable: false };
    const bad = { outcome: { status: "error", failure } } as const;
    return world.work(job, (attempt) =>
      say.endJob(job, { attempt, ...(how === "succeeds" ? {} : bad) }),
    );
  }),
  sentence(
    "(?<who>\\S+) cancels (?<job>\\S+)(?: within (?<grace>\\S+)s)?",
    (world, { who = "", job = "", grace = "30" }) =>
      world.ask(who, (principal) => ({
        ...say.cancelJob(job, { graceMs: ms(grace) }),
        by: { sessionId: sessionId(`sess_${who}`), principal },
      })),
  ),
  sentence("the worker of (?<job>\\S+) is lost for (?<grace>\\S+)s", (world, { job = "", grace }) =>
    world.submit({ type: "job.orphan", jobId: jobId(job), graceMs: ms(grace) }),
  ),
  sentence("the worker of (?<job>\\S+) is back", (world, { job = "" }) =>
    world.work(job, (attempt) => ({ type: "job.reclaim", jobId: jobId(job), attempt })),
  ),
  sentence(
    "(?<who>\\S+) follows (?<job>\\S+)(?<history> from the beginning)?",
    (world, { who = "", job = "", history }) =>
      world.follow(say.followJob(who, job), { isWhole: history !== undefined }, who),
  ),
  sentence("(?<who>\\S+) leaves (?<job>\\S+)", (world, { who = "", job = "" }) =>
    world.submit({
      type: "session.leave",
      sessionId: sessionId(`sess_${who}`),
      jobId: jobId(job),
    }),
  ),
  sentence(
    "(?<job>\\S+) asks (?<key>\\S+?)(?: of (?<choices>\\S+))?(?: for (?<time>\\S+)s)?",
    (world, { job = "", key = "", choices, time }) =>
      world.work(job, (attempt) => {
        const wanted = {
          ...(choices !== undefined && {
            expects: { of: "choice", choices: choices.split(",") } as const,
          }),
          ...(time !== undefined && { timeoutMs: ms(time) }),
        };
        return attempt === 0
          ? say.askAsAgent(job, key, wanted)
          : say.askAsJob(job, key, { ...wanted, attempt });
      }),
  ),
  sentence(
    "(?<who>\\S+) answers (?<key>\\S+) with (?<answer>\\S+)",
    (world, { who = "", key = "", answer = "" }) =>
      world.submit(say.answerQuestion(key, answer, { by: { name: who } })),
  ),
  sentence("(?<job>\\S+) withdraws (?<key>\\S+)", (world, { job = "", key = "" }) =>
    world.work(job, (attempt) =>
      attempt === 0
        ? say.withdrawQuestion({ of: "agent", agentId: agentId(job) }, key)
        : say.withdrawQuestion({ of: "job", jobId: jobId(job), attempt }, key),
    ),
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
  #resumed = 0;
  readonly #calls = new Map<string, AbortController>();
  /** What became of calls that had to wait. */
  readonly #asides: string[] = [];

  /** Carries out one sentence at its time; answers what happened until then, and of it. */
  async at(seconds: number, text: string): Promise<readonly string[]> {
    const atMs = beginMs + Math.round(seconds * 1_000);
    assert(atMs >= this.#clock.nowMs(), `the story goes back in time: ${text}`);
    const told = sentences.find(({ pattern }) => pattern.test(text));
    assert(told, `nobody understands: ${text}`);
    await this.#pass(atMs);
    const outcome = await told.carryOut(this, told.pattern.exec(text)?.groups ?? {}, text);
    this.#isAsleep = text === "the machine sleeps" || text === "the plane is killed";
    await turns();
    const events = await this.#newEvents(atMs);
    const happened = [...events, ...this.#asides.splice(0), ...outcome];
    return happened.length > 0 ? happened : ["ok"];
  }

  async submit(command: Command): Promise<readonly string[]> {
    const { refusal, value } = await this.#plane.plane.submit(command, test, (state, events) =>
      events.length > 0 ? "" : known(state, command),
    );
    return told(refusal, value);
  }

  /** Like `submit`, but what cannot be had now is waited for. */
  async wait(name: string, command: WaitingCommand): Promise<readonly string[]> {
    const calling = new AbortController();
    const { signal } = calling;
    const look = (state: State, events: readonly Event[]): string =>
      events.length > 0 ? "" : known(state, command);
    let answer: readonly string[] | undefined;
    const waiting = this.#plane.plane.wait(command, test, look, { signal });
    const answered = waiting.then(({ refusal, value }) => {
      answer = told(refusal, value);
      return answer;
    });
    answered.catch(() => {});
    await turns();
    if (answer !== undefined) return answer;
    this.#calls.set(name, calling);
    answered
      .then((late) => this.#asides.push(...late.map((line) => `${name}'s call is ${line}`)))
      .catch((fault: unknown) => fault === hungUp || this.#asides.push(String(fault)));
    return [`${name} waits`];
  }

  /** The last call of an agent that had to wait. */
  async hangUp(name: string): Promise<readonly string[]> {
    const calling = this.#calls.get(name);
    assert(calling, `${name} is not calling`);
    calling.abort(hungUp);
    return [];
  }

  read<Value>(look: (state: State) => Value): Promise<Value> {
    return this.#plane.plane.read(look);
  }

  /** Something that a job does: as the attempt that runs. */
  async work(job: string, command: (attempt: number) => Command): Promise<readonly string[]> {
    const attempt = await this.read(({ jobs }) => jobs.byId.get(jobId(job))?.attempt ?? 0);
    return this.submit(command(attempt));
  }

  /** What a session asks for is asked for by its principal. */
  async ask(
    name: string,
    command: (Command & { readonly type: "job.submit" }) | ((principal: string) => Command),
  ): Promise<readonly string[]> {
    const id = sessionId(`sess_${name}`);
    const principal = await this.read(({ sessions }) => sessions.byId.get(id)?.principal ?? name);
    return this.submit(
      typeof command === "function" ? command(principal) : { ...command, principal },
    );
  }

  async left(job: string): Promise<readonly string[]> {
    const budget = await this.read(({ jobs }) => jobs.budgets.get(jobId(job)) ?? []);
    return budget.map(
      (counter) =>
        `${printDecimal(remaining(counter))} ${counter.currency}, ${printDecimal(free(counter))} free`,
    );
  }

  async disconnect(name: string): Promise<readonly string[]> {
    const id = sessionId(`sess_${name}`);
    const attachment = await this.read(({ sessions }) => sessions.byId.get(id)?.attachment ?? 0);
    return this.submit({ type: "session.detach", sessionId: id, attachment });
  }

  /** Is told again what came after a number. */
  async resume(
    name: string,
    after: number,
    { isStale }: { readonly isStale: boolean },
  ): Promise<readonly string[]> {
    const id = sessionId(`sess_${name}`);
    const session = await this.read(({ sessions }) => sessions.byId.get(id));
    this.#resumed += 1;
    const outcome = await this.submit(
      say.resumeSession(name, {
        principal: session?.principal ?? name,
        shownHash: isStale ? "an older token" : (session?.tokenHash ?? ""),
        tokenHash: `token ${this.#resumed}`,
        afterEventSequence: after,
      }),
    );
    return outcome.length > 0 ? outcome : this.#tellAgain(name, after);
  }

  async follow(
    command: Command & { readonly type: "session.follow" },
    { isWhole }: { readonly isWhole: boolean },
    name: string,
  ): Promise<readonly string[]> {
    const id = command.sessionId;
    const before = await this.read(({ sessions }) => lastEventSequence(sessions, id));
    const history = { afterSequence: 0, before: 0 };
    const outcome = await this.submit({ ...command, ...(isWhole && { history }) });
    return outcome.length > 0 ? outcome : this.#tellAgain(name, before);
  }

  /** As a door does it. */
  async #tellAgain(name: string, after: number): Promise<readonly string[]> {
    const stretches = await this.read(({ sessions, lastSequence: upToSequence }) => {
      const journal = sessions.journals.get(sessionId(`sess_${name}`));
      return journal ? stretchesAfter(journal, { after, upToSequence }) : [];
    });
    const lines: string[] = [];
    for (const stretch of stretches) {
      let number = stretch.eventSequence;
      for (const event of await this.#eventsOf(stretch)) {
        number += 1;
        if (number > after) lines.push(`${name} is told #${number} ${print(event)}`);
      }
    }
    return lines;
  }

  async #eventsOf(stretch: Stretch): Promise<readonly Event[]> {
    const { follows, skips, afterSequence, upToSequence } = stretch;
    const entries = await this.#log.read(afterSequence, 1_000);
    return entries
      .filter(({ sequence }) => sequence <= upToSequence)
      .map(({ event }) => event)
      .filter((event) => "jobId" in event && follows.includes(event.jobId))
      .filter(({ type }) => type === "job.emitted" || type === "job.ended")
      .filter((event) => event.type !== "job.emitted" || !skips.includes(event.kind));
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

/** Whether a story mentions it: what is published, what the plane says of itself, and the work. */
function isTold({ event }: Entry): boolean {
  return topics[event.type] !== "" || event.type.startsWith("plane.") || isWorkEvent(event);
}

function printWork(event: WorkEvent): string {
  const who = "sessionId" in event && "jobId" in event ? ` ${event.sessionId}` : "";
  const name = `${event.type} ${idOfWork(event)}${who}`.replaceAll("sess_", "");
  switch (event.type) {
    case "job.started":
      return `${name} attempt=${event.attempt}`;
    case "job.emitted":
      return `${name} ${event.kind}`;
    case "job.ended": {
      const { outcome } = event;
      const code = outcome.status === "success" ? "" : ` (${outcome.failure.code})`;
      return `${name} ${outcome.status}${code}`;
    }
    case "question.asked":
      return `${name} by ${nameOf(event.question)}`;
    case "question.answered": {
      const { question } = event;
      const said = question.state === "answered" ? ` ${question.answer} by ${question.by}` : "";
      return `${name}${said}`;
    }
    case "question.closed":
      return `${name} ${event.question.state === "closed" ? event.question.reason : ""}`;
    case "job.settled":
      return `${name} ${event.reservationId} ${event.actual.map(printAmount).join()}`;
    default:
      return name;
  }
}

function nameOf({ asker }: Question): string {
  return asker.of === "job" ? asker.jobId : asker.agentId;
}

function print(event: Event): string {
  if (isWorkEvent(event)) return printWork(event);
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
      const { id, state, retryCount, failureReason, deliveries } = event.task;
      const claimant = "claimant" in event.task ? ` ${event.task.claimant}` : "";
      const claim = state === "claimed" ? ` claim=${deliveries}` : "";
      const failure = failureReason === "" ? "" : ` retries=${retryCount} (${failureReason})`;
      return `${event.type} ${id}${claimant}${claim}${failure}`;
    }
    case "agent.active":
    case "agent.forgotten":
      return `${event.type} ${event.agentId}`;
    case "task.forgotten":
      return `${event.type} ${event.taskId}`;
    case "observed.changed":
    case "observed.left":
      return `${event.type} ${event.observed.id}`;
    case "need.dismissed":
      return `${event.type} ${event.dismissal.kind} ${event.dismissal.id}`;
    case "need.restored":
      return `${event.type} ${event.kind} ${event.id}`;
    case "election.joined":
    case "election.left":
      return `${event.type} ${event.group} ${event.agentId}`;
  }
}

function told(refusal: Refusal | undefined, value: string | undefined): readonly string[] {
  if (refusal) return [`refused ${refusal.code}`];
  return value ? [value] : [];
}

/** What was asked for again, and is there already. */
function known({ leases, tasks, questions }: State, command: Command): string {
  if (command.type === "question.ask") {
    const question = findQuestion(questions, command.asker, command.key);
    if (question?.state === "answered") return `has the answer ${question.answer}`;
    return question ? `${question.id} is ${question.state}` : "";
  }
  if (command.type === "lease.acquire") {
    const held = leases.held.get(command.taskId);
    return held ? `has it with token=${held.token - firstToken}` : "";
  }
  if (command.type !== "task.claim" || command.key === undefined) return "";
  const claimed = claimByKey(tasks, command.agentId, command.key);
  return claimed ? `has ${claimed.id} with claim=${claimed.deliveries}` : "";
}

function under(claim: string | undefined): { readonly claimToken?: number } {
  return claim === undefined ? {} : { claimToken: Number(claim) };
}

function sentence(pattern: string, carryOut: Sentence["carryOut"]): Sentence {
  return { pattern: new RegExp(`^${pattern}$`), carryOut };
}

function ms(seconds: string | undefined): number {
  return Math.round(Number(seconds) * 1_000);
}

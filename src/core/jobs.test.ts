import assert from "node:assert/strict";
import { test } from "node:test";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  amount,
  cancelJob,
  emit,
  endJob,
  followJob,
  jsonText,
  openSession,
  reserve,
  settle,
  startJob,
  submitJob,
} from "../testing/commands.ts";
import type { Event } from "./events.ts";
import { jobId, sessionId } from "./ids.ts";
import type { Job } from "./jobs.ts";
import { limits } from "./limits.ts";
import { type Command, decide, evolve } from "./machine.ts";
import { capture, describe, printRow, Restoring } from "./snapshot.ts";

const ada = sessionId("sess_ada");
const eve = sessionId("sess_eve");

/** What commands come to, in words. */
class Desk {
  loop: BareLoop = new BareLoop();

  do(command: Command): readonly string[] {
    return this.loop.accept(command).map(tell);
  }

  refusal(command: Command): string | undefined {
    return this.loop.refusal(command);
  }

  later(ms: number): readonly string[] {
    return this.loop.at(this.loop.nowMs + ms).map(tell);
  }

  /** The process ends, and another goes on from a snapshot. */
  restart(options: { readonly workerGraceMs?: number } = {}): readonly string[] {
    const { state, nowMs } = this.loop;
    const restoring = new Restoring();
    for (const section of capture(state)) {
      for (const index of section.rows.keys())
        restoring.add(section.name, printRow(section, index));
    }
    restoring.state.lastSequence = state.lastSequence;
    assert.equal(describe(restoring.state), describe(state));
    this.loop = new BareLoop(restoring.state);
    this.loop.nowMs = nowMs;
    return this.do({ type: "plane.open", wallMicros: 1, isKept: true, ...options }).slice(1);
  }

  the(job: string): Job {
    const found = this.loop.state.jobs.byId.get(jobId(job));
    assert(found, `there is no ${job}`);
    return found;
  }

  /** The last number that a session was given. */
  numberOf(name: string): number | undefined {
    return this.loop.state.sessions.lastEventSequences.get(sessionId(`sess_${name}`));
  }
}

function tell(event: Event): string {
  const words: (string | undefined)[] = [event.type];
  if ("job" in event) words.push(event.job.id);
  if ("jobId" in event) words.push(event.jobId);
  if ("sessionId" in event) words.push(event.sessionId);
  if (event.type === "job.ended") {
    const { outcome } = event;
    words.push(outcome.status, outcome.status === "success" ? undefined : outcome.failure.code);
  }
  if (event.type === "job.emitted" && event.ownSequence !== undefined) {
    words.push(`#${event.ownSequence}`);
  }
  return words.filter((word) => word !== undefined).join(" ");
}

function opened(): Desk {
  const desk = new Desk();
  desk.do(openSession("ada"));
  desk.do(openSession("eve"));
  return desk;
}

function running(parts: Parameters<typeof submitJob>[2] = {}, isRemote = false): Desk {
  const desk = opened();
  desk.do(submitJob("job_1", "ada", parts));
  desk.do(startJob("job_1", { isRemote }));
  return desk;
}

const byAda = { by: { sessionId: ada, principal: "ada" } };

test("a job is accepted, started, says something and ends, under numbers of its session", () => {
  const desk = opened();
  assert.deepEqual(desk.do(submitJob("job_1", "ada")), ["job.accepted job_1"]);
  assert.deepEqual(desk.do(startJob("job_1")), ["job.started job_1"]);
  assert.deepEqual(desk.do(emit("job_1")), ["job.emitted job_1 #1"]);
  assert.deepEqual(desk.do(emit("job_1")), ["job.emitted job_1 #2"]);
  assert.deepEqual(desk.do(endJob("job_1")), ["job.ended job_1 success"]);
  assert.equal(desk.numberOf("ada"), 3);
  assert.equal(desk.numberOf("eve"), 0);
  assert.equal(desk.loop.state.jobs.inputs.size, 0);
  assert.equal(desk.refusal(emit("job_1")), "attempt_over");
});

test("what an older attempt says is not heard", () => {
  const desk = running({ isRepeatable: true });
  assert.deepEqual(desk.restart(), ["job.offered job_1"]);
  assert.equal(desk.refusal(emit("job_1")), "attempt_over");
  desk.do(startJob("job_1"));
  assert.equal(desk.refusal(endJob("job_1")), "attempt_over");
  desk.do(emit("job_1", { attempt: 2 }));
  assert.deepEqual(desk.do(endJob("job_1", { attempt: 2 })), ["job.ended job_1 success"]);
});

test("what a lost attempt had set aside is spent when the job is offered again", () => {
  const desk = running({ isRepeatable: true, capabilities: { "cost.budget": ["USD:1.00"] } });
  desk.do(reserve("job_1", "r", "USD:0.60"));
  assert.deepEqual(desk.restart(), ["job.settled job_1", "job.offered job_1"]);
  desk.do(startJob("job_1"));
  const more = { ...reserve("job_1", "r", "USD:0.50"), attempt: 2 };
  assert.equal(desk.refusal(more), "budget_exhausted");
});

test("a job whose process died ends and says so, unless its worker is elsewhere and comes back", () => {
  assert.deepEqual(running().restart(), ["job.ended job_1 error worker_lost"]);
  const desk = running({}, true);
  assert.deepEqual(desk.restart(), ["job.orphaned job_1"]);
  desk.do(emit("job_1", { workerSequence: 1 }));
  desk.do({ type: "job.reclaim", jobId: jobId("job_1"), attempt: 1 });
  assert.deepEqual(desk.later(limits.workerGraceMs), []);
  desk.do({ type: "job.orphan", jobId: jobId("job_1"), graceMs: 5_000 });
  assert.deepEqual(desk.later(5_000), ["job.ended job_1 error worker_lost"]);
});

test("after a restart a worker elsewhere has its time to come back; one that was away before, what was left of it", () => {
  const isLostAfter = (desk: Desk, ms: number): void => {
    assert.deepEqual(desk.later(ms - 1), []);
    assert.deepEqual(desk.later(1), ["job.ended job_1 error worker_lost"]);
  };
  for (const workerGraceMs of [3_000, 300_000]) {
    const desk = running({}, true);
    desk.restart({ workerGraceMs });
    isLostAfter(desk, workerGraceMs);
  }
  const orphan = { type: "job.orphan", jobId: jobId("job_1"), graceMs: 60_000 } as const;
  for (const [awayMs, leftMs] of [
    [0, 60_000],
    [45_000, 15_000],
    [59_000, limits.workerReturnMs],
  ] as const) {
    const desk = running({}, true);
    desk.do(orphan);
    desk.later(awayMs);
    desk.restart();
    isLostAfter(desk, leftMs);
  }
});

test("a worker that has a job no more loses it at once, and one that stays away is not given more time", () => {
  const orphan = { type: "job.orphan", jobId: jobId("job_1"), attempt: 1 } as const;
  const desk = running({ isRepeatable: true }, true);
  desk.do({ ...orphan, graceMs: 5_000 });
  assert.deepEqual(desk.do({ ...orphan, graceMs: 9_000 }), []);
  assert.deepEqual(desk.do({ ...orphan, graceMs: 0 }), ["job.orphaned job_1"]);
  assert.deepEqual(desk.later(0), ["job.offered job_1"]);
  desk.do(startJob("job_1"));
  assert.deepEqual(desk.do({ ...orphan, graceMs: 0 }), [], "an earlier attempt is over");
});

test("a job that may run again does so for a while, not for ever", () => {
  const desk = running({ isRepeatable: true });
  for (let attempt = 1; attempt < limits.attemptsMax; attempt += 1) {
    assert.deepEqual(desk.restart(), ["job.offered job_1"]);
    desk.do(startJob("job_1"));
  }
  assert.deepEqual(desk.restart(), ["job.ended job_1 error worker_lost"]);
});

test("what a worker says again after it was away is heard once", () => {
  const desk = running({}, true);
  assert.equal(desk.do(emit("job_1", { workerSequence: 1 })).length, 1);
  assert.equal(desk.do(emit("job_1", { workerSequence: 1 })).length, 0);
  assert.equal(desk.do(emit("job_1", { workerSequence: 2 })).length, 1);
});

test("[ARCP-95] [ARCP-97] [ARCP-99] the same key asks for the same job, also after a restart; for another it is refused", () => {
  const key = { text: "k", fingerprint: "f" };
  const desk = opened();
  desk.do(submitJob("job_1", "ada", { key }));
  assert.deepEqual(desk.do(submitJob("job_2", "ada", { key })), []);
  desk.restart();
  assert.deepEqual(desk.do(submitJob("job_3", "ada", { key })), []);
  const other = { key: { text: "k", fingerprint: "g" } };
  assert.equal(desk.refusal(submitJob("job_4", "ada", other)), "key_reused");
  assert.deepEqual(desk.do(submitJob("job_5", "eve", other)), ["job.accepted job_5"]);
});

test("[ARCP-96] [ARCP-111] who asks again from another session may cancel, and is told how it ends", () => {
  const key = { text: "k", fingerprint: "f" };
  const desk = running({ key });
  desk.do(openSession("ada_2", { principal: "ada" }));
  const second = { sessionId: sessionId("sess_ada_2"), principal: "ada" };
  assert.equal(desk.refusal(cancelJob("job_1", { by: second })), "permission_denied");
  assert.deepEqual(desk.do(submitJob("job_2", "ada", { key, ...second })), [
    "job.joined job_1 sess_ada_2",
  ]);
  desk.do(emit("job_1"));
  desk.do(cancelJob("job_1", { by: second }));
  desk.do(endJob("job_1"));
  assert.equal(desk.numberOf("ada_2"), 2);
  assert.deepEqual(desk.do(submitJob("job_3", "ada", { key, ...second })), [
    "session.followed job_1 sess_ada_2",
  ]);
  assert.equal(desk.numberOf("ada_2"), 3);
});

test("[ARCP-68] a request that was sent twice is one job", () => {
  const desk = running();
  const requestId = "request of job_1";
  assert.deepEqual(desk.do(submitJob("job_2", "ada", { requestId })), []);
  assert.equal(desk.loop.state.jobs.byId.size, 1);
});

test("[ARCP-115] a cancelled job ends as cancelled whatever it returns, or when its time to unwind is over", () => {
  const desk = running();
  assert.deepEqual(desk.do(cancelJob("job_1", byAda)), ["job.cancelling job_1"]);
  assert.deepEqual(desk.do(cancelJob("job_1", byAda)), []);
  assert.deepEqual(desk.do(endJob("job_1")), ["job.ended job_1 cancelled job_cancelled"]);
  assert.deepEqual(desk.do(cancelJob("job_1", byAda)), []);
  const stuck = running();
  stuck.do(cancelJob("job_1"));
  assert.deepEqual(stuck.later(29_999), []);
  assert.deepEqual(stuck.later(1), ["job.ended job_1 cancelled job_cancelled"]);
  const waiting = opened();
  waiting.do(submitJob("job_1", "ada"));
  assert.deepEqual(waiting.do(cancelJob("job_1")), ["job.ended job_1 cancelled job_cancelled"]);
});

test("[ARCP-114] others see no job and cancel none", () => {
  const desk = running();
  const byEve = { by: { sessionId: eve, principal: "eve" } };
  assert.equal(desk.refusal(cancelJob("job_1", byEve)), "job_not_found");
  assert.equal(desk.refusal(followJob("eve", "job_1")), "permission_denied");
  assert.deepEqual(desk.do(followJob("eve", "job_1", { mayObserve: true })), [
    "session.followed job_1 sess_eve",
  ]);
});

test("[ARCP-107] [ARCP-108] a job ends when it has run too long, and when its grant is over, be it in a year", () => {
  const desk = running({ runMsMax: 5_000 });
  assert.deepEqual(desk.later(4_999), []);
  assert.deepEqual(desk.later(1), ["job.ended job_1 timed_out job_timed_out"]);
  const yearMs = 365 * 86_400_000;
  const long = running({ expiresAt: new Date(yearMs).toISOString() });
  assert.deepEqual(long.later(yearMs - 1), []);
  assert.deepEqual(long.later(1), ["job.ended job_1 error grant_expired"]);
});

test("[ARCP-107] the time of a job runs from when it was asked for: while it waits too, and for all its attempts together", () => {
  const waiting = opened();
  waiting.do(submitJob("job_1", "ada", { runMsMax: 5_000 }));
  assert.deepEqual(waiting.later(4_999), []);
  assert.deepEqual(waiting.later(1), ["job.ended job_1 timed_out job_timed_out"]);
  const again = running({ runMsMax: 5_000, isRepeatable: true });
  again.later(3_000);
  again.restart();
  again.do(startJob("job_1"));
  assert.deepEqual(again.later(1_999), []);
  assert.deepEqual(again.later(1), ["job.ended job_1 timed_out job_timed_out"]);
  const preparing = opened();
  preparing.do(submitJob("job_1", "ada", { runMsMax: 5_000, needsPreparing: true }));
  assert.deepEqual(preparing.later(9_000), [], "nobody was told that there is one");
  preparing.do({ type: "job.prepared", jobId: jobId("job_1"), isReady: true });
  assert.deepEqual(preparing.later(0), ["job.ended job_1 timed_out job_timed_out"]);
});

test("[ARCP-88] a session with a limit has no more unfinished jobs than that, children included", () => {
  const desk = new Desk();
  desk.do(openSession("ada", { jobsMax: 3 }));
  desk.do(submitJob("job_1", "ada"));
  desk.do(submitJob("job_2", "ada"));
  desk.do(submitJob("job_3", "ada", { parentId: jobId("job_1"), delegateId: "d1" }));
  const wanted = submitJob("job_4", "ada");
  assert.deepEqual(decide(desk.loop.state, wanted, desk.loop.nowMs).refusal, {
    code: "limit_reached",
    message: "this session has 3 unfinished jobs, which is its limit; wait for one to end",
  });
  const same = submitJob("job_5", "ada", { requestId: "request of job_2" });
  assert.deepEqual(desk.do(same), [], "a repeated request is not a new job");
  desk.restart();
  assert.equal(desk.refusal(wanted), "limit_reached");
  const { sessionId: _, ...outside } = wanted;
  desk.do({ ...outside, jobId: jobId("job_6") });
  desk.do(cancelJob("job_2"));
  desk.do(wanted);
});

test("a principal has no more than so many unfinished jobs, in whatever sessions", () => {
  const desk = opened();
  const bob = (id: string): Command => submitJob(id, "bob", { jobsOfPrincipalMax: 3 });
  const alone = (id: string): Command => {
    const { sessionId: _, requestId: __, ...command } = submitJob(id, "ada");
    return { ...command, jobsOfPrincipalMax: 3 };
  };
  desk.do(openSession("bob"));
  desk.do(submitJob("job_1", "ada"));
  desk.do(alone("job_2"));
  desk.do(alone("job_3"));
  assert.deepEqual(decide(desk.loop.state, alone("job_4"), desk.loop.nowMs).refusal, {
    code: "limit_reached",
    message: "principal ada has 3 unfinished jobs, which is its limit; wait for one to end",
  });
  desk.do(bob("job_5"));
  desk.restart();
  assert.equal(desk.refusal(alone("job_4")), "limit_reached");
  desk.do(cancelJob("job_2"));
  desk.do(alone("job_4"));
});

test("a job needs no session, request id or trace id, and a session may still join it by its key", () => {
  const desk = opened();
  const key = { text: "once", fingerprint: "f" };
  const { sessionId: _, requestId: __, traceId: ___, ...bare } = submitJob("job_1", "ada");
  const command = { ...bare, key, contextId: "conversation 1" };
  assert.deepEqual(desk.do(command), ["job.accepted job_1"]);
  const { byId, unfinishedBySession, byRequest } = desk.loop.state.jobs;
  const job = byId.get(jobId("job_1"));
  assert.deepEqual(job?.sessionIds, []);
  assert.equal(job?.contextId, "conversation 1");
  assert.deepEqual(
    Object.keys(job ?? {}).filter((name) => /request|trace/.test(name)),
    [],
  );
  assert.equal(unfinishedBySession.size + byRequest.size, 0);
  assert.deepEqual(
    desk.do({ ...command, jobId: jobId("job_2") }),
    [],
    "the same key is the same job",
  );
  desk.do(startJob("job_1"));
  desk.do(emit("job_1"));
  assert.equal(desk.numberOf("ada"), 0);
  assert.deepEqual(desk.do(submitJob("job_3", "ada", { key })), ["job.joined job_1 sess_ada"]);
  desk.do(emit("job_1"));
  assert.equal(desk.numberOf("ada"), 1);
  assert.deepEqual(desk.restart(), ["job.ended job_1 error worker_lost"]);
  assert.equal(desk.loop.state.jobs.unfinishedByPrincipal.size, 0);
  assert.equal(desk.loop.state.jobs.unfinishedBySession.size, 0);
});

test("a job without a session is cancelled by its principal, and by no session or other principal", () => {
  const desk = opened();
  const { sessionId: own, requestId: _, ...bare } = submitJob("job_1", "ada");
  desk.do(bare);
  const cancel = (by: object): Command =>
    ({ ...cancelJob("job_1"), by: { principal: "ada", ...by } }) as Command;
  assert.equal(desk.refusal(cancel({ principal: "eve" })), "job_not_found");
  assert.equal(desk.refusal(cancel({ principal: "eve", maySee: true })), "permission_denied");
  assert.equal(desk.refusal(cancel({ sessionId: own })), "permission_denied");
  assert.deepEqual(desk.do(cancel({})), ["job.ended job_1 cancelled job_cancelled"]);
});

const capabilities = { "tool.call": ["search.*"], "cost.budget": ["USD:1.00"] };
const below = (parent: string, delegateId = "d1"): Parameters<typeof submitJob>[2] => ({
  parentId: jobId(parent),
  delegateId,
  capabilities,
});

test("what unfinished jobs hold in memory is counted with their grants, and is free again at their end", () => {
  const desk = new Desk();
  desk.do(openSession("ada"));
  const { jobs } = desk.loop.state;
  const capabilities = {
    "x-vendor.acme.note": Array.from({ length: 60 }, () => "n".repeat(4_000)),
  };
  desk.do(submitJob("job_1", "ada", { capabilities, input: '"four"' }));
  assert.equal(jobs.bytes, 240_000 + "x-vendor.acme.note".length + 6);
  desk.restart();
  assert.equal(desk.loop.state.jobs.bytes, jobs.bytes);
  assert.deepEqual([...desk.loop.state.jobs.bytesByPrincipal], [["ada", jobs.bytes]]);
  desk.do(cancelJob("job_1"));
  assert.equal(desk.loop.state.jobs.bytes, 0);
});

test("the inputs of one principal's unfinished jobs leave room for those of another", () => {
  const desk = opened();
  const input = JSON.stringify("x".repeat(16_000_000));
  const count = Math.floor(limits.jobBytesOfPrincipalMax / input.length);
  for (let at = 0; at < count; at += 1) desk.do(submitJob(`job_${at}`, "ada", { input }));
  const more = submitJob("more", "ada", { input });
  const refused = decide(desk.loop.state, more, desk.loop.nowMs).refusal;
  assert.equal(refused?.code, "limit_reached");
  assert.match(refused?.message ?? "", /^unfinished jobs of principal ada have \d+ bytes/);
  for (let at = 0; at < count; at += 1) desk.do(submitJob(`eve_${at}`, "eve", { input }));
  const third = submitJob("third", "ada", { input: "1" });
  assert.equal(desk.refusal(third), undefined, "a small one fits");
  desk.do(cancelJob("job_0"));
  desk.do(more);
  assert.deepEqual([...desk.loop.state.jobs.bytesByPrincipal.keys()], ["ada", "eve"]);
  for (const name of ["third", "more"]) desk.do(cancelJob(name));
  for (let at = 1; at < count; at += 1) desk.do(cancelJob(`job_${at}`));
  assert.deepEqual([...desk.loop.state.jobs.bytesByPrincipal.keys()], ["eve"]);
});

test("[ARCP-159] [ARCP-165] a child gets no more than its parent has, and its spending is its parent's too", () => {
  const desk = running({ capabilities });
  const asking = (wanted: object): Command =>
    submitJob("job_2", "ada", { ...below("job_1"), capabilities: wanted });
  assert.equal(desk.refusal(asking({ "tool.call": ["**"] })), "grant_too_wide");
  assert.equal(desk.refusal(asking({ "cost.budget": ["USD:1.01"] })), "grant_too_wide");
  desk.do(asking({ "cost.budget": ["USD:0.60"] }));
  desk.do(startJob("job_2"));
  desk.do(emit("job_2", { kind: "metric", spent: amount("USD:0.25") }));
  const [counter] = desk.loop.state.jobs.budgets.get(jobId("job_1")) ?? [];
  assert.equal(counter?.spent.units, 25n);
  assert.equal(desk.refusal(submitJob("job_3", "ada", below("job_1", "d2"))), "grant_too_wide");
});

test("what is set aside is all that counts as spent when nobody says what it came to", () => {
  const desk = running({ capabilities });
  desk.do(reserve("job_1", "a", "USD:0.70"));
  assert.equal(desk.refusal(reserve("job_1", "b", "USD:0.70")), "budget_exhausted");
  desk.do(settle("job_1", "a"));
  desk.do(reserve("job_1", "b", "USD:0.70"));
  desk.restart();
  const [counter] = desk.loop.state.jobs.budgets.get(jobId("job_1")) ?? [];
  assert.deepEqual([counter?.spent.units, counter?.reserved.units], [70n, 0n]);
});

test("[ARCP-116] a parent that does not end well takes its children along; one that does leaves them", () => {
  const desk = running({ capabilities });
  desk.do(submitJob("job_2", "ada", below("job_1")));
  desk.do(startJob("job_2"));
  desk.do(submitJob("job_3", "ada", below("job_2")));
  const failure = { code: "X", message: "x", isRetryable: true };
  assert.deepEqual(desk.do(endJob("job_1", { outcome: { status: "error", failure } })), [
    "job.ended job_1 error X",
    "job.cancelling job_2",
  ]);
  const child = desk.the("job_2");
  const reason = child.state === "running" && child.cancelling?.reason;
  assert.equal(
    reason,
    "its parent has ended: job_1",
    "where there is little room, words come first",
  );
  assert.deepEqual(desk.do(endJob("job_2")), [
    "job.ended job_2 cancelled job_cancelled",
    "job.ended job_3 cancelled job_cancelled",
  ]);
  const happy = running({ capabilities });
  happy.do(submitJob("job_2", "ada", below("job_1")));
  assert.deepEqual(happy.do(endJob("job_1")), ["job.ended job_1 success"]);
  assert.equal(happy.the("job_2").state, "pending");
});

test("[ARCP-180] [ARCP-179] delegation goes only so deep, and a parent that is gone or another's has no children", () => {
  const desk = running({ capabilities });
  for (let depth = 1; depth <= limits.delegationDepthMax; depth += 1) {
    desk.do(submitJob(`job_${depth + 1}`, "ada", below(`job_${depth}`)));
  }
  const deepest = `job_${limits.delegationDepthMax + 1}`;
  assert.equal(desk.refusal(submitJob("job_x", "ada", below(deepest))), "limit_reached");
  assert.equal(desk.refusal(submitJob("job_x", "ada", below("job_none"))), "job_not_found");
  assert.equal(desk.refusal(submitJob("job_x", "eve", below("job_1"))), "job_not_found");
});

test("[ARCP-178] the name of a child is free again if it was interrupted, and only then", () => {
  const named = submitJob("job_2", "ada", below("job_1"));
  const again = submitJob("job_3", "ada", below("job_1"));
  const parent = (): Desk => {
    const desk = running({ capabilities, isRepeatable: true });
    desk.do(named);
    return desk;
  };
  const failure = { code: "INTERNAL_ERROR", message: "x", isRetryable: true };
  const wished: readonly ((desk: Desk) => unknown)[] = [
    (desk) => desk.do(endJob("job_2")),
    (desk) => desk.do(endJob("job_2", { outcome: { status: "error", failure } })),
    (desk) => {
      desk.do(cancelJob("job_2"));
      desk.restart();
    },
    (desk) => {
      desk.do(cancelJob("job_2"));
      desk.do(cancelJob("job_2", { isInterruption: true }));
      desk.later(30_000);
    },
  ];
  for (const happen of wished) {
    const desk = parent();
    desk.do(startJob("job_2"));
    happen(desk);
    assert.equal(desk.the("job_2").state, "ended");
    assert.equal(desk.refusal(again), "invalid_argument");
  }
  const stopping = cancelJob("job_2", { isInterruption: true });
  const unwished: readonly ((desk: Desk) => unknown)[] = [
    (desk) => desk.restart(),
    (desk) => {
      desk.do({ type: "job.orphan", jobId: jobId("job_2"), graceMs: 0 });
      desk.later(1);
    },
    (desk) => {
      desk.do(stopping);
      desk.restart();
    },
    (desk) => {
      desk.do(stopping);
      desk.do(endJob("job_2"));
    },
  ];
  for (const happen of unwished) {
    const desk = parent();
    desk.do(startJob("job_2"));
    assert.equal(desk.refusal(again), "invalid_argument", "it is at work");
    happen(desk);
    desk.restart();
    assert.deepEqual(desk.do(again), ["job.accepted job_3"]);
    const third = submitJob("job_4", "ada", below("job_1"));
    assert.equal(desk.refusal(third), "invalid_argument", "it is another's now");
  }
  const waiting = parent();
  waiting.do(stopping);
  assert.deepEqual(waiting.do(again), ["job.accepted job_3"]);
});

test("a job that is being prepared is nobody's business, and nothing if it never is", () => {
  const desk = opened();
  const preparing = submitJob("job_1", "ada", { needsPreparing: true });
  assert.deepEqual(desk.do(preparing), ["job.preparing job_1"]);
  assert.equal(desk.refusal(startJob("job_1")), "attempt_over");
  assert.equal(desk.refusal(cancelJob("job_1")), "job_not_found");
  assert.deepEqual(desk.do({ type: "job.prepared", jobId: jobId("job_1"), isReady: true }), [
    "job.accepted job_1",
  ]);
  assert.equal(desk.loop.state.jobs.inputs.get(jobId("job_1")), "null");
  const dropped = opened();
  dropped.do(preparing);
  assert.deepEqual(dropped.restart(), ["job.withdrawn job_1"]);
  assert.equal(dropped.loop.state.jobs.byId.size, 0);
});

test("a job that is being prepared goes without an end, with its parent or its grant", () => {
  const desk = running();
  const preparing = { needsPreparing: true, parentId: jobId("job_1") };
  desk.do(submitJob("job_2", "ada", preparing));
  const failure = { code: "X", message: "x", isRetryable: true };
  assert.deepEqual(desk.do(endJob("job_1", { outcome: { status: "error", failure } })), [
    "job.ended job_1 error X",
    "job.withdrawn job_2",
  ]);
  const expiresAt = new Date(5_000).toISOString();
  desk.do(submitJob("job_3", "ada", { needsPreparing: true, expiresAt }));
  assert.deepEqual(desk.later(5_000), ["job.withdrawn job_3"]);
  assert.equal(desk.numberOf("ada"), 1);
  const lost = running();
  lost.do(submitJob("job_2", "ada", preparing));
  assert.deepEqual(lost.restart(), ["job.ended job_1 error worker_lost", "job.withdrawn job_2"]);
});

test("a parent that is lost with the process takes its children along, also those that could be repeated", () => {
  const desk = running();
  const below = { parentId: jobId("job_1"), isRepeatable: true };
  desk.do(submitJob("job_2", "ada", below));
  desk.do(startJob("job_2"));
  desk.do(submitJob("job_3", "ada", below));
  desk.do(startJob("job_3", { isRemote: true }));
  desk.do(submitJob("job_4", "ada", below));
  assert.deepEqual(desk.restart(), [
    "job.ended job_1 error worker_lost",
    "job.cancelling job_2",
    "job.cancelling job_3",
    "job.ended job_4 cancelled job_cancelled",
    "job.ended job_2 cancelled job_cancelled",
    "job.orphaned job_3",
  ]);
});

test("the failure of a lost job says whether the runtime stopped or a worker of its own was lost", () => {
  const local = running().loop.accept({ type: "plane.open", wallMicros: 1, isKept: true });
  const remote = running({}, true);
  remote.do({ type: "job.orphan", jobId: jobId("job_1"), graceMs: 5_000 });
  const expired = remote.loop.at(remote.loop.nowMs + 5_000);
  assert.deepEqual([...local, ...expired].flatMap(failureIn), [
    "the runtime stopped while the job ran; part of its work may be done",
    "its worker was lost; part of its work may be done",
  ]);
});

function failureIn(event: Event): readonly string[] {
  if (event.type !== "job.ended" || event.outcome.status === "success") return [];
  return [event.outcome.failure.message];
}

test("a job that was cancelled ends as cancelled, though its time or its grant is over before", () => {
  const timed = running({ runMsMax: 5_000 });
  timed.do(cancelJob("job_1"));
  assert.deepEqual(timed.later(5_000), ["job.ended job_1 cancelled job_cancelled"]);
  const granted = running({ expiresAt: new Date(5_000).toISOString() });
  granted.do(cancelJob("job_1"));
  assert.deepEqual(granted.later(5_000), ["job.ended job_1 cancelled job_cancelled"]);
});

test("[ARCP-109] [ARCP-204] of a principal's ended jobs the most recent are remembered, and for a day", () => {
  const desk = opened();
  for (let index = 0; index <= limits.endedJobsMax; index += 1) {
    desk.do(submitJob(`job_${index}`, "ada"));
    desk.do(cancelJob(`job_${index}`));
  }
  const { jobs } = desk.loop.state;
  assert.equal(jobs.byId.size, limits.endedJobsMax);
  assert.equal(jobs.byId.has(jobId("job_0")), false);
  desk.later(limits.endedJobKeptMs);
  const left = [jobs.byId, jobs.byPrincipal, jobs.byRequest, jobs.tallies, jobs.budgets];
  assert.deepEqual(
    left.map(({ size }) => size),
    [0, 0, 0, 0, 0],
  );
});

test("a job is remembered as long as one that spends what it may", () => {
  const desk = running({ capabilities });
  desk.do(submitJob("job_2", "ada", { parentId: jobId("job_1") }));
  desk.do(startJob("job_2", { isRemote: true }));
  desk.do(endJob("job_1"));
  assert.deepEqual(desk.later(2 * limits.endedJobKeptMs), []);
  desk.restart();
  desk.do({ type: "job.reclaim", jobId: jobId("job_2"), attempt: 1 });
  assert.equal(desk.refusal(reserve("job_2", "r", "USD:1.01")), "budget_exhausted");
  desk.do(endJob("job_2"));
  const gone = desk.later(limits.endedJobKeptMs).filter((line) => line.startsWith("job."));
  assert.deepEqual(gone, ["job.forgotten job_2", "job.forgotten job_1"]);
  assert.equal(desk.loop.state.jobs.ended.size, 0);
});

test("as many are forgotten as end at once, and each of them once", () => {
  const desk = opened();
  for (let index = 0; index < limits.endedJobsMax; index += 1) {
    desk.do(submitJob(`job_${index}`, "ada"));
    desk.do(cancelJob(`job_${index}`));
  }
  desk.do(submitJob("job_a", "ada"));
  for (const name of ["job_b", "job_c"]) {
    desk.do(submitJob(name, "ada", { parentId: jobId("job_a") }));
  }
  assert.deepEqual(desk.do(cancelJob("job_a")).slice(3), [
    "job.forgotten job_0",
    "job.forgotten job_1",
    "job.forgotten job_2",
  ]);
});

test("[ARCP-75] a million events of a job that nobody acknowledges take no more room than some thousand", () => {
  const desk = running();
  desk.do(followJob("eve", "job_1", { mayObserve: true }));
  const { state } = desk.loop;
  const event: Event = {
    type: "job.emitted",
    jobId: jobId("job_1"),
    kind: "log",
    body: jsonText("{}"),
  };
  const sizes = [0, 1].map((millions) => {
    const upTo = millions * 1_000_000 + 2 * limits.journalEventsMax;
    while ((desk.numberOf("ada") ?? 0) < upTo) evolve(state, event);
    return describe(state).length;
  });
  const [before = 0, after = 0] = sizes;
  assert(after <= before * 1.05, `${before} characters, then ${after}`);
  const journals = [...state.sessions.journals.values()];
  const most = limits.journalEventsMax / limits.journalMarkEvents + 2;
  for (const { changes } of journals) assert(changes.length <= most, `${changes.length} changes`);
});

test("[ARCP-137] history is told from where it was asked for, without the kinds that are passed over", () => {
  const desk = running();
  for (const kind of ["log", "progress", "log", "progress", "log"])
    desk.do(emit("job_1", { kind }));
  desk.do(openSession("ada_2", { principal: "ada", skips: ["progress"] }));
  const history = { afterSequence: 0, before: 0 };
  desk.do(followJob("ada_2", "job_1", { history }));
  assert.equal(desk.numberOf("ada_2"), 3);
  desk.do(emit("job_1", { kind: "progress" }));
  desk.do(emit("job_1"));
  assert.equal(desk.numberOf("ada_2"), 4);
  desk.do(endJob("job_1"));
  assert.equal(desk.numberOf("ada_2"), 5);
  desk.do(followJob("ada_2", "job_1", { history }));
  assert.equal(desk.numberOf("ada_2"), 5 + 5);
  desk.do(followJob("ada_2", "job_1"));
  assert.equal(desk.numberOf("ada_2"), 11);
});

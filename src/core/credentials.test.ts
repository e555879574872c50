import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BareLoop } from "../testing/bare-loop.ts";
import {
  cancelJob,
  endJob,
  jsonText,
  openSession,
  startJob,
  submitJob,
} from "../testing/commands.ts";
import { type Credential, listEnded, listStuck, type Made, retryAfterMs } from "./credentials.ts";
import type { Event } from "./events.ts";
import { jobId } from "./ids.ts";
import { limits } from "./limits.ts";
import type { Command, State } from "./machine.ts";
import { capture, describe, printRow, Restoring } from "./snapshot.ts";

const made = (credentialId: string, valueHash = `hash of ${credentialId}`): Made => ({
  credentialId,
  handle: `handle of ${credentialId}`,
  valueHash,
});

/** What commands come to, in words. */
class Desk {
  loop: BareLoop = new BareLoop();

  constructor() {
    this.loop.accept(openSession("ada"));
  }

  do(command: Command): readonly string[] {
    return this.loop.accept(command).map(tell);
  }

  later(ms: number): readonly string[] {
    return this.loop.at(this.loop.nowMs + ms).map(tell);
  }

  prepare(job: string, parts: Parameters<typeof submitJob>[2] = {}): readonly string[] {
    return this.do(submitJob(job, "ada", { needsPreparing: true, ...parts }));
  }

  prepared(job: string, ...credentials: readonly Made[]): readonly string[] {
    return this.do({ type: "job.prepared", jobId: jobId(job), isReady: true, credentials });
  }

  report(job: string, number: number, isRevoked: boolean): readonly string[] {
    return this.do({ type: "credential.report", jobId: jobId(job), number, isRevoked });
  }

  /** The process ends, and another goes on from a snapshot. */
  restart(): readonly string[] {
    const { state, nowMs } = this.loop;
    this.loop = new BareLoop(restore(state));
    // As the plane has it: opened later than the last entry.
    this.loop.nowMs = nowMs + 1;
    assert.equal(describe(this.loop.state), describe(state));
    return this.do({ type: "plane.open", wallMicros: 1, isKept: true }).slice(1);
  }

  /** All that are not revoked, in words. */
  get left(): readonly string[] {
    const { byJob } = this.loop.state.credentials;
    return [...byJob.values()].flatMap((own) => [...own.values()].map(print));
  }
}

function print({ jobId, number, credentialId, state }: Credential): string {
  return `${jobId}/${number} ${credentialId} ${state}`;
}

function tell(event: Event): string {
  if ("credential" in event) {
    const { jobId, number } = event.credential;
    if (event.type === "credential.issued") return `issued ${print(event.credential)}`;
    return `${event.type} ${jobId}/${number}`;
  }
  if ("job" in event) return `${event.type} ${event.job.id}`;
  if ("jobId" in event) return `${event.type} ${event.jobId}`;
  return event.type;
}

function restore(state: State): Restoring["state"] {
  const restoring = new Restoring();
  for (const section of capture(state)) {
    for (const index of section.rows.keys()) restoring.add(section.name, printRow(section, index));
  }
  restoring.state.lastSequence = state.lastSequence;
  return restoring.state;
}

function running(job = "job_1", ...credentials: readonly Made[]): Desk {
  const desk = new Desk();
  desk.prepare(job);
  desk.prepared(job, ...credentials);
  desk.do(startJob(job));
  return desk;
}

test("what was made for a job is written down before the job is accepted, and ends with it", () => {
  const desk = new Desk();
  assert.deepEqual(desk.prepare("job_1"), ["job.preparing job_1"]);
  assert.deepEqual(desk.prepared("job_1", made("a"), made("b")), [
    "issued job_1/1 a live",
    "issued job_1/2 b live",
    "job.accepted job_1",
  ]);
  desk.do(startJob("job_1"));
  assert.deepEqual(desk.do(endJob("job_1")), [
    "job.ended job_1",
    "credential.ended job_1/1",
    "credential.ended job_1/2",
  ]);
  assert.deepEqual(desk.report("job_1", 1, true), ["credential.revoked job_1/1"]);
  assert.deepEqual(desk.left, ["job_1/2 b ended"]);
  assert.deepEqual(desk.report("job_1", 1, true), [], "told twice");
});

test("what cannot be revoked is kept and shown, past the end of its job and of the process", () => {
  const desk = running("job_1", made("a"));
  desk.do(endJob("job_1"));
  assert.deepEqual(desk.report("job_1", 1, false), ["credential.stuck job_1/1"]);
  assert.deepEqual(desk.report("job_1", 1, false), []);
  assert.equal(desk.loop.state.credentials.stuckCount, 1);
  assert.deepEqual(desk.restart(), []);
  assert(desk.later(limits.endedJobKeptMs).includes("job.forgotten job_1"));
  assert.deepEqual(listStuck(desk.loop.state.credentials).map(print), ["job_1/1 a stuck"]);
  assert.deepEqual(desk.report("job_1", 1, true), ["credential.revoked job_1/1"]);
  assert.deepEqual(desk.left, []);
  assert.equal(desk.loop.state.credentials.stuckCount, 0);
});

test("one that is in use is not said to be revoked", () => {
  const desk = running("job_1", made("a"));
  const report = { type: "credential.report", jobId: jobId("job_1"), number: 1 } as const;
  assert.equal(desk.loop.refusal({ ...report, isRevoked: true }), "invalid_argument");
});

test("[ARCP-171] a value that another unfinished job has is not given out again, and what was made is revoked", () => {
  const desk = running("job_1", made("a", "same"));
  desk.prepare("job_2");
  assert.deepEqual(desk.prepared("job_2", made("b", "same"), made("c")), [
    "issued job_2/1 b live",
    "issued job_2/2 c live",
    "job.withdrawn job_2",
    "credential.ended job_2/1",
    "credential.ended job_2/2",
  ]);
  desk.do(endJob("job_1"));
  desk.prepare("job_3");
  assert(desk.prepared("job_3", made("d", "same")).includes("job.accepted job_3"));
});

test("one job may have the same value under two names", () => {
  const desk = new Desk();
  desk.prepare("job_1");
  assert(desk.prepared("job_1", made("a", "s"), made("b", "s")).includes("job.accepted job_1"));
});

test("what comes too late is revoked at once, though its job is nothing", () => {
  const desk = new Desk();
  desk.prepare("job_1");
  desk.do({ type: "job.prepared", jobId: jobId("job_1"), isReady: false });
  assert.deepEqual(desk.prepared("job_1", made("a")), [
    "issued job_1/1 a live",
    "credential.ended job_1/1",
  ]);
});

test("a job whose credentials are being made is no more when its parent, or its grant, has ended", () => {
  const desk = running("job_1");
  desk.prepare("job_2", { parentId: jobId("job_1") });
  desk.do(cancelJob("job_1"));
  assert.deepEqual(desk.later(30_000), ["job.ended job_1", "job.withdrawn job_2"]);
  const other = running("job_1");
  other.prepare("job_2", { parentId: jobId("job_1") });
  assert.deepEqual(other.do(endJob("job_1")), ["job.ended job_1"]);
  assert.deepEqual(other.prepared("job_2", made("a")), [
    "issued job_2/1 a live",
    "job.withdrawn job_2",
    "credential.ended job_2/1",
  ]);
  other.prepare("job_3", { expiresAt: new Date(60_000).toISOString() });
  assert.deepEqual(other.later(60_000), ["job.withdrawn job_3"]);
});

test("[ARCP-175] a child goes on without its credentials when its parent has ended well", () => {
  const desk = running("job_1", made("a"));
  desk.prepare("job_2", { parentId: jobId("job_1") });
  desk.prepared("job_2", made("b"));
  desk.do(startJob("job_2"));
  assert.deepEqual(desk.do(endJob("job_1")), [
    "job.ended job_1",
    "credential.ended job_1/1",
    "credential.ended job_2/1",
  ]);
  assert.deepEqual(desk.do(endJob("job_2")), ["job.ended job_2"]);
});

test("a newer value takes the place of the older, which alone is revoked", () => {
  const desk = running("job_1", made("a"));
  const said = { kind: "status", body: jsonText('{"phase":"credential_rotated","id":"a"}') };
  const rotate = {
    type: "credential.rotate",
    jobId: jobId("job_1"),
    attempt: 1,
    ...made("a", "newer"),
    said,
  } as const;
  assert.deepEqual(desk.do(rotate), [
    "issued job_1/2 a live",
    "job.emitted job_1",
    "credential.ended job_1/1",
  ]);
  const [older] = listEnded(desk.loop.state.credentials);
  assert.deepEqual([older?.number, older?.isReplaced], [1, true]);
  assert.equal(desk.loop.refusal({ ...rotate, credentialId: "b" }), "invalid_argument");
  assert.equal(desk.loop.refusal({ ...rotate, attempt: 2 }), "attempt_over");
  desk.prepare("job_2");
  desk.prepared("job_2", made("c", "theirs"));
  assert.equal(desk.loop.refusal({ ...rotate, valueHash: "theirs" }), "invalid_argument");
  assert.deepEqual(desk.do(endJob("job_1")), ["job.ended job_1", "credential.ended job_1/2"]);
});

test("after a restart no job is started without the credentials it was accepted with", () => {
  const desk = new Desk();
  const accept = (job: string, parts: Parameters<typeof submitJob>[2] = {}): void => {
    desk.prepare(job, parts);
    desk.prepared(job, made(job));
  };
  accept("job_pending");
  accept("job_repeatable", { isRepeatable: true });
  desk.do(startJob("job_repeatable"));
  accept("job_remote");
  desk.do(startJob("job_remote", { isRemote: true }));
  desk.do(submitJob("job_without", "ada"));
  desk.prepare("job_preparing");
  assert.deepEqual(desk.restart(), [
    "job.ended job_pending",
    "job.ended job_repeatable",
    "job.orphaned job_remote",
    "job.withdrawn job_preparing",
    "credential.ended job_pending/1",
    "credential.ended job_repeatable/1",
  ]);
});

test("one that was with a worker elsewhere over a restart is not started again without its credentials", () => {
  const desk = new Desk();
  for (const job of ["job_1", "job_2"]) {
    desk.prepare(job, { isRepeatable: true });
    desk.prepared(job, made(job));
    desk.do(startJob(job, { isRemote: true }));
  }
  desk.do({ type: "job.orphan", jobId: jobId("job_1"), graceMs: 1_000 });
  assert.deepEqual(desk.later(1_000), ["job.offered job_1"], "its credentials are here still");
  desk.do(startJob("job_1", { isRemote: true }));
  assert.deepEqual(desk.restart(), ["job.orphaned job_1", "job.orphaned job_2"]);
  desk.do({ type: "job.reclaim", jobId: jobId("job_2"), attempt: 1 });
  assert.deepEqual(desk.later(60_000), ["job.ended job_1", "credential.ended job_1/1"]);
  desk.do({ type: "job.orphan", jobId: jobId("job_2"), graceMs: 1_000 });
  assert.deepEqual(desk.later(1_000), ["job.ended job_2", "credential.ended job_2/1"]);
});

test("a job that goes on without its credentials does so over a restart", () => {
  const desk = running("job_1");
  desk.prepare("job_2", { parentId: jobId("job_1") });
  desk.prepared("job_2", made("b"));
  assert.deepEqual(desk.do(endJob("job_1")), ["job.ended job_1", "credential.ended job_2/1"]);
  assert.deepEqual(desk.restart(), []);
});

test("a pending child ends once when the process of its parent has", () => {
  const desk = running("job_1", made("a"));
  desk.prepare("job_2", { parentId: jobId("job_1") });
  desk.prepared("job_2", made("b"));
  assert.deepEqual(desk.restart(), [
    "job.ended job_1",
    "job.ended job_2",
    "credential.ended job_1/1",
    "credential.ended job_2/1",
  ]);
});

test("[ARCP-170] it is tried five times within two seconds, then each minute", () => {
  const afterMs = [1, 2, 3, 4, 5, 6].map(retryAfterMs);
  assert.deepEqual(afterMs, [100, 200, 400, 800, 60_000, 60_000]);
});

type Step = { readonly type: string; readonly job: number; readonly value: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record<Step>({
    type: fc.constantFrom(
      ...["prepare", "run", "run", "child", "child", "made", "failed", "start", "rotate", "end"],
      ...["fail", "cancel", "revoke", "complain", "later", "restart"],
    ),
    job: fc.nat({ max: 3 }),
    value: fc.nat({ max: 8 }),
  }),
  { maxLength: 40, size: "max" },
);

function commandsOf(desk: Desk, { type, job, value }: Step): readonly Command[] {
  const id = jobId(`job_${job}`);
  const attempt = desk.loop.state.jobs.byId.get(id)?.attempt ?? 0;
  const [ended] = listEnded(desk.loop.state.credentials);
  const credentials = [made(`c${value % 2}`, `value ${value}`)];
  const prepared = { type: "job.prepared", jobId: id, isReady: true, credentials } as const;
  const start = startJob(id, { isRemote: value % 2 === 0 });
  const needsPreparing = true;
  switch (type) {
    case "prepare":
      return [submitJob(id, "ada", { needsPreparing, isRepeatable: value % 2 === 0 })];
    case "run":
      return [submitJob(id, "ada", { needsPreparing }), prepared, start];
    case "child":
      return [
        submitJob(id, "ada", { needsPreparing, parentId: jobId(`job_${value % 4}`) }),
        prepared,
      ];
    case "made":
    case "failed":
      return [{ ...prepared, isReady: type === "made" }];
    case "start":
      return [start];
    case "rotate":
      return credentials.map((one) => ({
        type: "credential.rotate",
        jobId: id,
        attempt,
        ...one,
        said: { kind: "status", body: jsonText("{}") },
      }));
    case "end":
      return [endJob(id, { attempt })];
    case "fail": {
      const failure = { code: "x", message: "x", isRetryable: false };
      return [endJob(id, { attempt, outcome: { status: "error", failure } })];
    }
    case "cancel":
      return [cancelJob(id)];
    case "revoke":
    case "complain": {
      if (!ended) return [];
      const { jobId: endedId, number } = ended;
      const isRevoked = type === "revoke";
      return [{ type: "credential.report", jobId: endedId, number, isRevoked }];
    }
    default:
      return [];
  }
}

test("whatever happens, a credential is live only while its job and the one above are not over, and is kept until it is revoked", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const desk = new Desk();
      const revoked = new Set<string>();
      const issued = new Set<string>();
      let seen = 0;
      for (const step of taken) {
        if (step.type === "restart") {
          desk.restart();
          seen = 0;
        } else if (step.type === "later") desk.later(40_000);
        else for (const command of commandsOf(desk, step)) desk.loop.decide(command);
        for (const event of desk.loop.events.slice(seen)) {
          if (!("credential" in event)) continue;
          const name = `${event.credential.jobId}/${event.credential.number}`;
          if (event.type === "credential.issued") {
            issued.add(name);
            revoked.delete(name);
          }
          if (event.type === "credential.revoked") revoked.add(name);
        }
        seen = desk.loop.events.length;
        judge(desk.loop.state, issued, revoked);
      }
      assert.equal(describe(restore(desk.loop.state)), describe(desk.loop.state));
    }),
    { numRuns: 500 },
  );
});

function judge(state: State, issued: ReadonlySet<string>, revoked: ReadonlySet<string>): void {
  const { byJob, live, size, stuckCount } = state.credentials;
  const all = [...byJob.values()].flatMap((own) => [...own.values()]);
  assert.deepEqual(
    new Set(all.map(({ jobId: id, number }) => `${id}/${number}`)),
    issued.difference(revoked),
  );
  assert.equal(size, all.length);
  assert.equal(stuckCount, all.filter((one) => one.state === "stuck").length);
  const alive = all.filter((one) => one.state === "live");
  assert.deepEqual(new Set([...live.values()].flatMap((same) => [...same])), new Set(alive));
  for (const one of alive) {
    const job = state.jobs.byId.get(one.jobId);
    assert(job && (job.state === "pending" || job.state === "running"), `${one.jobId} is over`);
    const parent = job.parentId && state.jobs.byId.get(job.parentId);
    if (job.parentId) assert(parent && parent.state !== "ended", `${job.parentId} is over`);
    for (const other of live.get(one.valueHash) ?? []) assert.equal(other.jobId, one.jobId);
  }
}

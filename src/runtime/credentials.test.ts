import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { type Event, type JobId, printEvent, sessionId } from "../core/index.ts";
import { type Log, MemoryLog, SqliteLog } from "../log/index.ts";
import type { Outcome, Plane } from "../plane/index.ts";
import { collectLines } from "../testing/collected-lines.ts";
import { openSession } from "../testing/commands.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { isSettled, openPlane, turns } from "../testing/test-plane.ts";
import { printCredential } from "../wire/arcp/parts.ts";
import type { RunContext } from "./context.ts";
import type { IssueContext, Provisioned, Provisioner, Rotation } from "./credentials.ts";
import type { Handler } from "./in-process.ts";
import type { Logger } from "./logger.ts";
import type { Revocation } from "./revocations.ts";
import { type JobRequest, Runtime, type Submitted } from "./runtime.ts";

/** Stands for somebody else's service: says what it was asked, and does as it is told. */
class Vault implements Provisioner {
  readonly issued: IssueContext[] = [];
  readonly revoked: Revocation[] = [];
  isDown = false;
  answer: (context: IssueContext) => Promise<readonly Provisioned[]> = async ({ jobId }) => [
    { id: "key", value: `secret of ${jobId}`, endpoint: "https://models", handle: `h ${jobId}` },
  ];

  issue(context: IssueContext): Promise<readonly Provisioned[]> {
    this.issued.push(context);
    return this.answer(context);
  }

  async revoke(revocation: Revocation): Promise<void> {
    this.revoked.push(revocation);
    if (this.isDown) throw new Error("the vault is down");
  }
}

class Scene implements AsyncDisposable {
  readonly vault: Vault;
  readonly plane: Plane;
  readonly runtime: Runtime;
  readonly clock: ManualClock;
  readonly stuck: string[];
  readonly issueFailures: unknown[];
  #requests = 0;

  private constructor(
    parts: Pick<Scene, "vault" | "plane" | "runtime" | "clock" | "stuck"> & {
      readonly issueFailures: unknown[];
    },
  ) {
    this.vault = parts.vault;
    this.plane = parts.plane;
    this.runtime = parts.runtime;
    this.clock = parts.clock;
    this.stuck = parts.stuck;
    this.issueFailures = parts.issueFailures;
  }

  static async open({
    log = new MemoryLog(),
    vault = new Vault(),
    logger,
  }: {
    readonly log?: Log;
    readonly vault?: Vault;
    readonly logger?: Logger;
  } = {}): Promise<Scene> {
    const { plane, clock } = await openPlane({ log, clock: new ManualClock() });
    let ids = 0;
    const stuck: string[] = [];
    const issueFailures: unknown[] = [];
    const runtime = new Runtime({
      plane,
      clock,
      newId: (kind) => `${kind}_${++ids}`,
      onFault: (fault) => {
        throw fault;
      },
      provisioner: vault,
      logger,
      onRevocationFailure: ({ credentialId }) => stuck.push(credentialId),
      onIssueFailure: ({ error }) => issueFailures.push(error),
    });
    const features = ["provisioned_credentials"];
    await plane.submit({ ...openSession("ada"), features }, { actor: "test" }, () => undefined);
    return new Scene({ vault, plane, runtime, clock, stuck, issueFailures });
  }

  submit(
    parts: Partial<JobRequest> = {},
    options: Parameters<Runtime["submit"]>[1] = {},
  ): Promise<Outcome<Submitted>> {
    this.#requests += 1;
    const request = {
      agent: "agent",
      input: "null",
      sessionId: sessionId("sess_ada"),
      principal: "ada",
      requestId: `request ${this.#requests}`,
      traceId: "1".repeat(32),
      needsCredentials: true,
      ...parts,
    };
    return this.runtime.submit(request, options);
  }

  async run(handler: Handler, parts: Partial<JobRequest> = {}): Promise<JobId> {
    using _agent = this.runtime.registerAgent("agent", handler);
    const id = jobOf(await this.submit(parts));
    await this.runtime.ending(id);
    return id;
  }

  /** All that the log has, in order. */
  async events(): Promise<readonly Event[]> {
    const entries = await this.plane.history(0, 1_000);
    return entries.map(({ event }) => event);
  }

  get left(): number {
    return this.plane.peek(({ credentials }) => credentials.size);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.runtime[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

function jobOf({ value, refusal }: Outcome<Submitted>): JobId {
  assert(value, refusal?.message ?? "");
  return value.job.id;
}

/** Runs until it is let go, or aborted. */
function gate(): { readonly handler: Handler; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { handler: () => promise, open: resolve };
}

test("[ARCP-168] [ARCP-169] credentials are made and written down before a job is accepted, and revoked before its end is told", async () => {
  await using scene = await Scene.open();
  const told: string[] = [];
  // As a door does it, which comes after the runtime.
  using _tap = scene.plane.tap((entries) => {
    for (const { event } of entries) {
      if (event.type === "job.ended") told.push(`ended, ${scene.vault.revoked.length} revoked`);
    }
  });
  let seen: string | undefined;
  const id = await scene.run(
    (_, context) => {
      seen = context.credentials[0]?.value;
    },
    { capabilities: { "cost.budget": ["USD:2.50"] } },
  );
  assert.equal(seen, `secret of ${id}`);
  assert.deepEqual(told, ["ended, 1 revoked"]);
  assert.deepEqual(scene.vault.revoked, [
    { jobId: id, credentialId: "key", handle: `h ${id}`, isReplaced: false },
  ]);
  const [{ signal: _, ...context } = assert.fail()] = scene.vault.issued;
  assert.deepEqual(context, {
    jobId: id,
    agent: "agent",
    principal: "ada",
    traceId: "1".repeat(32),
    lease: { "cost.budget": ["USD:2.50"] },
    leaseConstraints: {},
    budget: { USD: 2.5 },
  });
  await turns();
  assert.equal(scene.left, 0);
  assert.deepEqual(scene.runtime.credentialsOf(id), []);
  const types = (await scene.events()).map(({ type }) => type);
  assert.deepEqual(types.slice(2), [
    "job.preparing",
    "credential.issued",
    "job.accepted",
    "job.started",
    "job.emitted",
    "job.ended",
    "credential.ended",
    "credential.revoked",
  ]);
});

test("an answer is known before it is kept, so that it can be told before all that follows", async () => {
  await using scene = await Scene.open();
  using _agent = scene.runtime.registerAgent("agent", () => 1);
  const order: string[] = [];
  using _tap = scene.plane.tap((entries) => {
    for (const { event } of entries) if (event.type.startsWith("job.")) order.push(event.type);
  });
  const onDecided = ({ value }: Outcome<Submitted>): void => {
    const [credential] = scene.runtime.credentialsOf(value?.job.id ?? assert.fail());
    order.push(`decided with ${credential?.id}`);
  };
  await scene.submit({}, { onDecided });
  assert.deepEqual(order.slice(0, 3), ["decided with key", "job.preparing", "job.accepted"]);
});

test("[ARCP-169] a job that gets no credentials was never asked for, and its refusal says nothing of why", async () => {
  const { logger, lines } = collectLines();
  await using scene = await Scene.open({ logger });
  using _agent = scene.runtime.registerAgent("agent", gate().handler);
  const key = { text: "k", fingerprint: "f" };
  const { answer } = scene.vault;
  scene.vault.answer = async () => {
    throw new Error("secret 1 is taken");
  };
  const { refusal } = await scene.submit({ key });
  assert.deepEqual(refusal, {
    code: "unavailable",
    message: "the credentials that this job needs could not be issued",
  });
  assert.match(String(scene.issueFailures[0]), /secret 1/);
  assert.match(lines[0]?.message ?? "", /^no credentials were issued for job_/);
  assert.doesNotMatch(JSON.stringify(lines), /secret/);
  assert.equal(
    scene.plane.peek(({ jobs }) => jobs.byId.size),
    0,
  );
  scene.vault.answer = answer;
  assert.equal((await scene.submit({ key })).value?.isRepeated, false);
});

test("[ARCP-169] [ARCP-173] what a provisioner gives that no job can have is revoked", async () => {
  await using scene = await Scene.open();
  using _agent = scene.runtime.registerAgent("agent", gate().handler);
  const good = { value: "v", endpoint: "e" };
  const answers: readonly (readonly unknown[])[] = [
    [{ id: "a", ...good, value: "" }],
    [{ id: "a", ...good, endpoint: undefined }],
    [{ id: "a", ...good, scheme: "basic" }],
    [
      { id: "a", ...good },
      { id: "a", ...good, value: "w" },
    ],
    Array.from({ length: 101 }, (_, index) => ({ ...good, value: `v${index}` })),
  ];
  for (const answer of answers) {
    scene.vault.revoked.length = 0;
    scene.vault.answer = async () => answer as readonly Provisioned[];
    assert.equal((await scene.submit()).refusal?.code, "unavailable");
    await turns();
    assert.equal(scene.vault.revoked.length, answer.length);
  }
  assert.equal(scene.left, 0);
});

test("an issue that takes too long is refused, and revoked when it comes after all", async () => {
  await using scene = await Scene.open();
  using _agent = scene.runtime.registerAgent("agent", gate().handler);
  const { promise, resolve } = Promise.withResolvers<readonly Provisioned[]>();
  scene.vault.answer = () => promise;
  const preparing = scene.submit({}, { withinMs: 5_000 });
  await turns();
  scene.clock.leap(4_999);
  assert.equal(await isSettled(preparing), false);
  scene.clock.leap(1);
  assert.equal((await preparing).refusal?.code, "unavailable");
  assert.equal(scene.vault.issued[0]?.signal.aborted, true);
  assert.equal(scene.clock.sleepers, 0);
  resolve([{ value: "late", endpoint: "e", handle: "h" }]);
  await turns();
  assert.deepEqual(
    scene.vault.revoked.map(({ handle }) => handle),
    ["h"],
  );
  assert.equal(scene.left, 0);
});

test("[ARCP-98] of two that ask for the same at a time one runs, and the other waits for its answer", async () => {
  await using scene = await Scene.open();
  using _agent = scene.runtime.registerAgent("agent", gate().handler);
  const key = { text: "k", fingerprint: "f" };
  const waiting = Promise.withResolvers<readonly Provisioned[]>();
  scene.vault.answer = () => waiting.promise;
  const both = [scene.submit({ key }), scene.submit({ key, needsCredentials: false })];
  await turns();
  assert.equal(scene.vault.issued.length, 1);
  waiting.resolve([{ value: "v", endpoint: "e" }]);
  const [one, other] = await Promise.all(both);
  assert(one?.value && other?.value);
  assert.equal(one.value.job.id, other.value.job.id);
  assert.deepEqual([one.value.isRepeated, other.value.isRepeated], [false, true]);

  const failing = Promise.withResolvers<readonly Provisioned[]>();
  scene.vault.answer = () => failing.promise;
  const again = { text: "l", fingerprint: "f" };
  const two = [scene.submit({ key: again }), scene.submit({ key: again })];
  failing.reject(new Error("no"));
  for (const { refusal } of await Promise.all(two)) assert.equal(refusal?.code, "unavailable");
  assert.equal(scene.vault.issued.length, 2);
});

test("[ARCP-171] a value that another job has is refused, and the other job keeps it", async () => {
  await using scene = await Scene.open();
  using _agent = scene.runtime.registerAgent("agent", gate().handler);
  scene.vault.answer = async () => [{ id: "key", value: "same", endpoint: "e" }];
  const first = jobOf(await scene.submit());
  assert.equal((await scene.submit()).refusal?.code, "unavailable");
  await turns();
  assert.deepEqual(
    scene.vault.revoked.map(({ jobId }) => jobId === first),
    [false],
  );
  assert.equal(scene.runtime.credentialsOf(first).length, 1);
});

test("[ARCP-170] [ARCP-205] what cannot be revoked is tried five times, told to the operator once, and tried on each minute", async () => {
  const { logger, lines } = collectLines();
  await using scene = await Scene.open({ logger });
  scene.vault.isDown = true;
  const id = await scene.run(() => 1);
  const triesAfter = async (ms: number): Promise<number> => {
    scene.clock.leap(ms);
    await turns();
    return scene.vault.revoked.length;
  };
  const tries: number[] = [];
  for (const ms of [0, 99, 1, 199, 1, 400, 800]) tries.push(await triesAfter(ms));
  assert.deepEqual(tries, [1, 1, 2, 2, 3, 4, 5]);
  assert.deepEqual(scene.stuck, ["key"]);
  assert.deepEqual(
    (await scene.runtime.unrevoked()).map(({ jobId }) => jobId),
    [id],
  );
  assert.equal(await triesAfter(60_000), 6);
  assert.deepEqual(scene.stuck, ["key"]);
  assert.deepEqual(
    lines.map(({ message }) => message),
    [`key of ${id} could not be revoked; it is tried on`],
  );
  scene.vault.isDown = false;
  assert.equal(await triesAfter(60_000), 7);
  assert.equal(scene.left, 0);
  assert.equal(await triesAfter(600_000), 7);
  assert.equal(scene.clock.sleepers, 0);
});

test("a revocation that is not answered is one that failed", async () => {
  await using scene = await Scene.open();
  const { promise } = Promise.withResolvers<void>();
  const { revoke } = scene.vault;
  scene.vault.revoke = async (revocation) => {
    await revoke.call(scene.vault, revocation);
    await promise;
  };
  await scene.run(() => 1);
  scene.clock.leap(30_000);
  await turns();
  scene.clock.leap(100);
  await turns();
  assert.equal(scene.vault.revoked.length, 2);
});

test("[ARCP-175] a child has credentials of its own, which do not outlive its parent", async () => {
  await using scene = await Scene.open();
  const child = gate();
  using _child = scene.runtime.registerAgent("child", child.handler);
  let childId = "";
  const id = await scene.run(
    async (_, context) => {
      ({ jobId: childId } = await context.delegate({ agent: "child" }));
    },
    { capabilities: { "agent.delegate": ["child"] } },
  );
  assert.deepEqual(
    scene.vault.issued.map(({ jobId, parentJobId }) => [jobId, parentJobId]),
    [
      [id, undefined],
      [childId, id],
    ],
  );
  assert.deepEqual(
    new Set(scene.vault.revoked.map(({ jobId }) => jobId)),
    new Set<string>([id, childId]),
  );
});

test("[ARCP-172] a newer value is told to who listens, is in no event, and the older one alone is revoked", async () => {
  await using scene = await Scene.open();
  const rotations: Rotation[] = [];
  using _listener = scene.runtime.onRotation((rotation) => rotations.push(rotation));
  const values: (string | undefined)[] = [];
  let over: RunContext | undefined;
  const id = await scene.run(async (_, context) => {
    over = context;
    await context.rotateCredential("key", "newer secret", { handle: "h2" });
    values.push(context.credentials[0]?.value, context.credentials[0]?.endpoint);
    await assert.rejects(context.rotateCredential("other", "x"), { code: "invalid_argument" });
    const body = { phase: "credential_rotated", id: "key", value: "newest secret" };
    await assert.rejects(context.emitEvent("status", body), { code: "invalid_argument" });
  });
  await assert.rejects(async () => await over?.rotateCredential("key", "late secret"), {
    code: "attempt_over",
  });
  assert.deepEqual(values, ["newer secret", "https://models"]);
  assert.equal(rotations.length, 1);
  const { sequence = 0, ...rotation } = rotations[0] ?? {};
  assert.deepEqual(rotation, { jobId: id, credentialId: "key", value: "newer secret" });
  const [entry] = await scene.plane.history(sequence - 1, 1);
  assert(entry?.event.type === "job.emitted");
  assert.equal(entry.event.body, '{"phase":"credential_rotated","id":"key"}');
  assert.deepEqual(
    scene.vault.revoked.map(({ handle, isReplaced }) => [handle, isReplaced]),
    [
      [`h ${id}`, true],
      ["h2", false],
    ],
  );
  const printed = (await scene.events()).map(printEvent).join();
  assert.match(printed, /credential_rotated/);
  assert.doesNotMatch(printed, /secret/);
});

test("[ARCP-174] a credential shows its value to none but who asks for it", async () => {
  await using scene = await Scene.open();
  const shown: string[] = [];
  await scene.run((_, { credentials }) => {
    shown.push(JSON.stringify(credentials), inspect(credentials), String(credentials));
    shown.push(JSON.stringify(credentials.map((one) => one.with("another secret"))));
    assert.match(JSON.stringify(credentials.map(printCredential)), /secret/);
  });
  assert.equal(shown.length, 4);
  assert.doesNotMatch(shown.join(), /secret/);
});

test("[ARCP-170] [ARCP-174] [ARCP-195] what a process left behind is revoked by the next, and no value is in its files", async () => {
  await using directory = await temporaryDirectory();
  {
    await using log = SqliteLog.open(directory.path);
    await using scene = await Scene.open({ log });
    using _waiting = scene.runtime.registerAgent("waiting", gate().handler);
    jobOf(await scene.submit({ agent: "waiting" }));
    scene.vault.isDown = true;
    await scene.run(async (_, context) => {
      await context.rotateCredential("key", "newer secret");
      await context.log("info", "it has", { credentials: context.credentials });
    });
    assert.equal(scene.left, 3);
  }
  const files = await readdir(directory.path, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map((file) => readFile(join(file.parentPath, file.name), "latin1")),
  );
  assert.match(texts.join(), /credential\.issued/);
  assert.doesNotMatch(texts.join(), /secret/);
  await using log = SqliteLog.open(directory.path);
  const vault = new Vault();
  await using scene = await Scene.open({ log, vault });
  await turns(10);
  assert.equal(vault.revoked.length, 3);
  assert.equal(scene.left, 0);
});

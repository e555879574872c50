import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionId } from "../../core/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { emit, endJob, openSession, startJob, submitJob } from "../../testing/commands.ts";
import { openPlane, test as somebody, turns } from "../../testing/test-plane.ts";
import { Audience } from "./audience.ts";
import { limits } from "./limits.ts";
import { type Outlet, Telling } from "./telling.ts";

/** Takes one at a time, when it is let, until it is quick. */
class SlowOutlet implements Outlet {
  readonly told: string[] = [];
  isLost = false;
  isQuick = false;
  readonly hasRoom = true;
  readonly #waiting: (() => void)[] = [];

  async drained(): Promise<void> {}

  tell(_: unknown, eventSequence: number): Promise<void> | undefined {
    this.told.push(`#${eventSequence}`);
    if (this.isQuick) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  announce(): undefined {
    return undefined;
  }

  lose(): void {
    this.isLost = true;
  }

  async take(): Promise<void> {
    this.#waiting.shift()?.();
    await turns();
  }
}

/** A log that forgets what it is told to. */
class ForgetfulLog extends MemoryLog {
  firstKept = 1;

  override get oldestSequence(): number {
    return Math.max(this.firstKept, super.oldestSequence);
  }

  override async readStream(
    ...[stream, after, limit]: Parameters<MemoryLog["readStream"]>
  ): ReturnType<MemoryLog["readStream"]> {
    return super.readStream(stream, Math.max(after, this.firstKept - 1), limit);
  }
}

test("who is told so slowly that the log is cut meanwhile is let go, and told nothing wrong", async () => {
  for (const forgetsAtOnce of [true, false]) {
    const log = new ForgetfulLog();
    await using opened = await openPlane({ log });
    const { plane } = opened;
    const commands = [
      openSession("ada"),
      submitJob("job_1", "ada"),
      startJob("job_1"),
      emit("job_1"),
      emit("job_1"),
      emit("job_1"),
      endJob("job_1"),
    ];
    for (const command of commands) await plane.submit(command, somebody, () => undefined);
    const outlet = new SlowOutlet();
    const faults: unknown[] = [];
    const telling = new Telling({
      plane,
      audience: new Audience(),
      sessionId: sessionId("sess_ada"),
      outlet,
      afterEventSequence: 0,
      onFault: (fault) => faults.push(fault),
    });
    if (forgetsAtOnce) log.firstKept = 6;
    telling.start();
    await turns();
    assert.deepEqual(outlet.told, forgetsAtOnce ? [] : ["#1"]);
    log.firstKept = 6;
    await outlet.take();
    assert.equal(outlet.isLost, true);
    assert.deepEqual(outlet.told, forgetsAtOnce ? [] : ["#1"]);
    assert.deepEqual(faults, []);
  }
});

test("who cannot be told something is let go; others are told, and the plane goes on", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  const audience = new Audience();
  using _ = plane.tap((entries) => audience.hear(entries));
  const faults: unknown[] = [];
  const sessions = ["ada", "bob"].map((name) => {
    const outlet = new SlowOutlet();
    return { name, outlet };
  });
  const [ada, bob] = sessions;
  assert(ada && bob);
  for (const { name, outlet } of sessions) {
    await plane.submit(openSession(name), somebody, () => undefined);
    const telling = new Telling({
      plane,
      audience,
      sessionId: sessionId(`sess_${name}`),
      outlet,
      afterEventSequence: 0,
      onFault: (fault) => faults.push(fault),
    });
    telling.start();
    await turns();
    await plane.submit(submitJob(`job_${name}`, name), somebody, () => undefined);
    await plane.submit(startJob(`job_${name}`), somebody, () => undefined);
  }
  ada.outlet.tell = () => {
    throw new RangeError("too long to print");
  };
  await plane.submit(emit("job_ada"), somebody, () => undefined);
  await plane.submit(emit("job_bob"), somebody, () => undefined);
  await turns();
  assert.equal(ada.outlet.isLost, true);
  assert.equal(faults.length, 1);
  assert.deepEqual(bob.outlet.told, ["#1"]);
});

/** Counts how often a stream is read. */
class CountingLog extends MemoryLog {
  reads = 0;

  override async readStream(
    ...asked: Parameters<MemoryLog["readStream"]>
  ): ReturnType<MemoryLog["readStream"]> {
    this.reads += 1;
    return super.readStream(...asked);
  }
}

test("who is behind has caught up with its own jobs, however much happens to others", async () => {
  const log = new CountingLog();
  await using opened = await openPlane({ log });
  const { plane } = opened;
  const audience = new Audience();
  using _ = plane.tap((entries) => audience.hear(entries));
  for (const name of ["ada", "bob"]) {
    await plane.submit(openSession(name), somebody, () => undefined);
    await plane.submit(submitJob(`job_${name}`, name), somebody, () => undefined);
    await plane.submit(startJob(`job_${name}`), somebody, () => undefined);
  }
  await plane.submit(emit("job_ada"), somebody, () => undefined);
  const outlet = new SlowOutlet();
  const telling = new Telling({
    plane,
    audience,
    sessionId: sessionId("sess_ada"),
    outlet,
    afterEventSequence: 0,
    onFault: (fault) => assert.fail(String(fault)),
  });
  telling.start();
  await turns();
  const { reads } = log;
  for (let count = 0; count <= limits.entriesBehindMax; count += 1) {
    await plane.submit(emit("job_bob"), somebody, () => undefined);
  }
  await plane.submit(submitJob("job_more", "ada"), somebody, () => undefined);
  await plane.submit(startJob("job_more"), somebody, () => undefined);
  await plane.submit(emit("job_more"), somebody, () => undefined);
  await plane.submit(emit("job_ada"), somebody, () => undefined);
  assert.deepEqual(outlet.told, ["#1"]);
  outlet.isQuick = true;
  await outlet.take();
  assert.deepEqual(outlet.told, ["#1", "#2", "#3"]);
  assert.equal(
    log.reads - reads,
    1,
    "to see that its own stream has nothing more, and no second time",
  );
});

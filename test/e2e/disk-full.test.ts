/**
 * The disk fills up under load. The daemon cannot remember any more, so it stops and says why; whoever
 * was told that something is done finds it again once there is room, and nobody was told so afterwards.
 */
import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Task } from "../../src/wire/agentkeeper/index.ts";
import { done, KeeperClient, millis } from "./client.ts";
import {
  Daemon,
  heard,
  openSmallDisk,
  patienceMs,
  type StartOptions,
  scratch,
  tipstaff,
  within,
} from "./processes.ts";

const callers = 6;

describe("a disk without room", () => {
  test("a full file system", async (context) => {
    using directory = scratch();
    using small = await openSmallDisk(4);
    if (!small) return context.skip("mounting a file system is not permitted here");
    const dataDirectory = join(small.pathInside, "data");
    const told = await fillUp({ dataDirectory, disk: small });

    // Every last byte is taken: the next start cannot even write that it started, or just so.
    fillFile(join(small.path, "ballast"));
    await assertStartsOrSaysWhy({ dataDirectory, disk: small });

    const elsewhere = join(directory.path, "elsewhere");
    cpSync(join(small.path, "data"), elsewhere, {
      recursive: true,
      filter: (path) => !path.endsWith(".sock"),
    });
    await assertKept(elsewhere, told);
  });

  test("a file that may grow no further", async () => {
    using directory = scratch();
    const dataDirectory = join(directory.path, "data");
    // Blocks of 512 or 1024 bytes, as the shell has it: one or two megabytes.
    const told = await fillUp({ dataDirectory, before: "ulimit -f 2048 &&" });
    await assertKept(dataDirectory, told);
  });
});

type Told = {
  /** By id; those that were seen by who watched have no label here. */
  readonly tasks: Map<string, string | undefined>;
  readonly leases: Map<string, { readonly token: bigint; readonly expiresAtMs: number }>;
};

/** Creates and acquires until the daemon stops by itself; answers what it said was done. */
async function fillUp(options: StartOptions): Promise<Told> {
  await using daemon = await Daemon.start(options);
  using watcher = new KeeperClient(daemon.address);
  using watch = watcher.watch("task.created");
  await within(patienceMs, watch.began, "the watch to begin");
  const told: Told = { tasks: new Map(), leases: new Map() };
  const names = Array.from({ length: callers }, (_, index) => `caller-${index}`);
  const filling = heard(Promise.all(names.map((name) => callUntilItStops(daemon, name, told))));
  const exit = await within(patienceMs, daemon.exited, "the daemon to stop");
  await filling;

  assert.deepEqual(exit, { code: 4, signal: null }, daemon.stderr);
  const [line = "", ...more] = daemon.stderr.trim().split("\n");
  assert.match(
    line,
    /fatal stopped; everything acknowledged before is kept: .*cannot be written: ./,
  );
  assert.deepEqual(more, [], "one line says it all");
  assert(told.tasks.size > 50, `it stopped after ${told.tasks.size} tasks`);
  for (const { payload } of watch.events) {
    const { id } = Task.decode(payload?.value ?? Buffer.alloc(0));
    told.tasks.set(id, told.tasks.get(id));
  }
  return told;
}

async function callUntilItStops(daemon: Daemon, name: string, told: Told): Promise<void> {
  using client = new KeeperClient(daemon.address);
  const { agentId } = done(await client.register(name));
  for (let made = 0; ; made += 1) {
    const label = `${name}/${made}`;
    const created = await client.createTask("work", { input: label.padEnd(3_000, ".") });
    if (created.type === "unknown") break;
    told.tasks.set(done(created).task?.id ?? "", label);

    const acquired = await client.acquire(label, agentId, 3_600);
    if (acquired.type === "unknown") break;
    const { lease } = done(acquired);
    const expiresAtMs = millis(lease?.expiresAt);
    told.leases.set(label, { token: lease?.token?.value ?? 0n, expiresAtMs });
  }
  const again = await client.createTask("work");
  assert.equal(again.type, "unknown", "a daemon that stopped acknowledged something");
}

async function assertKept(dataDirectory: string, { tasks, leases }: Told): Promise<void> {
  await using daemon = await Daemon.start({ dataDirectory });
  using client = new KeeperClient(daemon.address);
  for (const [id, label] of tasks) {
    const { task } = done(await client.getTask(id));
    if (label !== undefined) assert.equal(String(task?.input), label.padEnd(3_000, "."));
  }
  const { agentId } = done(await client.register("prober"));
  for (const [label, { token, expiresAtMs }] of leases) {
    const { acquired, lease } = done(await client.acquire(label, agentId, 1));
    assert.equal(acquired, false, `the lease of ${label} is lost`);
    assert.equal(lease?.token?.value, token);
    assert.equal(millis(lease?.expiresAt), expiresAtMs);
  }
  assert.deepEqual(await daemon.end("SIGTERM"), { code: 0, signal: null });
  const { code, stdout } = await tipstaff("doctor", "--data-dir", dataDirectory);
  assert.match(stdout, /^no check failed/m);
  assert.equal(code, 0);
}

/** Room that the log itself can use again may be enough to start. If not, it says so and stops. */
async function assertStartsOrSaysWhy(options: StartOptions): Promise<void> {
  await using daemon = Daemon.spawn(options);
  await daemon.isUp().catch(() => {});
  if (!daemon.exit) return;
  assert([1, 4].includes(daemon.exit.code ?? 0), `it ended with ${daemon.exit.code}`);
  assert.match(daemon.stderr, /full|cannot/);
}

function fillFile(path: string): void {
  for (const bytes of [65_536, 4_096, 1]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: "a" });
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    }
  }
}

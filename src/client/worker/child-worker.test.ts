import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { isSettled } from "../../testing/test-plane.ts";
import { type ChildExit, endOf, startChildWorker, waitAfter } from "./child-worker.ts";

test("a child that dies young is started again soon, and later each time", () => {
  assert.deepEqual(
    [0, 1, 2, 7, 8, 5_000].map((deaths) => waitAfter(deaths, 200)),
    [200, 400, 800, 25_600, 30_000, 30_000],
  );
});

test("children are started on though whoever hears of their end fails", async () => {
  const exits: ChildExit[] = [];
  const { promise: twice, resolve } = Promise.withResolvers<void>();
  const warned = once(process, "warning");
  {
    await using _worker = startChildWorker(process.execPath, ["-e", "process.exit(3)"], {
      accept: () => undefined,
      token: "t",
      environment: {},
      restartMs: 1,
      onExit: (exit) => {
        exits.push(exit);
        if (exits.length === 2) resolve();
        throw new Error("no room to note it");
      },
    });
    await twice;
  }
  assert.deepEqual(exits[0], { code: 3, signal: null });
  const [warning] = await warned;
  assert.equal(warning.message, "no room to note it");
});

test("a child that cannot be signalled has not ended, and says so without an end of ours", async () => {
  const child = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
  using cleaning = new DisposableStack();
  cleaning.defer(() => child.kill("SIGKILL"));
  const ended = endOf(child, new AbortController().signal);
  await once(child, "spawn");
  child.emit("error", new Error("kill EPERM"));
  assert.equal(await isSettled(ended), false);
  child.stdin.end();
  assert.deepEqual(await ended, { code: 0, signal: null });
  child.emit("error", new Error("kill ESRCH"));
});

test("a child that cannot be started has ended, and it is said why", async () => {
  const { promise: exited, resolve } = Promise.withResolvers<ChildExit>();
  await using _worker = startChildWorker("/nowhere/at/all", [], {
    accept: () => assert.fail("there is nobody"),
    token: "t",
    environment: {},
    onExit: resolve,
  });
  const { error } = await exited;
  assert(error instanceof Error && "code" in error && error.code === "ENOENT");
});

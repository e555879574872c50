import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ARCPServer, connectWorker, type Handler, type JobContext } from "./arcp-server.ts";
import { ARCPClient } from "./client/arcp/index.ts";
import { SqliteLog } from "./log/index.ts";
import { temporaryDirectory } from "./testing/temporary.ts";
import { pairMemoryTransports, type Transport } from "./transport/index.ts";

const bearer = { "ada-token": "ada", "worker-token": "worker" };

/** Our end of a connection to it. */
function reach(server: ARCPServer): Transport {
  const [ours, theirs] = pairMemoryTransports();
  server.accept(theirs);
  return ours;
}

for (const workerGraceMs of [3_000, 600_000]) {
  test(`after a restart, workers elsewhere have ${workerGraceMs} ms to come back if the server says so`, async () => {
    await using directory = await temporaryDirectory();
    const options = { bearer, dataDirectory: directory.path, mayWork: () => true, workerGraceMs };
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const handler: Handler = () => {
      begin();
      return new Promise(() => {});
    };
    const working = new AbortController();
    {
      await using server = await ARCPServer.open(options);
      const worker = await connectWorker(() => reach(server), {
        token: "worker-token",
        offers: [{ name: "agent", handler }],
        signal: working.signal,
      });
      worker.closed.catch(() => undefined);
      await using client = await ARCPClient.connect(reach(server), { token: "ada-token" });
      await client.submit({ agent: "agent" });
      await begun;
    }
    working.abort();
    {
      await using log = SqliteLog.open(directory.path);
      const types = (await log.read(0, 1_000)).map(({ event }) => event.type);
      assert(types.includes("job.started"));
      assert(!types.includes("job.orphaned"), "that it was cut off is none of its doing");
    }
    await using server = await ARCPServer.open(options);
    const leftMs = await server.plane.read(({ jobs }, nowMs) => {
      const [job] = jobs.byId.values();
      assert(job?.state === "running" && job.orphanedUntilMs !== undefined);
      return job.orphanedUntilMs - nowMs;
    });
    assert(leftMs <= workerGraceMs && leftMs > workerGraceMs / 2, `${leftMs} ms are left`);
  });
}

test("a server whose socket cannot be closed says so, and has closed all the rest", async () => {
  await using directory = await temporaryDirectory();
  const server = await ARCPServer.open({ bearer, eventLog: directory.path });
  const serving = await server.listen({ port: 0 });
  const { close } = serving;
  Object.assign(serving, { close: () => Promise.reject(new Error("stuck")) });
  await assert.rejects(server.close(), { message: "stuck" });
  await close.call(serving);
  await using again = await ARCPServer.open({ bearer, eventLog: directory.path });
  assert.equal(again.agents.length, 0);
});

test("a job that the program itself submits has no session; its children are in the same context and trace", async () => {
  await using server = await ARCPServer.open({ bearer });
  const child = Promise.withResolvers<JobContext>();
  const parent = Promise.withResolvers<JobContext>();
  server.registerAgent("child", (_, context) => child.resolve(context));
  server.registerAgent("parent", async (_, context) => {
    parent.resolve(context);
    await (await context.delegate({ agent: "child" })).done;
  });
  const capabilities = { "agent.delegate": ["*"] };
  const asked = { agent: "parent", input: "null", principal: "ada", capabilities };
  const { value } = await server.submit({ ...asked, contextId: "a conversation" });
  assert.deepEqual(value?.job.sessionIds, []);
  const contexts = [await parent.promise, await child.promise];
  assert.deepEqual(
    contexts.map(({ sessionId, contextId }) => [sessionId, contextId]),
    [
      [undefined, "a conversation"],
      [undefined, "a conversation"],
    ],
  );
  const [first, second] = contexts.map(({ traceId }) => traceId);
  assert.match(first ?? "", /^[0-9a-f]{32}$/);
  assert.equal(second, first);
});

/** How a program ends whose log has no more room. */
function fillDisk(directory: string, options: string): { status: number | null; stderr: string } {
  const program = `
    import { ARCPServer } from ${JSON.stringify(join(import.meta.dirname, "arcp-server.ts"))};
    const eventLog = ${JSON.stringify(directory)};
    const server = await ARCPServer.open({ bearer: {}, eventLog, ${options} });
    server.registerAgent("agent", async (_, ctx) => {
      for (;;) await ctx.log("info", "x".repeat(10_000));
    });
    await server.submit({ agent: "agent", input: "null", principal: "ada" });
    await new Promise((resolve) => setTimeout(resolve, 60_000));`;
  const command = 'ulimit -f 2048 && exec "$0" --input-type=module -e "$1"';
  const words = ["-c", command, process.execPath, program];
  const { status, stderr } = spawnSync("/bin/sh", words, { encoding: "utf8", timeout: 50_000 });
  return { status, stderr };
}

test("a disk without room ends the program, in words and not in a stack; or as the program wants it", async () => {
  await using directory = await temporaryDirectory();
  const ended = fillDisk(join(directory.path, "one"), "");
  assert.equal(ended.status, 1);
  assert.match(
    ended.stderr,
    /LogError: the log cannot be written: .*; this program ends; everything/,
  );
  assert.doesNotMatch(ended.stderr, /^ +at /m);
  const own = fillDisk(
    join(directory.path, "other"),
    "onFatal: ({ code }) => { console.error(code); process.exit(7); }",
  );
  assert.deepEqual([own.status, own.stderr], [7, "cannot_write\n"]);
});

test("what was wrong with the log, and was survived, is told to whoever hears of faults", async () => {
  await using directory = await temporaryDirectory();
  const told: unknown[] = [];
  const options = {
    bearer: {},
    dataDirectory: directory.path,
    onFault: (fault: unknown) => void told.push(fault),
  };
  await (await ARCPServer.open(options)).close();
  assert.deepEqual(told, []);
  rmSync(join(directory.path, "durable.mark"));
  await (await ARCPServer.open(options)).close();
  assert.match(told.join(), /durable\.mark is missing; the log itself is whole/);
});

/** A plane in this process, and a daemon that is a child of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../src/client/index.ts";
import { openEmbedded, startDaemon } from "../../src/embedded.ts";
import { Child } from "../../src/testing/child.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { until } from "../e2e/processes.ts";

test("what a plane in this process was told is there when it is opened again", async () => {
  await using directory = await temporaryDirectory();
  let token: bigint;
  {
    await using plane = await openEmbedded({ dataDirectory: directory.path });
    await using agent = await plane.client.register({ name: "x" });
    const lease = await agent.acquire("t");
    token = lease.token;
    await plane.client.tasks.create({ type: "later", input: 1 });
  }
  await using plane = await openEmbedded({ dataDirectory: directory.path });
  assert.equal((await plane.client.overview()).counts.tasks.pending, 1);
  await using agent = await plane.client.register({ name: "y" });
  await using lease = await agent.acquire("t");
  assert(lease.token > token);
});

test("two planes in one process know nothing of each other", async () => {
  await using one = await openEmbedded();
  await using other = await openEmbedded();
  await using _ = await one.client.register({ name: "x" });
  assert.equal((await other.client.overview()).counts.agents.alive, 0);
});

test("a child serves others too, and is gone at the end of the block", async () => {
  let pid: number;
  let url: string;
  {
    await using daemon = await startDaemon();
    ({ pid, url } = daemon);
    await using client = await connect({ url, token: daemon.token });
    await using _ = await client.register({ name: "x" });
    assert.equal((await daemon.client.overview()).counts.agents.alive, 1);
    assert.match(daemon.grpc, /^127\.0\.0\.1:\d+$/);
  }
  assert.equal(isRunning(pid), false);
  await assert.rejects(connect({ url }), { code: "unreachable" });
});

test("a child that cannot start says why", async () => {
  await using first = await startDaemon();
  const http = new URL(first.url).host;
  await assert.rejects(startDaemon({ http }), /did not start: .*in use/s);
});

test("a daemon does not outlive the process that started it, not even after kill -9", async () => {
  await using parent = new Child(`
    import { startDaemon } from ${JSON.stringify(new URL("../../src/embedded.ts", import.meta.url))};
    const daemon = await startDaemon();
    console.log(daemon.pid);
    await new Promise(() => setInterval(() => {}, 1_000));
  `);
  const pid = Number(await parent.line());
  assert.equal(isRunning(pid), true);
  await parent.kill();
  await until(() => !isRunning(pid), "the daemon to be gone");
});

test("heartbeats alone do not keep a program running", async () => {
  await using daemon = await startDaemon();
  await using program = new Child(`
    import { connect } from ${JSON.stringify(new URL("../../src/client/index.ts", import.meta.url))};
    const client = await connect(${JSON.stringify({ url: daemon.url, token: daemon.token })});
    const agent = await client.register({ name: "forgetful" });
    const lease = await agent.acquire("t");
    console.log("the end");
  `);
  assert.deepEqual(await program.rest(), ["the end"]);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

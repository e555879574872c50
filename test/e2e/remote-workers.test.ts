/** Workers and runtimes in real processes, over WebSockets and pipes, killed at any moment. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer, startChildWorker } from "../../src/arcp-server.ts";
import { ARCPClient } from "../../src/client/arcp/index.ts";
import { Random } from "../../src/testing/random.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { Program } from "./program.ts";

const bearer = { "worker-token": "worker", "ada-token": "ada" };
const token = "ada-token";

/** Until the agent is offered: an agent that nobody has offered yet is refused. */
async function untilOffered(client: ARCPClient, agent: string): Promise<void> {
  for (;;) {
    try {
      await client.submit({ agent, input: { steps: 0 } });
      return;
    } catch (error) {
      assert.equal((error as { code?: string }).code, "AGENT_NOT_AVAILABLE");
      await sleep(20);
    }
  }
}

function startsIn(path: string): ReadonlyMap<string, number> {
  const starts = new Map<string, number>();
  for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
    starts.set(line, (starts.get(line) ?? 0) + 1);
  }
  return starts;
}

test("workers that are killed at any moment finish every job that may be run again, and start no other twice", async (context) => {
  const seed = Date.now() % 100_000;
  context.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  await using directory = await temporaryDirectory();
  const starts = join(directory.path, "starts");
  writeFileSync(starts, "");
  await using server = await ARCPServer.open({ bearer, mayWork: () => true, workerGraceMs: 300 });
  const { url } = await server.listen({ port: 0 });
  const env = { ARCP_URL: url, STARTS: starts };
  await using client = await ARCPClient.connect(url, { token });
  let worker = new Program("remote-worker.ts", [], env);
  try {
    await untilOffered(client, "again");
    const names = ["again", "once"] as const;
    const jobs = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        client.submit({ agent: names[at % 2] ?? "again", input: { steps: 15 } }),
      ),
    );
    const ends = Promise.all(
      jobs.map((job) => job.done.then(({ final_status }) => final_status).catch(() => "error")),
    );
    for (let kill = 0; kill < 3; kill += 1) {
      await sleep(random.between(20, 400));
      await worker.kill();
      worker = new Program("remote-worker.ts", [], env);
    }
    const ended = await ends;
    for (const [at, job] of jobs.entries()) {
      if (at % 2 === 0) assert.equal(ended[at], "success", `job ${job.jobId} may be run again`);
      else assert((startsIn(starts).get(job.jobId) ?? 0) <= 1, `job ${job.jobId} may not`);
    }
  } finally {
    await worker.kill();
  }
});

test("a runtime that is killed and started again hears the rest of what its worker says, once", async () => {
  await using directory = await temporaryDirectory();
  const starts = join(directory.path, "starts");
  writeFileSync(starts, "");
  const data = join(directory.path, "data");
  const first = new Program("remote-server.ts", [data]);
  const url = await first.line();
  await using _worker = new Program("remote-worker.ts", [], { ARCP_URL: url, STARTS: starts });
  const { port } = new URL(url);
  let server = first;
  try {
    await using client = await ARCPClient.connect(url, { token });
    await untilOffered(client, "once");
    const job = await client.submit({ agent: "once", input: { steps: 60 } });
    const said: string[] = [];
    for await (const { view } of job.events()) {
      if (view?.kind === "log") said.push(view.message);
      if (said.length !== 10 && said.length !== 30) continue;
      if (view?.kind !== "log") continue;
      await server.kill();
      server = new Program("remote-server.ts", [data, port]);
      assert.equal(await server.line(), url);
    }
    assert.equal((await job.done).final_status, "success");
    assert.deepEqual(
      said,
      Array.from({ length: 60 }, (_, at) => String(at + 1)),
    );
    assert.equal(startsIn(starts).get(job.jobId), 1);
  } finally {
    await server.kill();
  }
});

test("a worker ends a job that runs longer than its agent's limit", async () => {
  await using directory = await temporaryDirectory();
  const starts = join(directory.path, "starts");
  await using server = await ARCPServer.open({ bearer, mayWork: () => true });
  const { url } = await server.listen({ port: 0 });
  await using _worker = new Program("remote-worker.ts", [], { ARCP_URL: url, STARTS: starts });
  await using client = await ARCPClient.connect(url, { token });
  await untilOffered(client, "limited");
  await assertTimesOut(client);
});

/** A job of the agent whose limit is 200 ms. */
async function assertTimesOut(client: ARCPClient): Promise<void> {
  const job = await client.submit({ agent: "limited", input: { steps: 6_000 } });
  const message = "the job ran longer than its agent's limit of 200 ms";
  await assert.rejects(job.done, { code: "TIMEOUT", message, retryable: true });
  const { jobs } = await client.listJobs({ agent: "limited", status: ["timed_out"] });
  assert.deepEqual(
    jobs.map(({ jobId }) => jobId),
    [job.jobId],
  );
}

test("a child on its pipes works, is started anew when it dies, and ends with its owner", async () => {
  await using directory = await temporaryDirectory();
  const starts = join(directory.path, "starts");
  writeFileSync(starts, "");
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
  await using server = await ARCPServer.open({ bearer, mayWork: () => true });
  const { url } = await server.listen({ port: 0 });
  await using client = await ARCPClient.connect(url, { token });
  const exits: unknown[] = [];
  const program = join(import.meta.dirname, "remote-worker.ts");
  const child = startChildWorker(process.execPath, [program], {
    accept: (transport) => server.accept(transport),
    token: "worker-token",
    environment: { ...outer, STARTS: starts },
    onExit: ({ code, signal }) => exits.push(signal ?? code),
    restartMs: 10,
  });
  try {
    await untilOffered(client, "again");
    const job = await client.submit({ agent: "again", input: { steps: 30 } });
    for await (const { view } of job.events()) {
      // Its first start, of two: what a child had is known to be lost with it, and needs no grace.
      if (view?.kind !== "log" || view.message !== "5" || exits.length > 0) continue;
      assert(child.pid !== undefined);
      process.kill(child.pid, "SIGKILL");
    }
    assert.equal((await job.done).final_status, "success");
    assert.equal(startsIn(starts).get(job.jobId), 2);
    await assertTimesOut(client);
  } finally {
    await child[Symbol.asyncDispose]();
  }
  assert.deepEqual(exits, ["SIGKILL", 0]);
  assert.equal(child.pid, undefined);
});

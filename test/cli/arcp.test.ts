/** `arcp`: real processes, that serve and that ask. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { ARCPServer } from "../../src/arcp-server.ts";
import { scratch, until } from "../e2e/processes.ts";
import { ArcpCommand, agentsModule, arcp, type Environment, startArcp } from "./arcp-command.ts";
import { SlowDoor } from "./slow-door.ts";

describe("arcp against a runtime of ours", { concurrency: 3 }, () => {
  let runtime: Awaited<ReturnType<typeof startArcp>>;
  before(async () => {
    runtime = await startArcp();
  });
  after(() => runtime[Symbol.asyncDispose]());

  test("[ARCP-224] serve says where it listens, in one line on standard output and in Python's on standard error", async () => {
    const { command } = runtime;
    await until(() => command.stderr !== "", "the line on standard error");
    assert.equal(command.stdout, `arcp serve: listening on ${runtime.url}\n`);
    assert.equal(command.stderr, `arcp serve listening on ${runtime.url}\n`);
  });

  test("[ARCP-223] [ARCP-225] [ARCP-229] submit prints the result as JSON, and its events beside it", async () => {
    const words = ["submit", "--agent", "echo", "--input", '{"hi": "é"}', "--events"];
    const { code, stdout, stderr } = await arcp(words, runtime.env);
    assert.equal(code, 0);
    assert.match(stdout, /^{\n {2}"final_status": "success",\n {2}"result": {\n {4}"echoed": {/);
    assert.deepEqual(JSON.parse(stdout).result, { echoed: { hi: "é" } });
    const events = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      events.map(({ kind, event_seq }) => `${event_seq} ${kind}`),
      ["1 status", "2 log"],
    );
  });

  test("[ARCP-225] a streamed result is put together, or printed as it is", async () => {
    const [whole, raw] = await Promise.all([
      arcp(["submit", "--agent", "poet"], runtime.env),
      arcp(["submit", "--agent", "poet", "--raw"], runtime.env),
    ]);
    assert.equal(JSON.parse(whole.stdout).result, "roses are red");
    assert.equal(raw.stdout, "roses are red");
  });

  test("[ARCP-225] [ARCP-228] a job that fails prints why on standard error, and exits with 1", async () => {
    const { code, stdout, stderr } = await arcp(["submit", "--agent", "fail"], runtime.env);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    const { final_status, code: why, message } = JSON.parse(stderr);
    assert.deepEqual([final_status, why, message], ["error", "INTERNAL_ERROR", "boom"]);
  });

  const mistakes: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ["an agent that nobody offers", ["submit", "--agent", "nobody"], 1, /^AGENT_NOT_AVAILABLE /],
    [
      "a bare word",
      ["submit", "--agent", "echo", "--input", "hello"],
      2,
      /^INVALID_REQUEST --input is no JSON; for the text itself, write --input '"hello"'$/,
    ],
    ["what is no JSON", ["submit", "--agent", "echo", "--input", "{"], 2, /^INVALID_REQUEST /],
    ["a wrong token", ["submit", "--agent", "echo", "--token", "x"], 3, /^UNAUTHENTICATED /],
    [
      "a port where nobody listens",
      ["submit", "--agent", "echo", "--url", "ws://127.0.0.1:1/arcp"],
      3,
      /^UNREACHABLE no WebSocket could be opened at ws:\/\/127\.0\.0\.1:1\/arcp$/,
    ],
    ["a flag that there is not", ["submit", "--agnet", "echo"], 2, /^INVALID_REQUEST .*--agent/],
    ["a job that there is not", ["tail", "--job-id", "job_nobody"], 1, /^JOB_NOT_FOUND /],
  ];
  for (const [what, words, code, line] of mistakes) {
    test(`[ARCP-228] ${what} is told in one line, and by exit code ${code}`, async () => {
      const ended = await arcp(words, runtime.env);
      assert.equal(ended.code, code);
      assert.equal(ended.stdout, "");
      const [first = "", ...others] = ended.stderr.trimEnd().split("\n");
      assert.equal(others.length, 0);
      assert(first.startsWith(`arcp ${words[0]}: `), first);
      assert.match(first.slice(`arcp ${words[0]}: `.length), line);
    });
  }

  test("[ARCP-225] ctrl-c cancels the job; [ARCP-226] tail tells of it afterwards", async () => {
    await using command = new ArcpCommand(
      ["submit", "--agent", "endless", "--events"],
      runtime.env,
    );
    await until(() => command.stderr.includes("begun"), "the job to begin");
    command.child.kill("SIGINT");
    const { code, stdout, stderr } = await command.end();
    assert.equal(code, 130);
    assert.equal(stdout, "");
    assert.match(stderr, /"final_status": "cancelled"/);
    const listed = await arcp(["list", "--status", "cancelled", "--agent", "endless"], runtime.env);
    const { jobs } = JSON.parse(listed.stdout);
    const tailed = await arcp(["tail", "--job-id", jobs[0].job_id], runtime.env);
    assert.equal(tailed.code, 1);
    const lines = tailed.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ kind, final_status }) => kind ?? final_status),
      ["status", "log", "cancelled"],
    );
    assert.deepEqual(Object.keys(lines[0]), ["kind", "ts", "body", "event_seq"]);
  });

  test("[ARCP-225] ctrl-c before the job is accepted cancels it when it is", async () => {
    await using waiting = await submitSlowly(runtime);
    const { door, command, jobId } = waiting;
    door.open();
    const { code, stdout, stderr } = await command.end();
    assert.deepEqual([code, stdout], [130, ""]);
    const told = `${notYet}${jobId} was accepted, and is asked to end\n{`;
    assert(stderr.startsWith(told), stderr);
    assert.match(stderr, /"final_status": "cancelled"/);
    const listed = await arcp(["list", "--status", "cancelled"], runtime.env);
    assert(listed.stdout.includes(jobId));
  });

  test("[ARCP-225] a second ctrl-c before the job is accepted leaves it, and says that it may run", async () => {
    await using waiting = await submitSlowly(runtime);
    const { command, jobId } = waiting;
    command.child.kill("SIGINT");
    const { code, stderr } = await command.end();
    assert.equal(code, 130);
    const told = "left before the job was accepted; it may run: arcp list shows it\n";
    assert.equal(stderr, `${notYet}${told}`);
    const listed = await arcp(["list", "--status", "running"], runtime.env);
    assert(listed.stdout.includes(jobId));
    await arcp(["cancel", "--job-id", jobId], runtime.env);
  });

  test("[ARCP-226] tail follows a job that runs, and cancel ends it from elsewhere", async () => {
    await using submitting = new ArcpCommand(
      ["submit", "--agent", "endless", "--events", "--trace-id", "f".repeat(32)],
      runtime.env,
    );
    await until(() => submitting.stderr.includes("begun"), "the job to begin");
    const listed = await arcp(["list", "--status", "running"], runtime.env);
    const { jobs } = JSON.parse(listed.stdout);
    const own = jobs.find(({ trace_id }: { trace_id: string }) => trace_id === "f".repeat(32));
    await using tailing = new ArcpCommand(["tail", "--job-id", own.job_id], runtime.env);
    await until(() => tailing.lines.length === 2, "its history");
    const cancelled = await arcp(["cancel", "--job-id", own.job_id], runtime.env);
    assert.deepEqual(JSON.parse(cancelled.stdout), { job_id: own.job_id, cancelled: true });
    assert.equal((await tailing.end()).code, 1);
    assert.match(tailing.lines.at(-1) ?? "", /^{"final_status":"cancelled"/);
    assert.equal((await submitting.end()).code, 1);
    const again = await arcp(["cancel", "--job-id", own.job_id], runtime.env);
    assert.equal(JSON.parse(again.stdout).cancelled, false);
  });
});

const notYet = "the job is not accepted yet, and cancelled when it is; ctrl-c again leaves it\n";

/** A submit that was interrupted before it has heard what the runtime has said already. */
async function submitSlowly({ url, env }: { readonly url: string; readonly env: Environment }) {
  await using made = new AsyncDisposableStack();
  const door = made.use(await SlowDoor.before(Number(new URL(url).port)));
  const words = ["submit", "--agent", "sleeper", "--url", `ws://${door.address}/arcp`];
  const command = made.use(new ArcpCommand(words, env));
  await until(() => door.kept.includes("job.accepted"), "the job to be accepted");
  const [jobId = ""] = /job_\w{26}/.exec(door.kept) ?? [];
  command.child.kill("SIGINT");
  await until(() => command.stderr === notYet, "ctrl-c to be heard");
  const kept = made.move();
  return { door, command, jobId, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("[ARCP-227] what a session was told is replayed from the log, while it is served and after a kill", async () => {
  using place = scratch();
  const db = join(place.path, "runtime");
  await using runtime = await startArcp("--db", db);
  const told: unknown[] = [];
  let sessionId = "";
  const socket = new WebSocket(runtime.url);
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data));
    sessionId ||= frame.session_id;
    if ("event_seq" in frame) told.push(frame);
  });
  socket.addEventListener("open", () => {
    for (const frame of spoken("secret", "researcher", "poet", "endless", "nobody")) {
      socket.send(JSON.stringify(frame));
    }
  });
  await until(() => JSON.stringify(told).includes("begun") && told.length >= 10, "what it says");
  const replay = async (...flags: readonly string[]): Promise<readonly unknown[]> => {
    const { code, stdout, stderr } = await arcp([
      "replay",
      "--db",
      db,
      "--session",
      sessionId,
      ...flags,
    ]);
    assert.equal(code, 0, stderr);
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  assert.deepEqual(await replay(), told);
  runtime.command.child.kill("SIGKILL");
  await runtime.command.exited;
  const [whole, later, results] = await Promise.all([
    replay(),
    replay("--after-seq", "4"),
    replay("--type", "job.result", "--type", "job.error"),
  ]);
  assert.deepEqual(whole, told);
  assert.deepEqual(later, told.slice(4));
  assert.equal(results.length, 3);
});

test("[ARCP-81] a runtime that is told to stop says goodbye, ends its jobs and exits with 0", async () => {
  await using runtime = await startArcp();
  const types: string[] = [];
  const socket = new WebSocket(runtime.url);
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener("close", ({ code }) => resolve(code));
  });
  socket.addEventListener("message", ({ data }) => types.push(JSON.parse(String(data)).type));
  socket.addEventListener("open", () => {
    for (const frame of spoken("secret", "endless")) socket.send(JSON.stringify(frame));
  });
  await until(() => types.filter((type) => type === "job.event").length === 2, "the job to begin");
  runtime.command.child.kill("SIGTERM");
  assert.equal(await closed, 1001);
  assert(types.includes("session.bye"), types.join());
  assert.equal((await runtime.command.end()).code, 0);
});

test("[ARCP-40] [ARCP-42] on standard input and output there are frames and nothing else, until its input ends", async () => {
  const words = ["serve", "--transport", "stdio", "--token", "secret", "--agents", agentsModule];
  await using command = new ArcpCommand(words);
  const lines = createInterface({ input: command.child.stdout });
  const types: string[] = [];
  lines.on("line", (line) => types.push(JSON.parse(line).type));
  for (const frame of spoken("secret", "poet")) {
    command.child.stdin.write(`${JSON.stringify(frame)}\n`);
  }
  await until(() => types.includes("job.result"), "a result");
  command.child.stdin.end();
  assert.equal((await command.end()).code, 0);
  assert.match(command.stderr, /^arcp serve listening on stdio$/m);
  assert.match(command.stderr, /^writing$/m);
});

/** A hello, and a submit for each agent. */
function spoken(token: string, ...agents: readonly string[]): readonly object[] {
  const features = ["progress", "result_chunk"];
  const hello = {
    client: { name: "test", version: "1" },
    auth: { scheme: "bearer", token },
    capabilities: { features },
  };
  const lease_request = { "tool.call": ["*"], "cost.budget": ["USD:1.00"] };
  return [
    { arcp: "1.1", id: "hello", type: "session.hello", payload: hello },
    ...agents.map((agent) => ({
      arcp: "1.1",
      id: agent,
      type: "job.submit",
      payload: { agent, input: null, lease_request },
    })),
  ];
}

test("[ARCP-37] a command leaves no session behind, however it ends", async () => {
  await using server = await ARCPServer.open({ bearer: { secret: "user" } });
  server.registerAgent("echo", async (input) => ({ echoed: input }));
  const { url } = await server.listen({ port: 0 });
  const env = { ARCP_URL: url, ARCP_TOKEN: "secret" };
  const calls = [
    ["submit", "--agent", "echo"],
    ["submit", "--agent", "nobody"],
    ["list"],
    ["tail", "--job-id", "job_nobody"],
    ["cancel", "--job-id", "job_nobody"],
  ];
  for (const words of calls) await arcp(words, env);
  const endedMs = performance.now();
  const count = (): Promise<number> => server.plane.read(({ sessions }) => sessions.byId.size);
  while ((await count()) > 0) {
    assert(performance.now() - endedMs < 5_000, `${await count()} sessions after 5 s`);
    await setTimeout(50);
  }
});

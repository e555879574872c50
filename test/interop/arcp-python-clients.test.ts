/**
 * The published Python SDK against our runtime: every example client of its source archive, unmodified, and its
 * command line, against the servers of our own examples, each fresh and in a process of its own. Everything our
 * side sends is kept, and held against the SDK's own models at the end.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { ARCPServer, type Handler } from "../../src/arcp-server.ts";
import { ARCPClient } from "../../src/client/arcp/index.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { problemsOf } from "./arcp/models.ts";
import { quickly, startOurServer, wordsFor } from "./arcp/our-example.ts";
import {
  exampleIn,
  type PythonSdk,
  preparePythonSdk,
  type Running,
  start,
} from "./arcp/python-sdk.ts";
import { openTap } from "./arcp/tap.ts";

const limitMs = 60_000;
const sdk = await preparePythonSdk();

/** The example of the SDK, and ours whose server it meets. The longest come first. */
const pairs: readonly (readonly [string, string])[] = [
  ["heartbeat", "heartbeat"],
  ["subscribe", "subscribe"],
  ["lease_expires_at", "lease-expires-at"],
  ["cancel", "cancel"],
  ["submit_and_stream", "submit-and-stream"],
  ["delegate", "delegate"],
  ["resume", "resume"],
  ["idempotent_retry", "idempotent-retry"],
  ["lease_violation", "lease-violation"],
  ["vendor_extensions", "vendor-extensions"],
  ["custom_auth", "custom-auth"],
  ["ack_backpressure", "ack-backpressure"],
  ["list_jobs", "list-jobs"],
  ["agent_versions", "agent-versions"],
  ["cost_budget", "cost-budget"],
  ["progress", "progress"],
  ["result_chunk", "result-chunk"],
  ["provisioned_credentials", "provisioned-credentials"],
  ["host_aiohttp", "node"],
  ["host_asgi", "hono"],
  ["host_tracing", "tracing"],
];

/** All that our side said, one JSON text each. */
const said: string[] = [];

describe("the published Python SDK", { concurrency: 4 }, () => {
  for (const [example, ours] of pairs) {
    test(`[PYA-1] the Python client against our server: ${example}`, async (context) => {
      if ("unavailable" in sdk) return skip(context, sdk.unavailable);
      await using server = await startOurServer(ours);
      await using tap = await openTap(server.port);
      await using client = start(sdk, [join(exampleIn(sdk, example), "client.py")], {
        ARCP_DEMO_PORT: String(tap.port),
        ARCP_DEMO_URL: `ws://127.0.0.1:${tap.port}/arcp`,
      });
      assert.equal(await ending(client), 0, client.output());
      assert.equal(server.errors(), "");
      assert(tap.messages.length > 0);
      said.push(...tap.messages);
    });
  }

  test("[PYA-1] [PYR-21] the Python client against our server: stdio", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    // It starts the `server.py` that lies beside it, so a copy of it lies beside one that is ours.
    await using place = await temporaryDirectory();
    const client = join(place.path, "client.py");
    const frames = join(place.path, "frames");
    await copyFile(join(exampleIn(sdk, "stdio"), "client.py"), client);
    const [flag = "", path = ""] = wordsFor("stdio", "server");
    const words = ["sh", "-c", `"$@" | tee '${frames}'`, "sh", process.execPath, flag];
    const program = JSON.stringify([...words, resolve(path)]);
    await writeFile(join(place.path, "server.py"), `import os\nos.execvp("sh", ${program})\n`);
    await using running = start(sdk, [client], quickly);
    assert.equal(await ending(running), 0, running.output());
    const lines = (await readFile(frames, "utf8")).split("\n").slice(0, -1);
    assert(lines.length > 0 && lines.every((line) => line.startsWith("{")));
    said.push(...lines);
  });

  test("a Python client sees the questions of a job by the names of every protocol, and answers them", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    await using server = await ARCPServer.open({ bearer: { [token]: "ada" } });
    const handler: Handler = async (_, job) => [
      await job.ask("Which colour?", { choices: ["red", "blue"] }),
      (await job.requestScope({ reason: "Read the logs?", read: ["logs/**"] })).read,
    ];
    server.registerAgent("asks", handler, { mayRequestScope: true });
    const { url } = await server.listen({ port: 0 });
    await using tap = await openTap(Number(new URL(url).port));
    const script = resolve(import.meta.dirname, "arcp/answer_questions.py");
    const environment = { ARCP_DEMO_URL: `ws://127.0.0.1:${tap.port}/arcp` };
    await using client = start(sdk, [script], environment);
    assert.equal(await ending(client), 0, client.output());
    said.push(...tap.messages);
    const lines = client.output().split("\n");
    const events = lines.map((line): [kind: string, body: object] => JSON.parse(line));
    const idIn = (at: number, name: string): unknown => Reflect.get(events[at]?.[1] ?? {}, name);
    const [question_id, request_id] = [idIn(1, "question_id"), idIn(5, "request_id")];
    const answered = { outcome: "answered", by: "ada" };
    assert.match(String(question_id), /^q_[0-9a-f]{12}$/);
    assert.match(String(request_id), /^sr_[0-9a-f]{12}$/);
    const prompt = "Which colour?";
    const reason = "Read the logs?";
    const scope = { read_patterns: ["logs/**"], write_prefix: null, mode: "read_only" };
    const seconds = { ttl_seconds: 60, timeout_seconds: 60 };
    assert.deepEqual(events, [
      ["status", { phase: "running" }],
      [`${own}question`, { question_id, prompt, choices: ["red", "blue"], timeout_seconds: 180 }],
      ["status", { phase: "input_required", message: prompt }],
      [`${own}question_closed`, { question_id, ...answered }],
      ["status", { phase: "running" }],
      [`${own}scope_request`, { request_id, reason, ...scope, ...seconds }],
      ["status", { phase: "auth_required", message: reason }],
      [`${own}question_closed`, { question_id: request_id, ...answered }],
      ["status", { phase: "running" }],
      ["result", { status: "success", result: ["blue", ["logs/**"]] }],
    ]);
  });

  test("[PYA-3] `arcp submit` prints the result of an agent", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    const { code, output } = await submit(sdk, ["--agent", "echo", "--input", '{"hi":1}']);
    assert.equal(code, 0, output);
    const { final_status, result } = JSON.parse(output);
    assert.deepEqual(
      { final_status, result },
      { final_status: "success", result: { summary: "ok" } },
    );
  });

  test("[PYA-3] `arcp submit` shows the error of an agent that fails", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    const { code, output } = await submit(sdk, ["--agent", "echo"]);
    assert.equal(code, 1, output);
    assert.match(output, /InvalidRequestError: there is nothing to echo$/);
  });

  test("[PYA-3] `arcp submit` shows that there is no such agent", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    const { code, output } = await submit(sdk, ["--agent", "nope"]);
    assert.equal(code, 1, output);
    assert.match(output, /AgentNotAvailableError: .*nope/);
  });

  test("[PYA-3] [PY-73] `arcp tail` of a finished job prints its history and its result, ten times out of ten", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    await using server = await startOurServer("submit-and-stream");
    await using client = await ARCPClient.connect(server.url, { token });
    const job = await client.submit({ agent: "echo", input: { hello: "world" } });
    await job.done;
    const tailFiveTimes = async (): Promise<void> => {
      for (let time = 0; time < 5; time += 1) {
        const lines = await tail(sdk, server.port, job.jobId);
        assert.deepEqual(
          lines.slice(0, -1).map(({ kind }) => kind),
          [
            "status",
            "status",
            "log",
            "thought",
            "tool_call",
            "tool_result",
            "metric",
            "artifact_ref",
            "status",
          ],
        );
        assert.deepEqual(lines.at(-1)?.["result"], { summary: "ok" });
      }
    };
    await Promise.all([tailFiveTimes(), tailFiveTimes()]);
  });

  test("[PYA-3] [PYR-14] `arcp tail` of a running job prints what was, what comes, and the result", async (context) => {
    if ("unavailable" in sdk) return skip(context, sdk.unavailable);
    await using server = await startOurServer("resume");
    await using client = await ARCPClient.connect(server.url, { token });
    const job = await client.submit({ agent: "slow", input: {} });
    for await (const { view } of job.events()) {
      if (view?.kind === "log" && view.message === "step 1") break;
    }
    const lines = await tail(sdk, server.port, job.jobId);
    const steps = lines.filter(({ kind }) => kind === "log");
    assert.deepEqual(
      steps.map(({ body }) => body.message),
      Array.from({ length: 10 }, (_, step) => `step ${step}`),
    );
    assert.deepEqual(lines.at(-1)?.["result"], { steps: 10 });
  });
});

test("[PYA-4] everything that our side said passes the models of the SDK", (context) => {
  if ("unavailable" in sdk) return skip(context, sdk.unavailable);
  context.diagnostic(`${said.length} frames`);
  assert(said.length > 0);
  const frames = said.map((text): object => JSON.parse(text));
  assert.deepEqual(problemsOf(sdk.python, frames), []);
});

const token = "demo-token";

/** Of the events that ARCP has no kind for. */
const own = "x-vendor.runctx.";

/** Against a server of its own. */
async function submit(
  sdk: PythonSdk,
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  await using server = await startOurServer("submit-and-stream");
  await using tap = await openTap(server.port);
  await using running = command(sdk, "submit", tap.port, words);
  const code = await ending(running);
  said.push(...tap.messages);
  return { code, output: running.output() };
}

/** What it printed, line by line, of a job that ends well. */
async function tail(sdk: PythonSdk, serverPort: number, jobId: string): Promise<readonly Line[]> {
  await using tap = await openTap(serverPort);
  await using running = command(sdk, "tail", tap.port, ["--job-id", jobId]);
  assert.equal(await ending(running), 0, running.output());
  said.push(...tap.messages);
  return running
    .output()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

type Line = {
  readonly kind?: string;
  readonly body: { readonly message?: string };
  readonly result?: unknown;
};

function command(
  sdk: PythonSdk,
  name: "submit" | "tail",
  port: number,
  words: readonly string[],
): Omit<Running, "port"> {
  const to = ["--url", `ws://127.0.0.1:${port}/arcp`, "--token", token];
  return start(sdk, ["-m", "arcp", name, ...to, ...words]);
}

async function ending({ child }: Omit<Running, "port">): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    await once(child, "close", { signal: AbortSignal.timeout(limitMs) });
  }
  return child.exitCode;
}

function skip(context: { skip(reason: string): void }, reason: string): void {
  assert.notEqual(process.env["CI"], "true", reason);
  context.skip(reason);
}

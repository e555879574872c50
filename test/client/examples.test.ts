/** Every example checks itself; here they are run as a user would, against a daemon of their own. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";
import { connect } from "../../src/client/index.ts";
import { startDaemon } from "../../src/embedded.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { until } from "../e2e/processes.ts";
import { RestartableDaemon } from "./daemon.ts";

const run = promisify(execFile);

const examples: Readonly<Record<string, RegExp>> = {
  "first-steps": /scraper holds invoice-42 with token \d+\nbest agent for a web page: scraper/,
  "worker-queue": /9 pictures resized by three workers, 1 cancelled, 1 retried/,
  demo: /^12 demo agents running; ctrl-c stops them\n$/,
  embedded:
    /^scraper registered with a daemon at http:\/\/127\.0\.0\.1:\d+, gone when this ends\n$/,
  "status-writer":
    /^migrator asks: delete the old tables\?\nit is idle, then gone, and so is its file\n$/,
  "remote-worker":
    /^count@1\.0\.0 counted to 20 in another process, over a restart of the runtime\n$/,
  jobs: /^status [\s\S]*tool_result .*PERMISSION_DENIED[\s\S]*\nresult \{"pages":3,"sent":false\}\n$/,
  questions:
    /^the answer is: pay now\npaid as asked: \{"parts":3\}\nan agent and three jobs asked, and each went on with its answer\n$/,
  leader: /term 2: planner-2 leads\neach planner planned once, in its own term/,
};

for (const [name, told] of Object.entries(examples)) {
  test(`the example ${name} shows what it says`, async () => {
    await using daemon = await startDaemon();
    await using files = await temporaryDirectory();
    const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
    const env = {
      ...outer,
      TIPSTAFF_URL: daemon.url,
      TIPSTAFF_TOKEN: daemon.token,
      AGENT_STATUS_DIR: files.path,
    };
    const words = ["--conditions=@tipstaff/source", `examples/${name}/main.ts`, "2"];
    const { stdout, stderr } = await run(process.execPath, words, { env, timeout: 30_000 });
    assert.match(stdout, told);
    assert.equal(stderr, "");
  });
}

test("other examples run beside the demo, payer goes on with an answer, and the demo cleans up", async () => {
  await using daemon = await startDaemon();
  const { client } = daemon;
  const env = { ...process.env, TIPSTAFF_URL: daemon.url, TIPSTAFF_TOKEN: daemon.token };
  const wordsFor = (name: string): string[] => [
    "--conditions=@tipstaff/source",
    `examples/${name}/main.ts`,
  ];
  const demo = spawn(process.execPath, wordsFor("demo"), {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(demo, "exit");
  try {
    const lines = createInterface({ input: demo.stdout });
    const running = once(lines, "line");
    const died = (async () => {
      for await (const { type } of client.watch()) if (type === "task.dead") return;
    })();
    await running;
    const firstSteps = await run(process.execPath, wordsFor("first-steps"), {
      env,
      timeout: 10_000,
    });
    assert.match(firstSteps.stdout, /best agent for a web page: scraper/);

    const open = await Array.fromAsync(client.questions.list({ state: ["open"] }));
    assert.deepEqual(
      open.map(({ askerName, prompt }) => [askerName, prompt]),
      [["payer", "May I pay 1,240 EUR to Acme?"]],
    );
    const told = once(lines, "line");
    await client.questions.answer(open[0]?.id ?? "", "yes");
    assert.deepEqual(await told, ["payer was told yes: 1,240 EUR to Acme"]);
    await died;
  } finally {
    demo.kill("SIGINT");
    await ended;
  }
  assert.deepEqual(await client.call("getAttention", {}), { items: [], total: 0 });
  assert.deepEqual(await Array.fromAsync(client.agents.list({ hasLeft: false })), []);
  assert.deepEqual(
    await Array.fromAsync(client.tasks.list({ state: ["pending", "claimed", "dead"] })),
    [],
  );
});

test("the demo survives an outage of the daemon, and the loss of its agents", async () => {
  await using daemon = await RestartableDaemon.start();
  const { url, token } = daemon;
  await using client = await connect({ url, token });
  const env = { ...process.env, TIPSTAFF_URL: url, TIPSTAFF_TOKEN: token };
  const words = ["--conditions=@tipstaff/source", "examples/demo/main.ts"];
  const demo = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(demo, "exit");
  const lines: string[] = [];
  createInterface({ input: demo.stdout }).on("line", (line) => lines.push(line));
  const listAlive = () => Array.fromAsync(client.agents.list({ liveness: ["alive"] }));
  try {
    const before = await until(async () => {
      const agents = await listAlive();
      return agents.length === 12 && agents.map(({ id }) => id);
    }, "the demo to begin");
    await daemon.restart();
    const restartedAtMs = Date.now();
    await until(async () => {
      const heard = (await listAlive()).filter(
        ({ id, lastHeartbeatAtMs }) => before.includes(id) && lastHeartbeatAtMs >= restartedAtMs,
      );
      return heard.length >= 11;
    }, "the daemon to hear the same agents again");

    const mailer = (await listAlive()).find(({ card }) => card.name === "mailer");
    await client.call("deregisterAgent", { agentId: mailer?.id ?? "" });
    await until(() => lines.includes("waiting for the daemon"), "the demo to notice");
    await until(async () => (await listAlive()).length === 12, "the demo to begin again");
    assert.equal(demo.exitCode, null);
  } finally {
    demo.kill("SIGINT");
    await ended;
  }
});

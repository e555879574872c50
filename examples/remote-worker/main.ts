/**
 * A job runs in another process while the runtime is closed and opened again on its log. The worker goes on
 * meanwhile, comes back, and says again what was not kept: every number is there once, and the handler ran once.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPClient } from "tipstaff/arcp";
import { ARCPServer } from "tipstaff/runtime";

const [language, python = "python3"] = process.argv.slice(2);
const here = import.meta.dirname;
const dataDirectory = await mkdtemp(join(tmpdir(), "tipstaff-example-"));
const options = {
  bearer: { "worker-token": "worker", "demo-token": "ada" },
  mayWork: (principal: string) => principal === "worker",
  dataDirectory,
};

let server = await ARCPServer.open(options);
const { port, url } = await server.listen({ port: 0 });

const [command, ...args] =
  language === "python"
    ? [python, join(here, "worker.py")]
    : [process.execPath, ...process.execArgv, join(here, "worker.ts")];
const env = { ...process.env, ARCP_URL: url, ARCP_TOKEN: "worker-token" };
const worker = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"], env });

try {
  await using client = await ARCPClient.connect(url, { token: "demo-token" });
  while (!(await offersCount())) {
    assert.equal(worker.exitCode, null, "the worker has left before it offered anything");
    await sleep(50);
  }
  const job = await client.submit({ agent: "count", input: { to: 20 } });
  const numbers: number[] = [];
  for await (const { view } of job.events()) {
    if (view?.kind !== "progress") continue;
    numbers.push(view.current);
    if (numbers.length !== 5) continue;
    await server.close();
    server = await ARCPServer.open(options);
    await server.listen({ port });
  }
  const done = await job.done;
  assert.deepEqual(
    numbers,
    Array.from({ length: 20 }, (_, at) => at + 1),
  );
  assert.deepEqual(done.result, { counted: 20 });
  console.log(`${job.agent} counted to 20 in another process, over a restart of the runtime`);
} finally {
  worker.kill();
  await server.close();
  await rm(dataDirectory, { recursive: true, force: true });
}

/** Whether the worker is there by now: a new session is told of what is offered. */
async function offersCount(): Promise<boolean> {
  await using look = await ARCPClient.connect(url, { token: "demo-token" });
  return look.agents.some(({ name }) => name === "count");
}

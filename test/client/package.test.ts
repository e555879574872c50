/** The package as it is published: built, copied where npm would put it, and used from there. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startDaemon } from "../../src/embedded.ts";
import { scratch } from "../e2e/processes.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const built = scratch();
const user = scratch();

before(async () => {
  const left = ["node_modules", ".git", "dist", "test", "bench", "docs"];
  const filter = (path: string): boolean => path === root || !left.includes(basename(path));
  await cp(root, built.path, { recursive: true, filter });
  await symlink(join(root, "node_modules"), join(built.path, "node_modules"));
  await run(process.execPath, ["tools/build.ts"], { cwd: built.path, env: ownEnv() });
  const installed = join(user.path, "node_modules/tipstaff");
  await mkdir(installed, { recursive: true });
  const { files } = JSON.parse(await readFile(join(built.path, "package.json"), "utf8"));
  for (const name of [...files, "package.json"]) {
    await cp(join(built.path, name), join(installed, name), { recursive: true });
  }
  await writeFile(join(user.path, "package.json"), '{ "type": "module" }');
});

process.once("exit", () => {
  built[Symbol.dispose]();
  user[Symbol.dispose]();
});

test("the example that the README shows runs on the installed package", async () => {
  await using daemon = await startDaemon();
  await cp(join(root, "examples/first-steps/main.ts"), join(user.path, "first-steps.ts"));
  const env = { ...ownEnv(), TIPSTAFF_URL: daemon.url, TIPSTAFF_TOKEN: daemon.token };
  const { stdout } = await run(process.execPath, ["first-steps.ts"], { cwd: user.path, env });
  assert.match(stdout, /scraper holds invoice-42/);
});

test("the example of a status file runs on the installed package, and its types are known", async () => {
  const files = join(user.path, "files");
  await cp(join(root, "examples/status-writer/main.ts"), join(user.path, "status-writer.ts"));
  const env = { ...ownEnv(), AGENT_STATUS_DIR: files };
  const { stdout } = await run(process.execPath, ["status-writer.ts"], { cwd: user.path, env });
  assert.match(stdout, /^migrator asks: /);
  assert.equal(await compile("status-writer.ts", surroundings["in Node"]), "");
});

for (const open of ["openEmbedded", "startDaemon"]) {
  test(`${open} is one line on the installed package, and leaves nothing running`, async (t) => {
    const program = `
      import { ${open} } from "tipstaff/embedded";
      await using plane = await ${open}();
      await using agent = await plane.client.register({ name: "x" });
      await using lease = await agent.acquire("t");
      console.log(lease.isHeld, plane.pid ?? 0);
    `;
    const { stdout } = await runProgram(t, program);
    const [, held, pid] = /^(\w+) (\d+)\n$/.exec(stdout) ?? [];
    assert.equal(held, "true");
    if (pid !== "0") assert.throws(() => process.kill(Number(pid), 0), { code: "ESRCH" });
  });
}

test("[ARCP-185] a runtime needs no OpenTelemetry; tracing says what it needs, and does with it", async (t) => {
  const serving = `
    import { ARCPServer } from "tipstaff/runtime";
    await using server = await ARCPServer.open({ bearer: { token: "me" } });
    await import("tipstaff/tracing").then(
      ({ jobSpans, withTracing }) => console.log(jobSpans.name, withTracing.name),
      ({ message }) => console.log(message),
    );
  `;
  const without = await runProgram(t, serving);
  assert.match(without.stdout, /^Cannot find package '@opentelemetry\/api' imported from /);
  const packages = join(user.path, "node_modules/@opentelemetry");
  await symlink(join(root, "node_modules/@opentelemetry"), packages);
  assert.equal((await runProgram(t, serving)).stdout, "jobSpans withTracing\n");
  await writeFile(join(user.path, "traced.ts"), traced);
  assert.equal(await compile("traced.ts", surroundings["in Node"]), "");
});

const traced = `
import { trace } from "@opentelemetry/api";
import { ARCPServer, pairMemoryTransports, type Transport } from "tipstaff/runtime";
import { jobSpans, withTracing } from "tipstaff/tracing";

const tracer = trace.getTracer("x");
const [near] = pairMemoryTransports();
export const far: Transport = withTracing(near, { tracer });
export const server: ARCPServer = await ARCPServer.open({ bearer: {}, around: jobSpans(tracer) });
`;

const program = `
import { type Agent, type Client, connect, type Lease, TipstaffError } from "tipstaff/client";

export async function main(signal: AbortSignal): Promise<bigint> {
  await using client: Client = await connect({ signal });
  await using agent: Agent = await client.register({ name: "x" });
  await using lease: Lease = await agent.acquire("t", { wait: 1_000 });
  for await (const task of client.tasks.claim(agent, { signal })) await task.complete({ n: 1 });
  for await (const entry of client.watch()) if (entry.type === "lease.acquired") return BigInt(entry.lease.token);
  if (lease.signal.reason instanceof TipstaffError && lease.signal.reason.code === "gap") return 1n;
  return lease.token;
}
// @ts-expect-error: a token is no number
export const wrong: Promise<number> = main(new AbortController().signal);
`;

const surroundings: Readonly<Record<string, readonly string[]>> = {
  "in Node": [
    "--lib",
    "esnext",
    "--types",
    "node",
    "--typeRoots",
    join(root, "node_modules/@types"),
  ],
  "for a browser": ["--lib", "esnext,dom", "--types", ""],
};

const arcpProgram = `
import { ARCPClient, ARCPError, type JobHandle, type Transport } from "tipstaff/arcp";

export async function main(target: string | Transport, signal: AbortSignal): Promise<unknown> {
  await using client = await ARCPClient.connect(target, { token: "t", onGap: ({ lastEventSeq }) => lastEventSeq });
  const job: JobHandle = await client.submit({ agent: "a", input: { n: 1 }, lease: { "fs.read": ["/x/*"] }, signal });
  for await (const event of job.events()) if (event.view?.kind === "progress") return event.view.current;
  const watched = await client.subscribe(job.jobId, { history: true });
  const code: string = await watched.done.then(() => "", (error) => error instanceof ARCPError ? error.code : "");
  return [code, await job.collectChunks(), (await job.done).result, (await client.listJobs()).nextCursor];
}
// @ts-expect-error: a client has a token
export const wrong = ARCPClient.connect("ws://127.0.0.1:7777/arcp", {});
`;

for (const [where, flags] of Object.entries(surroundings)) {
  test(`the declarations of the ARCP client say what it takes and gives, ${where}`, async () => {
    await writeFile(join(user.path, "arcp-typed.ts"), arcpProgram);
    assert.equal(await compile("arcp-typed.ts", flags), "");
  });
  test(`its declarations say what it takes and gives, ${where}`, async () => {
    await writeFile(join(user.path, "typed.ts"), program);
    assert.equal(await compile("typed.ts", flags), "");
  });
}

/** What the compiler has to say about a program of the user. */
async function compile(name: string, flags: readonly string[] = []): Promise<string> {
  const tsc = join(root, "node_modules/.bin/tsc");
  const strict = ["--strict", "--noEmit", "--module", "nodenext", "--target", "esnext"];
  const words = [...strict, "--ignoreConfig", "--skipLibCheck", "false", ...flags, name];
  const told = await run(tsc, words, { cwd: user.path }).catch((error) => error);
  return told.stdout;
}

async function runProgram(t: TestContext, text: string): Promise<{ readonly stdout: string }> {
  const path = join(user.path, `program-${t.name.length}.mjs`);
  await writeFile(path, text);
  return await run(process.execPath, [path], { cwd: user.path, env: ownEnv(), timeout: 60_000 });
}

/** What the test runner tells its own children is not for ours. */
function ownEnv(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return env;
}

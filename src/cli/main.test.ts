/** The executables as people and SDKs start them: real processes, real exit codes. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../testing/free-port.ts";
import { GrpcClient } from "../testing/grpc-client.ts";
import { version } from "./version.ts";

const agentkeeper = resolve("bin/agentkeeper");
const tipstaff = resolve("bin/tipstaff");
/** A place on this machine, any port, and nothing else. */
const anywhere = ["--addr=127.0.0.1:0", "--metrics-addr="];

const directory = mkdtempSync(join(tmpdir(), "tipstaff-cli-"));
const started = new Set<ChildProcess>();
after(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(directory, { recursive: true });
});

describe("the executables", { concurrency: 3 }, () => {
  test("[AK-3.1-6] --help and --version end well and say it on standard output", async () => {
    for (const [file, words, said] of [
      [agentkeeper, ["--help"], /--metrics-addr/],
      [agentkeeper, ["-version"], new RegExp(`^tipstaff ${version}$`, "m")],
      [tipstaff, ["help", "up"], /--memory/],
    ] as const) {
      const { code, stdout, stderr } = await run(file, ...words);
      assert.equal(code, 0);
      assert.match(stdout, said);
      assert.equal(stderr, "");
    }
  });

  test("[AK-2.5-28] how long inputs and outputs of tasks may be is a flag", async () => {
    await using daemon = await start(
      agentkeeper,
      ...anywhere,
      "--task-input-max=3",
      "--task-output-max=4",
    );
    using client = new GrpcClient(daemon.port);
    const card = { name: "a", description: "", version: "", capabilities: [], tools: [] };
    const { agentId } = await client.register({ card: { ...card, metadata: new Map() } });
    const tooLong = client.createTask({ type: "t", input: Buffer.alloc(4) });
    await assert.rejects(tooLong, /input has 4 bytes, 3 at most/);
    const { task } = await client.createTask({ type: "t", input: Buffer.alloc(3) });
    await client.claimTask({ agentId });
    const answer = { taskId: task?.id ?? "", agentId };
    const tooMuch = client.completeTask({ ...answer, output: Buffer.alloc(5) });
    await assert.rejects(tooMuch, /output has 5 bytes, 4 at most/);
    await client.completeTask({ ...answer, output: Buffer.alloc(4) });
    for (const bad of ["2000001", "-1", "two", ""]) {
      assert.equal((await run(agentkeeper, ...anywhere, `--task-input-max=${bad}`)).code, 2);
    }
  });

  test("[AK-3.1-6] what is typed wrong ends with 2, and says what and where to look", async () => {
    for (const [file, words, said] of [
      [agentkeeper, ["--nope"], /--nope/],
      [agentkeeper, ["--addr=nowhere"], /nowhere is no address/],
      [agentkeeper, ["--addr=192.0.2.1:1"], /--insecure/],
      [tipstaff, ["upp"], /upp/],
      [tipstaff, ["up", "--memory", "--data-dir", directory], /exclude/],
    ] as const) {
      const { code, stdout, stderr } = await run(file, ...words);
      assert.equal(code, 2, words.join(" "));
      assert.match(stderr, said);
      assert.equal(stdout, "");
      assert(stderr.trim().split("\n").length <= 2, stderr);
      assert.doesNotMatch(stderr, /tipstaff agentkeeper/);
    }
  });

  test("[AK-3.1-7] a port that is in use ends it with 1 and one line", async () => {
    await using busy = await openPort();
    const startedMs = performance.now();
    const address = `127.0.0.1:${busy.port}`;
    const { code, stderr } = await run(agentkeeper, `--addr=${address}`, "--metrics-addr=");
    assert.equal(code, 1);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    assert(stderr.includes(`${address} is in use`), stderr);
    assert.match(stderr, /; choose another port with --addr or --metrics-addr$/m);
    assert(performance.now() - startedMs < 8_000);
  });

  test("a port that another Tipstaff has is told with its process and data directory", async () => {
    const data = join(directory, "first");
    const http = `127.0.0.1:${await freePort()}`;
    await using daemon = await start(
      agentkeeper,
      ...["--addr=127.0.0.1:0", `--metrics-addr=${http}`, `--data-dir=${data}`],
    );
    const grpc = `127.0.0.1:${daemon.port}`;
    for (const [words, taken] of [
      [[`--grpc=${grpc}`, `--http=${http}`, "--arcp="], grpc],
      [["--grpc=127.0.0.1:0", `--http=${http}`, "--arcp="], http],
      // Its HTTP address is not among the flags.
      [[`--grpc=${grpc}`, "--http=", "--arcp="], grpc],
    ] as const) {
      const { code, stderr } = await run(tipstaff, "up", "--memory", ...words);
      assert.equal(code, 1);
      const other = `another Tipstaff (process ${daemon.process.pid}, data directory ${data})`;
      assert(stderr.includes(`${taken} is in use by ${other}; choose another port`), stderr);
    }
    const { stderr } = await run(agentkeeper, `--addr=${grpc}`, "--metrics-addr=");
    assert.match(stderr, /is in use by another Tipstaff /);
  });

  test("if the default port of ARCP is in use, up says that jobs over ARCP are off", async () => {
    // If another program has the port already, that is as good.
    await using _taken = await openPort(7_777).catch(() => undefined);
    await using daemon = await start(tipstaff, "up", "--memory", "--grpc=127.0.0.1:0", "--http=");
    await eventually(() => {
      const warning = /:7777 is in use: jobs over ARCP are off; choose another port with --arcp$/m;
      assert.match(daemon.stderr(), warning);
    });
  });

  test("[AK-3.3-3] an HTTP address that was asked for and is in use ends it with 1", async () => {
    await using busy = await openPort();
    const address = `127.0.0.1:${busy.port}`;
    const { code, stderr } = await run(
      agentkeeper,
      "--addr=127.0.0.1:0",
      `--metrics-addr=${address}`,
    );
    assert.equal(code, 1);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
  });

  test("[AK-3.1-7] [AK-4-7] a data directory that is locked or unusable ends it with 1 and one line", async () => {
    const data = join(directory, "locked");
    await using daemon = await start(agentkeeper, ...anywhere, `--data-dir=${data}`);
    const file = join(directory, "a-file");
    writeFileSync(file, "");
    for (const place of [data, file, join(file, "below")]) {
      const { code, stderr } = await run(agentkeeper, ...anywhere, `--data-dir=${place}`);
      assert.equal(code, 1, place);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
    }
    assert.equal(daemon.process.exitCode, null);
  });

  test("[AK-3.1-8] the data directory is made, with its parents", async () => {
    const data = join(directory, "not", "there", "yet");
    await using _ = await start(agentkeeper, ...anywhere, `--data-dir=${data}`);
    assert(existsSync(data));
  });

  test("[AK-3.1-4] with port 0, the port it has is printed", async () => {
    await using daemon = await start(agentkeeper, ...anywhere);
    assert(daemon.port > 0);
    await reach(daemon.port);
  });

  test("[AK-3.1-2] flags with one dash, and values behind a space", async () => {
    await using daemon = await start(agentkeeper, "-addr", "127.0.0.1:0", "-metrics-addr", "");
    await reach(daemon.port);
  });

  test("[AK-3.1-9] 0.0.0.0 means this machine, and says so", async () => {
    await using daemon = await start(agentkeeper, "--addr=0.0.0.0:0", "--metrics-addr=");
    assert.match(daemon.stdout(), /only this machine can connect/);
    await reach(daemon.port);
    for (const addresses of Object.values(networkInterfaces())) {
      for (const { address, internal, family } of addresses ?? []) {
        if (internal || family !== "IPv4") continue;
        await assert.rejects(reach(daemon.port, address), { code: "ECONNREFUSED" });
      }
    }
  });

  test("[AK-3.1-10] who says localhost reaches it, in either family", async () => {
    await using daemon = await start(agentkeeper, "--addr=:0", "--metrics-addr=");
    await reach(daemon.port, "localhost");
    await reach(daemon.port, "127.0.0.1");
  });

  test("[AK-3.2-2] a link to the executable will do, and signals reach what it starts", async () => {
    const link = join(directory, "linked");
    symlinkSync(agentkeeper, link);
    await using daemon = await start(link, ...anywhere);
    assert.equal(await daemon.stop("SIGTERM"), 0);
    await assert.rejects(reach(daemon.port), { code: "ECONNREFUSED" });
  });

  test("[AK-3.2-5] it lives on when nobody reads what it says, and never reads what it is told", async () => {
    const port = await freePort();
    const flags = [`--addr=127.0.0.1:${port}`, "--metrics-addr="];
    const child = spawn(agentkeeper, flags, { stdio: ["pipe", "pipe", "pipe"] });
    started.add(child);
    child.stdout.destroy();
    child.stderr.destroy();
    child.stdin.on("error", () => {});
    child.stdin.write("quit\n\u0004");
    await eventually(() => reach(port));
    child.stdin.destroy();
    await sleep(100);
    await reach(port);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });

  test("with --log-format json, every line is one document, and standard output is empty", async () => {
    const child = spawn(agentkeeper, [
      "--addr=127.0.0.1:0",
      "--metrics-addr=",
      "--log-format",
      "json",
    ]);
    started.add(child);
    const output = collectOutput(child);
    await eventually(() => assert.match(output.stderr(), /"up"/));
    const ended = once(child, "exit");
    child.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
    const lines = output
      .stderr()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert(lines.length >= 2);
    for (const { level, time, msg } of lines) {
      assert.equal(level, "info");
      assert(!Number.isNaN(Date.parse(time)));
      assert.equal(typeof msg, "string");
    }
    assert.match(lines[0].grpc[0], /^127\.0\.0\.1:[1-9]\d*$/);
    assert.equal(output.stdout(), "");
  });

  test("status ends with 3 where there is no daemon, and says how to start one", async () => {
    const { code, stdout, stderr } = await run(
      tipstaff,
      "status",
      "--data-dir",
      join(directory, "none"),
    );
    assert.equal(code, 3);
    assert.equal(stdout, "");
    const [what = "", todo = "", ...more] = stderr.trim().split("\n");
    assert.match(what, /^tipstaff: no daemon answers \(.*there is no socket\)$/);
    assert.match(todo, /tipstaff up/);
    assert.deepEqual(more, []);
  });

  test("status asks through the data directory, for people and for machines", async () => {
    const data = join(directory, "status");
    await using daemon = await start(
      tipstaff,
      "up",
      "--grpc=127.0.0.1:0",
      "--arcp=",
      "--http=",
      "--data-dir",
      data,
    );
    const people = await run(tipstaff, "status", "--data-dir", data);
    assert.equal(people.code, 0, people.stderr);
    assert.match(people.stdout, new RegExp(`process ${daemon.process.pid}`));
    const machine = await run(tipstaff, "status", "--json", "--data-dir", data);
    assert.equal(machine.code, 0);
    const facts = JSON.parse(machine.stdout);
    assert.equal(facts.pid, daemon.process.pid);
    assert.equal(facts.version, version);
    assert.equal(facts.dataDirectory, data);
  });

  test("status asks at an address, and the daemon may be in memory", async () => {
    const http = `127.0.0.1:${await freePort()}`;
    await using _ = await start(
      tipstaff,
      "up",
      "--memory",
      "--grpc=127.0.0.1:0",
      "--arcp=",
      `--http=${http}`,
    );
    await eventually(async () => {
      const { code, stdout } = await run(tipstaff, "status", `--http=${http}`);
      assert.equal(code, 0);
      assert.match(stdout, /in memory/);
    });
    const { code } = await run(tipstaff, "status", "--http=127.0.0.1:1");
    assert.equal(code, 3);
    const examined = await run(tipstaff, "doctor", `--http=${http}`);
    assert.equal(examined.code, 0, examined.stdout);
    assert.match(examined.stdout, /^ok +log +the running daemon keeps its log in memory$/m);
    assert.match(examined.stdout, /^no check failed: the log is in memory/m);
  });

  test("doctor ends with 1 where there is no log, and with 0 where all is well", async () => {
    const data = join(directory, "doctored");
    assert.equal((await run(tipstaff, "doctor", "--data-dir", data)).code, 1);
    {
      await using _ = await start(agentkeeper, ...anywhere, `--data-dir=${data}`);
    }
    const { code, stdout, stderr } = await run(tipstaff, "doctor", "--json", "--data-dir", data);
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).isWell, true);
  });
});

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs something that ends by itself. Whoever keeps state keeps it in our directory. */
async function run(file: string, ...words: readonly string[]): Promise<Ended> {
  const child = spawn(file, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, XDG_STATE_HOME: join(directory, "state") },
    timeout: 20_000,
  });
  started.add(child);
  const output = collectOutput(child);
  const [code] = await once(child, "close");
  return { code, stdout: output.stdout(), stderr: output.stderr() };
}

type Running = AsyncDisposable & {
  readonly process: ChildProcess;
  /** The gRPC port that it printed. */
  readonly port: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

/** Starts a daemon, and waits until it says where it listens. */
async function start(file: string, ...words: readonly string[]): Promise<Running> {
  const child = spawn(file, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, XDG_STATE_HOME: join(directory, "state") },
  });
  started.add(child);
  const output = collectOutput(child);
  const closed = once(child, "close");
  await eventually(() => {
    assert.equal(child.exitCode, null, output.stderr());
    assert.match(output.stdout(), /gRPC/);
  });
  const [, port] = /gRPC +\S+:(\d+)/.exec(output.stdout()) ?? [];
  const stop = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const [code] = await closed;
    return code;
  };
  return {
    process: child,
    port: Number(port),
    ...output,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop("SIGTERM");
    },
  };
}

function collectOutput(child: ChildProcess): {
  readonly stdout: () => string;
  readonly stderr: () => string;
} {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  return { stdout: () => stdout, stderr: () => stderr };
}

async function reach(port: number, host = "127.0.0.1"): Promise<void> {
  const socket = connectSocket({ port, host, autoSelectFamily: true });
  try {
    await once(socket, "connect");
  } finally {
    socket.destroy();
  }
}

async function openPort(port = 0): Promise<AsyncDisposable & { readonly port: number }> {
  // Reads along, so that it notices when somebody who only looked hangs up.
  const server = createServer((socket) => socket.on("error", () => {}).resume());
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address);
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

/** Asks again until it does not fail. */
async function eventually(claim: () => void | Promise<void>, patienceMs = 15_000): Promise<void> {
  const givesUpAtMs = performance.now() + patienceMs;
  for (;;) {
    try {
      await claim();
      return;
    } catch (failure) {
      if (performance.now() > givesUpAtMs) throw failure;
      await sleep(30);
    }
  }
}

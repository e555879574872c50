/** The published Python SDK of ARCP, with the examples that only its source archive has. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../../src/testing/free-port.ts";
import { pip, prepareEnvironment, pythonIn } from "../environment.ts";

const sdk = "agentruntimecontrolprotocol==1.1.3";

/** What its examples of hosts and of tracing ask for beside the SDK, and our worker in Python. */
const extras = ["aiohttp", "starlette", "uvicorn", "opentelemetry-sdk<2", "websockets==17.4"];

export type PythonSdk = {
  /** The interpreter that has the SDK and all that its examples need. */
  readonly python: string;
  /** The unpacked source archive: `examples/`, `recipes/`, `tests/`. */
  readonly source: string;
};

/** The SDK; or why it cannot be had on this machine. */
export async function preparePythonSdk(): Promise<PythonSdk | { readonly unavailable: string }> {
  const prepared = await prepareEnvironment({
    name: "arcp-python",
    packages: [sdk, ...extras],
    finish: unpackSource,
  });
  if ("unavailable" in prepared) return prepared;
  return { python: pythonIn(prepared.directory), source: join(prepared.directory, "source") };
}

/** pip builds what it downloads, to know its name; the archive it leaves is the published one. */
async function unpackSource(directory: string): Promise<void> {
  const download = join(directory, "download");
  await pip(directory, "download", "--no-deps", "--no-binary", ":all:", "--dest", download, sdk);
  const archive = readdirSync(download).find((name) => name.endsWith(".tar.gz"));
  if (archive === undefined) throw new Error("pip downloaded no source archive");
  const source = join(directory, "source");
  mkdirSync(source);
  execFileSync("tar", ["xzf", join(download, archive), "-C", source, "--strip-components=1"]);
}

/** The directory of one example: `server.py`, `client.py`. */
export function exampleIn({ source }: PythonSdk, name: string): string {
  return join(source, "examples", name);
}

/** Loopback is not to be reached through a proxy, and what a script prints is to be seen at once. */
export function pythonEnvironment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return {
    ...process.env,
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    PYTHONUNBUFFERED: "1",
    PYTHONDONTWRITEBYTECODE: "1",
    ...more,
  };
}

/** A running script of the SDK. Ends with `await using`. */
export type Running = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly port: number;
  /** All that it has written, both streams together; for the message of a failed assertion. */
  output(): string;
};

/** An example's server, unmodified, on a port of its own; resolves when it listens. */
export async function startExampleServer(
  sdk: PythonSdk,
  name: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const port = await freePort();
  const running = start(sdk, [join(exampleIn(sdk, name), "server.py")], {
    ...more,
    ARCP_DEMO_PORT: String(port),
  });
  await untilListening(running, port);
  return { ...running, port };
}

/** An example's client, unmodified, against a server on `port`; resolves with how it ended. */
export async function runExampleClient(
  sdk: PythonSdk,
  name: string,
  port: number,
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  await using running = start(sdk, [join(exampleIn(sdk, name), "client.py")], {
    ...more,
    ARCP_DEMO_PORT: String(port),
    ARCP_DEMO_URL: `ws://127.0.0.1:${port}/arcp`,
  });
  if (running.child.exitCode === null) await once(running.child, "exit");
  return { code: running.child.exitCode, output: running.output() };
}

/** Should the test process itself be stopped, nothing is left behind. */
const started = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of started) child.kill("SIGKILL");
});

/** Any script with this SDK's interpreter. */
export function start(
  { python }: PythonSdk,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Omit<Running, "port"> {
  const child = spawn(python, words, {
    env: pythonEnvironment(environment),
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.add(child);
  child.once("exit", () => started.delete(child));
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => lines.push(line));
  }
  return {
    child,
    output: () => lines.join("\n"),
    async [Symbol.asyncDispose](): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Not by the line it prints: some print it before they listen. */
async function untilListening({ child, output }: Omit<Running, "port">, port: number) {
  while (child.exitCode === null) {
    if (await accepts(port)) return;
    await pause(50);
  }
  throw new Error(`it ended before it listened:\n${output()}`);
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

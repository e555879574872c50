/**
 * Tipstaff without installing anything beside your program: a plane in this process, reached without a
 * socket, or a daemon as a child process that others can reach too. Both end with the block.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };
import { type Client, connect } from "./client/index.ts";
import { serve } from "./serve.ts";

export type EmbeddedOptions = {
  /** Where to keep everything; in memory, if absent. */
  readonly dataDirectory?: string | undefined;
  /** Told of what goes wrong and is survived. By default a warning of the process. */
  readonly warn?: ((message: string, cause?: unknown) => void) | undefined;
};

export interface Embedded extends AsyncDisposable {
  readonly client: Client;
}

export type DaemonOptions = {
  /** Where to keep everything; in memory, if absent. */
  readonly dataDirectory?: string | undefined;
  /** `host:port`; any free port of this machine, if absent. */
  readonly http?: string | undefined;
  readonly grpc?: string | undefined;
  readonly arcp?: string | undefined;
};

export interface Daemon extends AsyncDisposable {
  readonly client: Client;
  readonly url: string;
  readonly token: string;
  /** Where AgentKeeper SDKs connect: `host:port`. */
  readonly grpc: string;
  /** Where ARCP clients and workers connect. */
  readonly arcp: string;
  readonly pid: number;
  /** Resolves when it has ended, however that came. */
  readonly exited: Promise<void>;
}

/** Starting includes reading the log; a long one takes seconds. */
const startMs = 60_000;
/** It promises to be gone sooner. */
const stopMs = 10_000;

/** A plane in this process. Should its log fail, the process stops: it must not go on without memory. */
export async function openEmbedded(options: EmbeddedOptions = {}): Promise<Embedded> {
  const { dataDirectory, warn = (message) => process.emitWarning(message) } = options;
  const token = randomBytes(32).toString("base64url");
  await using opened = new AsyncDisposableStack();
  const plane = opened.use(
    await serve({
      version: manifest.version,
      ...(dataDirectory === undefined ? {} : { dataDirectory }),
      token,
      grpc: [],
      http: [],
      isHttpOptional: true,
      isAnyHostAllowed: false,
      warn,
      onFault: (fault) => {
        throw fault;
      },
    }),
  );
  const fetch = (url: string, init: RequestInit) => plane.fetch(new Request(url, init));
  const client = opened.use(await connect({ url: "http://embedded.localhost", token, fetch }));
  const closing = opened.move();
  return { client, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** A daemon as a child process. It ends with the block, and with this process, however that ends. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const free = "127.0.0.1:0";
  const { dataDirectory, http = free, grpc = free, arcp = free } = options;
  await using opened = new AsyncDisposableStack();
  const state = dataDirectory ?? (await mkdtemp(join(tmpdir(), "tipstaff-")));
  if (dataDirectory === undefined) opened.defer(() => rm(state, { recursive: true, force: true }));
  const place = dataDirectory === undefined ? ["--memory"] : ["--data-dir", dataDirectory];
  const places = ["--http", http, "--grpc", grpc, "--arcp", arcp];
  const words = ["up", "--json", ...places, "--status-dir=", ...place];
  const node = ["--disable-warning=ExperimentalWarning", "--import", preloadFor(state)];
  const child = spawn(process.execPath, [...node, mainPath(), ...words], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = once(child, "close").then(() => {});
  opened.defer(() => stop(child, exited));
  const { url, grpcAddress, arcpUrl, tokenFile } = await untilReady(child, exited);
  const token = (await readFile(tokenFile, "utf8")).trim();
  // Nothing else is kept there; should this process be killed, nothing is left.
  if (dataDirectory === undefined) await rm(state, { recursive: true, force: true });
  const client = opened.use(await connect({ url, token }));
  const closing = opened.move();
  return {
    client,
    url,
    token,
    grpc: grpcAddress,
    arcp: arcpUrl,
    pid: child.pid ?? 0,
    exited,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/**
 * Runs in the child before anything else. Its standard input is a pipe from here: when this process is
 * gone the pipe closes, also after `kill -9`, and the child stops as if it had been told to. Without a
 * data directory the token has to be somewhere, and not among the user's own things.
 */
function preloadFor(state: string): string {
  const program = `
    process.env.XDG_STATE_HOME = ${JSON.stringify(state)};
    const stop = () => process.kill(process.pid, "SIGTERM");
    process.stdin.on("end", stop).on("error", stop).resume().unref();
  `;
  return `data:text/javascript,${encodeURIComponent(program)}`;
}

/** The command line, built or not, beside this file. */
function mainPath(): string {
  const name = import.meta.url.endsWith(".ts") ? "cli/main.ts" : "tipstaff.cjs";
  return fileURLToPath(new URL(name, import.meta.url));
}

type Ready = {
  readonly url: string;
  readonly grpcAddress: string;
  readonly arcpUrl: string;
  readonly tokenFile: string;
};

/** The first line that it prints says where it serves. */
async function untilReady(child: ChildProcess, exited: Promise<void>): Promise<Ready> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("a child without pipes");
  let said = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-saidMax);
  });
  const lines = createInterface({ input: stdout });
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), startMs);
  try {
    const line = once(lines, "line", { signal: late.signal }).then(([text]) => String(text));
    const first = await Promise.race([line, exited]);
    if (first === undefined) throw new Error(`the daemon did not start: ${said.trim()}`);
    return readReady(first);
  } finally {
    clearTimeout(timer);
    late.abort();
    stdout.resume();
  }
}

/** How much of what it complains about is kept, to be told if it does not start. */
const saidMax = 4_096;

function readReady(line: string): Ready {
  const said: unknown = JSON.parse(line);
  if (typeof said === "object" && said !== null && "http" in said && "tokenFile" in said) {
    return {
      url: String(said.http),
      grpcAddress: "grpc" in said ? String(said.grpc) : "",
      arcpUrl: "arcp" in said ? String(said.arcp) : "",
      tokenFile: String(said.tokenFile),
    };
  }
  throw new Error(`the daemon does not say where it serves: ${line}`);
}

/** Politely, and then not. */
async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return exited;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMs);
  await exited;
  clearTimeout(timer);
}

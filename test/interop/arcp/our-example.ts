/** One of our own examples, run as its reader would: server and client in processes of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

/** Dozens of processes load the same sources: compiled once, each starts in a third of the time. */
export const quickly: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: resolve("node_modules/.cache/tipstaff/compiled"),
};

/** Should the test process itself be stopped, nothing is left behind. */
const started = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of started) child.kill("SIGKILL");
});

export type Ended = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type OurServer = AsyncDisposable & {
  /** As it says itself. */
  readonly url: string;
  readonly port: number;
  /** What it has complained of. */
  errors(): string;
};

/** The words after `node` that run a part of an example from the sources. */
export function wordsFor(name: string, part: "server" | "client"): readonly string[] {
  return ["--conditions=@tipstaff/source", `examples/arcp/${name}/${part}.ts`];
}

/** On a port that is free; resolves when it listens. */
export async function startOurServer(name: string): Promise<OurServer> {
  const child = startPart(name, "server", { ARCP_DEMO_PORT: "0" });
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("a child without pipes");
  let errors = "";
  stderr.on("data", (text: Buffer) => {
    errors += text;
  });
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };
  for await (const line of createInterface({ input: stdout })) {
    const url = /^listening on (ws:\/\/\S+)$/.exec(line)?.[1];
    if (url === undefined) break;
    const port = Number(new URL(url).port);
    return { url, port, errors: () => errors, [Symbol.asyncDispose]: end };
  }
  await end();
  throw new Error(`the server of ${name} does not listen: ${errors}`);
}

/** Resolves when it has ended, which it must within the time. */
export async function runOurClient(
  name: string,
  { url, withinMs }: { readonly url?: string; readonly withinMs: number },
): Promise<Ended> {
  const child = startPart(name, "client", url === undefined ? {} : { ARCP_DEMO_URL: url });
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (text: Buffer) => {
    stdout += text;
  });
  child.stderr?.on("data", (text: Buffer) => {
    stderr += text;
  });
  try {
    const [code] = await once(child, "close", { signal: AbortSignal.timeout(withinMs) });
    return { code, stdout, stderr };
  } finally {
    child.kill("SIGKILL");
  }
}

function startPart(
  name: string,
  part: "server" | "client",
  more: Readonly<Record<string, string>>,
): ChildProcess {
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
  const env = { ...outer, ...quickly, ...more };
  const words = wordsFor(name, part);
  const child = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  child.once("exit", () => started.delete(child));
  return child;
}

/**
 * The four runtimes of the ARCP bench, each a process of its own: ours and the published Python SDK's, with a
 * log in memory and with one in a file. What they take of processor and memory is read from the kernel, the same for all.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { preparePythonSdk } from "../test/interop/arcp/python-sdk.ts";
import { freeAddress, type Server, startServer } from "./servers.ts";

export const contestants = [
  "ours, durable",
  "ours, memory",
  "Python, SQLite",
  "Python, memory",
] as const;

export type Contestant = (typeof contestants)[number];

export type ArcpServer = Server & { readonly url: string };

const ours = fileURLToPath(new URL("load/arcp-server.ts", import.meta.url));
const theirs = fileURLToPath(new URL("load/arcp-server.py", import.meta.url));

/** How a second is counted in `/proc`: the same on every Linux there is. */
const ticksPerSecond = 100;

/** The interpreter that has the SDK. Downloads it the first time. */
export async function preparePython(): Promise<string> {
  const prepared = await preparePythonSdk();
  if ("unavailable" in prepared) throw new Error(prepared.unavailable);
  return prepared.python;
}

export type ArcpLaunch = {
  readonly python: string;
  readonly directory: string;
  /** Of Node, for whoever wants to look closer: `--cpu-prof`. */
  readonly nodeOptions?: readonly string[];
};

let started = 0;

/** Fresh, with a log of its own that is empty. */
export async function startArcpServer(
  contestant: Contestant,
  { python, directory, nodeOptions = [] }: ArcpLaunch,
): Promise<ArcpServer> {
  const addr = await freeAddress();
  const name = `arcp-${++started}`;
  const isOurs = contestant.startsWith("ours");
  const args = [
    ...(isOurs ? [...nodeOptions, ours] : [theirs]),
    `--port=${addr.split(":")[1]}`,
    ...(contestant.endsWith("memory") ? [] : [`--db=${join(directory, `${name}.db`)}`]),
  ];
  const path = isOurs ? process.execPath : python;
  const logPath = join(directory, `${name}.log`);
  const server = await startServer(contestant, { path, args, addr, logPath });
  return { ...server, url: `ws://${addr}/arcp` };
}

/** Of all its threads, in its own code and in the kernel, so far. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is a name in brackets, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** What it has in memory now. */
export function residentMB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kB = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
  return (kB * 1_024) / 1e6;
}

/** The most it had in memory while somebody looked, ten times a second. */
export function watchResident(pid: number): Disposable & { readonly samplesMB: readonly number[] } {
  const samplesMB = [residentMB(pid)];
  const timer = setInterval(() => samplesMB.push(residentMB(pid)), 100);
  return {
    samplesMB,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      samplesMB.push(residentMB(pid));
    },
  };
}

/**
 * The same calls at the same daemon, in turns: made by hand with `fetch`, and through the client, which also
 * keeps the lease alive, may repeat a call and reads the clock. Nobody shares the daemon meanwhile.
 */
import { parseArgs } from "node:util";
import type { Agent } from "../src/client/index.ts";
import { startDaemon } from "../src/embedded.ts";
import { median, spreadOf } from "./measure.ts";
import { type Report, type Row, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question =
  "What does the client add to an acquire and a release made by hand with fetch?";

type Way = { readonly name: string; readonly cycle: () => Promise<void> };

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "10" },
      cycles: { type: "string", default: "500" },
    },
  });
  const rounds = readCount(values.rounds);
  const cycles = readCount(values.cycles);
  await using scratch = await openScratch();
  await using daemon = await startDaemon({ dataDirectory: `${scratch.path}/data` });
  await using agent = await daemon.client.register({ name: "bench", ttlMs: 3_600_000 });
  const ways = [byHand(daemon, agent), withClient(agent)];
  for (const { cycle } of ways) await repeat(cycle, cycles);
  const taken = new Map<string, { wallMs: number[]; cpuMs: number[] }>();
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes with each round.
    for (const { name, cycle } of round % 2 === 0 ? ways : ways.toReversed()) {
      const before = process.cpuUsage();
      const durationsMs = await repeat(cycle, cycles);
      const { user, system } = process.cpuUsage(before);
      const known = taken.get(name) ?? { wallMs: [], cpuMs: [] };
      known.wallMs.push(...durationsMs);
      known.cpuMs.push((user + system) / 1_000 / cycles);
      taken.set(name, known);
    }
  }
  for (const [name, { wallMs, cpuMs }] of taken) report.add(name, rowOf(wallMs, cpuMs));
  report.note(`${rounds} rounds of ${cycles} cycles for each, in turns; one caller, data on disk`);
  report.note("CPU is that of the calling process, the median over the rounds");
}

function byHand(
  { url, token }: { readonly url: string; readonly token: string },
  { id: agentId }: Agent,
): Way {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const post = async (path: string, body: object): Promise<{ readonly token: string }> => {
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}/api/v1/leases/by-hand/${path}`, request);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return JSON.parse(await response.text());
  };
  const cycle = async (): Promise<void> => {
    const { token } = await post("acquire", { agentId, ttlMs: 60_000 });
    await post("release", { agentId, token });
  };
  return { name: "fetch by hand", cycle };
}

function withClient(agent: Agent): Way {
  const cycle = async (): Promise<void> => {
    const lease = await agent.acquire("with-client", { ttlMs: 60_000 });
    await lease.release();
  };
  return { name: "tipstaff/client", cycle };
}

async function repeat(cycle: () => Promise<void>, count: number): Promise<readonly number[]> {
  const durationsMs: number[] = [];
  for (let number = 0; number < count; number++) {
    const startedMs = performance.now();
    await cycle();
    durationsMs.push(performance.now() - startedMs);
  }
  return durationsMs;
}

function rowOf(wallMs: readonly number[], cpuMs: readonly number[]): Row {
  const { p50, p99, max } = spreadOf(wallMs);
  return { "p50 ms": p50, "p99 ms": p99, "max ms": max, "CPU ms a cycle": median(cpuMs) };
}

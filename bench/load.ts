/**
 * Builds and runs the load generator in `load/`. It is written in Go because a client in Node would
 * be slower than the server it measures, and because etcd's own client is.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildGo } from "./go.ts";
import type { Server } from "./servers.ts";

const execute = promisify(execFile);

const leaseFields = [
  "cycles",
  "cyclesPerSecond",
  "cycleP50Ms",
  "cycleP99Ms",
  "cycleMaxMs",
  "callP50Ms",
  "callP99Ms",
  "callMaxMs",
  "generatorCpuSeconds",
  "serverCpuSeconds",
] as const;

const watchFields = [
  "deliveries",
  "eventsPerSecond",
  "deliveriesPerSecond",
  "deliveryP50Ms",
  "deliveryP99Ms",
  "deliveryMaxMs",
  "generatorCpuSeconds",
  "serverCpuSeconds",
] as const;

const fillFields = ["agents", "agentsPerSecond", "serverCpuSeconds"] as const;

const findFields = [
  "finds",
  "findP50Ms",
  "findP99Ms",
  "findMaxMs",
  "cycles",
  "cyclesPerSecond",
  "callP50Ms",
  "callP99Ms",
  "callMaxMs",
  "generatorCpuSeconds",
  "serverCpuSeconds",
] as const;

/** A cycle is one acquire and one release, each a call. */
export type LeaseLoad = Readonly<Record<(typeof leaseFields)[number], number>>;

/** A delivery is one event decoded at one watcher, timed from sending the call that caused it. */
export type WatchLoad = Readonly<Record<(typeof watchFields)[number], number>>;

export type FillLoad = Readonly<Record<(typeof fillFields)[number], number>>;

/** Finds are timed from when they were due. Cycles are those of callers who take leases meanwhile. */
export type FindLoad = Readonly<Record<(typeof findFields)[number], number>>;

/** A registration that takes longer than this, all in all, has failed. */
const fillSecondsMax = 900;

const evaluation = fileURLToPath(new URL("../test/evaluation/", import.meta.url));

export type LoadOptions = {
  readonly callers: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
};

/** Each call rejects if the server gave one wrong answer. */
export interface Load {
  leases(server: Server, options: LoadOptions): Promise<LeaseLoad>;
  watch(server: Server, options: LoadOptions & { readonly watchers: number }): Promise<WatchLoad>;
  /** With the cards of the evaluation, again and again. */
  fill(server: Server, agents: number): Promise<FillLoad>;
  /** With the queries of the evaluation, so many a second. */
  find(server: Server, options: LoadOptions & { readonly rate: number }): Promise<FindLoad>;
}

/** Needs Go. */
export async function buildLoad(): Promise<Load> {
  const program = await buildGo("load");
  return {
    leases: async (server, options) => {
      const target = `--target=${server.name.toLowerCase()}`;
      const args = ["leases", target, ...common(server, options)];
      return readNumbers((await execute(program, args)).stdout, leaseFields);
    },
    watch: async (server, options) => {
      const args = ["watch", `--watchers=${options.watchers}`, ...common(server, options)];
      return readNumbers((await execute(program, args)).stdout, watchFields);
    },
    fill: async (server, agents) => {
      const options = { callers: 1, seconds: fillSecondsMax, warmUpSeconds: 0 };
      const cards = `--cards=${join(evaluation, "cards.json")}`;
      const args = ["fill", `--agents=${agents}`, cards, ...common(server, options)];
      return readNumbers((await execute(program, args)).stdout, fillFields);
    },
    find: async (server, options) => {
      const queries = `--queries=${join(evaluation, "queries-open.json")}`;
      const args = ["find", `--rate=${options.rate}`, queries, ...common(server, options)];
      return readNumbers((await execute(program, args)).stdout, findFields);
    },
  };
}

function common(server: Server, { callers, seconds, warmUpSeconds }: LoadOptions): string[] {
  return [
    `--addr=${server.addr}`,
    `--server-pid=${server.pid}`,
    `--callers=${callers}`,
    `--seconds=${seconds}`,
    `--warmup=${warmUpSeconds}`,
  ];
}

function readNumbers<Field extends string>(
  line: string,
  fields: readonly Field[],
): Readonly<Record<Field, number>> {
  const read = new Map(Object.entries(JSON.parse(line)));
  const numbers = fields.map((field) => {
    const value = read.get(field);
    if (typeof value !== "number") throw new Error(`the load generator gave no ${field}: ${line}`);
    return [field, value] as const;
  });
  // What was just checked, field by field, is what the type says.
  return Object.fromEntries(numbers) as Record<Field, number>;
}

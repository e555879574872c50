/**
 * Both servers stay up for the whole run and share one disk; only one is under load at a time. They
 * take turns, and the turn changes with each round, so that a slow minute of the machine meets
 * both. What counts is the median of the ratios within the rounds, not the ratio of two medians.
 */
import { execFile } from "node:child_process";
import { parseArgs, promisify } from "node:util";
import { buildGo } from "./go.ts";
import { buildLoad, type LeaseLoad, type Load } from "./load.ts";
import { median, probeFsync, type Spread } from "./measure.ts";
import { printNumber, type Report, type Row, readCount } from "./report.ts";
import { daemonPath, openScratch, type Server, startDaemon, startEtcd } from "./servers.ts";

export const question =
  "How many durable lease cycles (acquire, then release) a second, beside etcd on the same disk?";

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly callerCounts: readonly number[];
  readonly daemon: string;
};

/** One server under load, and how the disk was just before. */
type Turn = LeaseLoad & { readonly fsync: Spread };

type Round = { readonly tipstaff: Turn; readonly etcd: Turn };

/** Before each measurement: new connections settle, and the first cycles wake the processors. */
const warmUpSeconds = 1;
/** Once for each number of callers and server: the runtime compiles what has become hot. */
const firstWarmUpSeconds = 4;

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  const load = await buildLoad();
  const etcdPath = await buildGo("etcd");
  await using scratch = await openScratch();
  await using etcd = await startEtcd(scratch.path, etcdPath);
  await using tipstaff = await startDaemon(scratch.path, options.daemon);
  const all: Round[] = [];
  for (const callers of options.callerCounts) {
    const contest = { ...options, load, tipstaff, etcd, directory: scratch.path, callers };
    const rounds = await compete(contest, report);
    addRows(report, callers, rounds);
    all.push(...rounds);
  }
  await addNotes(report, options, all, etcdPath);
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "10" },
      seconds: { type: "string", default: "5" },
      callers: { type: "string", default: "1,16,64" },
      daemon: { type: "string", default: daemonPath },
    },
  });
  return {
    rounds: readCount(values.rounds),
    seconds: readCount(values.seconds),
    callerCounts: values.callers.split(",").map(readCount),
    daemon: values.daemon,
  };
}

type Contest = {
  readonly load: Load;
  readonly tipstaff: Server;
  readonly etcd: Server;
  readonly directory: string;
  readonly callers: number;
  readonly rounds: number;
  readonly seconds: number;
};

async function compete(contest: Contest, report: Report): Promise<readonly Round[]> {
  const { load, tipstaff, etcd, callers } = contest;
  for (const server of [tipstaff, etcd]) {
    await load.leases(server, { callers, seconds: 1, warmUpSeconds: firstWarmUpSeconds });
  }
  const rounds: Round[] = [];
  for (let number = 1; number <= contest.rounds; number++) {
    const round = await playRound(contest, { tipstaffFirst: number % 2 === 1 });
    report.say(`${callersOf(callers)}, round ${number}: ${printRound(round)}`);
    rounds.push(round);
  }
  return rounds;
}

async function playRound(
  { load, tipstaff, etcd, directory, callers, seconds }: Contest,
  { tipstaffFirst }: { readonly tipstaffFirst: boolean },
): Promise<Round> {
  const play = async (server: Server): Promise<Turn> => {
    const fsync = probeFsync(directory);
    return { ...(await load.leases(server, { callers, seconds, warmUpSeconds })), fsync };
  };
  if (tipstaffFirst) return { tipstaff: await play(tipstaff), etcd: await play(etcd) };
  return { etcd: await play(etcd), tipstaff: await play(tipstaff) };
}

function printRound({ tipstaff, etcd }: Round): string {
  const side = ({ cyclesPerSecond, cycleP99Ms, fsync }: Turn) =>
    `${printNumber(cyclesPerSecond)}/s, p99 ${printNumber(cycleP99Ms)} ms (fsync ${printNumber(fsync.p50)} ms)`;
  const faster = printNumber(tipstaff.cyclesPerSecond / etcd.cyclesPerSecond);
  const later = printNumber(tipstaff.cycleP99Ms / etcd.cycleP99Ms);
  return `Tipstaff ${side(tipstaff)}, etcd ${side(etcd)}; ratio ${faster}, of p99 ${later}`;
}

function addRows(report: Report, callers: number, rounds: readonly Round[]): void {
  report.add(`${callersOf(callers)}: Tipstaff`, rowOf(rounds.map((round) => round.tipstaff)));
  report.add(`${callersOf(callers)}: etcd`, rowOf(rounds.map((round) => round.etcd)));
  report.add(`${callersOf(callers)}: median of the ratios`, {
    "cycles/s": ratioOf(rounds, (load) => load.cyclesPerSecond),
    "p50 ms": ratioOf(rounds, (load) => load.cycleP50Ms),
    "p99 ms": ratioOf(rounds, (load) => load.cycleP99Ms),
    "p99 of one call, ms": ratioOf(rounds, (load) => load.callP99Ms),
    "server CPU µs": ratioOf(rounds, serverMicroseconds),
  });
}

/** Medians over the rounds, but for the maximum, which is the worst of all. */
function rowOf(loads: readonly LeaseLoad[]): Row {
  const middle = (number: (load: LeaseLoad) => number) => median(loads.map(number));
  return {
    "cycles/s": middle((load) => load.cyclesPerSecond),
    "p50 ms": middle((load) => load.cycleP50Ms),
    "p99 ms": middle((load) => load.cycleP99Ms),
    "max ms": Math.max(...loads.map((load) => load.cycleMaxMs)),
    "p99 of one call, ms": middle((load) => load.callP99Ms),
    "server CPU µs": middle(serverMicroseconds),
    "generator CPU µs": middle((load) => (load.generatorCpuSeconds / load.cycles) * 1e6),
  };
}

function ratioOf(rounds: readonly Round[], number: (load: LeaseLoad) => number): number {
  return median(rounds.map(({ tipstaff, etcd }) => number(tipstaff) / number(etcd)));
}

function serverMicroseconds(load: LeaseLoad): number {
  return (load.serverCpuSeconds / load.cycles) * 1e6;
}

async function addNotes(
  report: Report,
  options: Options,
  rounds: readonly Round[],
  etcdPath: string,
): Promise<void> {
  const disk = rounds.flatMap(({ tipstaff, etcd }) => [tipstaff.fsync, etcd.fsync]);
  const p50 = median(disk.map((fsync) => fsync.p50));
  const p99 = median(disk.map((fsync) => fsync.p99));
  const { stdout } = await promisify(execFile)(etcdPath, ["--version"]);
  report.note(
    `${options.rounds} rounds of ${options.seconds} s for each server and number of callers; up to 8 connections; all values for one cycle unless they say otherwise`,
  );
  report.note(`${stdout.split("\n")[0]}, one node, fsync on; Tipstaff with a data directory`);
  report.note(
    `fsync probe before each turn: p50 ${printNumber(p50)} ms, p99 ${printNumber(p99)} ms`,
  );
}

function callersOf(callers: number): string {
  return callers === 1 ? "1 caller" : `${callers} callers`;
}

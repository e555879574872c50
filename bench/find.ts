/**
 * Finds are asked at a steady rate, over gRPC, of a registry full of agents: first alone, then while callers
 * take leases. A find is answered on the thread that grants leases, so what it costs them is the difference
 * between rounds with finds and rounds without, taken in turns.
 */
import { parseArgs } from "node:util";
import { buildLoad, type FindLoad, type Load } from "./load.ts";
import { median } from "./measure.ts";
import { printNumber, type Report, type Row, readCount } from "./report.ts";
import { daemonPath, openScratch, type Server, startDaemon } from "./servers.ts";

export const question = "How long does a find take, and what do leases notice of it?";

const warmUpSeconds = 3;

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  const { rounds, seconds, rate, callers } = options;
  const load = await buildLoad();
  for (const agents of options.agentCounts) {
    const label = `${agents.toLocaleString("en-US")} agents`;
    await using scratch = await openScratch();
    await using tipstaff = await startDaemon(scratch.path, options.daemon);
    const filled = await load.fill(tipstaff, agents);
    report.say(`${label}: ${printNumber(filled.agentsPerSecond)} registered a second`);
    const alone: FindLoad[] = [];
    for (let round = 1; round <= rounds; round++) {
      alone.push(await load.find(tipstaff, { rate, callers: 0, seconds, warmUpSeconds }));
    }
    report.add(`${label}: finds alone`, rowOf(alone));
    const { without, beside } = await inTurns(load, tipstaff, options);
    report.add(`${label}: ${callers} callers without finds`, rowOf(without));
    report.add(`${label}: ${callers} callers beside finds`, rowOf(beside));
    const ratios = beside.map((one, round) => one.callP99Ms / (without[round]?.callP99Ms ?? 0));
    report.add(`${label}: median of the ratios`, { "lease p99 ms": median(ratios) });
  }
  report.note(
    `${rate} finds a second, timed from when each was due; ${rounds} rounds of ${seconds} s for each row; medians, but for the maxima`,
  );
  report.note(
    "cards and queries of the evaluation, names numbered; ten agents an answer; CPU of the server is what it spent in a round",
  );
}

/** Who goes first changes with each round. */
async function inTurns(
  load: Load,
  server: Server,
  { rounds, seconds, rate, callers }: Options,
): Promise<{ readonly without: readonly FindLoad[]; readonly beside: readonly FindLoad[] }> {
  const without: FindLoad[] = [];
  const beside: FindLoad[] = [];
  for (let round = 0; round < rounds; round++) {
    const common = { callers, seconds, warmUpSeconds };
    const turns = [
      async () => without.push(await load.find(server, { ...common, rate: 0 })),
      async () => beside.push(await load.find(server, { ...common, rate })),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  return { without, beside };
}

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly rate: number;
  readonly callers: number;
  readonly agentCounts: readonly number[];
  readonly daemon: string;
};

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "5" },
      rate: { type: "string", default: "50" },
      callers: { type: "string", default: "16" },
      agents: { type: "string", default: "10000,100000" },
      daemon: { type: "string", default: daemonPath },
    },
  });
  return {
    rounds: readCount(values.rounds),
    seconds: readCount(values.seconds),
    rate: readCount(values.rate),
    callers: readCount(values.callers),
    agentCounts: values.agents.split(",").map(readCount),
    daemon: values.daemon,
  };
}

function rowOf(loads: readonly FindLoad[]): Row {
  const middle = (number: (load: FindLoad) => number) => median(loads.map(number));
  const hasFinds = loads.every(({ finds }) => finds > 0);
  const hasLeases = loads.every(({ cycles }) => cycles > 0);
  return {
    ...(hasFinds && {
      "find p50 ms": middle((load) => load.findP50Ms),
      "find p99 ms": middle((load) => load.findP99Ms),
      "find max ms": Math.max(...loads.map((load) => load.findMaxMs)),
    }),
    ...(hasLeases && {
      "lease cycles/s": middle((load) => load.cyclesPerSecond),
      "lease p50 ms": middle((load) => load.callP50Ms),
      "lease p99 ms": middle((load) => load.callP99Ms),
      "lease max ms": Math.max(...loads.map((load) => load.callMaxMs)),
    }),
    "server CPU s": middle((load) => load.serverCpuSeconds),
  };
}

/**
 * Jobs and events through four runtimes: ours and the Python SDK's, each with a log in memory and one in a file.
 * They take turns, every turn with a fresh process that is warmed up first, all under the same load
 * generator; who begins changes with each round. What counts is the median of the ratios within the rounds.
 */
import { parseArgs } from "node:util";
import {
  type ArcpServer,
  type Contestant,
  contestants,
  preparePython,
  processorSeconds,
  startArcpServer,
  watchResident,
} from "./arcp-servers.ts";
import { RawSession } from "./load/arcp-client.ts";
import { median, probeFsync, spreadOf } from "./measure.ts";
import { printNumber, type Report, type Row, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question =
  "How many jobs and events a second does the ARCP runtime carry, beside the Python SDK's?";

/** One runtime under one kind of load. An item is a job or an event. */
type Turn = {
  readonly items: number;
  readonly itemsPerSecond: number;
  readonly deliveriesPerSecond?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly serverMicros: number;
  readonly generatorMicros: number;
  readonly residentMBMax: number;
};

type Case = {
  readonly name: string;
  readonly play: (server: ArcpServer, contestant: Contestant) => Promise<Turn>;
};

type Round = ReadonlyMap<Contestant, Turn>;

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly events: number;
  readonly subscribers: number;
  readonly chosen: readonly Contestant[];
  /** A part of its name; all if empty. */
  readonly case: string;
};

/** What Python takes seconds for is asked of it in smaller number: rates are compared, not totals. */
const shares: Readonly<Record<Contestant, { owner: number; waiting: number; fanOut: number }>> = {
  "ours, durable": { owner: 1, waiting: 0.05, fanOut: 1 },
  "ours, memory": { owner: 1, waiting: 0.5, fanOut: 1 },
  "Python, SQLite": { owner: 0.05, waiting: 0.02, fanOut: 0.005 },
  "Python, memory": { owner: 1, waiting: 0.2, fanOut: 0.02 },
};

const aims = {
  jobsRatio: 1,
  eventsRatio: 3,
  memoryMicros: 10,
  durableMicros: 16,
} as const;

const warmUp = { seconds: 1, eventsShare: 0.3 } as const;

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  const python = await preparePython();
  await using scratch = await openScratch();
  const launch = { python, directory: scratch.path };
  const results = new Map<string, readonly Round[]>();
  const fsyncMs: number[] = [];
  for (const { name, play } of casesOf(options)) {
    const rounds: Round[] = [];
    for (let number = 0; number < options.rounds; number++) {
      fsyncMs.push(probeFsync(scratch.path).p50);
      const round = new Map<Contestant, Turn>();
      for (const contestant of rotate(options.chosen, number)) {
        await using server = await startArcpServer(contestant, launch);
        const turn = await play(server, contestant);
        round.set(contestant, turn);
        report.say(
          `${name}, round ${number + 1}: ${contestant} ${printNumber(turn.itemsPerSecond)}/s, server ${printNumber(turn.serverMicros)} µs, generator ${printNumber(turn.generatorMicros)} µs, ${printNumber(turn.residentMBMax)} MB`,
        );
      }
      rounds.push(round);
    }
    results.set(name, rounds);
    addRows(report, name, rounds);
  }
  report.note(
    `${options.rounds} rounds, each turn with a fresh process on loopback; jobs for ${options.seconds} s; medians; CPU for one job or event, over all its deliveries; MB is the most it had resident`,
  );
  report.note(
    `Python 3 with agentruntimecontrolprotocol 1.1.3; fsync probe before each round: p50 ${printNumber(median(fsyncMs))} ms`,
  );
  judgeSpeed(report, results);
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      events: { type: "string", default: "100000" },
      subscribers: { type: "string", default: "50" },
      only: { type: "string", default: "" },
      case: { type: "string", default: "" },
    },
  });
  return {
    rounds: readCount(values.rounds),
    seconds: readCount(values.seconds),
    events: readCount(values.events),
    subscribers: readCount(values.subscribers),
    chosen: contestants.filter((contestant) => contestant.startsWith(values.only)),
    case: values.case,
  };
}

function casesOf({ seconds, events, subscribers, case: part }: Options): readonly Case[] {
  const jobs = (agent: string, inFlight: number): Case["play"] => {
    return (server) => playJobs(server, { agent, inFlight, seconds });
  };
  const all: readonly Case[] = [
    { name: "quiet, 1 at a time", play: jobs("quiet", 1) },
    { name: "quiet, 64 at a time", play: jobs("quiet", 64) },
    { name: "echo, 64 at a time", play: jobs("echo", 64) },
    {
      name: "burst, its owner looks on",
      play: (server, contestant) =>
        playBurst(server, { count: events * shares[contestant].owner, subscribers: 0 }),
    },
    {
      name: "burst, waits after each",
      play: (server, contestant) =>
        playBurst(server, {
          count: events * shares[contestant].waiting,
          subscribers: 0,
          yields: true,
        }),
    },
    {
      name: `burst, ${subscribers} look on besides`,
      play: (server, contestant) =>
        playBurst(server, { count: events * shares[contestant].fanOut, subscribers }),
    },
  ];
  return all.filter(({ name }) => name.includes(part));
}

async function playJobs(
  server: ArcpServer,
  {
    agent,
    inFlight,
    seconds,
  }: { readonly agent: string; readonly inFlight: number; readonly seconds: number },
): Promise<Turn> {
  using session = await RawSession.open(server.url);
  await session.runJobs(agent, { inFlight, seconds: warmUp.seconds });
  const { value, ...cost } = await meter(server, () =>
    session.runJobs(agent, { inFlight, seconds }),
  );
  const { p50, p99 } = spreadOf(value.durationsMs);
  return turnOf(cost, { items: value.jobs, seconds: value.seconds, p50Ms: p50, p99Ms: p99 });
}

/** One job that says much. Its owner sees all of it, and so does everybody who subscribes to it. */
async function playBurst(
  server: ArcpServer,
  burst: { readonly count: number; readonly subscribers: number; readonly yields?: boolean },
): Promise<Turn> {
  const count = Math.ceil(burst.count);
  const input = { yields: burst.yields ?? false };
  using sessions = new DisposableStack();
  const opener = sessions.use(await RawSession.open(server.url));
  const owner = sessions.use(await RawSession.open(server.url));
  const warming = { ...input, count: Math.ceil(count * warmUp.eventsShare) };
  await owner.ended(await owner.submit("burst", warming));
  const watchers: RawSession[] = [];
  for (let number = 0; number < burst.subscribers; number++) {
    watchers.push(sessions.use(await RawSession.open(server.url)));
  }
  const jobId = await owner.submit("burst", { ...input, count, waits: true });
  for (const watcher of watchers) await watcher.subscribe(jobId);
  const before = owner.logEvents;
  const { value: seconds, ...cost } = await meter(server, async () => {
    const startedMs = performance.now();
    const allEnded = Promise.all([owner, ...watchers].map((session) => session.ended(jobId)));
    await opener.submit("go", null);
    await allEnded;
    return (performance.now() - startedMs) / 1_000;
  });
  for (const seen of [owner.logEvents - before, ...watchers.map((watcher) => watcher.logEvents)]) {
    if (seen !== count) throw new Error(`${seen} of ${count} events came from ${server.name}`);
  }
  return {
    ...turnOf(cost, { items: count, seconds }),
    deliveriesPerSecond: (count * (watchers.length + 1)) / seconds,
  };
}

type Cost = {
  readonly serverSeconds: number;
  readonly generatorSeconds: number;
  readonly residentMBMax: number;
};

async function meter<Value>(
  { pid }: ArcpServer,
  work: () => Promise<Value>,
): Promise<Cost & { readonly value: Value }> {
  const resident = watchResident(pid);
  const serverBefore = processorSeconds(pid);
  const generatorBefore = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(generatorBefore);
  const serverSeconds = processorSeconds(pid) - serverBefore;
  resident[Symbol.dispose]();
  return {
    value,
    serverSeconds,
    generatorSeconds: (user + system) / 1e6,
    residentMBMax: Math.max(...resident.samplesMB),
  };
}

function turnOf(
  { serverSeconds, generatorSeconds, residentMBMax }: Cost,
  { items, seconds, ...times }: { items: number; seconds: number; p50Ms?: number; p99Ms?: number },
): Turn {
  return {
    items,
    itemsPerSecond: items / seconds,
    ...times,
    serverMicros: (serverSeconds / items) * 1e6,
    generatorMicros: (generatorSeconds / items) * 1e6,
    residentMBMax,
  };
}

function addRows(report: Report, name: string, rounds: readonly Round[]): void {
  for (const contestant of contestants) {
    const turns = turnsOf(rounds, contestant);
    if (turns.length > 0) report.add(`${name}: ${contestant}`, rowOf(turns));
  }
}

function rowOf(turns: readonly Turn[]): Row {
  const middle = (number: (turn: Turn) => number | undefined): number =>
    median(turns.map((turn) => number(turn) ?? Number.NaN));
  return {
    "jobs or events": middle(({ items }) => items),
    "a second": middle(({ itemsPerSecond }) => itemsPerSecond),
    "deliveries/s": middle(({ deliveriesPerSecond }) => deliveriesPerSecond),
    "p50 ms": middle(({ p50Ms }) => p50Ms),
    "p99 ms": middle(({ p99Ms }) => p99Ms),
    "server CPU µs": middle(({ serverMicros }) => serverMicros),
    "generator CPU µs": middle(({ generatorMicros }) => generatorMicros),
    MB: middle(({ residentMBMax }) => residentMBMax),
  };
}

function turnsOf(rounds: readonly Round[], contestant: Contestant): readonly Turn[] {
  return rounds.flatMap((round) => round.get(contestant) ?? []);
}

function judgeSpeed(report: Report, results: ReadonlyMap<string, readonly Round[]>): void {
  for (const [name, rounds] of results) {
    const isJobs = name.endsWith("at a time");
    const least = isJobs ? aims.jobsRatio : aims.eventsRatio;
    for (const own of ["ours, durable", "ours, memory"] as const) {
      const ratios = ratiosOf(rounds, own, "Python, memory");
      if (ratios.length === 0) continue;
      const ratio = median(ratios);
      // An agent that waits until each of its words is on the disk has no like in Python.
      const isAim = !(name.includes("waits after each") && own === "ours, durable");
      judge(report, isAim ? ratio >= least : undefined, [
        `${name}: ${own} ${printNumber(ratio)} × Python, memory`,
        isAim ? `(aim: at least ${least})` : "(no aim: it waits for the disk each time)",
      ]);
    }
    const durable = ratiosOf(rounds, "ours, durable", "Python, SQLite");
    if (durable.length > 0) {
      report.note(`${name}: ours, durable ${printNumber(median(durable))} × Python, SQLite`);
    }
    if (!name.includes("its owner looks on")) continue;
    for (const [own, most] of [
      ["ours, memory", aims.memoryMicros],
      ["ours, durable", aims.durableMicros],
    ] as const) {
      const micros = median(turnsOf(rounds, own).map(({ serverMicros }) => serverMicros));
      if (Number.isNaN(micros)) continue;
      judge(report, micros <= most, [
        `server CPU for one event: ${own} ${printNumber(micros)} µs (aim: at most ${most})`,
      ]);
    }
  }
}

function ratiosOf(rounds: readonly Round[], one: Contestant, other: Contestant): readonly number[] {
  return rounds.flatMap((round) => {
    const [own, reference] = [round.get(one), round.get(other)];
    return own && reference ? own.itemsPerSecond / reference.itemsPerSecond : [];
  });
}

function judge(report: Report, passes: boolean | undefined, words: readonly string[]): void {
  const verdict = passes === undefined ? "for comparison" : passes ? "pass" : "**fail**";
  report.note(`${verdict}: ${words.join(" ")}`);
}

function rotate<Value>(values: readonly Value[], by: number): readonly Value[] {
  const at = by % values.length;
  return [...values.slice(at), ...values.slice(0, at)];
}

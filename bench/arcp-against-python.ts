/**
 * Jobs and events through four runtimes: ours and the Python SDK's, each with a log in memory and one in a file.
 * They take turns, every turn with a fresh process that is warmed up first, all under the same load
 * generator; who begins changes with each round. What counts is the median of the ratios within the rounds.
 */
import { setTimeout as sleep } from "node:timers/promises";
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
  readonly steadyEvents: number;
  readonly chosen: readonly Contestant[];
  readonly cases: readonly string[];
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
  /** From the middle of a million events to their end. */
  growthMB: 30,
  /** What a reader that does not read may cost, above what one that reads does. */
  stalledMB: 100,
} as const;

const warmUp = { seconds: 1, eventsShare: 0.3 } as const;
/** So long nothing moves before we call it still. */
const stillMs = 3_000;

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
  if (options.steadyEvents > 0) await judgeMemory(report, launch, options);
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      events: { type: "string", default: "100000" },
      subscribers: { type: "string", default: "50" },
      steady: { type: "string", default: "1000000" },
      only: { type: "string", default: "" },
      cases: { type: "string", default: "" },
    },
  });
  return {
    rounds: readCount(values.rounds),
    seconds: readCount(values.seconds),
    events: readCount(values.events),
    subscribers: readCount(values.subscribers),
    steadyEvents: Number(values.steady),
    chosen: contestants.filter((contestant) => contestant.startsWith(values.only)),
    cases: values.cases === "" ? [] : values.cases.split(","),
  };
}

function casesOf({ seconds, events, subscribers, cases }: Options): readonly Case[] {
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
  return cases.length === 0
    ? all
    : all.filter(({ name }) => cases.some((part) => name.includes(part)));
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
  await owner.submit("burst", { ...input, count: Math.ceil(count * warmUp.eventsShare) });
  await owner.ended();
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

/** What a runtime has in memory while one job says a million things, to a reader and to one that stops reading. */
async function judgeMemory(
  report: Report,
  launch: { readonly python: string; readonly directory: string },
  { steadyEvents, chosen }: Options,
): Promise<void> {
  for (const contestant of chosen) {
    const isOurs = contestant.startsWith("ours");
    if (contestant === "Python, SQLite") continue;
    const count = isOurs ? steadyEvents : steadyEvents / 10;
    const reading = await readAll(contestant, { launch, count });
    report.say(`${contestant}, read: ${printSamples(reading)}`);
    report.add(`${thousands(count)} events, read: ${contestant}`, memoryRow(reading));
    const stalled = await stopReading(contestant, { launch, count });
    report.say(`${contestant}, not read: ${printSamples(stalled)}`);
    report.add(`${thousands(count)} events, not read: ${contestant}`, memoryRow(stalled));
    if (!isOurs) continue;
    const growth = lastOf(reading) - middleOf(reading);
    judge(report, growth <= aims.growthMB, [
      `memory over ${thousands(count)} events that are read: ${contestant} ${printNumber(growth)} MB more at the end than in the middle (aim: at most ${aims.growthMB})`,
    ]);
    const excess = Math.max(...stalled) - Math.max(...reading);
    judge(report, excess <= aims.stalledMB, [
      `a reader that stops: ${contestant} ${printNumber(excess)} MB more than with one that reads (aim: at most ${aims.stalledMB}); all events came when it read on`,
    ]);
  }
}

type Steady = {
  readonly launch: { readonly python: string; readonly directory: string };
  readonly count: number;
};

async function readAll(contestant: Contestant, { launch, count }: Steady): Promise<number[]> {
  await using server = await startArcpServer(contestant, launch);
  using session = await RawSession.open(server.url);
  using resident = watchResident(server.pid);
  await session.submit("burst", { count });
  await session.ended();
  if (session.logEvents !== count) throw new Error(`${session.logEvents} of ${count} events came`);
  return [...resident.samplesMB];
}

/** Stops at once, waits until nothing moves any more, then reads on to the end. */
async function stopReading(contestant: Contestant, { launch, count }: Steady): Promise<number[]> {
  await using server = await startArcpServer(contestant, launch);
  using session = await RawSession.open(server.url);
  using resident = watchResident(server.pid);
  await session.submit("burst", { count });
  session.stopReading();
  await untilStill(server.pid);
  const ended = session.ended();
  session.readOn();
  await ended;
  if (session.logEvents !== count) throw new Error(`${session.logEvents} of ${count} events came`);
  return [...resident.samplesMB];
}

/** Until a process has hardly used a processor for a while. */
async function untilStill(pid: number): Promise<void> {
  for (;;) {
    const before = processorSeconds(pid);
    await sleep(stillMs);
    if (processorSeconds(pid) - before < (stillMs / 1_000) * 0.05) return;
  }
}

function memoryRow(samplesMB: readonly number[]): Row {
  return {
    MB: Math.max(...samplesMB),
    "MB at the start": samplesMB[0] ?? Number.NaN,
    "MB in the middle": middleOf(samplesMB),
    "MB at the end": lastOf(samplesMB),
  };
}

function middleOf(samples: readonly number[]): number {
  return samples[Math.floor(samples.length / 2)] ?? Number.NaN;
}

function lastOf(samples: readonly number[]): number {
  return samples.at(-1) ?? Number.NaN;
}

function printSamples(samples: readonly number[]): string {
  const step = Math.max(1, Math.floor(samples.length / 12));
  return `${samples
    .filter((_, index) => index % step === 0)
    .map(Math.round)
    .join(" ")} MB`;
}

function judge(report: Report, passes: boolean | undefined, words: readonly string[]): void {
  const verdict = passes === undefined ? "for comparison" : passes ? "pass" : "**fail**";
  report.note(`${verdict}: ${words.join(" ")}`);
}

function rotate<Value>(values: readonly Value[], by: number): readonly Value[] {
  const at = by % values.length;
  return [...values.slice(at), ...values.slice(0, at)];
}

function thousands(count: number): string {
  return count.toLocaleString("en-US");
}

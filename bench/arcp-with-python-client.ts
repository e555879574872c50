/**
 * What somebody gets who has a program with the Python SDK's client: the same program, a process of its own, against
 * our runtime and against Python's. The runtimes take turns, every turn with a fresh process of each; who begins
 * changes with each round.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  type ArcpServer,
  type Contestant,
  contestants,
  preparePython,
  processorSeconds,
  startArcpServer,
} from "./arcp-servers.ts";
import { median, probeFsync, spreadOf } from "./measure.ts";
import { printNumber, type Report, type Row, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question =
  "How many jobs and events a second does the Python SDK's client get, of our runtime and of Python's?";

const program = fileURLToPath(new URL("load/arcp-client.py", import.meta.url));

/** What `arcp-client.py` prints. An item is a job or an event. */
type Told = {
  readonly items: number;
  readonly seconds: number;
  /** Of each job. */
  readonly durationsMs: readonly number[];
  readonly clientSeconds: number;
};

type Turn = Told & { readonly serverSeconds: number };

type Case = { readonly name: string; readonly words: readonly string[] };

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly events: number;
  readonly chosen: readonly Contestant[];
  /** A part of its name; all if empty. */
  readonly case: string;
};

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  const python = await preparePython();
  await using scratch = await openScratch();
  const fsyncMs: number[] = [];
  for (const { name, words } of casesOf(options)) {
    const turns = new Map<Contestant, Turn[]>(options.chosen.map((each) => [each, []]));
    for (let number = 0; number < options.rounds; number++) {
      fsyncMs.push(probeFsync(scratch.path).p50);
      for (const contestant of rotate(options.chosen, number)) {
        await using server = await startArcpServer(contestant, { python, directory: scratch.path });
        const turn = await play(server, { python, words });
        turns.get(contestant)?.push(turn);
        const rate = printNumber(turn.items / turn.seconds);
        report.say(`${name}, round ${number + 1}: ${contestant} ${rate}/s`);
      }
    }
    for (const [contestant, all] of turns) report.add(`${name}: ${contestant}`, rowOf(all));
    compare(report, name, turns);
  }
  report.note(
    `${options.rounds} rounds, each turn with fresh processes on loopback; jobs of an agent that returns at once, for ${options.seconds} s; medians; CPU for one job or event`,
  );
  report.note(
    `Python 3 with agentruntimecontrolprotocol 1.1.3; fsync probe before each round: p50 ${printNumber(median(fsyncMs))} ms`,
  );
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "3" },
      events: { type: "string", default: "20000" },
      only: { type: "string", default: "" },
      case: { type: "string", default: "" },
    },
  });
  return {
    rounds: readCount(values.rounds),
    seconds: readCount(values.seconds),
    events: readCount(values.events),
    chosen: contestants.filter((contestant) => contestant.startsWith(values.only)),
    case: values.case,
  };
}

function casesOf({ seconds, events, case: part }: Options): readonly Case[] {
  const jobs = (inFlight: number): readonly string[] => {
    return ["jobs", `--in-flight=${inFlight}`, `--seconds=${seconds}`];
  };
  const all: readonly Case[] = [
    { name: "jobs, 1 at a time", words: jobs(1) },
    { name: "jobs, 64 at a time", words: jobs(64) },
    { name: "one job, its events", words: ["events", `--count=${events}`] },
  ];
  return all.filter(({ name }) => name.includes(part));
}

/** Warmed up by the same load before it counts. */
async function play(
  { url, pid }: ArcpServer,
  { python, words }: { readonly python: string; readonly words: readonly string[] },
): Promise<Turn> {
  const client = spawn(python, ["-B", program, `--url=${url}`, ...words], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const kill = (): void => void client.kill("SIGKILL");
  process.once("exit", kill);
  const ended = once(client, "close");
  const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
  const { value: ready } = await lines.next();
  if (ready !== "ready") throw new Error(`the client said: ${ready}`);
  const before = processorSeconds(pid);
  client.stdin.end("go\n");
  const { value: line } = await lines.next();
  const serverSeconds = processorSeconds(pid) - before;
  const [code] = await ended;
  process.off("exit", kill);
  if (code !== 0 || line === undefined) throw new Error(`the client ended with ${code}`);
  const told: Told = JSON.parse(line);
  return { ...told, serverSeconds };
}

function rowOf(turns: readonly Turn[]): Row {
  const middle = (number: (turn: Turn) => number): number => median(turns.map(number));
  const micros = (seconds: number, { items }: Turn): number => (seconds / items) * 1e6;
  const spread = ({ durationsMs }: Turn, which: "p50" | "p99"): number =>
    durationsMs.length > 0 ? spreadOf(durationsMs)[which] : Number.NaN;
  return {
    "jobs or events": middle(({ items }) => items),
    "a second": middle(({ items, seconds }) => items / seconds),
    "p50 ms": middle((turn) => spread(turn, "p50")),
    "p99 ms": middle((turn) => spread(turn, "p99")),
    "server CPU µs": middle((turn) => micros(turn.serverSeconds, turn)),
    "client CPU µs": middle((turn) => micros(turn.clientSeconds, turn)),
  };
}

/** Within the rounds, as everything that is compared here. */
function compare(
  report: Report,
  name: string,
  turns: ReadonlyMap<Contestant, readonly Turn[]>,
): void {
  for (const [one, other] of [
    ["ours, memory", "Python, memory"],
    ["ours, durable", "Python, memory"],
    ["ours, durable", "Python, SQLite"],
  ] as const) {
    const [own, theirs] = [turns.get(one) ?? [], turns.get(other) ?? []];
    if (own.length === 0 || theirs.length === 0) continue;
    const ratios = own.map((turn, round) => rateOf(turn) / rateOf(theirs[round] ?? turn));
    report.note(`${name}: ${one} ${printNumber(median(ratios))} × ${other}`);
  }
}

function rateOf({ items, seconds }: Turn): number {
  return items / seconds;
}

function rotate<Value>(values: readonly Value[], by: number): readonly Value[] {
  const at = by % values.length;
  return [...values.slice(at), ...values.slice(0, at)];
}

/**
 * What a hook costs its host, which waits for it twice at every tool; beside a shell that does nothing, and
 * beside the published program whose files we write. All take turns and are timed in the same way, by a
 * shell that starts them as a host does.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { commandFor } from "../src/cli/hosts/hooks-file.ts";
import {
  endWriter,
  installHook,
  isRunning,
  namesIn,
  PretendedHost,
  recordsIn,
  writerOf,
} from "../test/e2e/hooks.ts";
import { until } from "../test/e2e/processes.ts";
import { preparePeer } from "../test/interop/agent-status-peer.ts";
import { median } from "./measure.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question = "What does a hook cost the host that waits for it?";

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: "string", default: "60" }, emitter: { type: "string" } },
  });
  const rounds = readCount(values.rounds);
  await using scratch = await openScratch();
  const alive = await installIn(join(scratch.path, "alive"));
  const dead = await installIn(join(scratch.path, "dead"));
  const short = put(scratch.path, "short.json", {
    tool_name: "Bash",
    tool_input: { command: "ls" },
  });
  const long = put(scratch.path, "long.json", {
    tool_name: "Bash",
    tool_response: "word ".repeat(200_000),
  });
  await using host = new PretendedHost(alive);
  try {
    await host.fire("SessionStart");
    await until(() => recordsIn(alive)[0], "the file");
    const hook = (where: typeof alive): string =>
      commandFor(where.hook, "claude-code", "PostToolUse");
    const timed: Timed[] = [
      { name: "sh -c true", command: "true", input: short, env: alive.env },
      { name: "hook", command: hook(alive), input: short, env: alive.env },
      { name: "hook, event of 1 MB", command: hook(alive), input: long, env: alive.env },
      {
        name: "hook, writer dead",
        command: hook(dead),
        input: short,
        env: dead.env,
        after: async () => await endStarted(dead.emitters),
      },
      ...(await reference({ directory: scratch.path, input: short, emitter: values.emitter })),
    ];
    const samples = await takeTurns(timed, rounds);
    const [nothing = []] = samples.values();
    for (const [name, own] of samples) {
      report.add(name, {
        "p50 ms": median(own),
        "× sh -c true": median(own) / median(nothing),
        "fastest ms": Math.min(...own),
      });
    }
    report.note(
      `${rounds} rounds; each starts a shell that starts the hook, as hosts do. Aim: at most 8 × \`sh -c true\`.`,
    );
    if (values.emitter === undefined) {
      report.note(
        "The reference's hook is not in its published package; what it does at least is start Python and write.",
      );
    }
    await describeWriter(report, alive.emitters, writerOf(alive) ?? 0, host);
  } finally {
    await endWriter(alive);
    await endWriter(dead);
  }
}

type Timed = {
  readonly name: string;
  readonly command: string;
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  /** What is to be undone before the next. */
  readonly after?: () => Promise<void>;
};

async function takeTurns(
  timed: readonly Timed[],
  rounds: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const samples = new Map(timed.map(({ name }): [string, number[]] => [name, []]));
  // The first two rounds fill caches.
  for (let round = -2; round < rounds; round += 1) {
    for (const each of timed) {
      const ms = time(each);
      await each.after?.();
      if (round >= 0) samples.get(each.name)?.push(ms);
    }
  }
  return samples;
}

/** In milliseconds, from before the shell is started until it has ended. */
function time({ name, command, input, env }: Timed): number {
  const script =
    'exec 3>&1 >/dev/null; s=$EPOCHREALTIME; sh -c "$1" <"$2" 3>&-; c=$?; echo "$s $EPOCHREALTIME $c" >&3';
  const { stdout } = spawnSync("bash", ["-c", script, "bash", command, input], {
    env: { ...env, LC_ALL: "C" },
    encoding: "utf8",
  });
  const [from = 0, to = 0, code] = stdout.trim().split(" ").map(Number);
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return (to - from) * 1000;
}

async function installIn(directory: string): ReturnType<typeof installHook> {
  mkdirSync(directory);
  return await installHook(directory);
}

function put(directory: string, name: string, fields: object): string {
  const path = join(directory, name);
  const event = { session_id: "s1", hook_event_name: "PostToolUse", cwd: "/", ...fields };
  writeFileSync(path, JSON.stringify(event));
  return path;
}

/** The writer that a hook has just started, be it that it does not write yet; and all that it was to write. */
async function endStarted(emitters: string): Promise<void> {
  const isStarted = namesIn(emitters).some((name) => name === "starting" || name === "writer");
  if (!isStarted) throw new Error("the hook has started no writer");
  for (const name of ["starting", "writer"]) {
    const pid = Number.parseInt(read(join(emitters, name)), 10);
    if (pid > 0 && isRunning(pid)) {
      process.kill(pid, "SIGKILL");
      await until(() => !isRunning(pid), "its end");
    }
  }
  for (const name of ["starting", "writer"]) rmSync(join(emitters, name), { force: true });
  for (const name of namesIn(join(emitters, "queue"))) rmSync(join(emitters, "queue", name));
}

async function reference(options: {
  readonly directory: string;
  readonly input: string;
  readonly emitter: string | undefined;
}): Promise<readonly Timed[]> {
  const { directory, input, emitter } = options;
  const peer = await preparePeer();
  if ("unavailable" in peer) throw new Error(peer.unavailable);
  const status = join(directory, "theirs");
  const env = {
    PATH: process.env["PATH"],
    HOME: directory,
    AGENT_STATUS_DIR: status,
    PLUGIN_DATA: join(directory, "data"),
  };
  const words = [
    ...peer.command,
    "emit",
    "--agent-id",
    "a",
    "--agent-name",
    "n",
    "--lifecycle",
    "running",
  ];
  const published = { name: "reference, emit", command: words.join(" "), input, env };
  if (emitter === undefined) return [published];
  const command = `'${peer.python}' '${emitter}' hook --host-pid "$PPID"`;
  return [
    published,
    { name: "reference, hook", command, input, env: { ...env, PLUGIN_ROOT: dirname(emitter) } },
  ];
}

/** What stays behind the hooks while an agent is there. */
async function describeWriter(
  report: Report,
  emitters: string,
  pid: number,
  host: PretendedHost,
): Promise<void> {
  await until(() => read(join(emitters, "starting")) === "", "the queue to be empty");
  await sleep(2_000);
  const seconds = 10;
  const before = usageOf(pid);
  await sleep(seconds * 1_000);
  const after = usageOf(pid);
  const wakes = (after.switches - before.switches) / seconds;
  const cpu = ((after.ticks - before.ticks) / 100 / seconds) * 100;
  report.note(
    `The writer with one idle session, after these rounds: ${(after.kilobytes / 1000).toFixed(0)} MB resident, ` +
      `${wakes.toFixed(1)} wake-ups a second of its main thread, ${cpu.toFixed(2)} % of a core.`,
  );
  await host.fire("SessionEnd");
  const endedAtMs = performance.now();
  await until(() => !isRunning(pid), "the end of the writer");
  report.note(
    `It was gone ${((performance.now() - endedAtMs) / 1000).toFixed(1)} s after the last session.`,
  );
}

function usageOf(pid: number): {
  readonly switches: number;
  readonly ticks: number;
  readonly kilobytes: number;
} {
  const status = read(`/proc/${pid}/status`);
  const [, ...fields] = read(`/proc/${pid}/stat`).split(") ").join(" ").split(" ");
  const number = (pattern: RegExp): number => Number(pattern.exec(status)?.[1]);
  return {
    switches: number(/^voluntary_ctxt_switches:\s+(\d+)/m),
    ticks: Number(fields[12]) + Number(fields[13]),
    kilobytes: number(/VmRSS:\s+(\d+)/),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

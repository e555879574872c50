/**
 * What a command of the command line costs from start to end, against the same Node doing nothing. Commands
 * take turns, so that a busy machine is busy for all of them; the processor's time hardly depends on that.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "./measure.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch, startDaemon } from "./servers.ts";

export const question = "How long does a command take, compared with Node doing nothing?";

const root = fileURLToPath(new URL("..", import.meta.url));
const node = process.execPath;
const bundle = join(root, "dist/tipstaff.cjs");
const launcher = join(root, "bin/tipstaff");

type Sample = { readonly wallMs: number; readonly processorMs: number };

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { runs: { type: "string", default: "40" } },
  });
  const runs = readCount(values.runs);
  if (spawnSync(node, ["tools/build.ts"], { cwd: root, stdio: "inherit" }).status !== 0) {
    throw new Error("the bundle could not be built");
  }
  await using scratch = await openScratch();
  await using _daemon = await startDaemon(scratch.path);
  const asking = ["agents", "--data-dir", join(scratch.path, "tipstaff")];
  const commands: ReadonlyMap<string, readonly string[]> = new Map([
    ["node -e 0", [node, "-e", "0"]],
    ["the bundle, --help", [node, bundle, "--help"]],
    ["bin/tipstaff --help", [launcher, "--help"]],
    ["the bundle, agents", [node, bundle, ...asking]],
    ["bin/tipstaff agents", [launcher, ...asking]],
  ]);
  const samples = new Map([...commands.keys()].map((name): [string, Sample[]] => [name, []]));
  // The first two rounds fill caches, the compiled code's above all.
  for (let round = -2; round < runs; round += 1) {
    for (const [name, words] of commands) {
      const sample = time(words);
      if (round >= 0) samples.get(name)?.push(sample);
    }
  }
  const [idle = []] = samples.values();
  for (const [name, own] of samples) {
    report.add(name, {
      "p50 ms": median(own.map(({ wallMs }) => wallMs)),
      "× node -e 0": ratio(own, idle, ({ wallMs }) => wallMs),
      "processor p50 ms": median(own.map(({ processorMs }) => processorMs)),
      "× its processor time": ratio(own, idle, ({ processorMs }) => processorMs),
      "fastest ms": Math.min(...own.map(({ wallMs }) => wallMs)),
    });
  }
  report.note(
    `${runs} runs of each, taking turns. Budgets: --help 1.6 ×, a call to the daemon 2.2 ×.`,
  );
  report.note("`agents` asks a daemon in another process through its socket; it has no agents.");
}

function ratio(
  own: readonly Sample[],
  idle: readonly Sample[],
  of: (sample: Sample) => number,
): number {
  return median(own.map(of)) / median(idle.map(of));
}

/** As bash times it, without its own start. Throws if the command fails. */
function time(words: readonly string[]): Sample {
  const script = 'TIMEFORMAT="%3R %3U %3S"; time "$@" > /dev/null';
  const { status, stderr } = spawnSync("bash", ["-c", script, "bash", ...words]);
  const [wall = 0, user = 0, system = 0] = String(stderr).trim().split(" ").map(Number);
  if (status !== 0 || !(wall > 0)) throw new Error(`${words.join(" ")}: ${stderr}`);
  return { wallMs: wall * 1_000, processorMs: (user + system) * 1_000 };
}

/**
 * What a command of the command line costs from start to end, against the same Node doing nothing.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ratioOf, takeTurns } from "./commands.ts";
import { median } from "./measure.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch, startDaemon } from "./servers.ts";
import { putRecords } from "./status-records.ts";

export const question = "How long does a command take, compared with Node doing nothing?";

const root = fileURLToPath(new URL("..", import.meta.url));
const node = process.execPath;
const bundle = join(root, "dist/tipstaff.cjs");
const launcher = join(root, "bin/tipstaff");

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
  const records = join(scratch.path, "records");
  putRecords(records, 10);
  const daemon = ["--data-dir", join(scratch.path, "tipstaff")];
  const asking = ["agents", ...daemon];
  const looking = ["ps", "--status-dir", records];
  const commands: ReadonlyMap<string, readonly string[]> = new Map([
    ["node -e 0", [node, "-e", "0"]],
    ["the bundle, --help", [node, bundle, "--help"]],
    ["bin/tipstaff --help", [launcher, "--help"]],
    ["the bundle, agents", [node, bundle, ...asking]],
    ["bin/tipstaff agents", [launcher, ...asking]],
    ["bin/tipstaff ps, no daemon", ["env", `XDG_STATE_HOME=${scratch.path}`, launcher, ...looking]],
    ["bin/tipstaff ps", [launcher, ...looking, ...daemon]],
  ]);
  const samples = takeTurns(commands, { rounds: runs });
  const [idle = []] = samples.values();
  for (const [name, own] of samples) {
    report.add(name, {
      "p50 ms": median(own.map(({ wallMs }) => wallMs)),
      "× node -e 0": ratioOf(own, idle, ({ wallMs }) => wallMs),
      "processor p50 ms": median(own.map(({ processorMs }) => processorMs)),
      "× its processor time": ratioOf(own, idle, ({ processorMs }) => processorMs),
      "fastest ms": Math.min(...own.map(({ wallMs }) => wallMs)),
    });
  }
  report.note(
    `${runs} runs of each, taking turns. Budgets: --help 1.6 ×, a call to the daemon 2.2 ×.`,
  );
  report.note("`agents` asks a daemon in another process through its socket; it has no agents.");
  report.note("`ps` asks it too, reads 10 status files and looks at the machine's processes.");
  const frames = await firstFrames([launcher, "watch", "--status-dir", records, ...daemon], runs);
  report.add("bin/tipstaff watch, first frame", {
    "p50 ms": median(frames),
    "× node -e 0": median(frames) / median(idle.map(({ wallMs }) => wallMs)),
    "fastest ms": Math.min(...frames),
  });
  report.note(
    "The first frame is there when a terminal has been told of all agents. Budget: 150 ms.",
  );
}

/** From the start of a full screen until it shows its line of totals, in milliseconds each. */
async function firstFrames(words: readonly string[], runs: number): Promise<readonly number[]> {
  const framesMs: number[] = [];
  for (let round = -2; round < runs; round += 1) {
    const startMs = performance.now();
    // `script` is the terminal: a pipe would get lines instead of a screen.
    const child = spawn(
      "script",
      ["-qfec", `stty cols 120 rows 40; exec ${words.join(" ")}`, "/dev/null"],
      {
        env: { ...process.env, TERM: "xterm-256color" },
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    let shown = "";
    for await (const chunk of child.stdout) {
      shown += chunk;
      if (!/\d+ agents/.test(shown)) continue;
      if (round >= 0) framesMs.push(performance.now() - startMs);
      break;
    }
    if (!/\d+ agents/.test(shown)) throw new Error(`no frame: ${shown}`);
    child.stdin.end("q");
    await once(child, "close");
  }
  return framesMs;
}

/**
 * What it takes to list status files, beside the published program whose command line we took over. Both read
 * the same directory, draw the same table for 120 columns into nothing, and take turns, so that a busy
 * machine is busy for both; the processor's time hardly depends on that.
 */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { preparePeer } from "../test/interop/agent-status-peer.ts";
import { median } from "./measure.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";

export const question = "How long does it take to list status files, beside the reference?";

const root = fileURLToPath(new URL("..", import.meta.url));
const node = process.execPath;
const columns = "120";

type Sample = { readonly wallMs: number; readonly processorMs: number };

export async function run(report: Report, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: "string", default: "10,1000,10000" },
      rounds: { type: "string", default: "40,10,3" },
    },
  });
  const counts = values.files.split(",").map(readCount);
  const rounds = values.rounds.split(",").map(readCount);
  if (spawnSync(node, ["tools/build.ts"], { cwd: root, stdio: "inherit" }).status !== 0) {
    throw new Error("the bundle could not be built");
  }
  const peer = await preparePeer();
  if ("unavailable" in peer) throw new Error(peer.unavailable);
  await using scratch = await openScratch();
  const ours = [join(root, "bin/agent-status")];
  for (const [index, count] of counts.entries()) {
    const directory = join(scratch.path, String(count));
    putRecords(directory, count);
    const list = ["list", "--status-dir", directory];
    const commands: ReadonlyMap<string, readonly string[]> = new Map([
      ["reference", [...peer.command, ...list]],
      ["ours", [...ours, ...list]],
      ["ours, --json", [...ours, ...list, "--json"]],
    ]);
    const samples = takeTurns(commands, rounds[index] ?? 1);
    const [reference = []] = samples.values();
    for (const [name, own] of samples) {
      report.add(`${count} files: ${name}`, {
        "p50 ms": median(own.map(({ wallMs }) => wallMs)),
        "times faster": ratio(reference, own, ({ wallMs }) => wallMs),
        "processor p50 ms": median(own.map(({ processorMs }) => processorMs)),
        "less processor time": ratio(reference, own, ({ processorMs }) => processorMs),
        "fastest ms": Math.min(...own.map(({ wallMs }) => wallMs)),
      });
      report.say(`${count} files: ${name} done`);
    }
  }
  const turns = counts.map((count, index) => `${rounds[index] ?? 1} of ${count} files`);
  report.note(`rounds: ${turns.join(", ")}; a record has about 950 bytes; ${columns} columns`);
  report.note("aims: 10 files at least 2 times faster, 10,000 files at least 20 times");
}

function takeTurns(
  commands: ReadonlyMap<string, readonly string[]>,
  rounds: number,
): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map([...commands.keys()].map((name): [string, Sample[]] => [name, []]));
  // The first round fills caches, those of the disk and of compiled code.
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, words] of commands) {
      const sample = time(words);
      if (round >= 0) samples.get(name)?.push(sample);
    }
  }
  return samples;
}

/** How many times less the second takes than the first, at its median. */
function ratio(
  first: readonly Sample[],
  second: readonly Sample[],
  of: (sample: Sample) => number,
): number {
  return median(first.map(of)) / median(second.map(of));
}

/** As bash times it, without its own start. Throws if the command fails. */
function time(words: readonly string[]): Sample {
  const script = 'TIMEFORMAT="%3R %3U %3S"; time "$@" > /dev/null';
  const env = { ...process.env, COLUMNS: columns };
  const { status, stderr } = spawnSync("bash", ["-c", script, "bash", ...words], { env });
  const [wall = 0, user = 0, system = 0] = String(stderr).trim().split(" ").map(Number);
  if (status !== 0 || !(wall > 0)) throw new Error(`${words.join(" ")}: ${stderr}`);
  return { wallMs: wall * 1_000, processorMs: (user + system) * 1_000 };
}

const states = ["working", "input-required", "submitted", "completed"];

/** As the hooks of a coding agent write them, some of them long ago. */
function putRecords(directory: string, count: number): void {
  mkdirSync(directory);
  for (let index = 0; index < count; index += 1) {
    const id = `claude-code-${randomUUID().replaceAll("-", "")}`;
    const at = new Date(Date.now() - (index % 200) * 1_000).toISOString().replace(/\.\d+/, "");
    const record = {
      agent_id: id,
      agent_name: "claude-code",
      goal: {
        source: "initial-prompt",
        summary: `Make the build of service ${index} green again, and keep it so`,
        updated_at: at,
      },
      runtime: {
        last_activity_at: at,
        lifecycle: "running",
        pid: 2 + index,
        updated_at: at,
        workspace: `/home/user/src/project-${index}`,
      },
      schema_version: "agent-status/v1alpha1",
      task: {
        context_id: randomUUID(),
        id: `turn-${index}`,
        state: states[index % states.length],
        status_timestamp: at,
        summary: `Run the tests of module ${index}, read what fails, and fix it`,
      },
      x_meta: {
        claude_code: { model: "large", permission_mode: "default", session_id: randomUUID() },
        tmux_pane: `%${index}`,
        tmux_socket: "/tmp/tmux-1000/default",
      },
    };
    writeFileSync(join(directory, `${id}.json`), `${JSON.stringify(record, null, 2)}\n`);
  }
}

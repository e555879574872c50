/**
 * What it takes to list status files, beside the published program whose command line we took over. Both read
 * the same directory, draw the same table for 120 columns into nothing, and take turns, so that a busy
 * machine is busy for both; the processor's time hardly depends on that.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { preparePeer } from "../test/interop/agent-status-peer.ts";
import { ratioOf, takeTurns } from "./commands.ts";
import { median } from "./measure.ts";
import { type Report, readCount } from "./report.ts";
import { openScratch } from "./servers.ts";
import { putRecords } from "./status-records.ts";

export const question = "How long does it take to list status files, beside the reference?";

const root = fileURLToPath(new URL("..", import.meta.url));
const node = process.execPath;
const columns = "120";

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
    const samples = takeTurns(commands, {
      rounds: rounds[index] ?? 1,
      env: { COLUMNS: columns },
    });
    const [reference = []] = samples.values();
    for (const [name, own] of samples) {
      report.add(`${count} files: ${name}`, {
        "p50 ms": median(own.map(({ wallMs }) => wallMs)),
        "times faster": ratioOf(reference, own, ({ wallMs }) => wallMs),
        "processor p50 ms": median(own.map(({ processorMs }) => processorMs)),
        "less processor time": ratioOf(reference, own, ({ processorMs }) => processorMs),
        "fastest ms": Math.min(...own.map(({ wallMs }) => wallMs)),
      });
      report.say(`${count} files: ${name} done`);
    }
  }
  const turns = counts.map((count, index) => `${rounds[index] ?? 1} of ${count} files`);
  report.note(`rounds: ${turns.join(", ")}; a record has about 950 bytes; ${columns} columns`);
  report.note("aims: 10 files at least 2 times faster, 10,000 files at least 20 times");
}

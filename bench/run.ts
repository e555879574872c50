/**
 * Runs one bench, or all of them, and prints the table: `node bench/run.ts fan-out --seconds 3`.
 * With `--write` the table also goes into `README.md`.
 */
import { type Bench, TableReport, writeBetweenMarkers } from "./report.ts";

const benches: ReadonlyMap<string, () => Promise<Bench>> = new Map<string, () => Promise<Bench>>([
  ["leases-against-etcd", () => import("./leases-against-etcd.ts")],
  ["arcp-against-python", () => import("./arcp-against-python.ts")],
  ["arcp-with-python-client", () => import("./arcp-with-python-client.ts")],
  ["arcp-memory", () => import("./arcp-memory.ts")],
  ["fan-out", () => import("./fan-out.ts")],
  ["find", () => import("./find.ts")],
  ["decide-and-evolve", () => import("./decide-and-evolve.ts")],
  ["policy-checks", () => import("./policy-checks.ts")],
  ["append", () => import("./append.ts")],
  ["recovery", () => import("./recovery.ts")],
  ["cut", () => import("./cut.ts")],
  ["memory", () => import("./memory.ts")],
  ["client-overhead", () => import("./client-overhead.ts")],
  ["watch-resume", () => import("./watch-resume.ts")],
  ["command-start", () => import("./command-start.ts")],
  ["status-list", () => import("./status-list.ts")],
  ["hook-cost", () => import("./hook-cost.ts")],
]);

async function main(args: readonly string[]): Promise<void> {
  const [name = "", ...rest] = args;
  if (name !== "all" && !benches.has(name)) {
    console.error(
      `usage: node bench/run.ts all|${[...benches.keys()].join("|")} [--write] [options]`,
    );
    process.exitCode = 2;
    return;
  }
  const options = rest.filter((argument) => argument !== "--write");
  for (const [chosen, load] of benches) {
    if (name !== "all" && name !== chosen) continue;
    await runBench(chosen, await load(), { args: options, write: rest.includes("--write") });
  }
}

async function runBench(
  name: string,
  bench: Bench,
  { args, write }: { readonly args: readonly string[]; readonly write: boolean },
): Promise<void> {
  const report = new TableReport(bench.question);
  report.say(bench.question);
  await bench.run(report, args);
  console.log(`\n${report.toMarkdown()}\n`);
  if (!write) return;
  await writeBetweenMarkers(new URL("README.md", import.meta.url), name, report.toMarkdown());
}

// Ending by `exit` lets the servers that a bench has started end too; a bare signal leaves them.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
await main(process.argv.slice(2));

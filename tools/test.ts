/**
 * Runs all tests: first those that need the processor only, in one process, which saves the start of a process for
 * each file; then the others, two files at a time; then those that measure time. They get a temporary home directory,
 * so that whatever a daemon or another program writes there does not reach the user's own.
 */
import { spawn, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const cache = resolve("node_modules/.cache/tipstaff");
// Short, because the path of a Unix socket has at most 107 bytes.
const home = mkdtempSync(join(tmpdir(), "tipstaff-home-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));

/** Where the user says that state, settings and caches are; and the daemon that the user runs. */
const users =
  /^(?:XDG_(?:STATE|CONFIG|CACHE|DATA|RUNTIME)_|TIPSTAFF_(?!BROWSER$|NODE$)|AGENT_STATUS_|TMUX)/;

const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !users.test(name))),
  HOME: home,
  NODE_COMPILE_CACHE: join(cache, "compiled"),
  // The user may have said there where packages come from. npm says the same of its own settings.
  PIP_CONFIG_FILE:
    process.env["PIP_CONFIG_FILE"] ?? join(`${process.env["HOME"]}`, ".config/pip/pip.conf"),
};

/** Rooms whose tests hardly wait, and leave the state of their process as it was. */
const together =
  "src/{agent-status,client,core,doors/arcp,runtime,sightings,terminal,tracing,views,wire}/**/*.test.ts";

const others = [...globSync("{src,test}/**/*.test.ts", { exclude: [together] }), "bench/*.test.ts"];

const rounds: readonly (readonly string[])[] = [
  ["--test-isolation=none", together],
  ["--test-concurrency=2", ...others],
  ["--test-concurrency=1", "test/e2e/*.alone.ts"],
];

const reporters = ["spec", "./tools/skipped.ts"].flatMap((reporter) => [
  `--test-reporter=${reporter}`,
  "--test-reporter-destination=stdout",
]);

const preparing = spawn(process.execPath, ["test/prepare.ts"], { stdio: "ignore", env });

for (const words of rounds) {
  const flags = ["--test", "--test-timeout=240000", ...reporters, ...words];
  const { status } = spawnSync(process.execPath, flags, { stdio: "inherit", env });
  // The other rounds run all the same, so that one run shows every failure.
  if (status !== 0) process.exitCode = 1;
}
preparing.kill();

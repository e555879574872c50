/** Published Python packages, downloaded once and kept beside our dependencies. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

export type Wanted = {
  /** Of the directory that keeps them. */
  readonly name: string;
  /** As pip says it. */
  readonly packages: readonly string[];
  /** What else belongs into the directory. */
  readonly finish?: (directory: string) => Promise<void>;
};

/** What is in it, in a file that is written last. */
const mark = "ready";

const run = promisify(execFile);

/** The directory that has them; or why they cannot be had on this machine. */
export async function prepareEnvironment(
  wanted: Wanted,
): Promise<{ readonly directory: string } | { readonly unavailable: string }> {
  const cache = resolve("node_modules/.cache/tipstaff");
  const directory = join(cache, wanted.name);
  if (isReady(directory, wanted)) return { directory };
  // Made aside and moved when it is whole: it may be interrupted, and several tests may want it at once.
  const making = join(cache, `${wanted.name}-${process.pid}`);
  try {
    mkdirSync(making, { recursive: true });
    await makePython(join(making, "python"));
    await pip(making, "install", ...wanted.packages);
    await wanted.finish?.(making);
    writeFileSync(join(making, mark), contentsOf(wanted));
    if (!isReady(directory, wanted)) {
      rmSync(directory, { recursive: true, force: true });
      renameSync(making, directory);
    }
    return { directory };
  } catch (cause) {
    return { unavailable: `${wanted.name} cannot be had here: ${lastLineOf(cause)}` };
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** The Python interpreter that has the packages. */
export function pythonIn(directory: string): string {
  return join(directory, "python", "bin", "python");
}

export async function pip(directory: string, ...words: readonly string[]): Promise<void> {
  const quiet = ["--quiet", "--disable-pip-version-check"];
  await run(pythonIn(directory), ["-m", "pip", ...quiet, ...words], { maxBuffer: 2 ** 24 });
}

function contentsOf({ packages }: Wanted): string {
  return `${packages.join(" ")}\n`;
}

function isReady(directory: string, wanted: Wanted): boolean {
  const path = join(directory, mark);
  return existsSync(path) && readFileSync(path, "utf8") === contentsOf(wanted);
}

async function makePython(directory: string): Promise<void> {
  const make = (): Promise<unknown> => run("python3", ["-m", "venv", "--clear", directory]);
  try {
    await make();
  } catch (cause) {
    const lacksInstaller = /ensurepip|python3-venv/.test(outputOf(cause));
    if (!lacksInstaller || process.getuid?.() !== 0) throw cause;
    await run("apt-get", ["install", "-y", "python3-venv"]);
    await make();
  }
}

function outputOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { stdout, stderr } = cause as { stdout?: string; stderr?: string };
  return `${cause.message}\n${stdout ?? ""}\n${stderr ?? ""}`;
}

function lastLineOf(cause: unknown): string {
  return outputOf(cause).trim().split("\n").at(-1) ?? "";
}

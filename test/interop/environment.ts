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

export type Prepared = { readonly directory: string } | { readonly unavailable: string };

/** By name: tests of one file may want the same at once. */
const underWay = new Map<string, Promise<Prepared>>();

/** The directory that has them; or why they cannot be had on this machine. */
export function prepareEnvironment(wanted: Wanted): Promise<Prepared> {
  const known = underWay.get(wanted.name) ?? make(wanted);
  underWay.set(wanted.name, known);
  return known;
}

async function make(wanted: Wanted): Promise<Prepared> {
  const cache = resolve("node_modules/.cache/tipstaff");
  const directory = join(cache, wanted.name);
  if (isReady(directory, wanted)) return { directory };
  // Made aside and moved when it is whole: it may be interrupted, and several files may want it at once.
  const making = join(cache, `${wanted.name}-${process.pid}`);
  try {
    mkdirSync(making, { recursive: true });
    await makePython(making);
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
  const python = pythonIn(directory);
  const command = existsSync(join(directory, "python", "bin", "pip"))
    ? [python, "-m", "pip"]
    : machinesPip(python);
  const quiet = ["--quiet", "--disable-pip-version-check"];
  const [executable = "", ...before] = command;
  await run(executable, [...before, ...quiet, ...words], { maxBuffer: 2 ** 24 });
}

/** The one that came with the machine, installing elsewhere. */
function machinesPip(python: string): readonly string[] {
  return ["python3", "-m", "pip", "--python", python];
}

function contentsOf({ packages }: Wanted): string {
  return `${packages.join(" ")}\n`;
}

function isReady(directory: string, wanted: Wanted): boolean {
  const path = join(directory, mark);
  return existsSync(path) && readFileSync(path, "utf8") === contentsOf(wanted);
}

/** To give it a pip of its own takes five seconds of a processor, so only where the machine has none that will do. */
async function makePython(directory: string): Promise<void> {
  const makeWith = (...flags: readonly string[]): Promise<unknown> =>
    run("python3", ["-m", "venv", "--clear", ...flags, join(directory, "python")]);
  try {
    await makeWith("--without-pip");
    const [executable = "", ...words] = machinesPip(pythonIn(directory));
    await run(executable, [...words, "--version"]);
    return;
  } catch {
    // It is too old to install elsewhere, or is not there at all.
  }
  try {
    await makeWith();
  } catch (cause) {
    const lacksInstaller = /ensurepip|python3-venv/.test(outputOf(cause));
    if (!lacksInstaller || process.getuid?.() !== 0) throw cause;
    await run("apt-get", ["install", "-y", "python3-venv"]);
    await makeWith();
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

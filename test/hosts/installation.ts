/** A published coding agent, downloaded once and kept beside our dependencies. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { cached } from "../cache.ts";
import { type HostName, type Pinned, pinned } from "./versions.ts";

export type Installed = {
  /** What people type to start it. */
  readonly command: string;
  /** What must be on the path for that. */
  readonly path: string;
};

export type Unavailable = {
  readonly unavailable: string;
  /** Nobody offers it for machines like this one, so it is nobody's mistake either. */
  readonly isForeign: boolean;
};

/** The first start of a program of 400 MB, on a busy machine. */
const firstStartMs = 60_000;

const run = promisify(execFile);

/**
 * The host, ready to be started; or undefined, and the test is skipped by name and reason. Where everything
 * must run, only what nobody offers for this machine may be skipped.
 */
export async function needHost(t: TestContext, name: HostName): Promise<Installed | undefined> {
  const host = await installHost(name);
  if (!("unavailable" in host)) return host;
  const reason = skipWithout(host);
  if (reason !== false) t.skip(reason);
  return undefined;
}

/** Why tests that need it are skipped; false: they are not. The same holds where everything must run. */
export function skipWithout(host: Installed | Unavailable): string | false {
  if (!("unavailable" in host)) return false;
  assert(process.env["CI"] !== "true" || host.isForeign, host.unavailable);
  return host.unavailable;
}

/** Takes up to a minute the first time. Answers why it cannot be had on this machine, if so. */
export async function installHost(name: HostName): Promise<Installed | Unavailable> {
  const host = pinned[name];
  const called = `${host.package}@${host.version}`;
  try {
    const directory = await cached({
      name: `host-${name}`,
      version: called,
      make: (making) => download(making, host, called),
    });
    return { command: host.typed, path: join(directory, "bin") };
  } catch (cause) {
    return cause instanceof ForeignError
      ? { unavailable: `${called} is not offered for this platform`, isForeign: true }
      : { unavailable: `${called} cannot be had here: ${reasonOf(cause)}`, isForeign: false };
  }
}

/** Nobody offers the program for this platform. */
class ForeignError extends Error {}

async function download(directory: string, host: Pinned, called: string): Promise<void> {
  writeFileSync(join(directory, "package.json"), '{"private":true}\n');
  // The cache and logs of the user's own npm stay as they are.
  const cache = join(directory, "npm");
  const flags = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"];
  await run("npm", [
    ...["install", "--prefix", directory, "--cache", cache, "--logs-max=0", ...flags],
    ...["--save-exact", called],
  ]);
  rmSync(cache, { recursive: true, force: true });
  const program = await firstThatRuns(directory, host);
  if (program === undefined) throw new ForeignError();
  offer(directory, host, program);
}

/** By the name that people type, as an installation with its scripts would. */
function offer(directory: string, { typed }: Pinned, program: string): void {
  const path = join(directory, "bin");
  mkdirSync(path);
  // The directory is renamed later, so the program is found from where the script is.
  const node = program.endsWith(".js") ? `'${process.execPath}' ` : "";
  const script = `#!/bin/sh\nexec ${node}"\${0%/*}/../${program}" "$@"\n`;
  writeFileSync(join(path, typed), script, { mode: 0o755 });
}

/** There may be a second build for older processors; undefined if there is none at all. */
async function firstThatRuns(directory: string, host: Pinned): Promise<string | undefined> {
  const programs = globSync(`node_modules/${host.program}`, { cwd: directory }).toSorted();
  let last: unknown;
  for (const program of programs) {
    const [executable = "", ...words] = commandOf(directory, program);
    const env = { PATH: process.env["PATH"], HOME: directory };
    try {
      const options = { env, timeout: firstStartMs };
      const { stdout, stderr } = await run(executable, [...words, "--version"], options);
      // Not all say it in the same place.
      if (`${stdout}${stderr}`.includes(host.version)) return program;
      last = new Error(`it says it is ${stdout.trim()}`);
    } catch (cause) {
      last = cause;
    }
  }
  if (last !== undefined) throw last;
  return undefined;
}

/** A script runs on the Node that runs us. */
function commandOf(directory: string, program: string): readonly string[] {
  const path = join(directory, program);
  return program.endsWith(".js") ? [process.execPath, path] : [path];
}

/** npm says much before and after what went wrong. */
function reasonOf(cause: unknown): string {
  const lines = String(cause).trim().split("\n");
  return lines.findLast((line) => /^npm error [a-z]+ \w/.test(line)) ?? lines.at(-1) ?? "";
}

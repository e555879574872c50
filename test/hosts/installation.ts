/** A published coding agent, downloaded once and kept beside our dependencies. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
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

/** What is in the directory, in a file that is written last. */
const mark = "ready";

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
  const cache = resolve("node_modules/.cache/hosts");
  const directory = join(cache, name);
  if (isReady(directory, host)) return offer(directory, host);
  // Made aside and moved when it is whole: it may be interrupted, and several tests may want it at once.
  const making = join(cache, `${name}-${process.pid}`);
  try {
    mkdirSync(making, { recursive: true });
    writeFileSync(join(making, "package.json"), '{"private":true}\n');
    const quiet = [
      "--no-audit",
      "--no-fund",
      "--no-update-notifier",
      "--ignore-scripts",
      "--prefer-offline",
    ];
    await run("npm", ["install", "--prefix", making, ...quiet, "--save-exact", called]);
    const found = await firstThatRuns(making, host);
    if (found === undefined) {
      return { unavailable: `${called} is not offered for this platform`, isForeign: true };
    }
    writeFileSync(join(making, mark), found);
    if (!isReady(directory, host)) {
      rmSync(directory, { recursive: true, force: true });
      renameSync(making, directory);
    }
    return offer(directory, host);
  } catch (cause) {
    return { unavailable: `${called} cannot be had here: ${reasonOf(cause)}`, isForeign: false };
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** By the name that people type, as an installation with its scripts would. */
function offer(directory: string, { typed }: Pinned): Installed {
  const path = join(directory, "bin");
  const words = commandOf(directory, readFileSync(join(directory, mark), "utf8"));
  mkdirSync(path, { recursive: true });
  const script = `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")} "$@"\n`;
  writeFileSync(join(path, typed), script, { mode: 0o755 });
  return { command: typed, path };
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

function isReady(directory: string, host: Pinned): boolean {
  const path = join(directory, mark);
  if (!existsSync(path)) return false;
  const about = join(directory, "node_modules", host.package, "package.json");
  return existsSync(about) && readFileSync(about, "utf8").includes(`"version": "${host.version}"`);
}

/** npm says much before and after what went wrong. */
function reasonOf(cause: unknown): string {
  const lines = String(cause).trim().split("\n");
  return lines.findLast((line) => /^npm error [a-z]+ \w/.test(line)) ?? lines.at(-1) ?? "";
}

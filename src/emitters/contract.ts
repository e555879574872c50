/**
 * What every emitter must do that runs inside a host, as one suite; and the process that such a host would be.
 * What one host tells differently from the others is tested beside its emitter.
 */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../testing/manual-clock.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { readRecord, type StatusRecord, validateStrict } from "../wire/status-file/index.ts";
import type { Surroundings } from "./surroundings.ts";

/** 2023-11-14T22:13:20Z */
const start = 1_700_000_000_000;

/** A process as hosts are, in which the clock stands still. */
export class Place {
  readonly clock: ManualClock = new ManualClock(start);
  readonly surroundings: Surroundings;
  readonly #directory: string;
  readonly #leaving = new Set<() => void>();

  constructor(directory: string, env: Surroundings["env"] = {}) {
    this.#directory = directory;
    this.surroundings = {
      env: { AGENT_STATUS_DIR: directory, ...env },
      pid: process.pid,
      clock: this.clock,
      workingDirectory: () => "/project/elsewhere",
      onExit: (listener) => {
        this.#leaving.add(listener);
        return () => this.#leaving.delete(listener);
      },
    };
  }

  files(): readonly string[] {
    return readdirSync(this.#directory);
  }

  /** The one record that is there, and sound. */
  read(): StatusRecord {
    const [name = "", ...others] = this.files().filter((file) => file.endsWith(".json"));
    assert.deepEqual(others, [], "one file");
    const bytes = readFileSync(join(this.#directory, name));
    const { record, problem } = readRecord(bytes);
    assert(record, String(problem?.errors));
    assert.deepEqual(validateStrict(JSON.parse(String(bytes)), { fileName: name }), []);
    return record;
  }

  /** The process ends by itself. */
  exit(): void {
    for (const listener of this.#leaving) listener();
  }
}

/** One with a session that is open. Its disposal is its ordinary end. */
export type Host = Place & AsyncDisposable & { prompt(text: string): Promise<void> };

export function hostContract(name: string, open: (directory: string) => Promise<Host>): void {
  test(`[AS-22] [AS-23] ${name}: a heartbeat every 20 s changes when the file was written, and nothing else`, async () => {
    await using scratch = await temporaryDirectory();
    await using host = await open(scratch.path);
    await host.prompt("Do it");
    const before = host.read();
    host.clock.leap(19_999);
    await turn();
    assert.deepEqual(host.read(), before);
    for (const [leapMs, second] of [
      [1, "40"],
      [20_000, "00"],
      [20_000, "20"],
    ] as const) {
      host.clock.leap(leapMs);
      await until(() => host.read().runtime.updated_at.endsWith(`:${second}Z`));
      const { runtime, ...rest } = host.read();
      assert.deepEqual({ ...rest, runtime: before.runtime }, before);
      assert.equal(runtime.last_activity_at, before.runtime.last_activity_at);
    }
    assert.equal(host.files().length, 1, "no temporary file is left");
  });

  test(`[AS-26] ${name}: the file is gone when the host is done with us, and does not come back`, async () => {
    await using scratch = await temporaryDirectory();
    await using host = await open(scratch.path);
    for (let times = 0; times < 2; times++) {
      await host[Symbol.asyncDispose]();
      assert.deepEqual(host.files(), []);
    }
    host.clock.leap(20_000);
    await turn();
    await host.prompt("Too late");
    assert.deepEqual(host.files(), []);
    assert.equal(host.clock.sleepers, 0);
  });

  test(`[AS-26] ${name}: the file is gone when the process ends, also while one is being written`, async () => {
    await using scratch = await temporaryDirectory();
    await using host = await open(scratch.path);
    host.clock.leap(20_000);
    await turn();
    host.exit();
    assert.deepEqual(host.files(), []);
    await turn();
    assert.deepEqual(host.files(), []);
  });

  test(`[AS-27] ${name}: a directory that cannot be written to does not reach the host, and is tried again`, async () => {
    await using scratch = await temporaryDirectory();
    const directory = join(scratch.path, "blocked");
    writeFileSync(directory, "a file where the directory should be");
    await using host = await open(directory);
    await host.prompt("Do it");
    host.clock.leap(20_000);
    await turn();
    rmSync(directory);
    mkdirSync(directory);
    host.clock.leap(20_000);
    await until(() => host.files().some((file) => file.endsWith(".json")));
    assert.equal(host.read().task?.summary, "Do it");
    host.exit();
    assert.deepEqual(host.files(), []);
  });

  test(`[AS-27] ${name}: a directory that became read-only, or vanished, does not reach the host`, async () => {
    await using scratch = await temporaryDirectory();
    const directory = join(scratch.path, "d");
    await using host = await open(directory);
    chmodSync(directory, 0o500);
    await host.prompt("Do it");
    host.clock.leap(20_000);
    await turn();
    chmodSync(directory, 0o700);
    rmSync(directory, { recursive: true });
    await host.prompt("Do it again");
    host.exit();
  });

  test(`[AS-3] ${name}: a relative directory is the one it was when the host started`, async () => {
    await using scratch = await temporaryDirectory();
    const here = process.cwd();
    process.chdir(scratch.path);
    try {
      await using host = await open("status");
      process.chdir("/");
      await host.prompt("Do it");
      assert.equal(readdirSync(join(scratch.path, "status")).length, 1);
      await host[Symbol.asyncDispose]();
      assert.deepEqual(readdirSync(join(scratch.path, "status")), []);
    } finally {
      process.chdir(here);
    }
  });
}

/** What no host would hand over, and none must be harmed by. */
export const odd: readonly unknown[] = [
  undefined,
  null,
  7,
  "text",
  [],
  {},
  new Proxy({}, { get: refuse, ownKeys: refuse }),
  () => {},
];

function refuse(): never {
  throw new Error("do not touch");
}

export async function turn(): Promise<void> {
  await new Promise(setImmediate);
}

/** What is written in the background is there within a second, or never. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let left = 200; left > 0 && !isSo(); left--) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  assert(isSo());
}

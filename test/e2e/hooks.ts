/** A host that is not one: a process that runs our hook for the events that a test tells it, as a host would. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { commandFor } from "../../src/cli/hosts/hooks-file.ts";
import { readDirectory } from "../../src/status-files/index.ts";
import type { StatusRecord } from "../../src/wire/status-file/index.ts";
import { buildWriter } from "../../tools/writer.ts";
import { until } from "./processes.ts";

const hookSource = fileURLToPath(new URL("../../plugins/claude-code/hook", import.meta.url));

export type Installed = {
  /** The hook, in a folder as a plugin's is when a host has copied it. */
  readonly hook: string;
  readonly state: string;
  readonly status: string;
  readonly emitters: string;
  readonly env: NodeJS.ProcessEnv;
};

let bundle: Promise<Buffer> | undefined;

async function readBundle(directory: string): Promise<Buffer> {
  const path = join(directory, "bundle.cjs");
  await buildWriter(path);
  return readFileSync(path);
}

/** All in one directory, with blanks and a quote in every path. */
export async function installHook(
  directory: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Installed> {
  const folder = join(directory, "plug in's");
  const state = join(directory, "the state");
  mkdirSync(folder);
  cpSync(hookSource, join(folder, "hook"));
  bundle ??= readBundle(directory);
  writeFileSync(join(folder, "writer.cjs"), await bundle);
  return {
    hook: join(folder, "hook"),
    state,
    status: join(state, "agent-status"),
    emitters: join(state, "tipstaff", "emitters"),
    env: {
      PATH: process.env["PATH"],
      HOME: directory,
      XDG_STATE_HOME: state,
      TIPSTAFF_NODE: process.execPath,
      ...env,
    },
  };
}

export type HookRun = { readonly code: number; readonly said: string };

/** Reads `<event> <file>` line by line, runs the hook with the file as its input, and says how it went. */
const loop =
  'while read -r file; do read -r command; sh -c "$command" <"$file"; echo " exit $?"; done';

export class PretendedHost implements AsyncDisposable {
  readonly #installed: Installed;
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;
  readonly #directory: string;
  #count = 0;

  constructor(installed: Installed, name = "claude-code") {
    this.#installed = installed;
    this.#name = name;
    this.#directory = join(installed.hook, "..");
    this.#child = spawn("sh", ["-c", loop], {
      env: installed.env,
      cwd: this.#directory,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const { stdout } = this.#child;
    assert.ok(stdout);
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.#exited = once(this.#child, "exit");
  }

  get pid(): number {
    assert.ok(this.#child.pid);
    return this.#child.pid;
  }

  /** An event of session `s1`, unless it says another. */
  async fire(name: string, fields: Readonly<Record<string, unknown>> = {}): Promise<HookRun> {
    const event = { session_id: "s1", hook_event_name: name, cwd: "/", ...fields };
    return await this.send(name, JSON.stringify(event));
  }

  /** Whatever it is. */
  async send(name: string, body: string | Uint8Array): Promise<HookRun> {
    this.#count += 1;
    const file = join(this.#directory, `${this.pid}-${this.#count}.json`);
    writeFileSync(file, body);
    this.#child.stdin?.write(`${file}\n${commandFor(this.#installed.hook, this.#name, name)}\n`);
    let said = "";
    for (;;) {
      const { value, done } = await this.#lines.next();
      assert.ok(!done, "the host lives");
      const [, before = "", code] = /^(.*) exit (\d+)$/.exec(value) ?? [];
      if (code !== undefined) return { code: Number(code), said: said + before };
      said += `${value}\n`;
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

export function recordsIn(installed: Installed): readonly StatusRecord[] {
  return readDirectory(installed.status).files.map(({ record }) => record);
}

/** The process that writes; undefined if none does. */
export function writerOf({ emitters }: Installed): number | undefined {
  try {
    const [pid] = readFileSync(join(emitters, "writer"), "utf8").split(" ");
    return isRunning(Number(pid)) ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

/** Dead and not buried is dead. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Ends the writer, should a test have left one. */
export async function endWriter(installed: Installed): Promise<void> {
  const pid = writerOf(installed);
  if (pid === undefined) return;
  process.kill(pid, "SIGKILL");
  await until(() => !isRunning(pid), "the end of the writer");
}

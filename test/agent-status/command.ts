/** The executable as scripts call it, on a directory of its own. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { boundByPermissions } from "../../src/testing/unprivileged.ts";

export const executable: string = resolve("bin/agent-status");

export type Ended = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type RunOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly directory?: string;
  /** Whether permissions stop the program even if root runs it. */
  readonly isBoundByPermissions?: boolean;
};

/** Nothing of what whoever runs the tests has set, but for what finds programs. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = "", HOME = "/" } = process.env;
  return { PATH, HOME, ...more };
}

export async function runProgram(
  program: string,
  words: readonly string[],
  { env = {}, directory, isBoundByPermissions = false }: RunOptions = {},
): Promise<Ended> {
  const before = isBoundByPermissions ? boundByPermissions : [];
  const [file = "", ...rest] = [...before, program, ...words];
  const child = spawn(file, rest, {
    env: cleanEnv(env),
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const [code, signal] = await once(child, "close");
  return {
    code,
    signal,
    stdout: Buffer.concat(stdout).toString(),
    stderr: Buffer.concat(stderr).toString(),
  };
}

export async function run(words: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return await runProgram(executable, words, options);
}

/** What it printed; fails unless it ended well and said nothing else. */
export async function output(words: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(words, options);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, words.join(" "));
  return stdout;
}

export interface StatusDirectory extends Disposable {
  readonly path: string;
  readonly put: (name: string, content: unknown) => string;
  readonly read: (name: string) => string;
}

/** Values are written as JSON, texts and bytes as they are. */
export function statusDirectory(): StatusDirectory {
  const root = mkdtempSync(join(tmpdir(), "tipstaff-agent-status-"));
  const path = join(root, "s");
  mkdirSync(path);
  return {
    path,
    put: (name, content) => {
      const isRaw = typeof content === "string" || content instanceof Uint8Array;
      writeFileSync(join(path, name), isRaw ? content : JSON.stringify(content));
      return join(path, name);
    },
    read: (name) => readFileSync(join(path, name), "utf8"),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The time at which tests take place. */
export const now = "2026-06-20T16:50:00Z";

type Fields = Readonly<Record<string, unknown>>;

/** The least record, fresh at `now`, with what is given in addition. */
export function record({ runtime = {}, ...rest }: { readonly runtime?: Fields } & Fields = {}): {
  readonly [key: string]: unknown;
} {
  return {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    ...rest,
    runtime: { lifecycle: "running", updated_at: now, ...runtime },
  };
}

/** So long before `now`. */
export function ago(seconds: number): string {
  return new Date(Date.parse(now) - seconds * 1_000).toISOString();
}

/** What stands in the columns of a table, row by row; of several lines the first, but for the task. */
export function rowsOf(table: string): readonly {
  readonly task: readonly string[];
  readonly id: string;
  readonly name: string;
  readonly lifecycle: string;
  readonly state: string;
  readonly updated: string;
}[] {
  const lines = table
    .split("\n")
    .filter((line) => /^[|│]/.test(line) && !/^[|│][-─]+[+┼]/.test(line))
    .map((line) => line.slice(1, -1).split(/[|│]/))
    .slice(1);
  const rows: { task: string[]; cells: readonly string[] }[] = [];
  for (const [task = "", ...cells] of lines) {
    const isNext = cells.some((cell) => cell.trim() !== "");
    if (isNext) rows.push({ task: [task.trim()], cells });
    else rows.at(-1)?.task.push(task.trim());
  }
  return rows.map(({ task, cells }) => {
    const [id = "", name = "", lifecycle = "", state = "", updated = ""] = cells.map((cell) =>
      cell.trim(),
    );
    return { task, id, name, lifecycle, state, updated };
  });
}

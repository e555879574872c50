/** `tipstaff tasks`: queued work, and who is at it. */
import { readFileSync } from "node:fs";
import { paint, print, printable, printableLines, screen, type Tone } from "../terminal/index.ts";
import type { Task, TaskDetail, TaskState } from "../wire/api/index.ts";
import { findAgent } from "./agents.ts";
import { type Cell, type Column, printFacts } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { Failure, mistake, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { collect, printList, printOne, tally } from "./lists.ts";
import type { Values } from "./table.ts";
import { ago, bytesOf, countOf, forHowLong, left } from "./times.ts";
import { choiceIn, choicesIn, durationIn, numberIn, textIn, textsIn } from "./values.ts";

const states = ["delayed", "pending", "claimed", "completed", "cancelled", "dead"] as const;
const tones: Readonly<Record<TaskState, Tone | undefined>> = {
  delayed: "dim",
  pending: "warn",
  claimed: "good",
  completed: undefined,
  cancelled: "dim",
  dead: "bad",
};

export async function listTasks(values: Values): Promise<number> {
  const agent = textIn(values, "agent");
  const claimant = agent === undefined ? undefined : (await findAgent(values, agent)).id;
  const state = choicesIn(values, "state", states);
  const type = textIn(values, "type");
  const sort = choiceIn(values, "sort", ["attention", "newest", "oldest"]) ?? "attention";
  const filter = {
    ...(state ? { state } : {}),
    ...(type === undefined ? {} : { type }),
    ...(claimant === undefined ? {} : { claimant }),
  };
  const listed = await collect(values, "listTasks", { sort }, filter);
  const { nowMs } = listed;
  const columns: readonly Column<Task>[] = [
    { title: "STATE", cell: stateOf, weight: 10 },
    { title: "FOR", cell: (row) => forHowLong(nowMs - sinceMs(row)), weight: 7 },
    { title: "TYPE", cell: (row) => row.type, weight: 9, cellsMin: 8 },
    { title: "ID", cell: ({ id }) => id.slice(0, 8), weight: 8 },
    { title: "BY", cell: ({ claimantName }) => claimantName ?? "", weight: 6, cellsMin: 6 },
    { title: "NEXT", cell: (row) => nextOf(row, nowMs), weight: 5, cellsMin: 10 },
    { title: "TRIES", cell: triesOf, weight: 3 },
    { title: "NEEDS", cell: (row) => row.requiredTools.join(", "), weight: 2, cellsMin: 6 },
    { title: "WHY", cell: ({ failureReason }) => failureReason, weight: 4, cellsMin: 10 },
  ];
  return printList(values, listed, {
    columns,
    noun: ["task", "tasks"],
    empty: "no tasks; tipstaff tasks create queues one",
    counts: (rows) => tally(rows, (row) => row.state, ["dead", "pending", "claimed", "delayed"]),
  });
}

function stateOf({ state }: Task): Cell {
  return { text: state, tone: tones[state] };
}

function sinceMs(row: Task): number {
  return row.endedAtMs ?? row.claimedAtMs ?? row.createdAtMs;
}

function nextOf(row: Task, nowMs: number): string {
  if (row.state === "claimed" && row.claimExpiresAtMs !== undefined) {
    return left(row.claimExpiresAtMs, nowMs);
  }
  if (row.state === "delayed" && row.readyAtMs !== undefined) {
    return `in ${forHowLong(row.readyAtMs - nowMs)}`;
  }
  return "";
}

function triesOf({ retryCount, maxRetries }: Task): string {
  return maxRetries === 0 ? "" : `${retryCount} of ${maxRetries}`;
}

export async function getTask(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const only = choiceIn(values, "only", ["input", "output"]);
  const { id } = await findTask(values, word);
  const task = await call(values, "getTask", { taskId: id });
  if (only !== undefined) return writeBytes(Buffer.from(task[only], "base64"));
  const { nowMs } = await call(values, "getOverview", {});
  return printOne(values, task, (shown) => describe(shown, nowMs));
}

/** As they are, unless they would reach a terminal. */
function writeBytes(bytes: Buffer): number {
  if (screen().columns === undefined) print(bytes);
  else print(`${printableLines(bytes.toString())}\n`);
  return exits.ok;
}

function describe(task: TaskDetail, nowMs: number): string {
  const facts: (readonly [string, Cell])[] = [
    ["id", task.id],
    [
      "state",
      { text: `${task.state} for ${forHowLong(nowMs - sinceMs(task))}`, tone: tones[task.state] },
    ],
  ];
  const add = (name: string, text: string): void => {
    if (text !== "") facts.push([name, text]);
  };
  add("why", task.failureReason);
  add("by", task.claimant === undefined ? "" : `${task.claimantName ?? ""} (${task.claimant})`);
  add("next", nextOf(task, nowMs));
  add("created", ago(task.createdAtMs, nowMs));
  add("needs", task.requiredTools.join(", "));
  add("priority", String(task.priority));
  add("retries", triesOf(task));
  const most = task.deliveriesMax > 0 ? ` of ${task.deliveriesMax}` : "";
  add("claimed", `${countOf(task.deliveries, "time")}${most}, ${forHowLong(task.claimMs)} each`);
  add("input", preview(task.input));
  add("output", preview(task.output));
  return `${paint("bold", printable(task.type))}\n\n${printFacts(facts)}`;
}

/** The beginning of it if it is text, else how much there is. */
function preview(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length === 0) return "";
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.length <= limits.previewLengthMax
      ? text
      : `${text.slice(0, limits.previewLengthMax)}… (${bytesOf(bytes.length)})`;
  } catch {
    return `${bytesOf(bytes.length)} that are no text; --only writes them`;
  }
}

export async function createTask(values: Values, [type = ""]: readonly string[]): Promise<number> {
  const input = readInput(textIn(values, "input"));
  const requiredTools = textsIn(values, "tool");
  const numbers = {
    maxRetries: numberIn(values, "retries"),
    priority: numberIn(values, "priority"),
    deliveriesMax: numberIn(values, "deliveries"),
    claimMs: durationIn(values, "claim"),
    delayMs: durationIn(values, "delay"),
  };
  const given = Object.fromEntries(
    Object.entries(numbers).filter(([, value]) => value !== undefined),
  );
  const task = await call(
    values,
    "createTask",
    {
      type,
      ...(input === undefined ? {} : { input: input.toString("base64") }),
      ...(requiredTools ? { requiredTools } : {}),
      ...given,
    },
    { idempotencyKey: textIn(values, "key") },
  );
  return printOne(values, task, ({ id }) => `${printable(id)}\n`);
}

function readInput(text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined;
  const isFile = text.startsWith("@");
  if (!isFile && text !== "-") return Buffer.from(text);
  try {
    return readFileSync(isFile ? text.slice(1) : 0);
  } catch {
    const what = isFile ? text.slice(1) : "standard input";
    throw mistake(
      `${printable(what)} cannot be read; --input takes text, @file, or - for standard input`,
    );
  }
}

export async function cancelTask(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const task = await findTask(values, word);
  const by = task.claimantName === undefined ? "" : `, which ${task.claimantName} works on`;
  confirm(values, `Cancel ${task.type} ${task.id}${by}?`);
  const after = await call(values, "cancelTask", { taskId: task.id });
  return printOne(values, after, ({ id }) => `${printable(id)} is cancelled\n`);
}

export async function requeueTask(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const { id } = await findTask(values, word);
  const after = await call(values, "requeueTask", { taskId: id });
  return printOne(values, after, ({ state }) => `${printable(id)} is ${state} again\n`);
}

/** By its id, or the beginning of it. */
async function findTask(values: Values, word: string): Promise<Task> {
  try {
    return await call(values, "getTask", { taskId: word });
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "task_not_found") throw error;
    const { rows } = await call(values, "listTasks", { query: word, limit: limits.pageMax });
    const [task, ...others] = rows.filter(({ id }) => id.startsWith(word));
    if (!task) {
      const message = `there is no task ${printable(word)}`;
      throw new Failure(error.code, message, ["tipstaff tasks lists them"]);
    }
    if (others.length === 0) return task;
    const shown = [task, ...others].slice(0, limits.namesakesShownMax);
    throw no(
      `${printable(word)} is ${countOf(others.length + 1, "task")}; give the id of one`,
      ...shown.map(({ id, type, state }) => `${printable(id)}  ${printable(type)}  ${state}`),
      ...(others.length + 1 > shown.length ? ["…"] : []),
    );
  }
}

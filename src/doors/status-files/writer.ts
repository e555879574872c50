/**
 * One agent's own record: what it last said of itself, kept on disk and kept fresh. Whatever it says is
 * taken at once and written soon after; what comes while the disk works is written together. Once it is
 * open, nothing that goes wrong reaches the agent: `problem` says what it is, and the next write tries
 * again (agent-status, AS-22 to AS-28).
 */
import {
  type A2aLinks,
  type Goal,
  goalSource,
  type JsonObject,
  markKey,
  printRecord,
  printTimestamp,
  readRecord,
  type StatusRecord,
  schemaVersion,
  summarize,
  type Task,
  type TaskState,
  type Tmux,
  limits as wireLimits,
} from "../../wire/status-file/index.ts";
import type { Clock } from "./clock.ts";
import { requireSafeId, statusPath } from "./directory.ts";
import { StatusError } from "./errors.ts";
import { limits } from "./limits.ts";
import { readStatusFile } from "./read.ts";
import { removeFile, removeStatusFile, writeStatusFileInBackground } from "./write.ts";

export type Links = {
  readonly agentCardUrl?: string | undefined;
  readonly serviceUrl?: string | undefined;
};

export type TaskUpdate = {
  readonly id?: string | undefined;
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Shortened to 120 characters on one line. */
  readonly summary?: string | undefined;
};

/** What is absent stays as it is; null takes it away. */
export type StatusUpdate = {
  readonly task?: TaskUpdate | null | undefined;
  /** What the session is for: shortened like a task's summary. */
  readonly goal?: string | null | undefined;
  readonly a2a?: Links | null | undefined;
  /** By key: undefined takes one away. */
  readonly xMeta?: { readonly [key: string]: JsonObject[string] | undefined } | null | undefined;
};

export type WriterOptions = Pick<StatusUpdate, "goal" | "a2a" | "xMeta"> & {
  readonly id: string;
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
  /** Absolute. */
  readonly workspace: string | undefined;
  readonly pid: number;
  readonly tmux: Tmux | undefined;
  /** Waiting with it must not keep the program running. */
  readonly clock: Clock;
  /** Told once, when it writes no more. */
  readonly onEnd?: (() => void) | undefined;
};

export class StatusWriter implements AsyncDisposable {
  readonly id: string;
  readonly path: string;
  readonly #directory: string;
  readonly #tmux: Tmux | undefined;
  readonly #clock: Clock;
  #record: StatusRecord;
  /** As it was last put on disk. What is there besides is somebody else's, and stays. */
  #written: StatusRecord | undefined;
  #writtenAtMs = 0;
  #isDirty = true;
  #isClosed = false;
  #problem: Error | undefined;
  #temporary: string | undefined;
  #saving: Promise<void> = Promise.resolve();
  #beating: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #onEnd: (() => void) | undefined;

  private constructor(options: WriterOptions) {
    this.id = options.id;
    this.#directory = options.directory;
    this.path = statusPath(this.#directory, options.id);
    this.#tmux = options.tmux;
    this.#clock = options.clock;
    this.#onEnd = options.onEnd;
    this.#record = this.#begin(options);
  }

  /** Resolves when the file is there. Rejects, and leaves nothing, if it cannot be written. */
  static async open(options: WriterOptions): Promise<StatusWriter> {
    requireSafeId(options.id);
    const writer = new StatusWriter(options);
    await writer.flush();
    if (!writer.#written) throw writer.#problem;
    writer.#beating = writer.#beat();
    return writer;
  }

  /** Why the file does not say what was said last; undefined while it does. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  working(summary?: string): void {
    this.update({ task: { state: "working", summary } });
  }

  /** For a person: they have to answer, allow or decide something. */
  waiting(question?: string): void {
    this.update({ task: { state: "input-required", summary: question } });
  }

  /** Nothing to do. The goal stays. */
  idle(): void {
    this.update({ task: null });
  }

  update(update: StatusUpdate): void {
    if (this.#isClosed) return;
    try {
      this.#record = this.#changed(this.#record, update);
    } catch (error) {
      // Something that is no JSON. The rest of what was said before is still true.
      this.#problem = asError(error);
      return;
    }
    this.#isDirty = true;
    this.#wake?.();
  }

  /** Resolves when all that was said is on disk, or `problem` says why it is not. */
  flush(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save());
    return this.#saving;
  }

  /** Stops the heartbeat, then removes the file. Twice is fine, and nothing is thrown. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await Promise.all([this.#saving, this.#beating]);
    this.removeNow();
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  /** For a process that is about to end: nothing of ours runs after this. */
  removeNow(): void {
    this.#isClosed = true;
    try {
      if (this.#temporary !== undefined) removeFile(this.#temporary);
      if (!this.#isAnothers()) removeStatusFile(this.#directory, this.id);
    } catch (error) {
      this.#problem = asError(error);
    }
  }

  /** What others have added to an older record of this id, and what it was for, goes on. */
  #begin({ id, name, workspace, pid, goal, a2a, xMeta = {} }: WriterOptions): StatusRecord {
    const before = this.#found();
    const { last_activity_at: _, ...runtime } = before?.runtime ?? {};
    const start: StatusRecord = {
      ...before,
      schema_version: schemaVersion,
      agent_id: id,
      agent_name: name,
      runtime: {
        ...runtime,
        lifecycle: "running",
        updated_at: printTimestamp(this.#clock.nowMs()),
        pid,
        ...(workspace === undefined ? {} : { workspace }),
      },
      task: null,
    };
    const { runtime: opened } = start;
    return { ...this.#changed(start, { goal, a2a, xMeta }), runtime: opened };
  }

  #changed(record: StatusRecord, { task, goal, a2a, xMeta }: StatusUpdate): StatusRecord {
    const { task: oldTask, goal: oldGoal, a2a: oldLinks, x_meta: oldMeta, ...rest } = record;
    const now = printTimestamp(this.#clock.nowMs());
    const isActivity = task !== undefined || goal !== undefined;
    const newTask = task === undefined ? oldTask : task && taskOf(task, oldTask, now);
    const newGoal = goal === undefined ? oldGoal : goal && goalOf(goal, oldGoal, now);
    const newLinks = a2a === undefined ? oldLinks : a2a && linksOf(a2a);
    const newMeta = xMeta === undefined ? oldMeta : this.#metaOf(xMeta, oldMeta);
    return {
      ...rest,
      ...(isActivity ? { runtime: { ...rest.runtime, last_activity_at: now } } : {}),
      ...(newTask && hasKeys(newTask) ? { task: newTask } : {}),
      ...(newGoal ? { goal: newGoal } : {}),
      ...(newLinks && hasKeys(newLinks) ? { a2a: newLinks } : {}),
      ...(newMeta && hasKeys(newMeta) ? { x_meta: newMeta } : {}),
    };
  }

  /** Where it runs is not for the caller to say: both keys of tmux are ours, or nobody's. */
  #metaOf(xMeta: StatusUpdate["xMeta"], before: JsonObject | null | undefined): JsonObject {
    const copy: JsonObject = JSON.parse(JSON.stringify(xMeta ?? {}));
    const kept = xMeta === null ? {} : without(before ?? {}, Object.keys(xMeta ?? {}));
    return { ...without({ ...kept, ...copy }, ["tmux_socket", "tmux_pane"]), ...this.#tmux };
  }

  async #beat(): Promise<void> {
    while (!this.#isClosed) {
      const gapMs = this.#isDirty ? limits.writeGapMs : wireLimits.heartbeatMs;
      await this.#until(this.#writtenAtMs + gapMs);
      const sinceMs = this.#clock.nowMs() - this.#writtenAtMs;
      // A clock that was set back would otherwise stop the heart for as long.
      this.#isDirty ||= sinceMs >= wireLimits.heartbeatMs || sinceMs < 0;
      const isDue = sinceMs >= limits.writeGapMs || sinceMs < 0;
      if (this.#isDirty && isDue && !this.#isClosed) await this.flush();
    }
  }

  /** Until then, or until there is something to do. */
  async #until(atMs: number): Promise<void> {
    const waiting = new AbortController();
    this.#wake = () => waiting.abort();
    // Nobody wakes us for what was said before we slept.
    await this.#clock.until(atMs, waiting.signal).catch(() => {});
    this.#wake = undefined;
  }

  async #save(): Promise<void> {
    if (!this.#isDirty || this.#isClosed) return;
    this.#isDirty = false;
    this.#writtenAtMs = this.#clock.nowMs();
    try {
      this.#adopt();
      const updated_at = printTimestamp(this.#writtenAtMs);
      this.#record = { ...this.#record, runtime: { ...this.#record.runtime, updated_at } };
      const { record, errors } = fit(this.#record);
      await writeStatusFileInBackground(this.#directory, record, (path) => {
        this.#temporary = path;
      });
      this.#written = record;
      this.#problem = errors.length === 0 ? undefined : new StatusError("invalid_status", errors);
    } catch (error) {
      this.#problem = asError(error);
    }
  }

  /** What is under our name, but for what only its writer could say of it. */
  #found(): StatusRecord | undefined {
    const { record } = readStatusFile(this.path);
    if (record?.agent_id !== this.id) return undefined;
    const { x_meta: meta, ...rest } = record;
    return meta ? { ...rest, x_meta: without(meta, [markKey]) } : rest;
  }

  /** Other programs may add to a record what its agent does not know. */
  #adopt(): void {
    const written = this.#written;
    const theirs = written && this.#found();
    if (!theirs) return;
    const ours = this.#record;
    const { task: _, ...added } = additions(theirs, written);
    const addedMeta = without(theirs.x_meta ?? {}, Object.keys(written.x_meta ?? {}));
    this.#record = {
      ...added,
      ...ours,
      runtime: { ...additions(theirs.runtime, written.runtime), ...ours.runtime },
      ...(ours.goal ? { goal: { ...additions(theirs.goal, written.goal), ...ours.goal } } : {}),
      ...(ours.task ? { task: { ...additions(theirs.task, written.task), ...ours.task } } : {}),
      ...(ours.a2a ? { a2a: { ...additions(theirs.a2a, written.a2a), ...ours.a2a } } : {}),
      ...(ours.x_meta ? { x_meta: { ...addedMeta, ...ours.x_meta } } : {}),
    };
  }

  /** Whether another process has taken over the name. Its file is not ours to remove. */
  #isAnothers(): boolean {
    const { record } = readStatusFile(this.path);
    const pid = record?.runtime.pid;
    return pid !== undefined && pid !== this.#record.runtime.pid;
  }
}

function taskOf(update: TaskUpdate, before: Task | null | undefined, now: string): Task {
  const { state: oldState, summary: oldSummary, ...rest } = before ?? {};
  const state = update.state ?? oldState ?? undefined;
  const summary = update.summary === undefined ? oldSummary : summarize(update.summary);
  // A state begins once, however often it is said.
  const isNew = update.state !== undefined && update.state !== oldState;
  return {
    ...rest,
    ...(update.id === undefined ? {} : { id: update.id }),
    ...(update.contextId === undefined ? {} : { context_id: update.contextId }),
    ...(state === undefined ? {} : { state }),
    ...(summary ? { summary } : {}),
    ...(isNew ? { status_timestamp: now } : {}),
  };
}

function goalOf(text: string, before: Goal | null | undefined, now: string): Goal | undefined {
  const summary = summarize(text);
  if (summary === "") return undefined;
  if (before?.summary === summary) return before;
  return { summary, updated_at: now, source: goalSource };
}

function linksOf({ agentCardUrl, serviceUrl }: Links): A2aLinks {
  return {
    ...(agentCardUrl === undefined ? {} : { agent_card_url: agentCardUrl }),
    ...(serviceUrl === undefined ? {} : { service_url: serviceUrl }),
  };
}

/**
 * A part that no reader would take is left out, and the rest is written: better an agent without its goal
 * than no agent.
 */
function fit(record: StatusRecord): {
  readonly record: StatusRecord;
  readonly errors: readonly string[];
} {
  const errors = problemsOf(record);
  if (errors.length === 0) return { record, errors };
  const { schema_version, agent_id, agent_name, runtime, ...parts } = record;
  const { lifecycle, updated_at, pid, ...more } = runtime;
  let fitting: StatusRecord = {
    schema_version,
    agent_id,
    agent_name,
    runtime: { lifecycle, updated_at, ...(pid === undefined ? {} : { pid }) },
  };
  for (const [name, value] of Object.entries(more)) {
    const larger = { ...fitting, runtime: { ...fitting.runtime, [name]: value } };
    if (problemsOf(larger).length === 0) fitting = larger;
  }
  for (const [name, value] of Object.entries(parts)) {
    const larger = { ...fitting, [name]: value };
    if (problemsOf(larger).length === 0) fitting = larger;
  }
  return { record: fitting, errors };
}

/** Asks the reader itself. */
function problemsOf(record: StatusRecord): readonly string[] {
  try {
    return readRecord(Buffer.from(printRecord(record))).problem?.errors ?? [];
  } catch (error) {
    return [asError(error).message];
  }
}

/** What is in a file and was not in what we wrote. */
function additions(theirs: object | null | undefined, written: object | null | undefined): Fields {
  return without({ ...theirs }, Object.keys(written ?? {}));
}

type Fields = { readonly [key: string]: unknown };

function without<Value>(
  fields: { readonly [key: string]: Value },
  names: readonly string[],
): { readonly [key: string]: Value } {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function hasKeys(value: object): boolean {
  return Object.keys(value).length > 0;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * The opposite direction: registered agents as status files, for programs that read only those
 * (`--mirror-status`). Each is marked as ours, kept fresh while its agent is there, and removed with it; at
 * opening, those that an earlier daemon left are removed. An agent that writes its own says more than we know:
 * what is not marked as ours is neither replaced nor removed.
 */
import {
  type Activity,
  type Agent,
  type AgentId,
  openQuestionsOf,
  type State,
} from "../../core/index.ts";
import type { Plane, WatchEnd } from "../../plane/index.ts";
import {
  agentIdOf,
  type Clock,
  codeOf,
  readDirectoryInTurns,
  readStatusFile,
  removeFile,
  removeStatusFile,
  requireSafeId,
  statusPath,
  writeStatusFileInBackground,
} from "../../status-files/index.ts";
import {
  isMirrored,
  type JsonObject,
  markKey,
  marksOf,
  printTimestamp,
  type StatusFile,
  type StatusRecord,
  schemaVersion,
  summarize,
  type TaskState,
} from "../../wire/status-file/index.ts";
import { limits } from "./limits.ts";

export type MirrorOptions = {
  readonly directory: string;
  /** Waiting with it must not keep the program running. */
  readonly clock: Clock;
  readonly warn: (message: string, cause?: unknown) => void;
};

/** It says whose it is: another daemon's files are not ours to sweep while that one lives. */
const mark = { source: "registry", mirror: true, daemon: process.pid } as const;

/** Resolves when there is a file for everyone who is here. */
export async function openMirror(plane: Plane, options: MirrorOptions): Promise<AsyncDisposable> {
  const mirror = new Mirror(plane, options);
  const { files } = await readDirectoryInTurns(options.directory);
  sweep(files, options.warn);
  const { clock } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = Promise.all([
    follow(plane, mirror, { clock, signal }),
    beat(mirror, { clock, signal }),
  ]);
  await mirror.writeAll();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
      await mirror.close();
    },
  };
}

type Running = { readonly clock: Clock; readonly signal: AbortSignal };

/** Writes whenever an agent changes, asks, or gets an answer. Changes that were missed are in the state. */
async function follow(plane: Plane, mirror: Mirror, { clock, signal }: Running): Promise<void> {
  while (!signal.aborted) {
    const code = await followOnce(plane, mirror, signal);
    if (code === "closed" || code === "unavailable") return;
    // Whoever fell behind has room. Where there is none, asking on and on would make none.
    if (code !== "lagged") await pause(clock, signal);
  }
}

async function followOnce(
  plane: Plane,
  mirror: Mirror,
  signal: AbortSignal,
): Promise<WatchEnd["code"]> {
  using watch = plane.watch({
    wants: ({ event }) =>
      event.type.startsWith("agent.") ||
      ("question" in event && event.question.asker.of === "agent"),
  });
  const close = (): void => watch.close();
  signal.addEventListener("abort", close);
  try {
    for (;;) {
      await mirror.writeAll();
      const { end } = await watch.next();
      if (end) return end.code;
    }
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** As long as one is under way, none is added. */
async function beat(mirror: Mirror, { clock, signal }: Running): Promise<void> {
  for (;;) {
    await pause(clock, signal);
    if (signal.aborted) return;
    await mirror.writeAll();
  }
}

async function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  await clock.until(clock.nowMs() + limits.mirrorBeatMs, signal).catch(() => {});
}

class Mirror {
  readonly #plane: Plane;
  readonly #options: MirrorOptions;
  /** What there was to write of whom when we last did, but for its time. */
  readonly #seen = new Map<AgentId, { readonly text: string; readonly atMs: number }>();
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #failing: ReadonlySet<AgentId> = new Set();
  #isCrowded = false;

  constructor(plane: Plane, options: MirrorOptions) {
    this.#plane = plane;
    this.#options = options;
  }

  /** One after the other. Whoever asks before the next has begun shares it: it will see the same. */
  writeAll(): Promise<void> {
    this.#next ??= this.#last
      .then(() => {
        this.#next = undefined;
        return this.#write();
      })
      .catch((fault: unknown) => {
        this.#options.warn("the registry could not be mirrored", fault);
      });
    this.#last = this.#next;
    return this.#last;
  }

  async close(): Promise<void> {
    await this.#last;
    this.#tellOf(this.#removeAllBut(new Set()));
  }

  async #write(): Promise<void> {
    const { directory, clock, warn } = this.#options;
    const { records, total } = await this.#plane.read((state) => recordsOf(state));
    if (total > records.length && !this.#isCrowded) {
      warn(`only ${limits.mirroredMax} of ${total} agents have a status file`);
    }
    this.#isCrowded = total > records.length;
    const faults = this.#removeAllBut(new Set(records.map(([id]) => id)));
    const nowMs = clock.nowMs();
    for (const [id, about] of records) {
      const text = JSON.stringify(about);
      const last = this.#seen.get(id);
      if (last?.text === text && nowMs - last.atMs < limits.mirrorBeatMs / 2) continue;
      try {
        if (this.#isFree(id)) await writeStatusFileInBackground(directory, recordOf(about, nowMs));
        this.#seen.set(id, { text, atMs: nowMs });
      } catch (fault) {
        faults.set(id, fault);
      }
    }
    this.#tellOf(faults);
  }

  /** Answers with whose file could not be removed: that is tried again. */
  #removeAllBut(here: ReadonlySet<AgentId>): Map<AgentId, unknown> {
    const faults = new Map<AgentId, unknown>();
    for (const id of this.#seen.keys()) {
      if (here.has(id)) continue;
      try {
        if (this.#isFree(id)) removeStatusFile(this.#options.directory, id);
        this.#seen.delete(id);
      } catch (fault) {
        faults.set(id, fault);
      }
    }
    return faults;
  }

  /** Once for all that came with this pass: a full disk would otherwise be a line for each agent and event. */
  #tellOf(faults: ReadonlyMap<AgentId, unknown>): void {
    const news = [...faults.keys()].filter((id) => !this.#failing.has(id));
    this.#failing = new Set(faults.keys());
    const [first] = news;
    if (first === undefined) return;
    const which =
      news.length === 1
        ? `the status file of ${first}`
        : `${news.length} status files, one of them that of ${first},`;
    this.#options.warn(`${which} could not be kept`, faults.get(first));
  }

  /** Whether there is no file of that name, or one of ours: no other is ours to touch. */
  #isFree(id: AgentId): boolean {
    requireSafeId(id);
    const { record, problem } = readStatusFile(statusPath(this.#options.directory, id));
    return record ? isLeftToUs(record) : /^(?:ENOENT|ENOTDIR)$/.test(problem.errors[0] ?? "");
  }
}

/**
 * Removes what earlier daemons left, so it comes before there is a mirror of our own. What a record says of itself
 * names no file: it goes by the path it was read from.
 */
export function sweep(files: readonly StatusFile[], warn: MirrorOptions["warn"]): void {
  for (const { path, record } of files) {
    if (agentIdOf(path) !== record.agent_id || !isLeftToUs(record)) continue;
    try {
      removeFile(path);
    } catch (fault) {
      warn(`${path} was left behind and cannot be removed`, fault);
    }
  }
}

/** Mirrored by us, or by a daemon that is no more. */
export function isLeftToUs(record: StatusRecord): boolean {
  return isMirrored(record) && !isLivingDaemon(marksOf(record)["daemon"]);
}

function isLivingDaemon(pid: unknown): boolean {
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0) return false;
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It is there, and another user's.
    return codeOf(error) === "EPERM";
  }
}

type About = {
  readonly agent: Agent;
  readonly activity: Activity | undefined;
};

function recordsOf(state: State): {
  readonly records: readonly (readonly [AgentId, About])[];
  readonly total: number;
} {
  const { registry } = state;
  const records: (readonly [AgentId, About])[] = [];
  for (const agent of registry.agents.values()) {
    if (records.length === limits.mirroredMax) break;
    // Whoever is not heard of goes stale as a file does: nobody writes it.
    if (agent.liveness !== "alive") continue;
    records.push([agent.id, { agent, activity: activityOf(state, agent) }]);
  }
  return { records, total: registry.counts.alive };
}

/** An agent with an open question is shown as waiting, whatever else it reports. */
function activityOf({ registry, questions }: State, { id }: Agent): Activity | undefined {
  const [question] = openQuestionsOf(questions, { of: "agent", agentId: id });
  if (!question) return registry.activities.get(id);
  return { state: "waiting", note: question.prompt, sinceMs: question.askedAtMs };
}

function recordOf({ agent, activity }: About, nowMs: number): StatusRecord {
  const meta: JsonObject = { [markKey]: mark };
  const state = activity && taskStateOf(activity);
  return {
    schema_version: schemaVersion,
    agent_id: agent.id,
    agent_name: summarize(agent.card.name) || agent.id,
    runtime: {
      lifecycle: "running",
      updated_at: printTimestamp(nowMs),
      ...(activity ? { last_activity_at: printTimestamp(activity.sinceMs) } : {}),
    },
    ...(activity && state
      ? {
          task: {
            state,
            ...(activity.note === "" ? {} : { summary: summarize(activity.note) }),
            status_timestamp: printTimestamp(activity.sinceMs),
          },
        }
      : {}),
    x_meta: meta,
  };
}

function taskStateOf({ state }: Activity): TaskState | undefined {
  switch (state) {
    case "waiting":
      return "input-required";
    case "thinking":
    case "reading":
    case "writing":
      return "working";
    case "idle":
      return undefined;
  }
}

/**
 * What hooks have handed over. A hook writes the event as it comes to `<pid>.body`, and when that is whole,
 * a `<pid>.head` with what it knows itself: fields that each end in a zero byte, the last of which is a dot.
 * So one process less is started than by writing to a temporary name and moving it.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import {
  type HostEvent,
  type HostName,
  hostOf,
  isHostName,
  readEvent,
} from "../../wire/host-events/index.ts";
import { namesIn, partsOf, readWhole, removeFile } from "./files.ts";
import { limits } from "./limits.ts";

export type Queued = {
  readonly host: HostName;
  readonly event: HostEvent;
  /** When the hook was done. */
  readonly atMs: number;
  /** Who ran the hook. */
  readonly pid: number;
  /** Of the hook, as far as it matters. */
  readonly env: {
    readonly TMUX: string;
    readonly TMUX_PANE: string;
    readonly AGENT_STATUS_DIR: string;
  };
  readonly workingDirectory: string;
};

type Entry = { readonly path: string; readonly atMs: number; readonly order: number };

/**
 * Calls `hear` with each event, the oldest first, and takes it away when that has returned: who dies in between
 * hears it once more.
 */
export function drain(directory: string, hear: (queued: Queued) => void): void {
  for (const entry of entriesIn(directory)) {
    const bytes = readWhole(`${entry.path}.head`, limits.headBytesMax);
    // Nobody will ever read it.
    if (!bytes) remove(entry.path);
    const head = bytes?.toString().split("\0") ?? [];
    // Seen between its creation and its writing: it will be told of again.
    if (head.at(-2) !== ".") continue;
    const queued = readQueued(head, entry);
    try {
      if (queued) hear(queued);
    } finally {
      remove(entry.path);
    }
  }
}

/** Whether nothing is to be taken from it. */
export function isEmpty(directory: string): boolean {
  return !namesIn(directory).some((name) => name.endsWith(".head"));
}

/** Takes away what a hook left that was killed before it was done, and what no session came for. */
export function sweep(directory: string, nowMs: number): void {
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    const { mtimeMs = nowMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (nowMs - mtimeMs > limits.unfinishedMs) removeFile(path);
  }
}

/** Hooks of one session follow each other, but may do so within one tick of the clock of the file system. */
function entriesIn(directory: string): readonly Entry[] {
  return namesIn(directory)
    .filter((name) => name.endsWith(".head"))
    .flatMap((name) => {
      const path = join(directory, name.slice(0, -".head".length));
      const stats = statSync(`${path}.head`, { throwIfNoEntry: false });
      return stats ? [{ path, atMs: stats.mtimeMs, order: Number.parseInt(name, 10) }] : [];
    })
    .sort((one, other) => one.atMs - other.atMs || one.order - other.order)
    .slice(0, limits.queueFilesMax);
}

function readQueued(head: readonly string[], { path, atMs }: Entry): Queued | undefined {
  const [version, name = "", pid, tmux, pane, statusDirectory, workingDirectory, ...plugin] = head;
  const event = version === "1" ? readEvent(partsOf(`${path}.body`)) : undefined;
  if (!event) return undefined;
  const [root, data, claudeRoot, claudeData] = plugin;
  const found = hostOf({
    PLUGIN_ROOT: root,
    PLUGIN_DATA: data,
    CLAUDE_PLUGIN_ROOT: claudeRoot,
    CLAUDE_PLUGIN_DATA: claudeData,
  });
  return {
    host: isHostName(name) ? name : found,
    event,
    atMs,
    pid: Number(pid),
    env: { TMUX: tmux ?? "", TMUX_PANE: pane ?? "", AGENT_STATUS_DIR: statusDirectory ?? "" },
    workingDirectory: workingDirectory || "/",
  };
}

/** The head last: a body without one is nobody's until it is swept, a head without a body is taken away at once. */
function remove(path: string): void {
  removeFile(`${path}.body`);
  removeFile(`${path}.head`);
}

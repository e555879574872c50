/** Processes of Linux, from `/proc`: a few microseconds each, and no other process. */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
} from "node:fs";
import { limits } from "../limits.ts";
import { isDaemon, mentionsProgram, type Recognised, recognise } from "./programs.ts";

/** A process that is recognised, with what the kernel tells of it. */
export type Raw = Recognised & {
  readonly pid: number;
  readonly parent: number;
  readonly startedAtMs: number;
  /** The kernel's own time of its start: the same for ever, whatever the clock does. */
  readonly startTicks?: string;
  readonly workspace?: string;
  /** What of its environment tells where it is and where it keeps its records. */
  readonly env: Readonly<Record<string, string>>;
};

/** Ticks of a second, as Linux tells them to programs, on all machines of today. */
const ticksPerSecond = 100;

/** All at once, because to read the command lines is most of the work. */
export type Survey = {
  readonly raws: readonly Raw[];
  /** Whether a daemon of ours is among them. */
  readonly hasDaemon: boolean;
};

export function readProc(root: string = "/proc"): Survey {
  const buffer = Buffer.allocUnsafe(limits.environBytesMax);
  const own = process.getuid?.() ?? 0;
  const found: Raw[] = [];
  let bootAtMs: number | undefined;
  let hasDaemon = false;
  for (const name of namesIn(root)) {
    const command = commandOf(`${root}/${name}/cmdline`);
    hasDaemon ||= isDaemon(command);
    if (!mentionsProgram(command)) continue;
    const words = command.replace(/\0+$/, "").split("\0");
    const recognised = recognise(words, () => linkOf(`${root}/${name}/exe`));
    if (!recognised || !isOwn(`${root}/${name}`, own)) continue;
    const stat = statOf(readStart(`${root}/${name}/stat`, buffer, limits.statBytesMax));
    if (!stat) continue;
    bootAtMs ??= readBoot(root);
    if (bootAtMs === undefined) break;
    const workspace = linkOf(`${root}/${name}/cwd`);
    found.push({
      ...recognised,
      pid: Number(name),
      parent: stat.parent,
      startedAtMs: bootAtMs + (Number(stat.startTicks) * 1_000) / ticksPerSecond,
      startTicks: stat.startTicks,
      // The directory may have been deleted under it.
      ...(workspace?.startsWith("/") && !workspace.endsWith(" (deleted)") ? { workspace } : {}),
      env: envIn(readStart(`${root}/${name}/environ`, buffer, limits.environBytesMax)),
    });
    if (found.length === limits.processesMax) break;
  }
  return { raws: found, hasDaemon };
}

function namesIn(root: string): readonly string[] {
  try {
    return readdirSync(root).filter((name) => /^[1-9]\d*$/.test(name));
  } catch {
    return [];
  }
}

/** Empty for what is gone, or not ours to read. */
function readStart(path: string, buffer: Buffer, bytesMax: number): string {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    let length = 0;
    while (length < bytesMax) {
      const read = readSync(file, buffer, length, bytesMax - length, null);
      if (read === 0) break;
      length += read;
    }
    return buffer.toString("utf8", 0, length);
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Words with zeros between them. Read in one call, which is half the cost of all of this: the kernel bounds
 * how much there is.
 */
function commandOf(path: string): string {
  try {
    return readFileSync(path, "utf8").slice(0, limits.commandLengthMax);
  } catch {
    return "";
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Agents of others wait for others. Root is told of all, as everywhere. */
function isOwn(path: string, own: number): boolean {
  try {
    return own === 0 || statSync(path).uid === own;
  } catch {
    return false;
  }
}

/** The name stands in brackets, and may itself hold brackets and blanks: the fields begin after the last. */
function statOf(
  text: string,
): { readonly parent: number; readonly startTicks: string } | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, startTicks] = [fields[0], fields[1], fields[19]];
  // A zombie is only remembered.
  if (state === "Z" || !parent || !startTicks || !/^\d+$/.test(startTicks)) return undefined;
  return { parent: Number(parent), startTicks };
}

function readBoot(root: string): number | undefined {
  const buffer = Buffer.allocUnsafe(limits.bootBytesMax);
  const seconds = /^btime (\d+)$/m.exec(readStart(`${root}/stat`, buffer, buffer.length))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** The rest is none of our business. */
const telling = new Set([
  "HOME",
  "TMUX",
  "TMUX_PANE",
  "CLAUDE_CONFIG_DIR",
  "CODEX_HOME",
  "XDG_DATA_HOME",
]);

function envIn(text: string): Readonly<Record<string, string>> {
  const told = text.split("\0").flatMap((line) => {
    const at = line.indexOf("=");
    const name = line.slice(0, at);
    return telling.has(name) ? [[name, line.slice(at + 1)] as const] : [];
  });
  return Object.fromEntries(told);
}

/**
 * Changes to other programs' files: shown first, written whole or not at all, with a copy of what was there.
 *
 * The copy is named after what replaced it, `settings.json.tipstaff-backup-<sum of the new text>`, so that as
 * long as nobody else has changed the file, taking our part out again gives back the same bytes.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { no } from "./failure.ts";
import type { FileChange } from "./hosts/index.ts";
import { limits } from "./limits.ts";
import { diffLines } from "./line-diff.ts";
import { printPath } from "./paths.ts";
import { paint, type Tone } from "./terminal.ts";
import { printable } from "./text.ts";
import { countOf } from "./times.ts";

const tones: Readonly<Record<string, Tone>> = { "+": "good", "-": "bad", " ": "dim" };

/** For people: the file, what happens to it, and the lines that come and go. */
export function printChange({ path, before, after, says }: FileChange): string {
  const what = before === undefined ? "new file" : after === undefined ? "goes" : "changes";
  const lines = diffLines(before ?? "", after ?? "");
  const shown = lines
    .slice(0, limits.diffLinesMax)
    .map(({ sign, text }) => paint(tones[sign], `  ${sign} ${printable(text)}`));
  const left = lines.length - shown.length;
  if (left > 0) shown.push(paint("dim", `    … and ${countOf(left, "more line")}`));
  const title = `${paint("bold", printable(printPath(path)))} ${what}: ${says}`;
  return `${[title, ...shown].join("\n")}\n`;
}

/** As it was before we came, if what is there now is what we made of it. */
export function asItWas(change: FileChange): FileChange {
  const kept = change.before === undefined ? undefined : read(backupOf(change.path, change.before));
  return kept === undefined
    ? change
    : { ...change, after: kept, says: `${change.says}, as it was` };
}

/**
 * Whether our part comes, is there already, or goes. Only what is without it is worth a copy, and that is of
 * use only as long as our part is there.
 */
export type Purpose = "install" | "renew" | "remove";

/** Writes it, and answers where the copy is of what was there. */
export function applyChange(change: FileChange, purpose: Purpose): string | undefined {
  const { path, before, after } = change;
  if (read(path) !== before) {
    const advice = "nothing was changed; try again";
    throw no(`${printPath(path)} has just been changed by somebody else`, advice);
  }
  try {
    const backup = keep(change, purpose);
    write(path, after);
    if (purpose === "remove" && before !== undefined) remove(backupOf(path, before));
    return backup;
  } catch (error) {
    const isSystem = error instanceof Error && "code" in error;
    const reason = isSystem ? String(error.code) : messageOf(error);
    throw no(`cannot write ${printPath(path)}: ${reason}`, "nothing was changed");
  }
}

function keep({ path, before, after }: FileChange, purpose: Purpose): string | undefined {
  if (before === undefined || after === undefined || purpose === "remove") return undefined;
  const backup = backupOf(path, after);
  if (purpose === "install") {
    write(backup, before);
    return backup;
  }
  const older = backupOf(path, before);
  if (read(older) === undefined) return undefined;
  renameSync(older, backup);
  return backup;
}

function backupOf(path: string, after: string): string {
  const sum = createHash("sha256").update(after).digest("hex").slice(0, 12);
  return `${path}.tipstaff-backup-${sum}`;
}

/** Through a link, which stays one; with the rights that the file had. */
function write(path: string, text: string | undefined): void {
  const target = followLinks(path);
  if (text === undefined) {
    unlinkSync(target);
    return;
  }
  const stats = statSync(target, { throwIfNoEntry: false });
  if (stats && (stats.mode & 0o222) === 0) throw new Error("it is read-only");
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  try {
    const file = openSync(temporary, "wx", stats ? stats.mode & 0o777 : 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, target);
  } catch (error) {
    remove(temporary);
    throw error;
  }
}

function followLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Not there, or a link to something that is not: then that is what is to be made.
  }
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return path;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never there.
  }
}

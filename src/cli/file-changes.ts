/**
 * Changes to other programs' files: all or none, each file whole as it was or whole as it shall be at any
 * moment, with a copy of what was there.
 *
 * First everything is written beside its place, where most of what can go wrong does; then it is moved there.
 * The copy is named after what replaced it, `settings.json.tipstaff-backup-<sum of the new text>`, so that as
 * long as nobody else has changed the file, taking our part out again gives back the same bytes.
 */
import { createHash } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Failure, no } from "./failure.ts";
import { readText } from "./hosts/file-text.ts";
import type { FileChange } from "./hosts/index.ts";
import { printPath } from "./paths.ts";

/**
 * Whether our part comes, is there already, or goes. Only what is without it is worth a copy, and that is of
 * use only as long as our part is there.
 */
export type Purpose = "install" | "renew" | "remove";

export type PurposefulChange = FileChange & { readonly purpose: Purpose };

/** As it was before we came, if what is there now is what we made of it. */
export function asItWas(change: FileChange): FileChange {
  const kept = change.before === undefined ? undefined : read(backupOf(change.path, change.before));
  return kept === undefined ? change : { ...change, after: kept, says: "as it was before install" };
}

/** Throws a `Failure` if it is plain already that the file cannot be written. */
export function checkWritable({ path }: FileChange): void {
  trying(path, () => {
    const target = followLinks(path);
    const stats = statSync(target, { throwIfNoEntry: false });
    // Whoever may do everything is not stopped by this, and yet somebody meant it.
    if (stats && (stats.mode & 0o222) === 0) throw new Error("it is read-only");
    if (stats) accessSync(target, constants.W_OK);
    accessSync(firstExisting(dirname(target)), constants.W_OK | constants.X_OK);
  });
}

/** Makes all of them or none, and answers where the copies are of what was there. Throws a `Failure`. */
export function applyChanges(changes: readonly PurposefulChange[]): readonly string[] {
  const staged: Staged[] = [];
  const done = new Set<Staged>();
  try {
    for (const change of changes) staged.push(stage(change));
    for (const each of staged) {
      commit(each);
      done.add(each);
    }
  } catch (error) {
    const stuck = staged.filter((each) => !undo(each, { isDone: done.has(each) }));
    if (stuck.length === 0 || !(error instanceof Failure)) throw error;
    const names = stuck.map(({ change }) => printPath(change.path)).join(", ");
    throw no(error.message, `already changed, and could not be changed back: ${names}`);
  }
  // Only now is there nothing to undo any more.
  for (const { obsolete } of staged) if (obsolete !== undefined) remove(obsolete);
  return staged.flatMap(({ backup }) => backup?.target ?? []);
}

/** A change that only has to be moved into its place. */
type Staged = {
  readonly change: PurposefulChange;
  readonly backup: Draft | undefined;
  /** Absent where the file goes. */
  readonly draft: Draft | undefined;
  /** A copy that will be of no use any more. */
  readonly obsolete: string | undefined;
};

function stage(change: PurposefulChange): Staged {
  const { path, before, after, purpose } = change;
  checkWritable(change);
  removeLeftovers(path);
  removeLeftovers(followLinks(path));
  const older = before === undefined ? undefined : backupOf(path, before);
  const kept = purpose === "install" ? before : older && read(older);
  const isCopied = purpose !== "remove" && after !== undefined && kept !== undefined;
  const backup = isCopied ? new Draft(backupOf(path, after), kept) : undefined;
  try {
    const draft = after === undefined ? undefined : new Draft(path, after);
    return { change, backup, draft, obsolete: purpose === "install" ? undefined : older };
  } catch (error) {
    backup?.discard();
    throw error;
  }
}

function commit({ change: { path, before }, backup, draft }: Staged): void {
  if (read(path) !== before) {
    const advice = "nothing was changed; try again";
    throw no(`${printPath(path)} has just been changed by somebody else`, advice);
  }
  backup?.move();
  if (draft) draft.move();
  else trying(path, () => unlinkSync(followLinks(path)));
}

/** Answers whether all is as it was. */
function undo(
  { change, backup, draft }: Staged,
  { isDone }: { readonly isDone: boolean },
): boolean {
  const { path, before } = change;
  try {
    if (isDone && before !== undefined) new Draft(path, before).move();
    else draft?.discard();
  } catch {
    return false;
  }
  backup?.discard();
  return true;
}

/** Text beside its place: through a link, which stays one, and with the owner and the rights that the file had. */
class Draft {
  readonly target: string;
  readonly #temporary: string;
  /** Directories that were made for it, the innermost first. */
  readonly #made: readonly string[];
  #isMoved = false;

  constructor(path: string, text: string) {
    this.target = followLinks(path);
    this.#temporary = temporaryFor(this.target);
    this.#made = trying(path, () => makeDirectory(dirname(this.target)));
    try {
      trying(path, () => this.#write(text));
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  move(): void {
    trying(this.target, () => renameSync(this.#temporary, this.target));
    this.#isMoved = true;
  }

  discard(): void {
    remove(this.#isMoved ? this.target : this.#temporary);
    for (const directory of this.#made) removeDirectory(directory);
  }

  #write(text: string): void {
    const stats = statSync(this.target, { throwIfNoEntry: false });
    remove(this.#temporary);
    const file = openSync(this.#temporary, "wx", stats ? stats.mode & 0o777 : 0o600);
    try {
      if (stats) fchmodSync(file, stats.mode & 0o777);
      // Else a host could not read its own settings any more.
      if (stats && process.getuid?.() === 0) fchownSync(file, stats.uid, stats.gid);
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

function temporaryFor(target: string): string {
  return join(dirname(target), `.${basename(target)}.tipstaff-${process.pid}.tmp`);
}

/** Of those who were killed while they wrote this file or its copy. */
function removeLeftovers(path: string): void {
  const names = existsSync(dirname(path)) ? readdirSync(dirname(path)) : [];
  for (const name of names.filter((each) => each.startsWith(`.${basename(path)}.tipstaff-`))) {
    const [, pid] = /-(\d+)\.tmp$/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) remove(join(dirname(path), name));
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Somebody else's, but there.
    return codeOf(error) === "EPERM";
  }
}

function backupOf(path: string, after: string): string {
  const sum = createHash("sha256").update(after).digest("hex").slice(0, 12);
  return `${path}.tipstaff-backup-${sum}`;
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
    return resolve(path);
  }
}

function firstExisting(directory: string): string {
  return existsSync(directory) ? directory : firstExisting(dirname(directory));
}

function makeDirectory(directory: string): readonly string[] {
  const first = mkdirSync(directory, { recursive: true, mode: 0o700 });
  const made: string[] = [];
  for (let each = directory; first && each.startsWith(first); each = dirname(each)) made.push(each);
  return made;
}

function read(path: string): string | undefined {
  try {
    return readText(path);
  } catch {
    return undefined;
  }
}

/** What the system refuses is a `Failure` that names the file. */
function trying<Value>(path: string, doing: () => Value): Value {
  try {
    return doing();
  } catch (error) {
    const reason = codeOf(error) ?? (error instanceof Error ? error.message : String(error));
    throw no(`cannot write ${printPath(path)}: ${reason}`, "nothing was changed");
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never there.
  }
}

function removeDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Somebody else uses it by now.
  }
}

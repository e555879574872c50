/** How a command ends that cannot do what it was asked: a line each of what is wrong, on standard error. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join("; "));
    this.lines = lines;
  }
}

/** What the system has against it, in few words. */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const words = reasons[code];
  if (words !== undefined) return words;
  if (code !== "") return code;
  return error instanceof Error ? error.message : String(error);
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EISDIR: "is a directory",
  EEXIST: "something else has that name",
  ENOSPC: "no space left",
  EDQUOT: "no space left",
  EROFS: "read-only file system",
  ELOOP: "symlink loop",
  ENAMETOOLONG: "name too long",
};

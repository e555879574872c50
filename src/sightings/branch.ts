/** The branch that is checked out in a directory, as git keeps it on disk; no other process is run. */
import { statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { readText } from "./disk.ts";
import { limits } from "./limits.ts";

/** The branch, or the beginning of the commit if none is; undefined outside of any repository. */
export function branchOf(directory: string): string | undefined {
  if (!isAbsolute(directory)) return undefined;
  let at = resolve(directory);
  for (let depth = 0; depth < limits.folderDepthMax; depth++) {
    const repository = repositoryIn(at);
    if (repository !== undefined) return headOf(repository);
    const above = dirname(at);
    if (above === at) return undefined;
    at = above;
  }
  return undefined;
}

/** A worktree and a submodule have a file there that says where the rest is. */
function repositoryIn(directory: string): string | undefined {
  const path = join(directory, ".git");
  try {
    if (statSync(path).isDirectory()) return path;
  } catch {
    return undefined;
  }
  const [, target] = /^gitdir: (.+)$/m.exec(readText(path, limits.gitBytesMax) ?? "") ?? [];
  return target === undefined ? undefined : resolve(directory, target);
}

function headOf(repository: string): string | undefined {
  const head = readText(join(repository, "HEAD"), limits.gitBytesMax)?.trim() ?? "";
  const [, branch] = /^ref: refs\/heads\/(.+)$/.exec(head) ?? [];
  // What git writes where its references are kept in another way.
  if (branch !== undefined) return branch === ".invalid" ? undefined : branch;
  return /^[0-9a-f]{40,64}$/.test(head) ? head.slice(0, 8) : undefined;
}

/**
 * For tests of file permissions. Permissions do not apply to root, so when the tests run as root these helpers give up
 * the rights of root.
 */
import { execFileSync } from "node:child_process";

const nobody = 65_534;

/** Runs the function with the rights of an ordinary user. That user owns the directory and all in it. */
export async function unprivileged<Value>(
  directory: string,
  doing: () => Value | Promise<Value>,
): Promise<Value> {
  if (process.getuid?.() !== 0) return await doing();
  execFileSync("chown", ["-R", `${nobody}:${nobody}`, directory]);
  process.seteuid?.(nobody);
  try {
    return await doing();
  } finally {
    process.seteuid?.(0);
  }
}

/** Words to put before a command, so that permissions also stop root: the capabilities to pass by them are dropped. */
export const boundByPermissions: readonly string[] =
  process.getuid?.() === 0
    ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
    : [];

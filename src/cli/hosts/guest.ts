/**
 * A host that loads whatever module lies in a folder of its own: installing is one file more, and removing it
 * one less. No settings are touched.
 */
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { no } from "../failure.ts";
import { inPackage } from "../package.ts";
import { printPath } from "../paths.ts";
import { bytesOf } from "../times.ts";
import { readText } from "./file-text.ts";
import type { FileChange } from "./host.ts";

/** How a module of ours begins, of whatever version. The build puts it there. */
export const mark = "// tipstaff: ";

export function planModule(path: string, name: string): readonly FileChange[] {
  const before = readText(path);
  if (before !== undefined && !before.startsWith(mark)) {
    throw no(`${printPath(path)} is not ours`, "nothing was changed; move it away, and try again");
  }
  const after = builtModule(name);
  if (after === before) return [];
  const says = `a module that tells what the agent does, ${bytesOf(Buffer.byteLength(after))}`;
  return [{ path, before, after, says, details: [] }];
}

/** What somebody else put there under our name stays. */
export function planNoModule(path: string): readonly FileChange[] {
  const before = readText(path);
  if (!before?.startsWith(mark)) return [];
  return [{ path, before, after: undefined, says: "without the module", details: [] }];
}

/** What modules are made of, in a checkout. */
const rooms = ["emitters", "status-files", "wire/status-file"];

function builtModule(name: string): string {
  const path = inPackage("dist", "emitters", `${name}.js`);
  const sources = rooms.map((room) => inPackage("src", room));
  try {
    if (!isOlder(path, sources)) return readFileSync(path, "utf8");
  } catch {
    throw no(`cannot read ${printPath(path)}`, "if this is a checkout: npm run build");
  }
  throw no(`${printPath(path)} is older than its sources`, "build it first: npm run build");
}

/** Whether any source below the folders changed after the file was built. Folders that are not there do not count. */
export function isOlder(built: string, folders: readonly string[]): boolean {
  const builtAtMs = statSync(built).mtimeMs;
  return folders
    .flatMap((cwd) => globSync("**/*.ts", { cwd }).map((name) => join(cwd, name)))
    .some((path) => !path.endsWith(".test.ts") && statSync(path).mtimeMs > builtAtMs);
}

/** Where an agent works, as it is kept: absolute, without links; what does not exist stays as it was said. [AS-18] */
import { readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { expandHome } from "../status-files/index.ts";
import { limits } from "./limits.ts";

export function resolveWorkspace(text: string): string {
  const path = expandHome(text, () => process.env["HOME"] || homedir());
  if (process.platform === "win32") return resolve(path);
  const ahead = path.split("/").reverse();
  let resolved = path.startsWith("/") ? "" : withoutRoot(process.cwd());
  let links = 0;
  for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      resolved = resolved.slice(0, Math.max(0, resolved.lastIndexOf("/")));
      continue;
    }
    const next = `${resolved}/${part}`;
    const target = links < limits.linksMax ? linkAt(next) : undefined;
    if (target === undefined) {
      resolved = next;
      continue;
    }
    links += 1;
    if (target.startsWith("/")) resolved = "";
    ahead.push(...target.split("/").reverse());
  }
  return resolved === "" ? "/" : resolved;
}

function withoutRoot(path: string): string {
  return path === "/" ? "" : path;
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // It is no link, or not there, or not ours to see.
    return undefined;
  }
}

/**
 * The local token: who can read this file may change things over HTTP. `up` makes it once; the command
 * line and the client read it. Deleting it and starting again makes another, and locks everyone out.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

export function tokenPath(directory: string): string {
  return join(directory, "token");
}

/** The token in a directory, made if there is none. Throws for a file that no header could carry. */
export function ensureToken(directory: string): string {
  const path = tokenPath(directory);
  const known = readToken(directory);
  const isThereAlready = existsSync(path);
  if (isThereAlready && !/^[\x21-\x7e]+$/.test(known ?? "")) {
    throw new Error(`${path} is empty, damaged or not readable; delete it and start again`);
  }
  if (known !== undefined) {
    chmodSync(path, 0o600);
    return known;
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const token = randomBytes(32).toString("base64url");
  const whole = `${path}.${process.pid}`;
  writeFileSync(whole, `${token}\n`, { mode: 0o600 });
  try {
    // Whole or not at all; and of two daemons that start at once, both take the same.
    linkSync(whole, path);
  } catch (cause) {
    if (!isThere(cause)) throw cause;
  } finally {
    rmSync(whole);
  }
  return readToken(directory) ?? token;
}

/** Undefined if there is none, or none that this user may read. */
export function readToken(directory: string): string | undefined {
  try {
    return readFileSync(tokenPath(directory), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

function isThere(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "EEXIST";
}

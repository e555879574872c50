/** Programs in Go that a bench needs. What is built and unchanged is not built again. */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheDirectory } from "./servers.ts";

const execute = promisify(execFile);

/** Builds `bench/<name>/` into the cache directory, with the modules that its go.sum pins, and resolves with the program. */
export async function buildGo(name: "load" | "etcd"): Promise<string> {
  const program = join(cacheDirectory, name);
  const sources = fileURLToPath(new URL(`${name}/`, import.meta.url));
  await mkdir(cacheDirectory, { recursive: true });
  try {
    await execute("go", ["build", "-o", program, "."], { cwd: sources });
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    if (!isMissing) throw cause;
    const message = `bench/${name} needs Go 1.26 or newer on the path; get it from https://go.dev/dl/`;
    throw new Error(message, { cause });
  }
  return program;
}

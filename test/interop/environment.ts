/** Published Python packages, downloaded once and stored beside our dependencies. */
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cached } from "../cache.ts";

export type Wanted = {
  /** The start of the name of the directory that the packages are installed into. */
  readonly name: string;
  /** As pip says it. */
  readonly packages: readonly string[];
  /** What else belongs into the directory. */
  readonly finish?: (directory: string) => Promise<void>;
};

const run = promisify(execFile);

export type Prepared = { readonly directory: string } | { readonly unavailable: string };

/** The directory that has the packages, or why they cannot be installed on this machine. */
export async function prepareEnvironment({ name, packages, finish }: Wanted): Promise<Prepared> {
  const make = async (directory: string): Promise<void> => {
    await run("python3", ["-m", "venv", "--without-pip", join(directory, "python")]);
    await pip(directory, "install", ...packages);
    await finish?.(directory);
  };
  try {
    return { directory: await cached({ name, version: packages.join(" "), make }) };
  } catch (cause) {
    return { unavailable: `${name} cannot be installed here: ${lastLineOf(cause)}` };
  }
}

/** Another's implementation of JSON Schema. */
export function prepareJsonSchema(): Promise<Prepared> {
  const packages = ["jsonschema==4.26.0", "rfc3339-validator==0.1.4"];
  return prepareEnvironment({ name: "jsonschema", packages });
}

/** Makes requests from an OpenAPI document. */
export function prepareSchemathesis(): Promise<Prepared> {
  const packages = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"];
  return prepareEnvironment({ name: "schemathesis", packages });
}

/** The Python interpreter that has the packages. */
export function pythonIn(directory: string): string {
  return join(directory, "python", "bin", "python");
}

export async function pip(directory: string, ...words: readonly string[]): Promise<void> {
  const downloads = resolve("node_modules/.cache/tipstaff/pip-downloads");
  const flags = ["--quiet", "--disable-pip-version-check"];
  await run(pythonIn(directory), ["-m", "pip", ...flags, ...words], {
    // As variables, because pip starts itself again to build what has no wheel.
    env: { ...process.env, PYTHONPATH: await pipDirectory(), PIP_CACHE_DIR: downloads },
    maxBuffer: 2 ** 24,
  });
}

/** Not every Python comes with pip or with the means to install it, so ours is in the repository. */
const wheel = fileURLToPath(new URL("./pip-26.3-py3-none-any.whl", import.meta.url));

/** Unpacked and compiled: otherwise every call compiles pip again, where Python may not write compiled modules. */
function pipDirectory(): Promise<string> {
  const make = async (directory: string): Promise<void> => {
    await run("python3", ["-m", "zipfile", "--extract", wheel, directory]);
    await run("python3", ["-m", "compileall", "-q", directory]);
  };
  return cached({ name: "pip", version: wheel, make });
}

function outputOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { stdout, stderr } = cause as { stdout?: string; stderr?: string };
  return `${cause.message}\n${stdout ?? ""}\n${stderr ?? ""}`;
}

function lastLineOf(cause: unknown): string {
  return outputOf(cause).trim().split("\n").at(-1) ?? "";
}

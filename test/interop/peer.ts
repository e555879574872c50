/**
 * The published AgentKeeper SDK and its own tests. Nothing of it is in this repository, and nothing of it
 * is changed.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { pip, prepareEnvironment, pythonIn } from "./environment.ts";

export type Peer = {
  /** The Python interpreter that has the SDK, and pytest. */
  readonly python: string;
  /** The unpacked source distribution, with its `tests/`. */
  readonly source: string;
};

const version = "0.1.1";
const packages = ["pytest", "pytest-xdist", `agentkeeper==${version}`];

/** Takes a quarter of a minute the first time. Answers why it cannot be had on this machine, if so. */
export async function preparePeer(): Promise<Peer | { readonly unavailable: string }> {
  const wanted = { name: "agentkeeper-sdk", packages, finish: unpackSource };
  const prepared = await prepareEnvironment(wanted);
  if ("unavailable" in prepared) return prepared;
  const { directory } = prepared;
  return { python: pythonIn(directory), source: join(directory, `agentkeeper-${version}`) };
}

async function unpackSource(directory: string): Promise<void> {
  const what = ["--no-deps", "--no-binary", ":all:", `agentkeeper==${version}`];
  await pip(directory, "download", ...what, "--dest", directory);
  const archive = join(directory, `agentkeeper-${version}.tar.gz`);
  await promisify(execFile)("tar", ["xzf", archive, "--directory", directory]);
}

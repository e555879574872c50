/**
 * The processes of the churn: `write <directory> <seed>` rewrites and removes files at random while it is told
 * to, `read <directory>` watches and remembers what it was told. Both take their orders line by line.
 */
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { watch } from "../../src/status.ts";
import {
  removeStatusFile,
  writeStatusFile,
  writeStatusFileInBackground,
} from "../../src/status-files/index.ts";
import { Random } from "../../src/testing/random.ts";
import { printTimestamp, type StatusRecord } from "../../src/wire/status-file/index.ts";

/** So many agents. */
export const agentsCount = 1_000;

/** What one version of a record says. Its filler is long enough to be torn, and tells of which it is. */
export function recordOf(id: string, version: string): StatusRecord {
  return {
    schema_version: "agent-status/v1alpha1",
    agent_id: id,
    agent_name: version,
    runtime: { lifecycle: "running", updated_at: printTimestamp(Date.now()) },
    x_meta: { filler: fillerOf(version) },
  };
}

/** Between one and some twenty kilobytes. */
function fillerOf(version: string): string {
  return version.repeat(50 + (Number.parseInt(version.slice(-4), 16) % 1_000));
}

/** All agents and their versions in few letters. */
export function digest(versions: ReadonlyMap<string, string>): string {
  const lines = [...versions].map(([id, version]) => `${id} ${version}`).toSorted();
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

const [, , role, directory = "", seed = ""] = process.argv;
if (import.meta.main && role === "write") await write();
if (import.meta.main && role === "read") await read();

/** `churn <ms>` → `{ writes, lastAtMs }` */
async function write(): Promise<void> {
  const random = new Random(Number(seed));
  const store = Number(seed) % 2 === 0 ? writeStatusFile : writeStatusFileInBackground;
  let writes = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    const endMs = Date.now() + Number(line.split(" ")[1]);
    while (Date.now() < endMs) {
      const id = `agent-${random.below(agentsCount)}`;
      if (random.chance(3)) removeStatusFile(directory, id);
      else await store(directory, recordOf(id, `${seed}-${random.hex(12)}`));
      writes += 1;
      // The machine is also somebody else's.
      await sleep(1);
    }
    console.log(JSON.stringify({ writes, lastAtMs: Date.now() }));
  }
}

/** `expect <digest>` → `{ atMs }`, when it has come to know just that; whatever is wrong ends it. */
async function read(): Promise<void> {
  const versions = new Map<string, string>();
  let changedAtMs = 0;
  let changes = 0;
  let expected: string | undefined;
  const answer = (): void => {
    if (expected === undefined || digest(versions) !== expected) return;
    expected = undefined;
    console.log(JSON.stringify({ atMs: changedAtMs, changes }));
  };
  const orphaned = new AbortController();
  const { signal } = orphaned;
  const orders = createInterface({ input: process.stdin });
  orders.on("close", () => orphaned.abort());
  orders.on("line", (line) => {
    expected = line.split(" ")[1];
    answer();
  });
  for await (const change of watch({ directory, staleAfterMs: 86_400_000, signal })) {
    changedAtMs = Date.now();
    changes += 1;
    switch (change.type) {
      case "snapshot":
        for (const { id, name } of change.agents) versions.set(id, name);
        console.log("ready");
        break;
      case "upsert": {
        const { id, name, xMeta } = change.agent;
        if (xMeta?.["filler"] !== fillerOf(name)) throw new Error(`${id} is torn`);
        versions.set(id, name);
        break;
      }
      case "remove":
        versions.delete(change.id);
        break;
      case "state":
        throw new Error(`${change.agent.id} became ${change.agent.state}`);
      case "warnings":
        throw new Error(`something was read that nobody wrote: ${JSON.stringify(change.warnings)}`);
    }
    answer();
  }
}

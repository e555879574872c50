/** Long logs, written in this process: over the wire they would take long. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { agentId, policyId } from "../../src/core/index.ts";
import { SqliteLog } from "../../src/log/index.ts";
import { type Keep, Plane, SteadyClock } from "../../src/plane/index.ts";

type FillOptions = {
  readonly keep?: Keep;
  /** Go on with entries that change nothing more until there are so many. */
  readonly snapshots?: number;
};

/** As many policies as asked for, one entry each, for the subjects `agent:0`, `agent:1` and so on. */
export async function fill(
  dataDirectory: string,
  entries: number,
  { keep, snapshots = 0 }: FillOptions = {},
): Promise<void> {
  await using log = SqliteLog.open(dataDirectory);
  const onFault = (fault: unknown): never => {
    throw fault;
  };
  const clock = new SteadyClock();
  await using plane = await Plane.open({ log, clock, onFault, ...(keep ? { keep } : {}) });
  const rule = { action: "call", resource: "tool:*", effect: "allow" } as const;
  const set = (index: number): Promise<unknown> => {
    const policy = { id: policyId(`policy-${index}`), subject: `agent:${index}`, ...rule };
    return plane.submit({ type: "policy.set", policy }, { actor: "test" }, () => undefined);
  };
  await Promise.all(Array.from({ length: entries }, (_, index) => set(index)));
  while (snapshotsIn(dataDirectory).length < snapshots) {
    await Promise.all(Array.from({ length: 100 }, () => set(0)));
  }
}

export function snapshotsIn(dataDirectory: string): readonly string[] {
  const directory = join(dataDirectory, "snapshots");
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => name.endsWith(".snapshot"));
}

/** As many agents as asked for, called `worker-00000` and so on, with two tools each. */
export async function fillAgents(dataDirectory: string, agents: number): Promise<void> {
  await using log = SqliteLog.open(dataDirectory);
  const onFault = (fault: unknown): never => {
    throw fault;
  };
  await using plane = await Plane.open({ log, clock: new SteadyClock(), onFault });
  const rest = { description: "", version: "1", capabilities: [], metadata: [] };
  const submitted = Array.from({ length: agents }, (_, index) => {
    const name = `worker-${String(index).padStart(5, "0")}`;
    const card = { name, tools: ["http", index % 2 === 0 ? "even" : "odd"], ...rest };
    const id = agentId(index.toString(16).padStart(32, "0"));
    const command = { type: "agent.register", agentId: id, card, ttlMs: 3_600_000 } as const;
    return plane.submit(command, { actor: "test" }, () => undefined);
  });
  await Promise.all(submitted);
}

/** Long logs, written in this process: over the wire they would take long. */
import { policyId } from "../../src/core/index.ts";
import { SqliteLog } from "../../src/log/index.ts";
import { Plane, SteadyClock } from "../../src/plane/index.ts";

/** As many policies as asked for, one entry each, for the subjects `agent:0`, `agent:1` and so on. */
export async function fill(dataDirectory: string, entries: number): Promise<void> {
  await using log = SqliteLog.open(dataDirectory);
  const onFault = (fault: unknown): never => {
    throw fault;
  };
  await using plane = await Plane.open({ log, clock: new SteadyClock(), onFault });
  const rule = { action: "call", resource: "tool:*", effect: "allow" } as const;
  const submitted = Array.from({ length: entries }, (_, index) => {
    const policy = { id: policyId(`policy-${index}`), subject: `agent:${index}`, ...rule };
    return plane.submit({ type: "policy.set", policy }, { actor: "test" }, () => undefined);
  });
  await Promise.all(submitted);
}

/** What was granted under a key to someone who no longer wants it. */
import { type AgentId, claimByKey } from "../../../core/index.ts";
import type { Caller, Plane } from "../../../plane/index.ts";

export async function giveBack(
  plane: Plane,
  caller: Caller,
  { agentId, key }: { readonly agentId: AgentId; readonly key: string },
): Promise<void> {
  const granted = await plane.read(({ leases, tasks }) => ({
    leases: [...(leases.byHolder.get(agentId) ?? [])]
      .flatMap((id) => leases.held.get(id) ?? [])
      .filter((lease) => lease.key === key),
    task: claimByKey(tasks, agentId, key),
  }));
  for (const { taskId, token } of granted.leases) {
    const release = { type: "lease.release", taskId, agentId, token } as const;
    await plane.submit(release, caller, () => undefined);
  }
  if (!granted.task) return;
  const { id: taskId, deliveries: claimToken } = granted.task;
  const unclaim = { type: "task.unclaim", taskId, agentId, claimToken } as const;
  await plane.submit(unclaim, caller, () => undefined);
}

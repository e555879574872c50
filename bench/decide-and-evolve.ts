import { type Command, decide, emptyState, evolve, type State, taskId } from "../src/core/index.ts";
import { measure } from "./measure.ts";
import { makeCard, newAgentId } from "./plane.ts";
import type { Report } from "./report.ts";

export const question =
  "How many commands a second do the rules alone decide and evolve, without log or door?";

const batch = 1_000;

export async function run(report: Report): Promise<void> {
  for (const agents of [100, 100_000]) {
    const state = emptyState();
    const ids = Array.from({ length: agents }, newAgentId);
    const apply = (command: Command): State => {
      const decision = decide(state, command, 0);
      if (decision.refusal) throw new Error(decision.refusal.message);
      for (const event of decision.events) evolve(state, event);
      return state;
    };
    for (const [number, id] of ids.entries()) {
      apply({ type: "agent.register", agentId: id, card: makeCard(number), ttlMs: 3_600_000 });
    }
    let turn = 0;
    const acquireAndRelease = (): void => {
      for (let count = 0; count < batch / 2; count++) {
        const id = ids[turn++ % ids.length];
        if (id === undefined) return;
        const target = { taskId: taskId(`task-${turn % 1_000}`), agentId: id };
        const { leases } = apply({ type: "lease.acquire", ...target, ttlMs: 60_000 });
        apply({ type: "lease.release", ...target, token: leases.lastToken });
      }
    };
    report.add(
      `${agents} agents, acquire and release`,
      await measure(acquireAndRelease, { seconds: 3, operations: batch }),
    );
  }
  report.note(`Timed in batches of ${batch}; times are for one command, averaged over its batch.`);
}

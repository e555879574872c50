/** Leases: who holds what, and whether a token still does. */
import { agentId, type State, taskId, token } from "../../../core/index.ts";
import type { Plane } from "../../../plane/index.ts";
import type { Input } from "../../../wire/api/index.ts";
import { limits as wireLimits } from "../../../wire/openapi/index.ts";
import { encodeLease } from "../encode.ts";
import { listLeases } from "../lists.ts";
import type { Handlers } from "../operations.ts";
import { answer, refused, submit, waited } from "./answer.ts";

export function leaseHandlers(
  plane: Plane,
): Pick<
  Handlers,
  "listLeases" | "getLease" | "acquireLease" | "renewLease" | "releaseLease" | "checkToken"
> {
  const lookAt = (id: string) => (state: State) => {
    const lease = state.leases.held.get(taskId(id));
    return lease && encodeLease(state, lease);
  };
  return {
    listLeases: (input, { signal }) => listLeases(plane, input, signal),
    getLease: async ({ taskId: id }) => {
      const value = await plane.read(lookAt(id));
      return value ? { value } : refused("lease_not_found", `task ${id} is not leased`);
    },
    acquireLease: async (input, call) => {
      const { ttlMs = wireLimits.leaseTtlMsDefault, waitMs = 0 } = input;
      const { caller, key, signal } = call;
      const who = { taskId: taskId(input.taskId), agentId: agentId(input.agentId) };
      const named = key === undefined ? {} : { key };
      const command = { type: "lease.acquire", ...who, ttlMs, ...named } as const;
      const look = (state: State) => {
        const lease = state.leases.held.get(who.taskId);
        return lease && { lease, encoded: encodeLease(state, lease) };
      };
      const outcome = await waited(plane, command, { call, waitMs, look });
      if (outcome.refusal) return answer(plane, outcome);
      const { value: held } = outcome;
      // Nobody would know of it, and nobody could ask for it again.
      if (held && signal.aborted && key === undefined) {
        const release = { type: "lease.release", ...who, token: held.lease.token } as const;
        await plane.submit(release, caller, () => undefined);
      }
      return answer(plane, { value: held?.encoded });
    },
    renewLease: async (input, { caller }) => {
      const { ttlMs } = input;
      const command = { type: "lease.renew", ...ownLease(input) } as const;
      const whole = ttlMs === undefined ? command : { ...command, ttlMs };
      return submit(plane, whole, caller, lookAt(input.taskId));
    },
    releaseLease: async (input, { caller }) =>
      submit(plane, { type: "lease.release", ...ownLease(input) }, caller, () => ({})),
    checkToken: async ({ taskId: id, token: presented }) => {
      const value = await plane.read((state) => {
        const lease = state.leases.held.get(taskId(id));
        if (!lease) return { isCurrent: false };
        const isCurrent = lease.token === BigInt(presented);
        return { isCurrent, lease: encodeLease(state, lease) };
      });
      return { value };
    },
  };
}

function ownLease(input: Input<"releaseLease">) {
  return {
    taskId: taskId(input.taskId),
    agentId: agentId(input.agentId),
    token: token(BigInt(input.token)),
  };
}

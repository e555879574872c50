/** Policies: who may do what, and why. */
import { check, explain, livingCount, type Policy, policyId } from "../../../core/index.ts";
import type { Plane } from "../../../plane/index.ts";
import type { Answer } from "../../../wire/api/index.ts";
import { limits } from "../limits.ts";
import { listPolicies } from "../lists.ts";
import type { Handlers } from "../operations.ts";
import { lookInSlices } from "../slices.ts";
import { refused, submit } from "./answer.ts";

export function policyHandlers(
  plane: Plane,
): Pick<
  Handlers,
  "listPolicies" | "getPolicy" | "setPolicy" | "deletePolicy" | "checkPolicy" | "whoMay"
> {
  return {
    listPolicies: (input, { signal }) => listPolicies(plane, input, signal),
    getPolicy: async ({ policyId: id }) => {
      const value = await plane.read(({ entitlements }) => entitlements.policies.get(policyId(id)));
      return value ? { value } : refused("policy_not_found", `no policy is called ${id}`);
    },
    setPolicy: async ({ policyId: id, subject, action, resource, effect }, { caller }) => {
      const policy = { id: policyId(id), subject, action, resource, effect };
      return submit(plane, { type: "policy.set", policy }, caller, () => policy);
    },
    deletePolicy: async ({ policyId: id }, { caller }) =>
      submit(plane, { type: "policy.delete", policyId: policyId(id) }, caller, () => ({})),
    checkPolicy: async ({ explain: isExplained, ...question }) => {
      const value = await plane.read(({ entitlements }) => {
        if (!isExplained) return encodeCheck(check(entitlements, question));
        const {
          applying: matches,
          unnamed: moreMatches,
          ...answer
        } = explain(entitlements, question);
        return { ...encodeCheck(answer), matches, moreMatches };
      });
      return { value };
    },
    whoMay: async ({ action, resource }, { signal }) =>
      lookInSlices(plane, signal, function* ({ registry, entitlements }) {
        const agents: Answer<"whoMay">["agents"][number][] = [];
        const living = registry.agents.values().filter(({ liveness }) => liveness !== "dead");
        for (const { id, card } of living.take(limits.whoMax)) {
          yield;
          const question = { subject: `agent:${card.name}`, action, resource };
          const { allowed, decidedBy } = check(entitlements, question);
          const decided = decidedBy ? { decidedBy: decidedBy.id } : {};
          agents.push({ agentId: id, name: card.name, allowed, ...decided });
        }
        return { agents, total: livingCount(registry) };
      }),
  };
}

function encodeCheck({
  allowed,
  decidedBy,
}: {
  readonly allowed: boolean;
  readonly decidedBy?: Policy;
}): Answer<"checkPolicy"> {
  if (!decidedBy) return { allowed, reason: "no matching policy" };
  const word = allowed ? "allowed" : "denied";
  return { allowed, reason: `${word} by policy "${decidedBy.id}"`, decidedBy };
}

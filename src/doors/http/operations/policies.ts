/** Policies: who may do what, and why. */
import { check, explain, livingCount, type Policy, policyId } from "../../../core/index.ts";
import type { Plane } from "../../../plane/index.ts";
import type { Answer } from "../../../wire/api/index.ts";
import { limits } from "../limits.ts";
import { listPolicies } from "../lists.ts";
import type { Handlers } from "../operations.ts";
import { nextSlice } from "../slices.ts";
import { refused, submit } from "./answer.ts";

export function policyHandlers(
  plane: Plane,
): Pick<
  Handlers,
  "listPolicies" | "getPolicy" | "setPolicy" | "deletePolicy" | "checkPolicy" | "whoMay"
> {
  return {
    listPolicies: (input) => listPolicies(plane, input),
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
    whoMay: async ({ action, resource }) => {
      const { living, total } = await plane.read(({ registry }) => ({
        living: registry.agents
          .values()
          .filter(({ liveness }) => liveness !== "dead")
          .take(limits.whoMax)
          .toArray(),
        total: livingCount(registry),
      }));
      const agents: Answer<"whoMay">["agents"][number][] = [];
      for (let at = 0; at < living.length; at += limits.whoAtATime) {
        await nextSlice();
        const some = living.slice(at, at + limits.whoAtATime);
        const asked = await plane.read(({ entitlements }) =>
          some.map(({ id, card: { name } }) => {
            const question = { subject: `agent:${name}`, action, resource };
            const { allowed, decidedBy } = check(entitlements, question);
            return {
              agentId: id,
              name,
              allowed,
              ...(decidedBy ? { decidedBy: decidedBy.id } : {}),
            };
          }),
        );
        agents.push(...asked);
      }
      return { value: { agents, total } };
    },
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

/**
 * Who may do what. A policy applies when its subject, action and resource all match; a deny that
 * applies beats every allow; where nothing applies the answer is no.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import type { PolicyId } from "./ids.ts";
import { limits } from "./limits.ts";
import { PolicyIndex, weighsMore } from "./policy-index.ts";

export type Policy = {
  readonly id: PolicyId;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly effect: "allow" | "deny";
};

export type Entitlements = {
  readonly policies: ReadonlyMap<PolicyId, Policy>;
  /** Follows from the policies, and is not written down with them. */
  readonly index: Pick<PolicyIndex, "weightiest" | "visitApplying">;
};

export type OwnEntitlements = {
  readonly policies: Map<PolicyId, Policy>;
  readonly index: PolicyIndex;
};

export type PolicyCommand =
  | { readonly type: "policy.set"; readonly policy: Policy }
  | { readonly type: "policy.delete"; readonly policyId: PolicyId };

export type PolicyEvent = {
  readonly type: "policy.changed" | "policy.deleted";
  /** For a deleted policy: as it was. */
  readonly policy: Policy;
};

export type AccessQuery = {
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
};

/** `decidedBy` is absent when no policy applies. */
export type AccessVerdict = { readonly allowed: boolean; readonly decidedBy?: Policy };

export type Explanation = AccessVerdict & {
  /** The deciding one first, then the other denies and then the allows, each by id. */
  readonly applying: readonly Policy[];
  /** How many more apply, all weighing less than these. */
  readonly unnamed: number;
};

export function emptyEntitlements(): OwnEntitlements {
  return { policies: new Map(), index: new PolicyIndex() };
}

export function decide(entitlements: Entitlements, command: PolicyCommand): Decision<PolicyEvent> {
  const { policies } = entitlements;
  switch (command.type) {
    case "policy.set":
      if (!policies.has(command.policy.id) && policies.size >= limits.policiesMax) {
        return refuse("limit_reached", `there are ${limits.policiesMax} policies already`);
      }
      return accept({ type: "policy.changed", policy: command.policy });
    case "policy.delete": {
      const policy = policies.get(command.policyId);
      return policy ? accept({ type: "policy.deleted", policy }) : accept();
    }
  }
}

/** Among several that decide alike, the one with the smallest id is named. */
export function check(entitlements: Entitlements, query: AccessQuery): AccessVerdict {
  const decidedBy = entitlements.index.weightiest(query);
  if (!decidedBy) return { allowed: false };
  return { allowed: decidedBy.effect === "allow", decidedBy };
}

/** The same answer, with all that apply: what else would have decided, and what is overruled. */
export function explain(
  entitlements: Entitlements,
  query: AccessQuery,
  namedMax: number = limits.explainedPoliciesMax,
): Explanation {
  const applying: Policy[] = [];
  let count = 0;
  entitlements.index.visitApplying(query, (policy) => {
    count += 1;
    const last = applying[namedMax - 1];
    if (last && weighsMore(last, policy)) return;
    applying.splice(placeOf(policy, applying), 0, policy);
    if (applying.length > namedMax) applying.pop();
  });
  return { ...check(entitlements, query), applying, unnamed: count - applying.length };
}

/** Before the first that weighs less. */
function placeOf(policy: Policy, sorted: readonly Policy[]): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = sorted[middle];
    if (other && weighsMore(other, policy)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function evolve(entitlements: OwnEntitlements, event: PolicyEvent): void {
  switch (event.type) {
    case "policy.changed":
      putPolicy(entitlements, event.policy);
      return;
    case "policy.deleted":
      entitlements.policies.delete(event.policy.id);
      entitlements.index.delete(event.policy.id);
      return;
  }
}

/** Sets or replaces the whole of it. */
export function putPolicy({ policies, index }: OwnEntitlements, policy: Policy): void {
  policies.set(policy.id, policy);
  index.put(policy);
}

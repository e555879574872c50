/**
 * Who may do what. A policy applies when its subject, action and resource all match; a deny that
 * applies beats every allow; where nothing applies the answer is no.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import type { PolicyId } from "./ids.ts";
import { limits } from "./limits.ts";

export type Policy = {
  readonly id: PolicyId;
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
  readonly effect: "allow" | "deny";
};

export type Entitlements = { readonly policies: ReadonlyMap<PolicyId, Policy> };
export type OwnEntitlements = { readonly policies: Map<PolicyId, Policy> };

export type PolicyCommand =
  | { readonly type: "policy.set"; readonly policy: Policy }
  | { readonly type: "policy.delete"; readonly policyId: PolicyId };

export type PolicyEvent = {
  readonly type: "policy.changed" | "policy.deleted";
  /** For a deleted policy: as it was. */
  readonly policy: Policy;
};

export type Question = {
  readonly subject: string;
  readonly action: string;
  readonly resource: string;
};

/** `decidedBy` is absent when no policy applies. */
export type Answer = { readonly allowed: boolean; readonly decidedBy?: Policy };

export function emptyEntitlements(): OwnEntitlements {
  return { policies: new Map() };
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
export function check(entitlements: Entitlements, question: Question): Answer {
  let deciding: Policy | undefined;
  for (const policy of entitlements.policies.values()) {
    if (deciding && !weighsMore(policy, deciding)) continue;
    if (applies(policy, question)) deciding = policy;
  }
  if (!deciding) return { allowed: false };
  return { allowed: deciding.effect === "allow", decidedBy: deciding };
}

function weighsMore(policy: Policy, than: Policy): boolean {
  if (policy.effect !== than.effect) return policy.effect === "deny";
  return policy.id < than.id;
}

function applies(policy: Policy, { subject, action, resource }: Question): boolean {
  return (
    matches(policy.subject, subject) &&
    matches(policy.action, action) &&
    matches(policy.resource, resource)
  );
}

/**
 * `*` in a pattern stands for any run of characters; nothing else is special. Each literal part takes
 * the earliest place it fits, which never needs to be taken back: linear in the text.
 */
export function matches(pattern: string, text: string): boolean {
  const firstStar = pattern.indexOf("*");
  if (firstStar < 0) return pattern === text;
  const lastStar = pattern.lastIndexOf("*");
  const tail = pattern.length - lastStar - 1;
  if (text.length < firstStar + tail) return false;
  if (!text.startsWith(pattern.slice(0, firstStar))) return false;
  if (!text.endsWith(pattern.slice(lastStar + 1))) return false;

  let from = firstStar;
  for (const part of pattern.slice(firstStar, lastStar).split("*")) {
    const found = find(part, text, from);
    if (found < 0 || found + part.length > text.length - tail) return false;
    from = found + part.length;
  }
  return true;
}

/** Up to this length, what the engine has is quicker, and at its worst not much slower. */
const shortPart = 32;

function find(part: string, text: string, from: number): number {
  return part.length <= shortPart ? text.indexOf(part, from) : findLong(part, text, from);
}

/** By Knuth, Morris and Pratt: each character of the text is looked at twice at most. */
function findLong(part: string, text: string, from: number): number {
  const border = new Uint16Array(part.length);
  const advance = (matched: number, letter: number): number => {
    let length = matched;
    while (length > 0 && part.charCodeAt(length) !== letter) length = border[length - 1] ?? 0;
    return part.charCodeAt(length) === letter ? length + 1 : length;
  };
  for (let at = 1, length = 0; at < part.length; at++) {
    length = advance(length, part.charCodeAt(at));
    border[at] = length;
  }
  for (let at = from, length = 0; at < text.length; at++) {
    length = advance(length, text.charCodeAt(at));
    if (length === part.length) return at - length + 1;
  }
  return -1;
}

export function evolve(entitlements: OwnEntitlements, event: PolicyEvent): void {
  switch (event.type) {
    case "policy.changed":
      entitlements.policies.set(event.policy.id, event.policy);
      return;
    case "policy.deleted":
      entitlements.policies.delete(event.policy.id);
      return;
  }
}

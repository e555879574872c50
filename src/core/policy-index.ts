/**
 * Which policies apply to a query, without asking them all. Each field of the query is matched
 * against the patterns that policies have there; a policy applies when all three of its patterns were
 * matched, which is three comparisons of numbers. So as not to do even that for every policy, each is
 * filed under one of its three patterns, the one that has fewest, and is looked for only there.
 *
 * What is filed under a pattern is a heap, the weightiest on top: where a policy applies, those below it
 * need not be looked at, and neither do those that weigh less than one that was found elsewhere.
 */
import type { AccessQuery, Policy } from "./entitlements.ts";
import type { PolicyId } from "./ids.ts";
import { type KnownPattern, PatternIndex } from "./pattern-index.ts";

export type FiledPolicy = {
  readonly policy: Policy;
  /** Again, to have them at hand: what is read for every candidate should not lie far away. */
  readonly id: PolicyId;
  /** Its effect and how its id begins, as one number: the smaller, the weightier. See `outweighs`. */
  readonly lightness: number;
  readonly subject: KnownPattern;
  readonly action: KnownPattern;
  readonly resource: KnownPattern;
  /** One of the three. */
  readonly under: KnownPattern;
  /** Its place in the heap there. */
  place: number;
};

export class PolicyIndex {
  readonly #filed = new Map<PolicyId, FiledPolicy>();
  readonly #subjects = new PatternIndex();
  readonly #actions = new PatternIndex();
  readonly #resources = new PatternIndex();
  /** Counts questions: whatever carries the number of this one was matched by this one. */
  #turn = 0;

  /** Takes the place of the policy that had this id. */
  put(policy: Policy): void {
    this.delete(policy.id);
    const subject = this.#subjects.add(policy.subject);
    const action = this.#actions.add(policy.action);
    const resource = this.#resources.add(policy.resource);
    let under = subject;
    if (resource.policies.length < under.policies.length) under = resource;
    if (action.policies.length < under.policies.length) under = action;
    const { id } = policy;
    const lightness = lightnessOf(policy);
    const place = under.policies.length;
    const filed = { policy, id, lightness, subject, action, resource, under, place };
    this.#filed.set(id, filed);
    under.policies.push(filed);
    rise(under.policies, filed);
    under.top = under.policies[0];
  }

  delete(id: PolicyId): void {
    const filed = this.#filed.get(id);
    if (!filed) return;
    this.#filed.delete(id);
    removeFrom(filed.under.policies, filed);
    filed.under.top = filed.under.policies[0];
    this.#subjects.remove(filed.subject);
    this.#actions.remove(filed.action);
    this.#resources.remove(filed.resource);
  }

  /** Of those that apply, the one that weighs most. */
  weightiest(query: AccessQuery): Policy | undefined {
    const turn = this.#match(query);
    let best = weightiestOf(this.#subjects, turn, undefined);
    best = weightiestOf(this.#actions, turn, best);
    return weightiestOf(this.#resources, turn, best)?.policy;
  }

  /** All that apply, in no order. */
  visitApplying(query: AccessQuery, visit: (policy: Policy) => void): void {
    const turn = this.#match(query);
    for (const index of [this.#subjects, this.#actions, this.#resources]) {
      for (let at = 0; at < index.matchedCount; at++) {
        for (const filed of index.matched[at]?.policies ?? []) {
          if (applies(filed, turn)) visit(filed.policy);
        }
      }
    }
  }

  #match({ subject, action, resource }: AccessQuery): number {
    const turn = ++this.#turn;
    this.#subjects.match(subject, turn);
    this.#actions.match(action, turn);
    this.#resources.match(resource, turn);
    return turn;
  }
}

export function weighsMore(policy: Policy, than: Policy): boolean {
  if (policy.effect !== than.effect) return policy.effect === "deny";
  return policy.id < than.id;
}

function weightiestOf(
  index: PatternIndex,
  turn: number,
  found: FiledPolicy | undefined,
): FiledPolicy | undefined {
  let best = found;
  for (let at = 0; at < index.matchedCount; at++) {
    const known = index.matched[at];
    const top = known?.top;
    if (!known || !top || (best && !outweighs(top, best))) continue;
    best = applies(top, turn) ? top : weightiestBelow(known.policies, 0, turn, best);
  }
  return best;
}

/** The one at this place does not apply: those below it may. */
function weightiestBelow(
  heap: readonly FiledPolicy[],
  place: number,
  turn: number,
  found: FiledPolicy | undefined,
): FiledPolicy | undefined {
  let best = found;
  for (let child = 2 * place + 1; child <= 2 * place + 2; child++) {
    const filed = child < heap.length ? heap[child] : undefined;
    if (!filed || (best && !outweighs(filed, best))) continue;
    best = applies(filed, turn) ? filed : weightiestBelow(heap, child, turn, best);
  }
  return best;
}

/** As `weighsMore`, but texts are compared only where numbers cannot tell: that takes ten times as long. */
function outweighs(one: FiledPolicy, other: FiledPolicy): boolean {
  return one.lightness === other.lightness ? one.id < other.id : one.lightness < other.lightness;
}

function lightnessOf({ id, effect }: Policy): number {
  let lightness = effect === "deny" ? 0 : 1;
  for (let at = 0; at < 3; at++) {
    lightness = lightness * 0x1_0000 + (id.charCodeAt(at) || 0);
  }
  return lightness;
}

function applies({ subject, action, resource }: FiledPolicy, turn: number): boolean {
  return subject.turn === turn && action.turn === turn && resource.turn === turn;
}

function removeFrom(heap: FiledPolicy[], filed: FiledPolicy): void {
  const last = heap.pop();
  if (!last || last === filed) return;
  last.place = filed.place;
  heap[last.place] = last;
  rise(heap, last);
  sink(heap, last);
}

function rise(heap: FiledPolicy[], filed: FiledPolicy): void {
  while (filed.place > 0) {
    const parent = heap[(filed.place - 1) >> 1];
    if (!parent || !outweighs(filed, parent)) return;
    swap(heap, filed, parent);
  }
}

function sink(heap: FiledPolicy[], filed: FiledPolicy): void {
  for (;;) {
    const left = heap[2 * filed.place + 1];
    const right = heap[2 * filed.place + 2];
    const heavier = left && right && outweighs(right, left) ? right : left;
    if (!heavier || !outweighs(heavier, filed)) return;
    swap(heap, filed, heavier);
  }
}

function swap(heap: FiledPolicy[], one: FiledPolicy, other: FiledPolicy): void {
  const place = one.place;
  one.place = other.place;
  other.place = place;
  heap[one.place] = one;
  heap[other.place] = other;
}

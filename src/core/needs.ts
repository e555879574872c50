/**
 * Items that a person has dismissed from the list of what needs a person. An item (an agent that waits, a task that
 * failed) is named by its kind and id; the HTTP door makes the list. A dismissal is about one occurrence: it covers
 * the item up to the time at which that occurrence began, so the item is shown again when the same happens again. A
 * dismissal with an end is a snooze: the item is shown again after that time.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import { limits } from "./limits.ts";

export type Dismissal = {
  readonly kind: string;
  readonly id: string;
  /** When the dismissed occurrence began. */
  readonly sinceMs: number;
  /** Absent: for good. */
  readonly untilMs?: number;
  /** Who dismissed it, and when. */
  readonly by: string;
  readonly atMs: number;
};

/** Dismissals, keyed by kind and id. The map iterates the oldest dismissal first. */
export type Needs = { readonly dismissals: ReadonlyMap<string, Dismissal> };
export type OwnNeeds = { readonly dismissals: Map<string, Dismissal> };

type Thing = Pick<Dismissal, "kind" | "id">;

export type DismissNeed = Thing & {
  readonly type: "need.dismiss";
  readonly sinceMs: number;
  /** Absent: for good. */
  readonly forMs?: number;
  readonly by: string;
};

/** Shows it again. If it was not dismissed, nothing happens. */
export type RestoreNeed = Thing & { readonly type: "need.restore" };

export type NeedCommand = DismissNeed | RestoreNeed;

export type NeedEvent =
  | { readonly type: "need.dismissed"; readonly dismissal: Dismissal }
  | ({ readonly type: "need.restored" } & Thing);

export function emptyNeeds(): OwnNeeds {
  return { dismissals: new Map() };
}

export function decide(needs: Needs, command: NeedCommand, nowMs: number): Decision<NeedEvent> {
  const { kind, id } = command;
  const before = needs.dismissals.get(nameOf(command));
  switch (command.type) {
    case "need.dismiss": {
      const { sinceMs, forMs, by } = command;
      if (sinceMs > nowMs) {
        return refuse("invalid_argument", "sinceMs: must not be in the future");
      }
      // A retry after a lost reply changes nothing.
      const isSame = before?.sinceMs === sinceMs && before.untilMs === undefined;
      if (isSame && forMs === undefined) return accept();
      const end = forMs === undefined ? {} : { untilMs: nowMs + forMs };
      const dismissal = { kind, id, sinceMs, ...end, by, atMs: nowMs };
      return accept({ type: "need.dismissed", dismissal });
    }
    case "need.restore":
      return before ? accept({ type: "need.restored", kind, id }) : accept();
  }
}

/** The dismissal that hides an item at this time, if there is one. */
export function dismissalOf(
  needs: Needs,
  thing: Thing & { readonly sinceMs: number },
  nowMs: number,
): Dismissal | undefined {
  const dismissal = needs.dismissals.get(nameOf(thing));
  if (!dismissal || thing.sinceMs > dismissal.sinceMs) return undefined;
  return dismissal.untilMs === undefined || dismissal.untilMs > nowMs ? dismissal : undefined;
}

export function evolve(needs: OwnNeeds, event: NeedEvent): void {
  switch (event.type) {
    case "need.dismissed":
      putDismissal(needs, event.dismissal);
      return;
    case "need.restored":
      needs.dismissals.delete(nameOf(event));
      return;
  }
}

/** At the limit the oldest dismissal is deleted. In most cases its item no longer needs anybody. */
export function putDismissal(needs: OwnNeeds, dismissal: Dismissal): void {
  const name = nameOf(dismissal);
  needs.dismissals.delete(name);
  needs.dismissals.set(name, dismissal);
  const [oldest] = needs.dismissals.keys();
  if (oldest !== undefined && needs.dismissals.size > limits.dismissalsMax) {
    needs.dismissals.delete(oldest);
  }
}

/** Kinds have no space in them. */
function nameOf({ kind, id }: Thing): string {
  return `${kind} ${id}`;
}

/**
 * Checks an operation against a lease outside of a job: for a gateway or a tool server that was handed a job's lease and
 * enforces it by the same rules as the runtime does.
 */
import { authorise, type Budget, decimalOf, readGrant, zero } from "../../core/index.ts";
import { ArcpError, type LeaseShape } from "../../wire/arcp/index.ts";
import { toArcpError } from "./errors.ts";

/** What bounds a lease besides its patterns. */
export type LeaseOpContext = {
  readonly constraints?: { readonly expires_at?: string } | undefined;
  /** What is left of each currency, as `job.subscribed` and `cost.budget.remaining` say it. */
  readonly budgetRemaining?: ReadonlyMap<string, number> | Readonly<Record<string, number>>;
  /** Milliseconds of the wall clock; now, if absent. */
  readonly now?: number;
  /** An absolute path that relative targets are in. */
  readonly workingDirectory?: string;
};

export type ValidateLeaseOpInput = {
  readonly lease: LeaseShape;
  readonly capability: string;
  readonly target: string;
  readonly ctx?: LeaseOpContext;
};

/**
 * Returns the target in the form in which it was compared, which is the one to use. Throws an `ARCPError`: in this
 * order `INVALID_REQUEST` for a malformed lease, `LEASE_EXPIRED`, `BUDGET_EXHAUSTED` or `PERMISSION_DENIED` (ARCP-145).
 */
export function validateLeaseOp({
  lease,
  capability,
  target,
  ctx = {},
}: ValidateLeaseOpInput): string {
  const { constraints, budgetRemaining, now = Date.now(), workingDirectory } = ctx;
  if (Number.isNaN(now)) throw new ArcpError("INVALID_REQUEST", "now must be a number, not NaN");
  // An expiry that has passed is well-formed here: the lease was accepted before.
  const acceptedMs = Number.NEGATIVE_INFINITY;
  const expiresAt = constraints?.expires_at;
  const granted = readGrant({ capabilities: lease, expiresAt }, acceptedMs);
  if (granted.refusal) throw toArcpError(granted.refusal);
  const budget = budgetRemaining ? budgetOf(budgetRemaining) : granted.budget;
  const allowed = authorise(
    [{ grant: granted.grant, budget }],
    { capability, target },
    now,
    workingDirectory === undefined ? {} : { workingDirectory },
  );
  if (allowed.refusal) throw toArcpError(allowed.refusal, { capability, target });
  return allowed.target;
}

function budgetOf(rest: NonNullable<LeaseOpContext["budgetRemaining"]>): Budget {
  const entries: Iterable<readonly [string, number]> =
    rest instanceof Map ? rest : Object.entries(rest);
  return [...entries].map(([currency, left]) => {
    const cap = decimalOf(left);
    if (!cap) {
      const message = `budgetRemaining: the rest of ${currency} must be a finite number, not ${left}`;
      throw new ArcpError("INVALID_REQUEST", message);
    }
    return { currency, cap, spent: zero, reserved: zero };
  });
}

/** A task that an agent holds. It is renewed as long as the block lasts, and released at its end. */
import type { Lease as LeaseInfo } from "../wire/api/index.ts";
import type { AgentContext } from "./agent.ts";
import { type Cancellable, readCounter, readTtl } from "./calls.ts";
import { elapsedMs, type Moment, now } from "./deadline.ts";
import { hasCode, TipstaffError } from "./errors.ts";
import { Hold } from "./hold.ts";
import { limits } from "./limits.ts";
import { readWait, standInLine } from "./line.ts";

export type AcquireOptions = Cancellable & {
  /** How long others wait if we vanish. 60 s unless said otherwise; it is renewed by itself. */
  readonly ttlMs?: number | undefined;
  /** Stand in line while another holds it: as long as it takes, or so many milliseconds. */
  readonly wait?: boolean | number | undefined;
};

/** Refusals that say that the lease is no longer ours. */
const gone = ["lease_not_found", "token_mismatch", "agent_dead", "agent_not_found"] as const;

/** Rejects with `lease_held` and the lease in the way if it cannot be had in time. */
export async function acquireLease(
  context: AgentContext,
  taskId: string,
  { ttlMs = limits.leaseTtlMs, wait = false, signal }: AcquireOptions,
): Promise<Lease> {
  const { calls, agentId } = context;
  const { clock } = calls;
  const begun = now(clock);
  const waitMs = readWait(wait);
  for (;;) {
    const since = now(clock);
    let inTheWay: unknown;
    const granted = await standInLine<LeaseInfo>({
      clock,
      waitMs: Math.max(0, waitMs - elapsedMs(clock, begun)),
      signal: context.signalFor(signal),
      poll: async ({ waitMs, ...options }) => {
        const input = { taskId, agentId, ttlMs, ...(waitMs > 0 ? { waitMs } : {}) };
        const attemptMs = waitMs + limits.attemptMs;
        try {
          return await calls.call("acquireLease", input, { ...options, attemptMs });
        } catch (error) {
          if (!hasCode(error, "lease_held")) throw error;
          inTheWay = error;
          return undefined;
        }
      },
      withdraw: context.withdraw,
    });
    if (!granted) throw inTheWay;
    const held = await freshen(context, granted.value, since, signal);
    if (held) return held;
    if (waitMs - elapsedMs(clock, begun) <= 0) {
      throw new TipstaffError("lease_lost", `the lease on ${taskId} ran out before we heard of it`);
    }
  }
}

/**
 * After a long wait, or a lost answer, nobody knows how much of its time is left: it is renewed once, and
 * counted from then. Undefined if it was gone by then.
 */
async function freshen(
  context: AgentContext,
  granted: LeaseInfo,
  since: Moment,
  signal: AbortSignal | undefined,
): Promise<Lease | undefined> {
  const { calls, agentId } = context;
  const ttlMs = readTtl(granted.ttlMs, "ttl of the lease");
  if (elapsedMs(calls.clock, since) < ttlMs / limits.renewalsPerTtl) {
    return new Lease(context, granted, since);
  }
  const before = now(calls.clock);
  const { taskId, token } = granted;
  try {
    const renewed = await calls.call("renewLease", { taskId, agentId, token }, { signal });
    return new Lease(context, renewed, before);
  } catch (error) {
    if (hasCode(error, "lease_not_found", "token_mismatch")) return undefined;
    context.background(release(context, taskId, token, { patienceMs: limits.closingMs }));
    throw error;
  }
}

export class Lease implements AsyncDisposable {
  readonly taskId: string;
  /** Grows with every holder. Hand it along with whatever the lease protects: the smaller one is late. */
  readonly token: bigint;
  readonly ttlMs: number;
  readonly #context: AgentContext;
  readonly #hold: Hold;
  readonly #letGo: () => void;
  #released: Promise<void> | undefined;

  /** `since` is from before the lease was asked for. */
  constructor(context: AgentContext, lease: LeaseInfo, since: Moment) {
    const { taskId, token } = lease;
    const { calls, agentId } = context;
    this.taskId = taskId;
    this.token = readCounter(token, "token of the lease");
    this.ttlMs = readTtl(lease.ttlMs, "ttl of the lease");
    this.#context = context;
    this.#hold = new Hold({
      clock: calls.clock,
      since,
      ttlMs: this.ttlMs,
      renew: async (signal, leftMs) => {
        // Half of what is left, so that there is time for another attempt.
        const options = { signal, patienceMs: 0, attemptMs: leftMs / 2 };
        const renewed = await calls.call("renewLease", { taskId, agentId, token }, options);
        return readTtl(renewed.ttlMs, "ttl of the lease");
      },
      finalCodes: gone,
      toLoss: (cause) => {
        const why =
          cause instanceof Error ? cause.message : "its time was up before it was renewed";
        const message = `the lease on ${taskId} is lost: ${why}`;
        return new TipstaffError("lease_lost", message, { cause });
      },
    });
    const { leases } = context;
    // The daemon has given out a larger token since.
    leases.get(taskId)?.lose(new Error("this agent acquired it again"));
    leases.set(taskId, this.#hold);
    const letGo = context.adopt(this.#hold);
    this.#letGo = () => {
      if (leases.get(taskId) === this.#hold) leases.delete(taskId);
      letGo();
    };
  }

  /** Aborts when the lease is lost: refused, or not renewed before its time was up. */
  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  /** By our own clock, at this moment. Once false it stays false. */
  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  /** Lets others have it. Resolves as well if it was lost before: it is not ours either way. */
  release({ signal }: Cancellable = {}): Promise<void> {
    this.#released ??= this.#release({ signal });
    return this.#released;
  }

  /** As `release`, but does not insist: what cannot be released runs out. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Of a lost one the daemon may know less than we; to tell it is worth one attempt.
    this.#released ??= this.#release({ patienceMs: this.isHeld ? limits.closingMs : 0 });
    await this.#released.catch(() => {});
  }

  async #release(options: Cancellable & { readonly patienceMs?: number }): Promise<void> {
    this.#hold.end();
    this.#letGo();
    await release(this.#context, this.taskId, String(this.token), options);
  }
}

async function release(
  { calls, agentId }: AgentContext,
  taskId: string,
  token: string,
  options: Cancellable & { readonly patienceMs?: number },
): Promise<void> {
  try {
    await calls.call("releaseLease", { taskId, agentId, token }, options);
  } catch (error) {
    if (!hasCode(error, ...gone)) throw error;
  }
}

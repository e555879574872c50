/**
 * Who holds what. A task is held by one agent at a time, until its lease expires, is released, or its
 * holder dies. The token tells an old holder from a new one: whoever guards the thing itself accepts
 * no token smaller than the largest it has seen.
 */
import { accept, type Decision, refuse } from "./decision.ts";
import { type AgentId, type TaskId, type Token, token } from "./ids.ts";
import { limits } from "./limits.ts";
import { PriorityMap } from "./priority-map.ts";

export type Lease = {
  readonly taskId: TaskId;
  readonly holder: AgentId;
  readonly token: Token;
  readonly ttlMs: number;
  readonly acquiredAtMs: number;
  readonly expiresAtMs: number;
  /** What the holder called its acquisition, to ask for it again. Nobody else is told. */
  readonly key?: string;
};

export type Leases = {
  readonly held: ReadonlyMap<TaskId, Lease>;
  readonly byHolder: ReadonlyMap<AgentId, ReadonlySet<TaskId>>;
  /** One counter for all tasks. It outlives every lease: no later holder gets a smaller token. */
  readonly lastToken: Token;
  readonly due: Pick<PriorityMap<TaskId>, "first">;
};

export type OwnLeases = {
  readonly held: Map<TaskId, Lease>;
  readonly byHolder: Map<AgentId, Set<TaskId>>;
  lastToken: Token;
  readonly due: PriorityMap<TaskId>;
};

/** With the key of the lease that the agent holds on it, nothing happens: that lease is the answer. */
export type AcquireLease = {
  readonly type: "lease.acquire";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly ttlMs: number;
  readonly key?: string;
};
export type RenewLease = {
  readonly type: "lease.renew";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly token: Token;
  /** Absent: as long as it was last asked for. */
  readonly ttlMs?: number;
};
export type ReleaseLease = {
  readonly type: "lease.release";
  readonly taskId: TaskId;
  readonly agentId: AgentId;
  readonly token: Token;
};
export type LeaseCommand = AcquireLease | RenewLease | ReleaseLease;

export type LeaseEvent = {
  readonly type: "lease.acquired" | "lease.renewed" | "lease.released" | "lease.expired";
  /** As it is after the event; for an ended lease, as it was. */
  readonly lease: Lease;
};

export function emptyLeases(): OwnLeases {
  return { held: new Map(), byHolder: new Map(), lastToken: token(0n), due: new PriorityMap() };
}

/** Expects that what has expired by `nowMs` has been ended: see `overdue` in `machine.ts`. */
export function decide(leases: Leases, command: LeaseCommand, nowMs: number): Decision<LeaseEvent> {
  const held = leases.held.get(command.taskId);
  switch (command.type) {
    case "lease.acquire":
      return acquire(leases, held, command, nowMs);
    case "lease.renew": {
      const mine = requireOwn(held, command);
      if (mine.refusal) return mine;
      const ttlMs = command.ttlMs ?? mine.lease.ttlMs;
      const lease = { ...mine.lease, ttlMs, expiresAtMs: nowMs + ttlMs };
      return accept({ type: "lease.renewed", lease });
    }
    case "lease.release": {
      const mine = requireOwn(held, command);
      return mine.refusal ? mine : accept({ type: "lease.released", lease: mine.lease });
    }
  }
}

function acquire(
  leases: Leases,
  held: Lease | undefined,
  command: AcquireLease,
  nowMs: number,
): Decision<LeaseEvent> {
  const { taskId, agentId: holder, ttlMs, key } = command;
  // The holder itself may acquire again: it gets a new token, and its older copy is fenced off. With the
  // same key it only asks for what it was not told.
  if (held?.holder === holder && key !== undefined && held.key === key) return accept();
  if (held && held.holder !== holder) {
    const leftMs = held.expiresAtMs - nowMs;
    const message = `task ${taskId} is held by agent ${held.holder} for ${leftMs} ms more`;
    return refuse("lease_held", message, { lease: held });
  }
  if (!held && leases.held.size >= limits.leasesMax) {
    return refuse("limit_reached", `${limits.leasesMax} leases are held already`);
  }
  const next = token(leases.lastToken + 1n);
  const expiresAtMs = nowMs + ttlMs;
  const lease = { taskId, holder, token: next, ttlMs, acquiredAtMs: nowMs, expiresAtMs };
  const named: Lease = key === undefined ? lease : { ...lease, key };
  return accept({ type: "lease.acquired", lease: named });
}

function requireOwn(
  held: Lease | undefined,
  { taskId, agentId, token: presented }: RenewLease | ReleaseLease,
): { readonly lease: Lease; readonly refusal?: never } | ReturnType<typeof refuse> {
  if (!held) return refuse("lease_not_found", `task ${taskId} is not leased; acquire it again`);
  if (held.token !== presented || held.holder !== agentId) {
    return refuse("token_mismatch", `task ${taskId} changed hands; stop work on it`);
  }
  return { lease: held };
}

/** What a holder's death frees, in the order in which it was acquired. */
export function endAllOf(leases: Leases, holder: AgentId): LeaseEvent[] {
  return heldBy(leases, holder).map((lease) => ({ type: "lease.released", lease }));
}

/** What a holder acquired under a key and no longer wants, in the order in which it was acquired. */
export function releaseByKey(leases: Leases, holder: AgentId, key: string): LeaseEvent[] {
  const unwanted = heldBy(leases, holder).filter((lease) => lease.key === key);
  return unwanted.map((lease) => ({ type: "lease.released", lease }));
}

function heldBy(leases: Leases, holder: AgentId): Lease[] {
  const held: Lease[] = [];
  for (const taskId of leases.byHolder.get(holder) ?? []) {
    const lease = leases.held.get(taskId);
    if (lease) held.push(lease);
  }
  return held.sort((one, other) => (one.token < other.token ? -1 : 1));
}

/** The only function that writes leases. Total: a fact cannot be refused. */
export function evolve(leases: OwnLeases, event: LeaseEvent): void {
  switch (event.type) {
    case "lease.acquired":
    case "lease.renewed":
      putLease(leases, event.lease);
      return;
    case "lease.released":
    case "lease.expired":
      dropLease(leases, event.lease);
      return;
  }
}

export function putLease(leases: OwnLeases, lease: Lease): void {
  leases.held.set(lease.taskId, lease);
  leases.due.set(lease.taskId, lease.expiresAtMs);
  const tasks = leases.byHolder.get(lease.holder);
  if (tasks) tasks.add(lease.taskId);
  else leases.byHolder.set(lease.holder, new Set([lease.taskId]));
  if (lease.token > leases.lastToken) leases.lastToken = lease.token;
}

function dropLease(leases: OwnLeases, lease: Lease): void {
  leases.held.delete(lease.taskId);
  leases.due.delete(lease.taskId);
  const tasks = leases.byHolder.get(lease.holder);
  tasks?.delete(lease.taskId);
  if (tasks?.size === 0) leases.byHolder.delete(lease.holder);
}

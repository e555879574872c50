/** A plane in this process, for benches that ask about the parts and not the daemon. */
import { randomBytes } from "node:crypto";
import { type AgentId, agentId, type Card, taskId } from "../src/core/index.ts";
import { SqliteLog } from "../src/log/index.ts";
import { Plane, SteadyClock, type View } from "../src/plane/index.ts";

export const caller = { actor: "bench" } as const;

/** A card of ordinary size. No text is shared with another card, as none is when it comes off the wire. */
export function makeCard(number: number): Card {
  return {
    name: fresh(`agent-${number}`),
    description: fresh("Fetches invoices from supplier portals and files them by month"),
    version: fresh("1.4.2"),
    capabilities: [],
    tools: ["browser", "http", `tool-${number % 50}`].map(fresh),
    metadata: [
      [fresh("team"), fresh(`team-${number % 20}`)],
      [fresh("host"), fresh(`host-${number % 200}.internal`)],
    ],
  };
}

function fresh(text: string): string {
  return Buffer.from(text).toString();
}

export function newAgentId(): AgentId {
  return agentId(randomBytes(16).toString("hex"));
}

export async function register(plane: Plane, number: number): Promise<AgentId> {
  const id = newAgentId();
  const command = {
    type: "agent.register",
    agentId: id,
    card: makeCard(number),
    ttlMs: 3_600_000,
  } as const;
  await plane.submit(command, caller, () => undefined);
  return id;
}

/** One acquire and one release. */
export async function cycle(plane: Plane, holder: AgentId, task: string): Promise<void> {
  const target = { taskId: taskId(task), agentId: holder };
  const acquire = { type: "lease.acquire", ...target, ttlMs: 60_000 } as const;
  const { value: token, refusal } = await plane.submit(
    acquire,
    caller,
    (state) => state.leases.lastToken,
  );
  if (refusal) throw new Error(refusal.message);
  await plane.submit({ type: "lease.release", ...target, token }, caller, () => undefined);
}

export async function openPlane(
  directory: string,
  views: readonly View[] = [],
): Promise<{ readonly plane: Plane } & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const log = opened.use(SqliteLog.open(directory));
  const onFault = (fault: unknown): void => {
    throw fault;
  };
  const plane = opened.use(await Plane.open({ log, clock: new SteadyClock(), views, onFault }));
  const closing = opened.move();
  return { plane, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

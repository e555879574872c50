/** What the methods of all services share: how a call becomes a command, and what is looked up for it. */
import type {
  Agent,
  Command,
  Event,
  Lease,
  Refusal,
  State,
  Task,
  TaskId,
} from "../../core/index.ts";
import type { Caller, Outcome, Plane } from "../../plane/index.ts";
import { type AgentInfo, Task as WireTask } from "../../wire/agentkeeper/index.ts";
import {
  joinPieces,
  type Pieces,
  piecesOfBase64,
  piecesOfBytes,
  piecesOfField,
} from "../../wire/grpc/index.ts";
import type { Connection } from "./connection.ts";
import { encodeAgent, encodeTask } from "./encode.ts";
import type { ServerCall } from "./server.ts";

export type Call = ServerCall<Connection>;

/** There are no credentials yet: whoever reaches the door is this machine's user. */
export const caller: Caller = { actor: "local" };

/** A call that may publish an event: held for a moment on a new connection, then carried out. */
export async function publish<Value>(
  plane: Plane,
  command: Command,
  call: Call,
  look: (state: State, events: readonly Event[]) => Value,
): Promise<Outcome<Value>> {
  const held = call.connection.firstCalls.hold();
  if (held !== undefined) {
    await held;
    if (call.isOver) return gone;
  }
  return plane.submit(command, caller, look);
}

/** Told to nobody. */
export const gone: { readonly refusal: Refusal } = {
  refusal: { code: "unavailable", message: "the caller is gone" },
};

/** The one event of a type that a command is known to have. */
export function only<Type extends Event["type"]>(
  events: readonly Event[],
  type: Type,
): Event & { readonly type: Type } {
  for (const event of events) if (isOf(event, type)) return event;
  throw new Error(`the command has no event ${type}`);
}

function isOf<Type extends Event["type"]>(
  event: Event,
  type: Type,
): event is Event & { readonly type: Type } {
  return event.type === type;
}

export function notFound(kind: "agent" | "task", id: string): { readonly refusal: Refusal } {
  return { refusal: { code: `${kind}_not_found`, message: `${kind} not found: ${id}` } };
}

export function agentInfo({ registry }: State, agent: Agent): AgentInfo {
  return encodeAgent(agent, registry.heartbeats.get(agent.id) ?? agent.registeredAtMs);
}

/** The lease that was just acquired, or asked for again. */
export function heldLease({ leases }: State, taskId: TaskId): Lease {
  const lease = leases.held.get(taskId);
  if (!lease) throw new Error(`nobody holds ${taskId}`);
  return lease;
}

export type WholeTask = { readonly task: Task; readonly input: string; readonly output: string };

/** A task with its input and output as they are now. */
export function lookAtTask({ inputs, outputs }: State["tasks"], task: Task): WholeTask {
  return { task, input: inputs.get(task.id) ?? "", output: outputs.get(task.id) ?? "" };
}

/** Encodes a task as the field with that number. Input and output are not copied. */
export function taskInPieces(number: number, { task, input, output }: WholeTask): Pieces {
  const parts = [piecesOfBytes(WireTask.encode(encodeTask(task)).finish())];
  if (input !== "") parts.push(piecesOfField(taskFields.input, piecesOfBase64(input)));
  if (output !== "") parts.push(piecesOfField(taskFields.output, piecesOfBase64(output)));
  return piecesOfField(number, joinPieces(parts));
}

/** Their numbers in the message Task. */
const taskFields = { input: 3, output: 4 } as const;

export function wholeTask({ inputs, outputs }: State["tasks"], task: Task): WireTask {
  return encodeTask(task, { input: inputs.get(task.id), output: outputs.get(task.id) });
}

/** Tasks: queued, claimed, ended. */
import { randomBytes } from "node:crypto";
import {
  agentId,
  claimByKey,
  type Event,
  type State,
  type Task,
  taskId,
} from "../../../core/index.ts";
import { idFromKey } from "../../../plane/index.ts";
import type { Input } from "../../../wire/api/index.ts";
import { limits as wireLimits } from "../../../wire/openapi/index.ts";
import { encodeTask, encodeTaskDetail } from "../encode.ts";
import { limits } from "../limits.ts";
import { listTasks } from "../lists.ts";
import type { Handlers, OperationParts } from "../operations.ts";
import { answer, invalid, refused, submit, waited } from "./answer.ts";

export function taskHandlers(
  parts: OperationParts,
): Pick<
  Handlers,
  | "listTasks"
  | "createTask"
  | "getTask"
  | "claimTask"
  | "extendClaim"
  | "completeTask"
  | "failTask"
  | "cancelTask"
  | "requeueTask"
> {
  const { plane } = parts;
  const { inputBytesMax = limits.taskBytesMax } = parts.taskLimits ?? {};
  const { outputBytesMax = limits.taskBytesMax } = parts.taskLimits ?? {};
  const lookAt = (id: string) => (state: State) => {
    const task = state.tasks.byId.get(taskId(id));
    return task && encodeTask(state, task);
  };
  return {
    listTasks: (input, { signal }) => listTasks(plane, input, signal),
    createTask: async (task, { caller, key }) => {
      const { type: taskType, input = "", requiredTools = [], maxRetries = 0 } = task;
      const { claimMs = wireLimits.claimMsDefault, priority = 0, deliveriesMax = 0 } = task;
      const toolBytes = requiredTools.reduce((total, tool) => total + Buffer.byteLength(tool), 0);
      if (toolBytes > limits.requiredToolsBytesMax) {
        return invalid(`requiredTools: are longer than ${limits.requiredToolsBytesMax} bytes`);
      }
      if (bytesOf(input) > inputBytesMax) {
        return invalid(`input: is longer than ${inputBytesMax} bytes`);
      }
      const id = key === undefined ? randomBytes(16).toString("hex") : idFromKey("task", key);
      const work = { taskType, input, requiredTools, maxRetries, claimMs, priority, deliveriesMax };
      const delay = { delayMs: task.delayMs ?? 0 };
      const command = { type: "task.create", taskId: taskId(id), ...work, ...delay } as const;
      return submit(plane, command, caller, (state, events) => {
        // As it was made: someone who waits may have it already.
        const made = events.find((event): event is TaskCreated => event.type === "task.created");
        const created = made?.task ?? state.tasks.byId.get(command.taskId);
        return created && encodeTask(state, created);
      });
    },
    getTask: async ({ taskId: id }) => {
      const value = await plane.read((state) => {
        const task = state.tasks.byId.get(taskId(id));
        return task && encodeTaskDetail(state, task);
      });
      return value ? { value } : refused("task_not_found", `task not found: ${id}`);
    },
    claimTask: async ({ agentId: id, types, waitMs = 0 }, call) => {
      const { key } = call;
      const command = {
        type: "task.claim",
        agentId: agentId(id),
        ...(types === undefined ? {} : { types }),
        ...(key === undefined ? {} : { key }),
      } as const;
      const look = (state: State, events: readonly Event[]) => {
        const claimed = events.find((event): event is TaskClaimed => event.type === "task.claimed");
        const known = key === undefined ? undefined : claimByKey(state.tasks, command.agentId, key);
        const task = claimed?.task ?? known;
        return task && { task, encoded: encodeTaskDetail(state, task) };
      };
      const outcome = await waited(plane, command, { call, waitMs, look });
      if (outcome.refusal?.code === "no_task") return { value: {} };
      if (outcome.refusal) return answer(plane, outcome);
      const { value: claimed } = outcome;
      if (!claimed) return { value: {} };
      // Nobody would know of it, and nobody could ask for it again.
      if (call.signal.aborted && key === undefined) {
        const { id: taskId, deliveries: claimToken } = claimed.task;
        const claim = { taskId, agentId: command.agentId, claimToken };
        await plane.submit({ type: "task.unclaim", ...claim }, call.caller, () => undefined);
      }
      return { value: { task: claimed.encoded } };
    },
    extendClaim: async (input, { caller }) => {
      const { claimMs } = input;
      const length = claimMs === undefined ? {} : { claimMs };
      const command = { type: "task.extend", ...ownClaim(input), ...length } as const;
      return submit(plane, command, caller, lookAt(input.taskId));
    },
    completeTask: async (input, { caller }) => {
      const { output = "" } = input;
      if (bytesOf(output) > outputBytesMax) {
        return invalid(`output: is longer than ${outputBytesMax} bytes`);
      }
      const command = { type: "task.complete", ...ownClaim(input), output } as const;
      return submit(plane, command, caller, lookAt(input.taskId));
    },
    failTask: async (input, { caller }) => {
      const { reason = "", retryAfterMs = 0 } = input;
      const command = { type: "task.fail", ...ownClaim(input), reason, retryAfterMs } as const;
      return submit(plane, command, caller, lookAt(input.taskId));
    },
    cancelTask: async ({ taskId: id }, { caller }) =>
      submit(plane, { type: "task.cancel", taskId: taskId(id) }, caller, lookAt(id)),
    requeueTask: async ({ taskId: id }, { caller }) =>
      submit(plane, { type: "task.requeue", taskId: taskId(id) }, caller, lookAt(id)),
  };
}

type TaskCreated = Extract<Event, { readonly type: "task.created" }>;
type TaskClaimed = Extract<Event, { readonly task: Task }>;

/** Of what base64 stands for. */
function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

function ownClaim({ taskId: id, agentId: claimant, claimToken }: Input<"completeTask">) {
  const claim = { taskId: taskId(id), agentId: agentId(claimant) };
  return claimToken === undefined ? claim : { ...claim, claimToken: Number(claimToken) };
}

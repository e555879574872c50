/** The core's things as the extension says them. */
import type { Task } from "../../../core/index.ts";
import type { Task as WireTask } from "../../../wire/agentkeeper/index.ts";
import { type TaskInfo, TaskState } from "../../../wire/agentkeeper-ext/index.ts";
import { timestamp } from "../encode.ts";

const stateOf = {
  delayed: TaskState.DELAYED,
  pending: TaskState.PENDING,
  claimed: TaskState.CLAIMED,
  completed: TaskState.COMPLETED,
  dead: TaskState.DEAD,
  cancelled: TaskState.CANCELLED,
} as const;

/** `wire` is the same task, with or without its bytes. */
export function encodeTaskInfo(task: Task, wire: WireTask): TaskInfo {
  const endedAtMs = endOf(task);
  return {
    task: wire,
    state: stateOf[task.state],
    priority: task.priority,
    maxDeliveries: task.deliveriesMax,
    readyAt: task.state === "delayed" ? timestamp(task.readyAtMs) : undefined,
    endedAt: endedAtMs === undefined ? undefined : timestamp(endedAtMs),
  };
}

function endOf(task: Task): number | undefined {
  switch (task.state) {
    case "completed":
      return task.completedAtMs;
    case "dead":
      return task.diedAtMs;
    case "cancelled":
      return task.cancelledAtMs;
    case "delayed":
    case "pending":
    case "claimed":
      return undefined;
  }
}

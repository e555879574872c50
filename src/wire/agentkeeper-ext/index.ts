export {
  type AcquireLeaseRequest,
  type ClaimTaskRequest,
  type ClaimTaskResponse,
  type CompleteTaskRequest,
  type CreateTaskRequest,
  type ExtendClaimRequest,
  type FailTaskRequest,
  PlaneServiceDefinition,
  type TaskInfo,
  TaskState,
  type WatchRequest,
  WatchResponse,
} from "../gen/agentkeeper/ext/v1/ext.ts";

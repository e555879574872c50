/** Why an answer does not suit a question's schema; undefined if it does. The daemon checks the same. */
export { problemOfAnswer } from "../wire/answer-schema/index.ts";
export type {
  Activity,
  ActivityState,
  Agent as AgentInfo,
  AgentDetail,
  Answer,
  Attention,
  BudgetCounter,
  Card,
  Counts,
  Election,
  Entry,
  FindHit,
  Found,
  Input,
  Job as JobInfo,
  JobCost,
  JobDetail,
  JobProgress,
  JobState,
  Known,
  Lease as LeaseInfo,
  Liveness,
  LogPage,
  Observed,
  OperationName,
  Overview,
  Page,
  Policy,
  PolicyCheck,
  Question as QuestionInfo,
  Retained,
  Sighting,
  SightingState,
  Sightings,
  Task as TaskInfo,
  TaskState,
  Timeline,
  TokenCheck,
  Who,
  WorkEntry,
} from "../wire/api/index.ts";
/** An amount of a cost as people read it: `1.24`. */
export { readableAmount } from "../wire/api/index.ts";
export type { Agent, RegisterOptions, Report } from "./agent.ts";
export type { CallOptions, Cancellable, Fetch } from "./calls.ts";
export type { Candidacy, Leadership, LeadWork } from "./candidacy.ts";
export type { ClaimedTask, ClaimOptions } from "./claim.ts";
export type {
  Client,
  CreateTask,
  Filter,
  FindHits,
  FindOptions,
  Question,
  TaskDetail,
} from "./client.ts";
export { type ConnectOptions, connect } from "./connect.ts";
export type { Clock } from "./deadline.ts";
export { type ClientErrorCode, TipstaffError, type TipstaffErrorCode } from "./errors.ts";
export type { AcquireOptions, Lease } from "./lease.ts";
export type { Payload, PayloadValue } from "./payload.ts";
export type { AskOptions } from "./question.ts";
export type { Connection, Hello, Watch, WatchOptions } from "./watch.ts";

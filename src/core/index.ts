export { isPublicAddress } from "./addresses.ts";
export {
  type Capabilities,
  isCapabilityName,
  namesAddress,
  type Operation,
} from "./capabilities.ts";
export type { Cost } from "./costs.ts";
export {
  type Credential,
  type Credentials,
  listEnded,
  listStuck,
  type Made,
  retryAfterMs,
} from "./credentials.ts";
export {
  add,
  type Decimal,
  decimalOf,
  parseDecimal,
  printDecimal,
  subtract,
  toNumber,
  zero,
} from "./decimal.ts";
export {
  accept,
  type CoordinationCode,
  type Decision,
  type Refusal,
  type RefusalCode,
  type Refused,
  refuse,
} from "./decision.ts";
export { type Election, isContested } from "./elections.ts";
export {
  type AccessQuery,
  type AccessVerdict,
  check,
  type Explanation,
  explain,
  type Policy,
} from "./entitlements.ts";
export {
  type Event,
  type EventType,
  idOfWork,
  isEventType,
  isWorkEvent,
  parseEvent,
  printEvent,
  streamOf,
  topics,
  type WorkEvent,
} from "./events.ts";
export type { Failure } from "./failure.ts";
export {
  type Amount,
  authorise,
  type Budget,
  budgetOf,
  type Chain,
  type Counter,
  free,
  type Grant,
  type Granted,
  isAmount,
  narrow,
  parseAmount,
  printAmount,
  type Rules,
  readCost,
  readGrant,
  reduce,
  release,
  remaining,
  reserve,
  restToTell,
  settle,
  spend,
} from "./grants.ts";
export {
  type AgentId,
  agentId,
  type GroupName,
  groupName,
  type JobId,
  jobId,
  type ObservedId,
  observedId,
  type PolicyId,
  policyId,
  type QuestionId,
  questionId,
  type SessionId,
  sessionId,
  type TaskId,
  type Term,
  type Token,
  taskId,
  term,
  token,
} from "./ids.ts";
export {
  chainOf,
  costOf,
  countTold,
  type EndStatus,
  findAsked,
  findChild,
  type Job,
  type JobEvent,
  type Key,
  type Outcome,
  type SubmitJob,
  type Worker,
} from "./jobs.ts";
export { covers, type Journal, type Stretch, stretchesAfter } from "./journal.ts";
export { isJson, type JsonText, printJson } from "./json-text.ts";
export type { AcquireLease, Lease } from "./leases.ts";
export { limits } from "./limits.ts";
export {
  type Command,
  countAgents,
  countTasks,
  type Due,
  decide,
  emptyState,
  evolve,
  neededSequence,
  nextDueAtMs,
  note,
  type OwnState,
  overdue,
  type State,
  type Stir,
  stateOfJob,
  stirOf,
} from "./machine.ts";
export { type Dismissal, dismissalOf } from "./needs.ts";
export { type Observed, type ObservedState, observedStates } from "./observed.ts";
export {
  type Answerer,
  type AnswerQuestion,
  type Asker,
  type AskerName,
  type AskQuestion,
  type CloseReason,
  closeReasons,
  type Expected,
  findByKey as findQuestion,
  isSeenBy as isQuestionSeenBy,
  openOf as openQuestionsOf,
  type Question,
  type Questions,
  type ScopeMode,
  type ScopeRequest,
  scopeModes,
} from "./questions.ts";
export {
  type Activity,
  type Agent,
  type Capability,
  type Card,
  deadlinesOf,
  hasLeft,
  isActivityState,
  type Liveness,
  lastHeard,
  livingCount,
} from "./registry.ts";
export {
  lastEventSequence,
  type Session,
  type SessionEvent,
  skipsOf,
} from "./sessions.ts";
export {
  capture,
  describe,
  printRow,
  Restoring,
  type Section,
  type SectionName,
} from "./snapshot.ts";
export { type ClaimTask, claimByKey, type Task } from "./tasks.ts";

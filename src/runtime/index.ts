export { submitAnswer } from "./answering.ts";
export {
  type Answered,
  type AskOptions,
  type AskSchemaOptions,
  type GrantedScope,
  newQuestionId,
  readExpected,
  type ScopeRequestOptions,
  type Signals,
  type Wish,
} from "./asking.ts";
export { Attempt, readWord } from "./attempt.ts";
export { Catalogue, fullName, type Listed, type Offer } from "./catalogue.ts";
export {
  type Delegated,
  type DelegateOptions,
  RunContext,
  type RunContextOptions,
  restOf,
  type Surroundings,
  type Voice,
} from "./context.ts";
export {
  HeldCredential,
  type IssueContext,
  type Provisioned,
  type Provisioner,
  type Rotation,
} from "./credentials.ts";
export { isDelegated } from "./delegation.ts";
export { assembleResult } from "./endings.ts";
export {
  codedError,
  type ToolError,
  toWorkError,
  WorkError,
  type WorkErrorCode,
} from "./errors.ts";
export { type Followed, type Follower, Followers } from "./followers.ts";
export { type ContextOf, execute, type Handler } from "./in-process.ts";
export { limits } from "./limits.ts";
export { type Fields, type Logger, withFields } from "./logger.ts";
export { printBody, tellable } from "./printing.ts";
export { ResultStream } from "./result-stream.ts";
export type { Revocation } from "./revocations.ts";
export {
  type AgentOptions,
  type Around,
  type AttemptOutcome,
  type IdKind,
  type JobRequest,
  Runtime,
  type RuntimeOptions,
  type Submitted,
} from "./runtime.ts";
export { pausing, requireTimeout, TimeLimit } from "./time-limit.ts";
export { traceIdOf } from "./trace.ts";
export type { Work, Worker } from "./worker.ts";

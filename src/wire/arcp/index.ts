export {
  Assembly,
  type Chunk,
  type ChunkEncoding,
  type ChunkSize,
  decodeBase64,
  decodedBytes,
  encodeBase64,
  splitBytes,
  splitText,
} from "../work/chunks.ts";
export type { LogLevel } from "../work/log-levels.ts";
export {
  type Accepted,
  type AgentOffer,
  type Cancelled,
  type JobEntry,
  type JobEvent,
  type JobOutcome,
  type JobResult,
  type Jobs,
  printAccepted,
  printCancelled,
  printEventPayload,
  printJobError,
  printJobResult,
  printJobs,
  printSessionError,
  printSubscribed,
  printWelcome,
  readAccepted,
  readCancelled,
  readJobEvent,
  readJobs,
  readOutcome,
  readSessionError,
  readSubscribed,
  readWelcome,
  type SessionError,
  type Subscribed,
  type Welcome,
} from "./answers.ts";
export { type BodyView, normaliseBody } from "./bodies.ts";
export { checkBody, isBeyondTotal } from "./body-rules.ts";
export { canonicalJson, submitFingerprint } from "./canonical.ts";
export { messageTypes } from "./catalogue.ts";
export {
  type Dialect,
  type DialectOption,
  type DialectTraits,
  dialectOfWelcome,
  dialects,
  pythonFrames,
  type RejectionOptions,
  rejectionType,
} from "./dialect.ts";
export {
  type Envelope,
  type FrameHead,
  framePrinter,
  printEnvelope,
  printFrame,
  readEnvelope,
} from "./envelope.ts";
export {
  ArcpError,
  type ErrorCode,
  type ErrorPayload,
  errorClasses,
  errorCodes,
  isArcpError,
  isErrorCode,
  printError,
  type ReceivedError,
  readError,
} from "./errors.ts";
export {
  features,
  intersectFeatures,
  skippedKinds,
} from "./features.ts";
export { Fields, isObject, isTooDeep, type JsonObject, type Problem, type Read } from "./fields.ts";
export { type Heartbeat, heard, look, said, startHeartbeat } from "./heartbeat.ts";
export {
  deriveEventId,
  type IdKind,
  isBareUlid,
  isMintedId,
  isTraceId,
  monotonicUlids,
  printId,
  printResumeToken,
  printTraceId,
  sessionRandomOf,
  traceIdFrom,
  ulid,
} from "./ids.ts";
export { limits } from "./limits.ts";
export {
  type Amount,
  type Credential,
  type CredentialConstraints,
  type LeaseConstraints,
  type LeaseShape,
  printAmounts,
  printCredential,
  readCredentials,
} from "./parts.ts";
export {
  answeredType,
  answerRefusedType,
  answerType,
  printAnswer,
  printAnswered,
  type QuestionAnswer,
  type QuestionAnswered,
  readAnswer,
  readAnswered,
} from "./questions.ts";
export {
  type ClientName,
  type Hello,
  type ListJobs,
  type PeerName,
  printAck,
  printCancel,
  printFarewell,
  printHello,
  printListJobs,
  printPing,
  printPong,
  printSubmit,
  printSubscribe,
  printUnsubscribe,
  type ResumePoint,
  readAck,
  readCancel,
  readFarewell,
  readListJobs,
  readPing,
  readSubmit,
  readSubscribe,
  readUnsubscribe,
  type Subscribe,
} from "./requests.ts";
export {
  type Connection,
  type Effect,
  startConnection,
  stepConnection,
  unhandledVendor,
} from "./session.ts";
export { printTimestamp, readTimestamp } from "./timestamps.ts";
export {
  printTraceparent,
  readTraceHeaders,
  readTraceparent,
  type TraceHeaders,
  type TracePoint,
  traceHeadersIn,
  traceHeadersKey,
  traceHeadersOf,
} from "./trace-headers.ts";
export {
  isOptional,
  isVendorName,
} from "./vendor.ts";
export { implementationVersion, protocolVersion } from "./version.ts";
export { arcpCodeOf, withArcpCode, withOwnCode, workCodes } from "./work-codes.ts";

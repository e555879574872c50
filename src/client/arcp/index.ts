/** `tipstaff/arcp`: the ARCP client, for Node and for browsers. */
export {
  adopt,
  type BareTransport,
  connectWebSocket,
  type Frame,
  pairMemoryTransports,
  type Transport,
  TransportError,
} from "../../transport/browser/index.ts";
export {
  type AgentOffer,
  ArcpError as ARCPError,
  type BodyView,
  type Chunk,
  type Credential,
  type Envelope,
  type ErrorCode,
  errorClasses,
  features,
  implementationVersion as IMPL_VERSION,
  isArcpError as isARCPError,
  type JsonObject,
  type LeaseConstraints,
  type LeaseShape,
  protocolVersion as PROTOCOL_VERSION,
  type Welcome,
} from "../../wire/arcp/index.ts";
export type { AckPace } from "./acknowledging.ts";
export {
  ARCPClient,
  type CancelOptions,
  type JobFilter,
  type JobPage,
  type ListedJob,
  type Page,
  type ResumeFrom,
  type SubmitOptions,
  type SubscribeOptions,
} from "./client.ts";
export { JobCredential } from "./credential.ts";
export { ReceivedEvent } from "./event.ts";
export type { EventsOptions, JobDone } from "./following.ts";
export { type Budget, JobHandle, SubscribedJob } from "./handle.ts";
export type { FrameListener } from "./handlers.ts";
export type { ClientLogger, ClientOptions, Gap, Target } from "./options.ts";
export type { Request } from "./pending.ts";
export type { Timekeeper } from "./time.ts";

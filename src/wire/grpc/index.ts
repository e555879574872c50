export { type DescribedFile, describeFiles } from "../descriptors.ts";
export {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthDefinition,
} from "../gen/grpc/health/v1/health.ts";
export {
  ServerReflectionDefinition,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from "../gen/grpc/reflection/v1/reflection.ts";
export { ServerReflectionDefinition as ServerReflectionAlphaDefinition } from "../gen/grpc/reflection/v1alpha/reflection.ts";
export { type FramingProblem, frame, frameHead, Unframer } from "./framing.ts";
export {
  joinPieces,
  type Pieces,
  piecesOfBase64,
  piecesOfBytes,
  piecesOfField,
} from "./pieces.ts";
export { parseTimeoutMs, printStatusMessage, type StatusName, statusNumbers } from "./status.ts";

export {
  Assembly,
  type Chunk,
  type ChunkEncoding,
  type ChunkSize,
  decodeBase64,
  decodedBytes,
  encodeBase64,
  readChunk,
  splitBytes,
  splitText,
  usualChunk,
} from "./chunks.ts";
export { checkEvent, type EventKind, eventKinds, tellsOfQuestion } from "./events.ts";
export { isDeeper, isObject, isTooDeep, type JsonObject, type Problem } from "./json.ts";
export { limits } from "./limits.ts";
export type { LogLevel } from "./log-levels.ts";
export { type TraceHeaders, traceHeadersOf } from "./trace.ts";

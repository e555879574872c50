export { type AcceptedLoss, acceptLoss } from "./accept-loss.ts";
export type { Entry } from "./entry.ts";
export {
  type CutBounds,
  type Log,
  type LogCheck,
  LogError,
  type LogErrorCode,
  type LogSize,
  type Snapshot,
} from "./log.ts";
export { MemoryLog } from "./memory.ts";
export { LogReader } from "./reader.ts";
export { SqliteLog } from "./sqlite.ts";
export { type Verdict, verifyLog } from "./verify.ts";

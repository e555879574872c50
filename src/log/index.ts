export type { Entry } from "./entry.ts";
export { type Log, LogError, type LogErrorCode, type Snapshot } from "./log.ts";
export { MemoryLog } from "./memory.ts";
export { SqliteLog } from "./sqlite.ts";
export { type Verdict, verifyLog } from "./verify.ts";

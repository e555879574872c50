export type { StatusFile } from "../wire/status-file/index.ts";
export { type Clock, idleClock, wallClock } from "./clock.ts";
export {
  agentIdOf,
  type Env,
  expandHome,
  requireSafeId,
  statusDirectory,
  statusPath,
} from "./directory.ts";
export { StatusError, type StatusErrorCode } from "./errors.ts";
export { type PruneOptions, prune } from "./prune.ts";
export {
  codeOf,
  type DirectoryRead,
  readDirectory,
  readDirectoryInTurns,
  readFirst,
  readStatusFile,
  type Warning,
} from "./read.ts";
export { reportOf, type StatusReport } from "./report.ts";
export {
  type Change,
  type WatchDirectoryOptions,
  type WatchedFile,
  watchDirectory,
} from "./watch.ts";
export { WatchedFiles } from "./watched-files.ts";
export {
  isTemporaryName,
  removeFile,
  removeStatusFile,
  replaceFile,
  temporaryName,
  writeStatusFile,
  writeStatusFileInBackground,
} from "./write.ts";
export { StatusWriter, type WriterOptions } from "./writer.ts";

export { type Clock, idleClock, wallClock } from "./clock.ts";
export {
  agentIdOf,
  type DirectoryOptions,
  type Env,
  statusDirectory,
  statusPath,
} from "./directory.ts";
export { StatusError, type StatusErrorCode } from "./errors.ts";
export { type PruneOptions, prune } from "./prune.ts";
export {
  type DirectoryRead,
  readDirectory,
  readStatusFile,
  type StatusFile,
  type Warning,
} from "./read.ts";
export {
  type Change,
  type WatchDirectoryOptions,
  type WatchedFile,
  watchDirectory,
} from "./watch.ts";
export {
  isTemporaryName,
  removeStatusFile,
  writeStatusFile,
  writeStatusFileInBackground,
} from "./write.ts";

export { printAge } from "./age.ts";
export {
  adoptAdditions,
  type Beginning,
  beginRecord,
  changeRecord,
  fitRecord,
  type StatusUpdate,
  type TaskUpdate,
} from "./change.ts";
export { isLookupId, isSafeAgentId, sanitizeAgentId } from "./ids.ts";
export { limits } from "./limits.ts";
export { compareCodePoints, sortForDisplay, sortForLoad } from "./order.ts";
export { printJson, printRecord } from "./print.ts";
export { type Problem, type Read, type ReadOptions, readJson, readRecord } from "./read.ts";
export {
  type A2aLinks,
  type DerivedState,
  type Goal,
  goalSource,
  isMirrored,
  type Json,
  type JsonObject,
  type Lifecycle,
  lifecycles,
  markKey,
  marksOf,
  type Runtime,
  recordStates,
  type StatusFile,
  type StatusRecord,
  schemaVersion,
  type Task,
  type TaskState,
  taskStates,
} from "./record.ts";
export { type Doing, type RunningAgent, runningRecord, type SessionGoal } from "./running.ts";
export { jsonSchema } from "./schema.ts";
export { deriveState, lastActivityAtMs, type Moment, updatedAtMs } from "./state.ts";
export { type About, validateStrict } from "./strict.ts";
export { summarize } from "./summary.ts";
export { escapeForTerminal } from "./terminal.ts";
export { parseTimestamp, printTimestamp } from "./timestamp.ts";
export { isPane, type Tmux, tmuxOf } from "./tmux.ts";
export { validate } from "./validate.ts";

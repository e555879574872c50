export { type Accepted, type ArcpDoor, openArcpDoor } from "./door.ts";
export { type LeaseOpContext, type ValidateLeaseOpInput, validateLeaseOp } from "./lease.ts";
export { limits } from "./limits.ts";
export { costInLog, type ReplayedFrame, replayJob, replaySession } from "./replay.ts";
export type {
  ArcpDoorOptions,
  Observation,
  SessionContext,
  VendorFamily,
  VendorHandler,
  Verify,
} from "./settings.ts";

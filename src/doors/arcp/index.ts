export { type Accepted, type ArcpDoor, openArcpDoor } from "./door.ts";
export { limits } from "./limits.ts";
export { type ReplayedFrame, replayJob, replaySession } from "./replay.ts";
export type {
  ArcpDoorOptions,
  Observation,
  VendorFamily,
  VendorHandler,
  VendorSession,
  Verify,
} from "./settings.ts";

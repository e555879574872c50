export { type ArcpDoor, openArcpDoor } from "./door.ts";
export type {
  ArcpDoorOptions,
  Observation,
  VendorFamily,
  VendorHandler,
  VendorSession,
  Verify,
} from "./settings.ts";

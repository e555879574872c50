export {
  extensionPaths,
  type GrpcDoor,
  type GrpcDoorOptions,
  methodPaths,
  openGrpcDoor,
} from "./door.ts";
export type { AskModel, Find } from "./methods.ts";

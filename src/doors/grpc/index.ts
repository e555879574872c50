export {
  extensionPaths,
  type GrpcDoor,
  type GrpcDoorOptions,
  methodPaths,
  openGrpcDoor,
} from "./door.ts";
export type { Find } from "./methods.ts";

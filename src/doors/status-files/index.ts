export { openStatusDoor, type StatusDoor } from "./door.ts";
export { openMirror } from "./mirror.ts";

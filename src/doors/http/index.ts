export { Credentials } from "./credentials.ts";
export { type HttpDoor, type HttpDoorOptions, openHttpDoor } from "./door.ts";
export { httpStatus } from "./errors.ts";
export { limits } from "./limits.ts";
export { makeLookAround } from "./look-around.ts";
export { Metrics } from "./metrics.ts";
export type { About, Finding, FindQuestion } from "./operations.ts";
export { Timeline } from "./timeline.ts";

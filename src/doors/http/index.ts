export { type HttpDoor, type HttpDoorOptions, openHttpDoor } from "./door.ts";
export type { About, AgentRow, ElectionRow, LeaseRow, Overview, Rows } from "./encode.ts";
export { type ErrorBody, type HttpErrorCode, httpStatus } from "./errors.ts";
export { limits } from "./limits.ts";
export { Metrics } from "./metrics.ts";

export type { BusPosition } from "./bus.ts";
export { type Clock, SteadyClock } from "./clock.ts";
export type { Watch, WatchEnd, WatchOptions } from "./feed.ts";
export { idFromKey } from "./idempotency.ts";
export { keepTime } from "./keep-time.ts";
export { limits } from "./limits.ts";
export { type Caller, type Outcome, Plane, type PlaneOptions, type View } from "./plane.ts";
export type { Keep, Retained } from "./retention.ts";
export type { WaitingCommand } from "./waiting.ts";

/**
 * What `tipstaff/status` is made of: the files alone. The front of the room opens the daemon's door too, and
 * whoever only writes a file should get neither its code nor its declarations.
 */
export { idleClock } from "../clock.ts";
export { requireSafeId, statusDirectory, statusPath } from "../directory.ts";
export { StatusError, type StatusErrorCode } from "../errors.ts";
export { readDirectoryInTurns, type Warning } from "../read.ts";
export { reportOf, type StatusReport } from "../report.ts";
export { type Change, watchDirectory } from "../watch.ts";
export { StatusWriter } from "../writer.ts";

/**
 * Which operations need the token, and which tell more to a caller that sends it. The daemon checks by these lists, and
 * the command line sends the token by them, so the two cannot differ.
 */
import { routes } from "./routes.ts";
import type { OperationName } from "./types.ts";

/**
 * Reads of data that belongs to the user alone: files that nobody else may read, and what agents are asked to do.
 * Through the daemon's Unix socket they need no token.
 */
const personalReads: readonly OperationName[] = [
  "getStatus",
  "listJobs",
  "getJob",
  "listJobEvents",
  "listQuestions",
  "getQuestion",
];

/** These answer every caller, but include the user's own data only if the caller sends the token. */
const partlyPersonalReads: readonly OperationName[] = [
  "getAttention",
  "listEntries",
  "listAgents",
  "getAgent",
];

/** Whether the operation can be called without a token. */
export function isOpen(name: OperationName): boolean {
  const isReading = routes[name].method === "GET";
  return (isReading && !personalReads.includes(name)) || name === "openSession";
}

/** Whether the token changes what the operation answers. */
export function usesToken(name: OperationName): boolean {
  return !isOpen(name) || partlyPersonalReads.includes(name);
}

/** What WebSocket's close codes mean to us (ARCP 1.1 §4; RFC 6455 §7.4). It runs in browsers as well. */
import { limits } from "../limits.ts";
import { TransportError } from "../transport.ts";

/** For `close(reason, code)`. */
export const closeCodes = {
  normal: 1000,
  /** We are shutting down, or the peer's heartbeat is lost. */
  goingAway: 1001,
  /** Not authenticated, no hello in time, or too many malformed frames. */
  policy: 1008,
  tooBig: 1009,
  internal: 1011,
} as const;

/** What the peer's close code says went wrong. Peers that close without a code (1005) mean no harm. */
export function errorOf(code: number, reason: string): TransportError | undefined {
  if (code === 1000 || code === 1001 || code === 1005) return undefined;
  if (code === 1006) return new TransportError("lost", "the connection broke");
  const why = reason === "" ? "" : `: ${reason}`;
  if (code === 1009)
    return new TransportError("too_big", `the peer refused a frame as too big${why}`);
  return new TransportError("refused", `the peer closed the connection with ${code}${why}`);
}

/** A reason that fits into a close frame. */
export function fitReason(reason: string): string {
  const bytes = new TextEncoder().encode(reason);
  if (bytes.length <= limits.reasonBytesMax) return reason;
  // Decoding in parts leaves out the character that was cut in two.
  return new TextDecoder().decode(bytes.subarray(0, limits.reasonBytesMax), { stream: true });
}

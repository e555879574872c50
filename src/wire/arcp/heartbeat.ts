/**
 * When to ping and when to give up, as a function of times (ARCP-69 to 73). The same for both sides: whoever
 * neither heard nor said anything for an interval pings; who heard nothing for two, and has waited for an
 * answer for at least one, declares the other lost. Times are of a monotonic clock, in milliseconds.
 */
import { limits } from "./limits.ts";

export type Heartbeat = {
  readonly intervalMs: number;
  readonly heardAtMs: number;
  readonly saidAtMs: number;
  /** When the oldest ping went out that nothing has come after; any frame is an answer. */
  readonly pingedAtMs: number | undefined;
  /** When the next look is planned. */
  readonly lookAtMs: number;
};

export type Look = {
  readonly heartbeat: Heartbeat;
  /** `ping`: send one now; it is counted as said already. `lost`: the other side is gone. */
  readonly verdict: "fine" | "ping" | "lost";
};

export function startHeartbeat(nowMs: number, intervalMs: number = limits.heartbeatMs): Heartbeat {
  return {
    intervalMs,
    heardAtMs: nowMs,
    saidAtMs: nowMs,
    pingedAtMs: undefined,
    lookAtMs: nowMs + intervalMs,
  };
}

/** Any frame counts as life. */
export function heard(heartbeat: Heartbeat, nowMs: number): Heartbeat {
  return { ...heartbeat, heardAtMs: nowMs, pingedAtMs: undefined };
}

export function said(heartbeat: Heartbeat, nowMs: number): Heartbeat {
  return { ...heartbeat, saidAtMs: nowMs };
}

/** To be called at `lookAtMs`, or whenever one likes. The answer says when to look again. */
export function look(heartbeat: Heartbeat, nowMs: number): Look {
  if (isLost(heartbeat, nowMs)) {
    const isStalled = nowMs - heartbeat.lookAtMs > limits.stallMs;
    if (!isStalled) return { heartbeat, verdict: "lost" };
    // We were away, not the other side: what has arrived meanwhile must be read before we judge.
    return { heartbeat: { ...heartbeat, lookAtMs: nowMs + limits.stallMs }, verdict: "fine" };
  }
  if (nowMs < pingDueMs(heartbeat)) return { heartbeat: planned(heartbeat), verdict: "fine" };
  const pinged = { ...heartbeat, saidAtMs: nowMs, pingedAtMs: heartbeat.pingedAtMs ?? nowMs };
  return { heartbeat: planned(pinged), verdict: "ping" };
}

function isLost({ intervalMs, heardAtMs, pingedAtMs }: Heartbeat, nowMs: number): boolean {
  return (
    pingedAtMs !== undefined &&
    nowMs - heardAtMs >= 2 * intervalMs &&
    nowMs - pingedAtMs >= intervalMs
  );
}

function pingDueMs({ intervalMs, heardAtMs, saidAtMs, pingedAtMs }: Heartbeat): number {
  // While a ping is out, that nothing was heard is no reason for another.
  const quietSinceMs = pingedAtMs === undefined ? Math.min(heardAtMs, saidAtMs) : saidAtMs;
  return quietSinceMs + intervalMs;
}

function planned(heartbeat: Heartbeat): Heartbeat {
  const { intervalMs, heardAtMs, pingedAtMs } = heartbeat;
  const lostAtMs =
    pingedAtMs === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(heardAtMs + 2 * intervalMs, pingedAtMs + intervalMs);
  return { ...heartbeat, lookAtMs: Math.min(pingDueMs(heartbeat), lostAtMs) };
}

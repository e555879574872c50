/** Times that tick. */
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { now } from "../clock.ts";
import { clockTime, duration, exactTime, timeLeft } from "../words/time.ts";

/** "12 s ago", or as `form` has it; pointing at it tells the exact time. */
export function Ago({
  atMs,
  form = "ago",
}: {
  readonly atMs: number;
  readonly form?: "ago" | "for";
}): JSX.Element {
  const at = useSignal(atMs);
  at.value = atMs;
  const text = useComputed(() => {
    const since = duration(now.value - at.value);
    return form === "ago" ? `${since} ago` : since;
  });
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs, now.peek())}>
      {text}
    </time>
  );
}

/** When an agent was last heard. The daemon does not keep heartbeats over a restart, so an older time would be wrong. */
export function Heard({
  atMs,
  unheardSinceMs,
  verb = "",
}: {
  readonly atMs: number;
  readonly unheardSinceMs: number | undefined;
  /** Before the time. */
  readonly verb?: string;
}): JSX.Element {
  if (unheardSinceMs !== undefined) {
    const title = `The daemon restarted at ${exactTime(unheardSinceMs, now.peek())}`;
    return <span title={title}>not heard since the restart</span>;
  }
  return (
    <>
      {verb !== "" && `${verb} `}
      <Ago atMs={atMs} />
    </>
  );
}

/** "4 min, since 14:02". */
export function Since({ atMs }: { readonly atMs: number }): JSX.Element {
  return (
    <span class="since">
      <Ago atMs={atMs} form="for" />
      <span class="soft"> since {clockTime(atMs, now.peek())}</span>
    </span>
  );
}

/** "in 9 min". */
export function Until({ atMs }: { readonly atMs: number }): JSX.Element {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs, now.peek())}>
      in {timeLeft(atMs - now.value)}
    </time>
  );
}

/** How much of a time is left, as a bar that shrinks and in words. */
export function TimeLeft({
  expiresAtMs,
  ttlMs,
}: {
  readonly expiresAtMs: number;
  readonly ttlMs: number;
}): JSX.Element {
  const leftMs = Math.max(0, expiresAtMs - now.value);
  const share = ttlMs > 0 ? Math.min(1, leftMs / ttlMs) : 0;
  return (
    <span class="time-left">
      <span class="bar" aria-hidden="true">
        <span class="fill" style={{ transform: `scaleX(${share.toFixed(3)})` }} />
      </span>
      <span class="figure">{timeLeft(leftMs)} left</span>
    </span>
  );
}

/** The daemon's time, as well as we know it, ticking once a second: what is relative to now follows it. */
import { signal } from "@preact/signals";

let offsetMs = 0;

export const now = signal(Date.now());

/** An answer said what time it is there. */
export function setClock(nowMs: number): void {
  offsetMs = nowMs - Date.now();
  // Ages that are far off are not left standing until the next tick.
  if (Math.abs(now.peek() - nowMs) > 2_000) now.value = nowMs;
}

export function nowMs(): number {
  return Date.now() + offsetMs;
}

export function startClock(): void {
  setInterval(() => {
    now.value = nowMs();
  }, 1_000);
}

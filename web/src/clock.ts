/** The daemon's time, as well as we know it, ticking once a second: what is relative to now follows it. */
import { signal } from "@preact/signals";

let offsetMs = 0;

export const now = signal(Date.now());

/** An answer said what time it is there. */
export function setClock(nowMs: number): void {
  offsetMs = nowMs - Date.now();
}

export function nowMs(): number {
  return Date.now() + offsetMs;
}

export function startClock(): void {
  setInterval(() => {
    now.value = nowMs();
  }, 1_000);
}

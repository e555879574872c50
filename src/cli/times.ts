/** Times and amounts as people say them, and durations as people type them. */

/** `12 s`, `4 min`, `3 h`, `5 days`: one unit is enough to act on. */
export function forHowLong(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

export function ago(atMs: number, nowMs: number): string {
  return `${forHowLong(nowMs - atMs)} ago`;
}

/**
 * When an agent was last heard. Heartbeats do not survive a restart of the daemon, so an older time would be wrong.
 */
export function heardAgo(
  {
    heardAtMs,
    unheardSinceMs,
  }: { readonly heardAtMs: number; readonly unheardSinceMs?: number | undefined },
  nowMs: number,
): string {
  return unheardSinceMs === undefined ? ago(heardAtMs, nowMs) : "not heard since the restart";
}

export function left(untilMs: number, nowMs: number): string {
  return untilMs <= nowMs ? "over" : `${forHowLong(untilMs - nowMs)} left`;
}

/** `12:00:07` of this day, with the date if it is another. */
export function atTime(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} ${time}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** `1.2 MB`: as disks are sold, in powers of ten. */
export function bytesOf(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1_000 && unit < units.length - 1) {
    amount /= 1_000;
    unit += 1;
  }
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

/** `1 agent`, `3 agents`, `12,000 agents`. */
export function countOf(count: number, one: string, many: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Not by the locale: loading those takes longer than the whole command. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `250ms`, `30s`, `5m`, `2h`, `1d`, or a number of seconds; in milliseconds. Undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit = "s"] =
    /^(\d{1,9}(?:\.\d{1,3})?)(?: ?(ms|s|m|min|h|d))?$/.exec(text) ?? [];
  const factor = unitMs[unit];
  return digits === undefined || factor === undefined
    ? undefined
    : Math.round(Number(digits) * factor);
}

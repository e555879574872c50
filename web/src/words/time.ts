/** Times and numbers as people read them. */

/** How long something took or has lasted: as much as is over. */
export function duration(ms: number): string {
  return inUnits(ms, Math.floor);
}

/** How long it is until then: never less than it will be. */
export function timeLeft(ms: number): string {
  return inUnits(ms, Math.ceil);
}

/** A unit begins at two of it: one of it would tell too little. */
function inUnits(ms: number, round: (value: number) => number): string {
  const seconds = Math.max(0, round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = round(seconds / 3_600);
  return hours < 48 ? `${hours} h` : `${round(seconds / 86_400)} d`;
}

const timeOfDay = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const toTheSecond = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Without a date, a time of day is taken for the last such time. */
const dateFromMs = 12 * 3_600_000;

/** The time of day; with the date if it could be mistaken for another day's. */
export function clockTime(atMs: number, nowMs: number): string {
  return withDate(atMs, nowMs, timeOfDay);
}

export function exactTime(atMs: number, nowMs: number): string {
  return withDate(atMs, nowMs, toTheSecond);
}

function withDate(atMs: number, nowMs: number, format: Intl.DateTimeFormat): string {
  const isNear = Math.abs(nowMs - atMs) < dateFromMs;
  return isNear ? format.format(atMs) : `${date.format(atMs)} ${format.format(atMs)}`;
}

const grouped = new Intl.NumberFormat("en-GB");

/** With a narrow space between thousands. */
export function number(value: number): string {
  return grouped.format(value).replaceAll(",", "\u202f");
}

/** Short enough for the end of an axis or a tile. */
export function figure(value: number): string {
  if (value >= 10_000) return `${number(Math.round(value / 1_000))}k`;
  if (value >= 100 || Number.isInteger(value)) return number(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function milliseconds(value: number): string {
  if (value >= 1_000) return `${figure(value / 1_000)} s`;
  return `${figure(value)} ms`;
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 1_000_000) return `${figure(count / 1_000)} kB`;
  if (count < 1_000_000_000) return `${figure(count / 1_000_000)} MB`;
  return `${figure(count / 1_000_000_000)} GB`;
}

export function count(value: number, one: string, many: string): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

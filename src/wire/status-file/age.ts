/** How long ago, in the largest unit that fits, cut off; for what lies ahead, in how long. */
export function printAge(ageMs: number): string {
  const seconds = Math.trunc(ageMs / 1_000);
  return seconds < 0 ? `in ${inUnits(-seconds)}` : `${inUnits(seconds)} ago`;
}

function inUnits(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.trunc(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.trunc(seconds / 3_600)}h`;
  return `${Math.trunc(seconds / 86_400)}d`;
}

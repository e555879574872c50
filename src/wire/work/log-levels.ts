/** Apart from the table of events, so that a client that only reads events does not bring the table along. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "critical"] as const;
export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return logLevels.some((each) => each === value);
}

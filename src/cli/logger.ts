/** Log lines on standard error: JSON for machines, or short lines for people. */
import { writeSync } from "node:fs";
import { type Logger, pino, stdSerializers } from "pino";

export type LogFormat = "text" | "json";

/** Written at once: the last line before a stop is the one that matters. */
export function makeLogger(format: LogFormat): Logger {
  const write = (line: string): void => {
    try {
      writeSync(process.stderr.fd, format === "json" ? line : forPeople(line));
    } catch {
      // Nobody reads it: a closed or full pipe must not stop the daemon.
    }
  };
  const options = {
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    // Our messages name their cause already.
    serializers: { err: stdSerializers.errWithCause },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, { write });
}

function forPeople(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line);
  const details = Object.entries(rest).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const cause = err?.message === undefined ? "" : `: ${err.message}`;
  return `${String(time).slice(11, 19)} ${level} ${msg}${cause}${details.join("")}\n`;
}

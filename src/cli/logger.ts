/** Log lines on standard error: JSON for machines, or short lines for people. */
import { writeSync } from "node:fs";
import { type Logger, pino, stdSerializers } from "pino";
import type { Logger as RuntimeLogger } from "../arcp-server.ts";

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

/** The same for the runtime, which says first what happened and then to whom. */
export function linesTo(logger: Logger): RuntimeLogger {
  const line =
    (level: keyof RuntimeLogger): RuntimeLogger["info"] =>
    (message, { error: err, jobId, agent, workerId, ...fields } = {}) => {
      // What agents add has a place of its own: whatever they call it, the line keeps its time and its level.
      const added = Object.keys(fields).length > 0 && { fields };
      logger[level](
        { jobId, agent, workerId, ...added, ...(err !== undefined && { err }) },
        message,
      );
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

function forPeople(line: string): string {
  const { level, time, msg, err, fields, ...ours } = JSON.parse(line);
  const named = new Set(String(msg).split(/[\s,;:]+/));
  const details = Object.entries(ours)
    .filter(([key, value]) => !(whose.has(key) && named.has(String(value))))
    .concat(Object.entries(fields ?? {}))
    .map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const cause = err === undefined ? "" : `: ${causeOf(err)}`;
  const said = `${String(time).slice(11, 19)} ${level} ${msg}${cause}${details.join("")}\n`;
  return level === "error" ? `${said}${framesOf(err?.stack)}` : said;
}

/** Most messages name them, and once is enough. */
const whose: ReadonlySet<string> = new Set(["jobId", "agent", "workerId"]);

/** Anything can be thrown. */
function causeOf(err: { readonly message?: unknown } | string | null): string {
  if (typeof err === "string") return err;
  return typeof err?.message === "string" ? err.message : JSON.stringify(err);
}

/** Where an agent of the user's failed. What our own doors warn of says what there is to say. */
function framesOf(stack: unknown): string {
  const frames = typeof stack === "string" ? stack.split("\n").filter(isFrame) : [];
  return frames.map((frame) => `${frame}\n`).join("");
}

function isFrame(line: string): boolean {
  return line.startsWith("    at ");
}

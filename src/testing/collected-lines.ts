/** A logger that keeps what it is told. */
import type { Fields, Logger, LogLine } from "../runtime/logger.ts";

export type Line = {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Fields | undefined;
};

export function collectLines(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const line =
    (level: keyof Logger): LogLine =>
    (message, fields) =>
      void lines.push({ level, message, fields });
  const logger = {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  };
  return { logger, lines };
}

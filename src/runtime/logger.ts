/** Lines for whoever runs this process: of the runtime, and of agents that are part of it. Nobody else sees them. */

/** What a line is about; `error` is what was thrown. */
export type Fields = Readonly<Record<string, unknown>>;

export type LogLine = (message: string, fields?: Fields) => void;

/** `console` is one. */
export type Logger = {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
};

/** The same with these fields in each line. One that throws is not worth a job: what it throws is passed over. */
export function withFields(logger: Logger | undefined, fields: Fields): Logger {
  const line =
    (level: keyof Logger): LogLine =>
    (message, more) => {
      try {
        logger?.[level](message, { ...fields, ...more });
      } catch {
        // There is nowhere to say it.
      }
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/** The status codes of gRPC, by name. */
export const statusNumbers = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type StatusName = keyof typeof statusNumbers;

/** `grpc-message` is percent-encoded UTF-8: printable ASCII but for `%` stays as it is. */
export function printStatusMessage(message: string): string {
  return message.replace(/[^ -$&-~]+/gu, (run) => {
    const bytes = [...Buffer.from(run, "utf8")];
    return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  });
}

const timeoutUnitsMs: ReadonlyMap<string, number> = new Map([
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1_000],
  ["m", 1],
  ["u", 0.001],
  ["n", 0.000_001],
]);

/** `grpc-timeout`: at most eight digits and a unit. Undefined if it is not that. */
export function parseTimeoutMs(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const unitMs = timeoutUnitsMs.get(unit ?? "");
  return unitMs === undefined ? undefined : Number(digits) * unitMs;
}

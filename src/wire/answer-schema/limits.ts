/** Limits of a schema: far more than a form for a person needs, and quick to check. */
export const limits = {
  depthMax: 16,
  /** Schemas inside a schema, including itself. Each is checked once for each part of an answer. */
  schemasMax: 256,
  enumMax: 1_000,
  /** Steps of one check, each of one schema against one part of the answer. Takes about 0.1 s. */
  stepsMax: 100_000,
} as const;

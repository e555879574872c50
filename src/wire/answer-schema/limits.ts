/** Limits of a schema: far more than a form for a person needs, and quick to check. */
export const limits = {
  depthMax: 16,
  /** Schemas inside a schema, including itself. Each is checked once for each part of an answer. */
  schemasMax: 256,
  enumMax: 1_000,
  /**
   * Steps of one check. A step is one schema against one value of the answer, or one value inside a list or an object
   * that is compared as a whole. All of them take about 0.1 s.
   */
  stepsMax: 100_000,
  /** How many names, types or characters are read in the time of one step. */
  readsOfStep: 8,
  /** How deep a value that is compared as a whole may be nested: each level takes space on the call stack. */
  valueDepthMax: 256,
} as const;

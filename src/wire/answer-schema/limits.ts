/** What a schema may be: far more than a form that a person fills in, and quick to check. */
export const limits = {
  depthMax: 16,
  /** Schemas within the schema, with itself. Each is looked at once for each part of an answer. */
  schemasMax: 256,
  enumMax: 1_000,
  /** Of one check, each a schema held against a part of the answer: about a tenth of a second. */
  stepsMax: 100_000,
} as const;

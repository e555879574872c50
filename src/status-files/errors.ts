/** What a writer may be told. What the system says (`ENOSPC`, `EROFS`, …) is passed on as it is. */
export type StatusErrorCode =
  /** The record is not valid; `errors` says why, in the validator's words. Nothing was written. */
  | "invalid_status"
  /** The id cannot be the name of a file. */
  | "unsafe_id"
  /** No reader would read so large a record. */
  | "too_large"
  /** This process writes a record of that id already. */
  | "id_taken";

export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: StatusErrorCode;
  readonly errors: readonly string[];

  constructor(code: StatusErrorCode, errors: readonly string[]) {
    super(errors.join("; "));
    this.code = code;
    this.errors = errors;
  }
}

/** Why something that was asked for did not come about. */
export type Failure = {
  /** Of ours, or whatever the agent said. */
  readonly code: string;
  readonly message: string;
  readonly isRetryable: boolean;
  /** JSON. */
  readonly details?: string;
};

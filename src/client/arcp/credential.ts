/** A key that came with a job. Whoever prints the job, or a log of it, does not print the key (ARCP-174). */
import type { Credential, CredentialConstraints } from "../../wire/arcp/index.ts";

export class JobCredential implements Credential {
  readonly id: string;
  readonly scheme: string;
  readonly endpoint: string;
  readonly profile: string | undefined;
  readonly constraints: CredentialConstraints | undefined;
  readonly #value: string;

  constructor({ id, scheme, value, endpoint, profile, constraints }: Credential) {
    this.id = id;
    this.scheme = scheme;
    this.endpoint = endpoint;
    this.profile = profile;
    this.constraints = constraints;
    this.#value = value;
  }

  /** Secret. */
  get value(): string {
    return this.#value;
  }

  toJSON(): object {
    return { ...this, value: "[redacted]" };
  }

  toString(): string {
    return `credential ${this.id}`;
  }
}

/**
 * Credentials that somebody makes for a job before it is accepted, and unmakes when it has ended (ARCP 1.1 contract,
 * 9.7). Their values are in the memory of this process and nowhere else: the log has who made them for whom, and a
 * hash by which a value is known again.
 */
import { createHash } from "node:crypto";
import {
  type Capabilities,
  type Credential,
  type Job,
  type JobId,
  listEnded,
  type Made,
  printJson,
  remaining,
  toNumber,
} from "../core/index.ts";
import type { Clock, Outcome, Plane } from "../plane/index.ts";
import type { Attempt } from "./attempt.ts";
import { toWorkError, WorkError } from "./errors.ts";
import { limits } from "./limits.ts";
import { type Revocation, Revocations, revocationOf } from "./revocations.ts";
import { traceIdOf } from "./trace.ts";

/** What a credential is good for, as far as whoever made it says so. */
export type CredentialConstraints = {
  readonly expiresAt?: string | undefined;
  readonly costBudget?: readonly string[] | undefined;
  readonly modelUse?: readonly string[] | undefined;
};

/** Whoever makes credentials. What it throws is told to `onIssueFailure` alone, lest it has a value in it. */
export interface Provisioner {
  /** What the job is to have. No value may be one that another unfinished job has. */
  issue(context: IssueContext): Promise<readonly Provisioned[]>;
  /** Resolves when it is of no use any more. It may be asked again for what is gone already. */
  revoke(revocation: Revocation): Promise<void>;
}

export type IssueContext = {
  readonly jobId: string;
  readonly parentJobId?: string;
  /** As it was resolved. */
  readonly agent: string;
  readonly principal: string;
  readonly traceId: string;
  readonly lease: Capabilities;
  readonly leaseConstraints: { readonly expires_at?: string };
  /** What is left of each currency. */
  readonly budget: Readonly<Record<string, number>>;
  /** Aborts when nobody waits any more. What is answered after that is revoked. */
  readonly signal: AbortSignal;
};

export type Provisioned = {
  /** Made up if absent. */
  readonly id?: string;
  readonly value: string;
  readonly endpoint: string;
  readonly scheme?: "bearer";
  readonly profile?: string;
  readonly constraints?: CredentialConstraints;
  /** What the provisioner knows it by. Kept in the log: no secret. */
  readonly handle?: string;
};

/** One that a job has. Only who asks for its value sees it. */
export class HeldCredential {
  readonly id: string;
  readonly scheme = "bearer";
  readonly endpoint: string;
  readonly profile?: string;
  readonly constraints?: CredentialConstraints;
  readonly #value: string;

  constructor(id: string, { value, endpoint, profile, constraints }: Provisioned) {
    this.id = id;
    this.endpoint = endpoint;
    if (profile !== undefined) this.profile = profile;
    if (constraints !== undefined) this.constraints = constraints;
    this.#value = value;
  }

  get value(): string {
    return this.#value;
  }

  with(value: string): HeldCredential {
    return new HeldCredential(this.id, { ...this, value });
  }

  toJSON(): object {
    return { ...this, value: "[redacted]" };
  }

  toString(): string {
    return `credential ${this.id}`;
  }
}

/** A newer value of a credential. The entry of the log with that sequence says so, without the value. */
export type Rotation = {
  readonly jobId: JobId;
  readonly credentialId: string;
  readonly value: string;
  readonly sequence: number;
};

/** What came of asking for credentials. */
type Issued = {
  readonly held: readonly HeldCredential[];
  readonly made: readonly Made[];
  /** Whether the job can have them. */
  readonly isReady: boolean;
};

export type ProvisioningOptions = {
  readonly plane: Plane;
  readonly clock: Clock;
  readonly provisioner: Provisioner;
  readonly newId: (kind: "credential") => string;
  readonly onIssueFailure: (failure: { readonly jobId: JobId; readonly error: unknown }) => void;
  readonly onRevocationFailure: (credential: Credential) => void;
};

export class Provisioning implements Disposable {
  readonly #options: ProvisioningOptions;
  readonly #revocations: Revocations;
  readonly #closing = new AbortController();
  readonly #held = new Map<JobId, readonly HeldCredential[]>();
  readonly #listeners = new Set<(rotation: Rotation) => void>();

  constructor(options: ProvisioningOptions) {
    this.#options = options;
    const { plane, clock, provisioner, onRevocationFailure } = options;
    this.#revocations = new Revocations({
      plane,
      clock,
      revoke: async (revocation) => await provisioner.revoke(revocation),
      onFailure: onRevocationFailure,
    });
    this.#revocations.add(plane.peek(({ credentials }) => listEnded(credentials)));
  }

  /** With their values, while the job may use them. */
  of(jobId: JobId): readonly HeldCredential[] {
    return this.#held.get(jobId) ?? [];
  }

  /** Asks for what a job is to have. Never rejects. What comes when nobody waits any more is revoked. */
  async issue(job: Job, { withinMs }: { readonly withinMs: number }): Promise<Issued> {
    const { clock, onIssueFailure } = this.#options;
    const waiting = new AbortController();
    const answered = new AbortController();
    const signal = AbortSignal.any([answered.signal, this.#closing.signal]);
    const issuing = this.#ask(job, waiting.signal);
    const tooLate = clock.until(clock.nowMs() + withinMs, signal).then(() => {
      throw new Error(`no credentials were issued within ${withinMs} ms`);
    });
    try {
      return await Promise.race([issuing, tooLate]);
    } catch (error) {
      waiting.abort();
      onIssueFailure({ jobId: job.id, error });
      issuing.then(
        (late) => this.conclude(job.id, { ...late, isReady: false }),
        () => undefined,
      );
      return { held: [], made: [], isReady: false };
    } finally {
      answered.abort();
    }
  }

  async #ask(job: Job, signal: AbortSignal): Promise<Issued> {
    const { plane, provisioner, newId } = this.#options;
    const budget = plane.peek(({ jobs }) => jobs.budgets.get(job.id) ?? []);
    const { expiresAt } = job.grant;
    const provisioned = await provisioner.issue({
      jobId: job.id,
      ...(job.parentId !== undefined && { parentJobId: job.parentId }),
      agent: job.agent,
      principal: job.principal,
      traceId: traceIdOf(job),
      lease: job.grant.capabilities,
      leaseConstraints: expiresAt === undefined ? {} : { expires_at: expiresAt },
      budget: Object.fromEntries(
        budget.map((counter) => [counter.currency, toNumber(remaining(counter))]),
      ),
      signal,
    });
    return judge(provisioned, () => newId("credential"));
  }

  /**
   * Writes down what was made and, if that is what the job is to have, accepts it: answers the job then, before
   * any of it is kept.
   */
  conclude(
    jobId: JobId,
    { held, made, isReady }: Issued,
  ): Outcome<{ readonly job: Job; readonly sequence: number } | undefined> {
    const { plane, provisioner } = this.#options;
    const command = { type: "job.prepared", jobId, isReady, credentials: made } as const;
    const actor = "provisioner";
    const outcome = plane.carryOut(command, { actor }, ({ lastSequence }, events) => {
      const accepted = events.find((event) => event.type === "job.accepted");
      return accepted && { job: accepted.job, sequence: lastSequence };
    });
    if (outcome.value && held.length > 0) this.#held.set(jobId, held);
    if (outcome.refusal) {
      // The log is closed: nobody will know of them later.
      for (const one of made) {
        const revocation = revocationOf({ jobId, ...one, isReplaced: false });
        void (async () => await provisioner.revoke(revocation))().catch(() => undefined);
      }
    }
    return outcome;
  }

  /** What is nobody's any more: it is forgotten here, and revoked where it was made. */
  hearEnded(credential: Credential): void {
    const { jobId, credentialId, isReplaced } = credential;
    if (!isReplaced) {
      const rest = this.of(jobId).filter(({ id }) => id !== credentialId);
      if (rest.length > 0) this.#held.set(jobId, rest);
      else this.#held.delete(jobId);
    }
    this.#revocations.begin(credential);
  }

  /** Puts a newer value in the place of one that the job has, and has the older revoked. */
  async rotate(
    { jobId, attempt }: Pick<Attempt, "jobId" | "attempt">,
    credentialId: string,
    value: string,
    { handle }: { readonly handle?: string } = {},
  ): Promise<void> {
    const { plane } = this.#options;
    if (!isText(value)) throw new WorkError("invalid_argument", "a value is a text");
    const body = printJson({ phase: "credential_rotated", id: credentialId });
    const command = {
      type: "credential.rotate",
      jobId,
      attempt,
      credentialId,
      valueHash: hashOf(value),
      ...(handle !== undefined && { handle }),
      said: { kind: "status", body },
    } as const;
    const actor = `job/${jobId}`;
    const rotated = plane.carryOut(command, { actor }, ({ lastSequence }, events) => {
      const after = events.length - 1 - events.findIndex(({ type }) => type === "job.emitted");
      return lastSequence - after;
    });
    if (rotated.refusal) throw toWorkError(rotated.refusal);
    const held = this.of(jobId).map((one) => (one.id === credentialId ? one.with(value) : one));
    if (held.length > 0) this.#held.set(jobId, held);
    const rotation = { jobId, credentialId, value, sequence: rotated.value };
    for (const tell of this.#listeners) tell(rotation);
    await plane.read(() => undefined);
  }

  /** Told of each newer value before its entry is kept, so that who tells the entry can put it in. */
  onRotation(listener: (rotation: Rotation) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#revocations[Symbol.dispose]();
    this.#held.clear();
  }
}

/** Whoever provisions is not of this project: what it answers is looked at before it is believed. */
function judge(provisioned: readonly Provisioned[], newId: () => string): Issued {
  const named = provisioned.map((one) => ({ one, id: isText(one.id) ? one.id : newId() }));
  const made = named.map(({ one: { value, handle }, id }) => ({
    credentialId: id,
    ...(handle !== undefined && { handle: String(handle) }),
    valueHash: hashOf(String(value)),
  }));
  const isReady =
    named.length <= limits.credentialsOfJobMax &&
    new Set(named.map(({ id }) => id)).size === named.length &&
    provisioned.every(isUsable);
  return { held: named.map(({ one, id }) => new HeldCredential(id, one)), made, isReady };
}

/** No other scheme is understood by every client, and one that is not spoils the whole answer (ARCP-173). */
function isUsable({ value, endpoint, scheme = "bearer" }: Provisioned): boolean {
  return isText(value) && isText(endpoint) && scheme === "bearer";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function hashOf(value: string): string {
  return createHash("sha256").update(value).digest("base64url");
}

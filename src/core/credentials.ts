/**
 * Credentials that were made for jobs somewhere else, and must be unmade there. What is kept of one is how to name
 * it to whoever made it, and a hash by which its value is known again; the value itself is nowhere here. One is
 * - `live`: its job may use it. It ends with its job, with the one that asked for that, or when a newer value
 *   takes its place;
 * - `ended`: nobody may use it any more, and it is to be revoked. When it was, it is forgotten, and not before;
 * - `stuck`: as ended, but it was tried as often as is tried in a hurry, and failed. It is tried on, at leisure.
 */
import { accept, type Decision, type Refused, refuse } from "./decision.ts";
import type { JobId } from "./ids.ts";
import type { JsonText } from "./json-text.ts";
import { limits } from "./limits.ts";
import { putInto, takeFrom } from "./sets-by-key.ts";

export type Credential = {
  readonly jobId: JobId;
  /** Counts those of one job: a value that takes the place of another has a number of its own. */
  readonly number: number;
  /** What its job calls it. */
  readonly credentialId: string;
  /** What whoever made it calls it. */
  readonly handle?: string;
  readonly valueHash: string;
  readonly issuedAtMs: number;
  readonly state: "live" | "ended" | "stuck";
  /** Whether a newer value took its place: then that one is not to go with it. */
  readonly isReplaced: boolean;
};

/** One that was made just now. */
export type Made = Pick<Credential, "credentialId" | "handle" | "valueHash">;

export type Credentials = {
  /** All that were not revoked yet. */
  readonly byJob: ReadonlyMap<JobId, ReadonlyMap<number, Credential>>;
  /** The live ones, by their values. */
  readonly live: ReadonlyMap<string, ReadonlySet<Credential>>;
  readonly size: number;
  readonly stuckCount: number;
};

export type OwnCredentials = {
  readonly byJob: Map<JobId, Map<number, Credential>>;
  readonly live: Map<string, Set<Credential>>;
  size: number;
  stuckCount: number;
};

/** A newer value for one that a job has. */
export type RotateCredential = Made & {
  readonly type: "credential.rotate";
  readonly jobId: JobId;
  readonly attempt: number;
  /** The event with which the job reports it, without the value. */
  readonly said: { readonly kind: string; readonly body: JsonText };
};

/** It was revoked where it was made, or so many tries were in vain. */
export type ReportRevocation = {
  readonly type: "credential.report";
  readonly jobId: JobId;
  readonly number: number;
  readonly isRevoked: boolean;
};

export type CredentialEvent = {
  readonly type:
    | "credential.issued"
    | "credential.ended"
    | "credential.stuck"
    | "credential.revoked";
  readonly credential: Credential;
};

export function emptyCredentials(): OwnCredentials {
  return { byJob: new Map(), live: new Map(), size: 0, stuckCount: 0 };
}

export function decide(
  credentials: Credentials,
  { jobId, number, isRevoked }: ReportRevocation,
): Decision<CredentialEvent> {
  const credential = credentials.byJob.get(jobId)?.get(number);
  // Told twice.
  if (!credential) return accept();
  if (credential.state === "live") {
    return refuse("invalid_argument", `credential ${credential.credentialId} is in use`);
  }
  if (isRevoked) return accept({ type: "credential.revoked", credential });
  if (credential.state === "stuck") return accept();
  return accept({ type: "credential.stuck", credential: { ...credential, state: "stuck" } });
}

/** Refuses to have more made while so many are not revoked. */
export function refuseFull({ size }: Credentials): Refused | undefined {
  const { credentialsMax } = limits;
  if (size < credentialsMax) return undefined;
  return refuse("limit_reached", `${credentialsMax} credentials are not revoked yet`);
}

/** Whether another job has one of these values. */
export function isShared({ live }: Credentials, jobId: JobId, made: readonly Made[]): boolean {
  return made.some(({ valueHash }) =>
    [...(live.get(valueHash) ?? [])].some((other) => other.jobId !== jobId),
  );
}

export function issue(
  credentials: Credentials,
  jobId: JobId,
  made: readonly Made[],
  nowMs: number,
): CredentialEvent[] {
  const numbers = credentials.byJob.get(jobId)?.keys() ?? [];
  const last = Math.max(0, ...numbers);
  return made.map(({ credentialId, handle, valueHash }, index) => ({
    type: "credential.issued",
    credential: {
      jobId,
      number: last + index + 1,
      credentialId,
      ...(handle !== undefined && { handle }),
      valueHash,
      issuedAtMs: nowMs,
      state: "live",
      isReplaced: false,
    },
  }));
}

/** That all which are live of a job are so no more. */
export function endAllOf(credentials: Credentials, jobId: JobId): CredentialEvent[] {
  const own = credentials.byJob.get(jobId)?.values() ?? [];
  return [...own].filter(({ state }) => state === "live").map((credential) => end(credential));
}

export function end(
  credential: Credential,
  { isReplaced }: { readonly isReplaced: boolean } = { isReplaced: false },
): CredentialEvent {
  return { type: "credential.ended", credential: { ...credential, state: "ended", isReplaced } };
}

/** Whether a job may use one whose value was there before a time, and went with the process then. */
export function hasLost({ byJob }: Credentials, jobId: JobId, beforeMs: number): boolean {
  const own = byJob.get(jobId)?.values() ?? [];
  return [...own].some(({ state, issuedAtMs }) => state === "live" && issuedAtMs < beforeMs);
}

export function findLive(
  { byJob }: Credentials,
  { jobId, credentialId }: Pick<Credential, "jobId" | "credentialId">,
): Credential | undefined {
  const own = byJob.get(jobId)?.values() ?? [];
  return [...own].find((one) => one.state === "live" && one.credentialId === credentialId);
}

/** Those that are to be revoked. */
export function listEnded({ byJob }: Credentials): readonly Credential[] {
  return [...byJob.values()].flatMap((own) =>
    [...own.values()].filter(({ state }) => state !== "live"),
  );
}

/** Those that could not be revoked by those who tried in a hurry. */
export function listStuck(credentials: Credentials): readonly Credential[] {
  if (credentials.stuckCount === 0) return [];
  return listEnded(credentials).filter(({ state }) => state === "stuck");
}

/** How long after so many tries in vain the next one is: five in a hurry, then one each minute (ARCP-170). */
export function retryAfterMs(tries: number): number {
  const { revokeTries, revokeAfterMs, revokeStuckEveryMs } = limits;
  return tries < revokeTries ? revokeAfterMs * 2 ** (tries - 1) : revokeStuckEveryMs;
}

export function evolve(credentials: OwnCredentials, { type, credential }: CredentialEvent): void {
  takeOut(credentials, credential);
  if (type !== "credential.revoked") putCredential(credentials, credential);
}

export function putCredential(credentials: OwnCredentials, credential: Credential): void {
  const { jobId, number, valueHash, state } = credential;
  const own = credentials.byJob.get(jobId) ?? new Map();
  credentials.byJob.set(jobId, own.set(number, credential));
  credentials.size += 1;
  if (state === "stuck") credentials.stuckCount += 1;
  if (state !== "live") return;
  putInto(credentials.live, valueHash, credential);
}

function takeOut(credentials: OwnCredentials, { jobId, number }: Credential): void {
  const own = credentials.byJob.get(jobId);
  const credential = own?.get(number);
  if (!own || !credential) return;
  own.delete(number);
  if (own.size === 0) credentials.byJob.delete(jobId);
  credentials.size -= 1;
  if (credential.state === "stuck") credentials.stuckCount -= 1;
  takeFrom(credentials.live, credential.valueHash, credential);
}

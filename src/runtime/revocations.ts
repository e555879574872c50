/**
 * Unmakes credentials that nobody may use any more. Each is tried until whoever made it says that it is gone, after
 * a restart too; how long there is between tries is a rule of the core. No job waits for it.
 */
import { type Credential, limits as coreLimits, retryAfterMs } from "../core/index.ts";
import type { Clock, Plane } from "../plane/index.ts";
import { limits } from "./limits.ts";

/** What is to be revoked, in the words of whoever made it. Its value is not known any more. */
export type Revocation = {
  readonly jobId: string;
  readonly credentialId: string;
  readonly handle?: string;
  /** Whether a newer value has taken its place: that one is to stay. */
  readonly isReplaced: boolean;
};

export type RevocationsOptions = {
  readonly plane: Plane;
  readonly clock: Clock;
  /** Whoever is asked again for what is gone already says that it is gone. */
  readonly revoke: (revocation: Revocation) => Promise<void>;
  /** Told of each that the tries in a hurry could not revoke. */
  readonly onFailure: (credential: Credential) => void;
};

type Try = { readonly credential: Credential; readonly tries: number };

export class Revocations implements Disposable {
  readonly #options: RevocationsOptions;
  readonly #closing = new AbortController();
  /** Those that are tried, now or later. */
  readonly #known = new Set<string>();
  readonly #queue: Try[] = [];
  #underWay = 0;

  constructor(options: RevocationsOptions) {
    this.#options = options;
  }

  /** At once, so that it is under way before anybody is told that the job has ended. */
  begin(credential: Credential): void {
    if (this.#note(credential)) void this.#try({ credential, tries: 1 });
  }

  /** Those that were left over, which may be many: a few at a time. */
  add(credentials: readonly Credential[]): void {
    for (const credential of credentials) {
      if (this.#note(credential)) this.#queue.push({ credential, tries: 1 });
    }
    this.#work();
  }

  #note(credential: Credential): boolean {
    const name = nameOf(credential);
    if (this.#known.has(name)) return false;
    this.#known.add(name);
    return true;
  }

  #work(): void {
    while (this.#underWay < limits.revocationsAtOnce && !this.#closing.signal.aborted) {
      const next = this.#queue.shift();
      if (!next) return;
      void this.#try(next);
    }
  }

  async #try({ credential, tries }: Try): Promise<void> {
    this.#underWay += 1;
    const isRevoked = await this.#revoke(credential);
    this.#underWay -= 1;
    // Whatever became of it: it is found again when the log is opened.
    if (this.#closing.signal.aborted) return;
    const isLastInHurry = tries === coreLimits.revokeTries;
    if (isRevoked || isLastInHurry) this.#report(credential, { isRevoked });
    if (isRevoked) this.#known.delete(nameOf(credential));
    else this.#retry({ credential, tries: tries + 1 }, retryAfterMs(tries));
    this.#work();
  }

  /** Whether it is gone. Nobody waits for an answer forever. */
  async #revoke(credential: Credential): Promise<boolean> {
    const { clock, revoke } = this.#options;
    const answered = new AbortController();
    const signal = AbortSignal.any([answered.signal, this.#closing.signal]);
    const untilMs = clock.nowMs() + limits.revokeWithinMs;
    try {
      const revoked = revoke(revocationOf(credential)).then(() => true);
      return await Promise.race([revoked, clock.until(untilMs, signal).then(() => false)]);
    } catch {
      return false;
    } finally {
      answered.abort();
    }
  }

  #report(credential: Credential, { isRevoked }: { readonly isRevoked: boolean }): void {
    const { plane, onFailure } = this.#options;
    const { jobId, number } = credential;
    const command = { type: "credential.report", jobId, number, isRevoked } as const;
    plane.carryOut(command, { actor: "provisioner" }, () => undefined);
    if (!isRevoked) onFailure(credential);
  }

  #retry(next: Try, afterMs: number): void {
    const { clock } = this.#options;
    const again = (): void => {
      this.#queue.push(next);
      this.#work();
    };
    clock.until(clock.nowMs() + afterMs, this.#closing.signal).then(again, () => undefined);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
  }
}

export function revocationOf({
  jobId,
  credentialId,
  handle,
  isReplaced,
}: Pick<Credential, "jobId" | "credentialId" | "handle" | "isReplaced">): Revocation {
  return { jobId, credentialId, ...(handle !== undefined && { handle }), isReplaced };
}

function nameOf({ jobId, number }: Credential): string {
  return `${jobId}/${number}`;
}

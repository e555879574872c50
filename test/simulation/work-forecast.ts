/** What a command about jobs and sessions must come to, by the letter of the contract and the ledger alone. */
import type { Command, SubmitJob } from "../../src/core/index.ts";
import { hundredths, type Ledger, type LedgerJob, pursesOf, reachOf } from "./ledger.ts";

type Kind = "job" | "session" | "credential";
export type WorkCommand = Extract<Command, { readonly type: `${Kind}.${string}` }>;

export function isWork(command: Command): command is WorkCommand {
  return ["job.", "session.", "credential."].some((start) => command.type.startsWith(start));
}

type World = {
  readonly ledger: Ledger;
  readonly nowMs: number;
  readonly oldestSequence: number;
};

/** The code of the refusal, undefined if it must be accepted; or that both would do. */
export function forecastWork(command: WorkCommand, world: World): string | undefined {
  const { ledger } = world;
  switch (command.type) {
    case "job.submit":
      return forecastSubmit(command, world);
    case "job.prepared": {
      // What was made is written down in any case.
      const isMade = (command.credentials ?? []).length > 0;
      const isAwaited = ledger.jobs.get(command.jobId)?.state === "preparing";
      return isMade || isAwaited ? undefined : "job_not_found";
    }
    case "credential.rotate": {
      const problem = runningOrNot(ledger, command);
      if (problem !== undefined) return problem;
      const { jobId, credentialId, valueHash } = command;
      const isThere = ledger.liveOf(jobId).some((one) => one.credentialId === credentialId);
      return isThere && !ledger.isShared(jobId, [valueHash]) ? undefined : "invalid_argument";
    }
    case "credential.report": {
      const { jobId, number } = command;
      const isLive = ledger.credentials.get(`${jobId} ${number}`)?.state === "live";
      return isLive ? "invalid_argument" : undefined;
    }
    case "job.start": {
      const job = ledger.jobs.get(command.jobId);
      if (!job) return "job_not_found";
      return job.state === "pending" ? undefined : "attempt_over";
    }
    case "job.emit":
    case "job.end":
    case "job.reclaim":
      return runningOrNot(ledger, command);
    case "job.reserve": {
      const problem = runningOrNot(ledger, command);
      if (problem !== undefined) return problem;
      const job = ledger.job(command.jobId);
      if (job.reserved.has(command.reservationId)) return "invalid_argument";
      const wanted = (currency: string): number =>
        command.amounts
          .filter((amount) => amount.currency === currency)
          .reduce((sum, amount) => sum + hundredths(amount), 0);
      const isFree = ledger.lineage(job).every(({ purses }) =>
        command.amounts.every(({ currency }) => {
          const purse = purses.get(currency);
          return !purse || purse.spent + purse.reserved + wanted(currency) <= purse.cap;
        }),
      );
      return isFree ? undefined : "budget_exhausted";
    }
    case "job.spend":
      return ledger.jobs.has(command.jobId) ? undefined : "job_not_found";
    case "job.settle": {
      const isOpen = ledger.jobs.get(command.jobId)?.reserved.has(command.reservationId);
      return isOpen ? undefined : "invalid_argument";
    }
    case "job.cancel": {
      const job = ledger.jobs.get(command.jobId);
      const { by } = command;
      if (!job || job.state === "preparing") return "job_not_found";
      if (by && by.principal !== job.principal) return "job_not_found";
      if (by?.sessionId === undefined) return undefined;
      return job.sessions.includes(by.sessionId) ? undefined : "permission_denied";
    }
    case "job.orphan":
    case "session.detach":
    case "session.leave":
      return undefined;
    case "session.open":
      return ledger.sessions.has(command.sessionId) ? "key_reused" : undefined;
    case "session.acknowledge":
    case "session.reject":
      return ledger.sessions.has(command.sessionId) ? undefined : "session_gone";
    case "session.resume":
      return forecastResume(command, world);
    case "session.follow": {
      const session = ledger.sessions.get(command.sessionId);
      const job = ledger.jobs.get(command.jobId);
      if (!session) return "session_gone";
      if (!job || job.state === "preparing") return "job_not_found";
      if (job.principal !== session.principal && !command.mayObserve) return "permission_denied";
      return hasLostItsEnd(job, world) ? "job_not_found" : undefined;
    }
  }
}

function forecastSubmit(command: SubmitJob, world: World): string | undefined {
  const { ledger, nowMs } = world;
  const { sessionId, requestId, principal, key, agent, expiresAt, parentId } = command;
  const jobs = [...ledger.jobs.values()];
  const isSame = (job: LedgerJob): boolean =>
    sessionId !== undefined && job.sessions[0] === sessionId && job.requestId === requestId;
  if (jobs.some(isSame)) return undefined;
  const keyed = jobs.find((job) => job.principal === principal && job.key?.text === key?.text);
  if (key && keyed) {
    if (keyed.key?.fingerprint !== key.fingerprint) return "key_reused";
    return hasLostItsEnd(keyed, world) ? "job_not_found" : undefined;
  }
  if (agent.refusal) return agent.refusal.code;
  const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return "invalid_argument";
  if (parentId === undefined) return undefined;
  const parent = ledger.jobs.get(parentId);
  if (parent?.principal !== principal) return "job_not_found";
  if (parent.state === "ended" || parent.state === "preparing") return "job_not_found";
  if (parent.depth >= 8) return "limit_reached";
  const named = jobs.filter((job) => job.parentId === parentId && !job.isInterrupted);
  const isTaken = named.some(({ delegateId }) => delegateId === command.delegateId);
  if (command.delegateId !== undefined && isTaken) return "invalid_argument";
  const isNarrower = isWithin(command, ledger.lineage(parent));
  const endsInTime = (expiresAtMs ?? 0) <= parent.expiresAtMs;
  return isNarrower && endsInTime ? undefined : "grant_too_wide";
}

/** What a grant asks for: tools by one of few patterns, and money. */
export type Asked = { readonly "tool.call"?: readonly string[]; readonly "cost.budget"?: string[] };

function isWithin({ capabilities }: SubmitJob, above: readonly LedgerJob[]): boolean {
  const asked: Asked = capabilities ?? {};
  if (reachOf(asked["tool.call"] ?? []) > (above[0]?.reach ?? 0)) return false;
  return [...pursesOf(asked["cost.budget"] ?? [])].every(([currency, { cap }]) => {
    if (!above[0]?.purses.has(currency)) return false;
    return above.every(({ purses }) => {
      const purse = purses.get(currency);
      return !purse || cap <= purse.cap - purse.spent - purse.reserved;
    });
  });
}

export const either = "either";

/**
 * What was acknowledged may be gone, and where the log begins in the midst of what was told, a bit more than that:
 * there it may be refused.
 */
function forecastResume(
  command: Extract<Command, { readonly type: "session.resume" }>,
  { ledger, oldestSequence }: World,
): string | undefined {
  const session = ledger.sessions.get(command.sessionId);
  const { principal, shownHash, afterEventSequence: after } = command;
  if (session?.principal !== principal) return "session_gone";
  const wasCutOff = session.detachedAtMs !== undefined && session.shownHash === shownHash;
  if (session.tokenHash !== shownHash && !wasCutOff) return "session_gone";
  const { told, begin, acknowledged } = session;
  if (after > told.length) return "session_gone";
  if (after === told.length) return undefined;
  const isThere = (from: number): boolean =>
    told.slice(from).every(({ neededSequence }) => neededSequence >= oldestSequence);
  if (told.slice(after).some(({ sequence }) => sequence < oldestSequence)) return "session_gone";
  return after >= acknowledged && isThere(begin) ? undefined : either;
}

function runningOrNot(
  ledger: Ledger,
  { jobId, attempt }: { readonly jobId: string; readonly attempt: number },
): string | undefined {
  const job = ledger.jobs.get(jobId);
  if (!job) return "job_not_found";
  return job.state === "running" && job.attempt === attempt ? undefined : "attempt_over";
}

function hasLostItsEnd(job: LedgerJob, { oldestSequence }: World): boolean {
  return job.state === "ended" && job.endedSequence < oldestSequence;
}

/** Jobs that other jobs ask for: within what those may do, and by names that outlive an attempt. */
import { findChild, type Job, type JobId, jobId as toJobId } from "../core/index.ts";
import type { Outcome, Plane } from "../plane/index.ts";
import type { TraceHeaders } from "../wire/work/index.ts";
import type { Attempt } from "./attempt.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Delegated, DelegateOptions } from "./context.ts";
import type { Endings } from "./endings.ts";
import { toolErrorOf, toWorkError, WorkError } from "./errors.ts";
import { limits } from "./limits.ts";
import type { JobRequest, Submitted } from "./runtime.ts";
import { traceIdOf } from "./trace.ts";

export type DelegationOptions = {
  readonly plane: Plane;
  readonly newId: (kind: "job" | "delegate") => string;
  readonly catalogue: Catalogue;
  readonly endings: Endings;
  /** One that is heard. Throws `attempt_over` otherwise. */
  readonly current: (attempt: Pick<Attempt, "jobId" | "attempt">) => Attempt;
  readonly submit: (request: JobRequest) => Promise<Outcome<Submitted>>;
  /** What is waited for while a job's credentials are being made. */
  readonly preparationOf: (jobId: JobId) => Promise<Outcome<Submitted>> | undefined;
};

export class Delegation {
  readonly #options: DelegationOptions;

  constructor(options: DelegationOptions) {
    this.#options = options;
  }

  /**
   * Another job, within what this one may do. What is refused is told as the result of a tool (ARCP-176). One that an
   * earlier attempt asked for by the same name is the same one, unless it was interrupted: see `DelegateOptions`.
   */
  async delegate(parent: Job, options: DelegateOptions, trace?: TraceHeaders): Promise<Delegated> {
    const { newId } = this.#options;
    const { agent, input = null, capabilities, expiresAt, workerSequence } = options;
    const delegateId = options.delegateId ?? newId("delegate");
    const attempt = this.#attemptOf(parent);
    const known = this.#askedBefore(attempt, { agent, delegateId });
    const childId = known?.id ?? toJobId(newId("job"));
    const body = {
      delegate_id: delegateId,
      agent,
      input,
      ...(capabilities && { lease_request: capabilities }),
      ...(expiresAt !== undefined && { lease_constraints: { expires_at: expiresAt } }),
      child_job_id: childId,
    };
    await attempt.emit("delegate", body, workerSequence === undefined ? {} : { workerSequence });
    try {
      if (known) return await this.#rejoin(parent, known);
      return await this.#delegateAs(parent, attempt, { ...options, delegateId, childId, trace });
    } catch (error) {
      if (error instanceof WorkError) {
        const { details } = error;
        const told = { ...toolErrorOf(error), ...(details && { details }) };
        await attempt.emit("tool_result", { call_id: delegateId, error: told });
      }
      throw error;
    }
  }

  #askedBefore(
    attempt: Attempt,
    { agent, delegateId }: { readonly agent: string; readonly delegateId: string },
  ): Job | undefined {
    const isFirst = attempt.takeName(delegateId);
    const child = isFirst ? this.childOf(attempt.jobId, delegateId) : undefined;
    const [name] = child?.agent.split("@") ?? [];
    return child?.agent === agent || name === agent ? child : undefined;
  }

  /** The one that a job calls so. */
  childOf(parentId: JobId, delegateId: string): Job | undefined {
    return this.#options.plane.peek(({ jobs }) => findChild(jobs, parentId, delegateId));
  }

  async #rejoin(parent: Job, { id }: Job): Promise<Delegated> {
    const prepared = await this.#options.preparationOf(id);
    if (prepared?.refusal) throw toWorkError(prepared.refusal);
    return this.delegated(parent, id);
  }

  async #delegateAs(
    parent: Job,
    attempt: Attempt,
    wanted: DelegateOptions & {
      readonly delegateId: string;
      readonly childId: JobId;
      readonly trace: TraceHeaders | undefined;
    },
  ): Promise<Delegated> {
    const { plane, catalogue, submit } = this.#options;
    const { agent, delegateId, childId, input = null, capabilities = {}, expiresAt } = wanted;
    const trace = wanted.trace ?? parent.trace;
    const resolved = catalogue.resolve(agent);
    if (resolved.refusal) throw toWorkError(resolved.refusal);
    const [sessionId] = parent.sessionIds;
    const { contextId } = parent;
    const needsCredentials = await plane.read(
      ({ sessions }) =>
        sessionId !== undefined &&
        sessions.byId.get(sessionId)?.features.includes("provisioned_credentials"),
    );
    await attempt.authorise({ capability: "agent.delegate", target: resolved.agent });
    const outcome = await submit({
      jobId: childId,
      agent,
      input: JSON.stringify(input),
      principal: parent.principal,
      ...(sessionId !== undefined && { sessionId, requestId: requestOf(childId) }),
      ...(contextId !== undefined && { contextId }),
      traceId: traceIdOf(parent),
      ...(trace && { trace }),
      capabilities,
      ...(expiresAt !== undefined && { expiresAt }),
      parentId: parent.id,
      delegateId,
      needsCredentials: needsCredentials ?? false,
    });
    if (outcome.refusal) throw toWorkError(outcome.refusal);
    const { job } = outcome.value;
    return this.delegated(parent, job.id);
  }

  /** A job that another has asked for, as that one has it. */
  delegated(parent: Job, jobId: JobId): Delegated {
    const { plane, endings } = this.#options;
    const done = endings.resultOf(jobId);
    done.catch(() => undefined);
    const cancel = async (reason = "cancelled by its parent"): Promise<void> => {
      this.#attemptOf(parent);
      const command = { type: "job.cancel", jobId, reason, graceMs: limits.cancelGraceMs } as const;
      await plane.submit(command, { actor: `job/${parent.id}` }, () => undefined);
    };
    return { jobId, done, cancel };
  }

  #attemptOf({ id: jobId, attempt }: Job): Attempt {
    return this.#options.current({ jobId, attempt });
  }
}

/** Whether another job delegated this job within an ARCP session; false if a client submitted it. */
export function isDelegated({ id, requestId }: Job): boolean {
  return requestId === requestOf(id);
}

/** What no caller can call its request: it would have to know the job's id before there is one. */
function requestOf(childId: JobId): string {
  return `delegate/${childId}`;
}

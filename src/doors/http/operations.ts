/** What each operation takes and gives. What it does is in `operations/`, by noun. */
import type { Caller, Plane } from "../../plane/index.ts";
import type {
  Answer,
  ErrorCode,
  Input,
  Lease,
  OperationName,
  Overview,
  Question,
} from "../../wire/api/index.ts";
import type { Credentials } from "./credentials.ts";
import type { JobLook } from "./encode-job.ts";
import type { LookAround, LookClosely } from "./look-around.ts";
import { agentHandlers } from "./operations/agents.ts";
import { electionHandlers } from "./operations/elections.ts";
import { jobHandlers, type SubmitJob } from "./operations/jobs.ts";
import { leaseHandlers } from "./operations/leases.ts";
import { overviewHandlers } from "./operations/overview.ts";
import { policyHandlers } from "./operations/policies.ts";
import { questionHandlers } from "./operations/questions.ts";
import { sessionHandlers } from "./operations/session.ts";
import { statusHandlers } from "./operations/status.ts";
import { taskHandlers } from "./operations/tasks.ts";
import type { Timeline } from "./timeline.ts";

/** What runs here. */
export type About = Omit<Overview, "nowMs" | "sequence" | "counts" | "retained" | "find">;

export type FindQuestion = {
  readonly query: string;
  readonly tools: readonly string[];
  readonly limit: number;
};
/** Looked up within `plane.read`: best first. */
export type Finding = {
  readonly hits: readonly {
    readonly agentId: string;
    readonly score: number;
    readonly matched: readonly string[];
  }[];
  readonly ranking: "table" | "model";
  readonly reason?: string;
};

export type OperationParts = {
  readonly plane: Plane;
  readonly about: () => About;
  readonly timeline: Timeline;
  readonly credentials: Credentials;
  readonly find: (question: FindQuestion) => Promise<Finding>;
  /** By what `find` ranks at the moment. */
  readonly ranking: () => Overview["find"];
  /** Every agent that is known, whoever tells of it. */
  readonly lookAround: LookAround;
  readonly lookClosely: LookClosely;
  /** What a task may bring along and leave behind, where it is less than the API allows. */
  readonly taskLimits?: Partial<TaskLimits>;
  /** What is known of jobs besides the state. */
  readonly work: JobLook["work"];
  readonly workersOf?: NonNullable<JobLook["workersOf"]>;
  /** Absent: nobody takes jobs here. */
  readonly submitJob?: SubmitJob;
};

export type TaskLimits = { readonly inputBytesMax: number; readonly outputBytesMax: number };

export type Call = {
  readonly caller: Caller;
  /** Aborts when the caller is gone: nobody hears the answer. */
  readonly signal: AbortSignal;
  /** Aborts when the door closes: who waits is answered at once. */
  readonly closing: AbortSignal;
  /** The `Idempotency-Key`. */
  readonly key?: string;
  readonly mayWrite: boolean;
  /** Whether to tell of what is the user's alone: see `personal.ts`. */
  readonly maySee: boolean;
};

export type Reply<Value> =
  | { readonly value: Value; readonly refusal?: never }
  | { readonly refusal: ApiRefusal; readonly value?: never };

export type ApiRefusal = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly lease?: Lease;
  readonly question?: Question;
};

export type Handler<Name extends OperationName> = (
  input: Input<Name>,
  call: Call,
) => Promise<Reply<Answer<Name>>>;

export type Handlers = { readonly [Name in OperationName]: Handler<Name> };

export function handlersOf(parts: OperationParts): Handlers {
  const { plane } = parts;
  return {
    ...overviewHandlers(parts),
    ...agentHandlers(parts),
    ...leaseHandlers(plane),
    ...electionHandlers(plane),
    ...policyHandlers(plane),
    ...taskHandlers(parts),
    ...jobHandlers(parts),
    ...questionHandlers(plane),
    ...sessionHandlers(parts),
    ...statusHandlers(parts),
  };
}

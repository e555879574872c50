/**
 * The daemon, through the published client. The page speaks to where it came from, and after it was opened
 * by a link it sends along its key with the cookie, which scripts cannot read.
 */
import {
  type Answer,
  type Client,
  connect,
  type Input,
  type OperationName,
  TipstaffError,
  type Watch,
  type WatchOptions,
} from "tipstaff/client";

export type {
  AgentDetail,
  AgentInfo as Agent,
  Answer,
  Attention,
  Election,
  Entry,
  Input,
  JobCost,
  JobDetail,
  JobInfo as Job,
  JobProgress,
  JobState,
  Known,
  LeaseInfo as Lease,
  Liveness,
  Observed,
  OperationName,
  Overview,
  Page,
  Policy,
  PolicyCheck,
  QuestionInfo as Question,
  Sighting,
  SightingState,
  TaskInfo as Task,
  TaskState,
  Timeline,
  Who,
  WorkEntry,
} from "tipstaff/client";
export { problemOfAnswer, TipstaffError } from "tipstaff/client";

/** With its input and output. */
export type TaskDetail = Answer<"getTask">;
export type AgentSort = NonNullable<Input<"listAgents">["sort"]>;
export type LeaseSort = NonNullable<Input<"listLeases">["sort"]>;
export type TaskSort = NonNullable<Input<"listTasks">["sort"]>;
export type JobSort = NonNullable<Input<"listJobs">["sort"]>;

const pageKeyName = "tipstaff-page-key";
let client: Promise<Client> | undefined;

export function keepPageKey(key: string): void {
  localStorage.setItem(pageKeyName, key);
  client = undefined;
}

/** Rejects with a `TipstaffError`, or with the signal's reason. It is for the page to ask again. */
export async function call<Name extends OperationName>(
  name: Name,
  input: Input<Name>,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Answer<Name>> {
  return (await reach()).call(name, input, { signal, patienceMs: 0 });
}

/** What happens, as it happens. A lost connection is healed where it broke off. */
export async function watch(options: WatchOptions): Promise<Watch> {
  return (await reach()).watch(options);
}

function reach(): Promise<Client> {
  const pageKey = localStorage.getItem(pageKeyName) ?? undefined;
  client ??= connect({ url: location.origin, pageKey }).catch((fault: unknown) => {
    client = undefined;
    throw fault;
  });
  return client;
}

/** Why something was refused, in words. */
export function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return "Something went wrong.";
  if (fault instanceof TipstaffError && fault.code === "token_required") {
    return "This takes a page that was opened by a link. tipstaff dashboard prints one.";
  }
  const { message } = fault;
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, ".");
}

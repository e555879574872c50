/** What happened, as a sentence: words of ours, and names of things that can be opened. */
import type { Entry, Observed, WorkEntry } from "../api.ts";
import {
  agentAddress,
  groupAddress,
  jobAddress,
  leaseAddress,
  policyAddress,
  sightingAddress,
  taskAddress,
} from "../route.ts";

/** Ours, or something that is named: by what it is called, or an agent by its id. */
export type Part =
  | string
  | { readonly agentId: string; readonly name?: string; readonly href: string }
  | { readonly jobId: string; readonly name?: string; readonly href: string }
  | { readonly name: string; readonly href?: string };

/** What an event is about; each has its icon. */
export type Kind = "agent" | "lease" | "leader" | "policy" | "task" | "job" | "plane";

export function kindOf({ type }: Pick<Entry, "type">): Kind {
  const [room = ""] = type.split(".");
  switch (room) {
    case "agent":
    case "lease":
    case "policy":
    case "task":
    case "job":
      return room;
    case "observed":
      return "agent";
    case "leader":
    case "election":
      return "leader";
    default:
      return "plane";
  }
}

/** Beginnings of the types of all entries but those that only say that something goes on as it was. */
export const newsTypes: readonly string[] = [
  "agent.",
  "lease.acquired",
  "lease.released",
  "lease.expired",
  "leader.",
  "election.",
  "policy.",
  // Created, claimed, completed, cancelled.
  "task.c",
  "task.ready",
  "task.failed",
  "task.requeued",
  "task.dead",
  "task.forgotten",
  "job.accepted",
  "job.cancelling",
  "job.orphaned",
  "job.offered",
  "job.ended",
  "observed.",
  "need.",
  "question.",
  "plane.",
];

export function isNews({ type }: Pick<Entry, "type">): boolean {
  return newsTypes.some((beginning) => type.startsWith(beginning));
}

export function sentenceOf(entry: Entry): readonly Part[] {
  switch (entry.type) {
    case "agent.registered":
      return [agent(entry.agent.id, entry.agent.card.name), " registered"];
    case "agent.unreachable":
      return [agent(entry.agent.id, entry.agent.card.name), " cannot be reached"];
    case "agent.recovered":
      return [agent(entry.agent.id, entry.agent.card.name), " is back"];
    case "agent.died":
      return [
        agent(entry.agent.id, entry.agent.card.name),
        entry.agent.hasLeft ? " left" : " died: it missed its heartbeats",
      ];
    case "agent.active": {
      const { state, note } = entry.activity;
      const said: Part[] = note === "" ? [] : [": ", { name: note }];
      return [agent(entry.agentId), state === "idle" ? " is idle" : ` is ${state}`, ...said];
    }
    case "agent.forgotten":
      return [agent(entry.agentId), " was forgotten"];
    case "lease.acquired":
      return [
        agent(entry.lease.holder),
        " acquired ",
        lease(entry),
        `, token ${entry.lease.token}`,
      ];
    case "lease.renewed":
      return [agent(entry.lease.holder), " renewed ", lease(entry)];
    case "lease.released":
      return [agent(entry.lease.holder), " released ", lease(entry)];
    case "lease.expired":
      return [lease(entry), " expired, held by ", agent(entry.lease.holder)];
    case "leader.changed":
      return entry.leader === undefined
        ? [group(entry.group), ` has no leader, term ${entry.term}`]
        : [agent(entry.leader), " leads ", group(entry.group), `, term ${entry.term}`];
    case "election.joined":
      return [agent(entry.agentId), " stands in ", group(entry.group)];
    case "election.left":
      return [agent(entry.agentId), " left ", group(entry.group)];
    case "policy.changed": {
      const { effect, subject, action, resource } = entry.policy;
      const verb = effect === "allow" ? " may " : " may not ";
      const says: Part[] = [{ name: subject }, verb, { name: action }, " ", { name: resource }];
      return ["policy ", policy(entry.policy.id), " says ", ...says];
    }
    case "policy.deleted":
      return ["policy ", policy(entry.policy.id), " was deleted"];
    case "task.created":
      return ["task ", task(entry), " was created"];
    case "task.ready":
      return ["task ", task(entry), " is ready"];
    case "task.claimed":
      return [...claimant(entry), " claimed task ", task(entry)];
    case "task.extended":
      return [...claimant(entry), " works on with task ", task(entry)];
    case "task.completed":
      return [...claimant(entry), " completed task ", task(entry)];
    case "task.failed":
      return ["task ", task(entry), " failed", ...because(entry.task.failureReason)];
    case "task.requeued":
      return ["task ", task(entry), " went back to the queue"];
    case "task.cancelled":
      return ["task ", task(entry), " was cancelled"];
    case "task.dead":
      return ["task ", task(entry), " was given up", ...because(entry.task.failureReason)];
    case "task.forgotten":
      return ["task ", { name: entry.taskId }, " was forgotten"];
    case "observed.changed": {
      const { state, note } = entry.observed;
      return [seen(entry), ` is ${state}`, ...(note === "" ? [] : [": ", { name: note }])];
    }
    case "observed.left":
      return [seen(entry), " left"];
    case "need.dismissed": {
      const { id, untilMs, by } = entry.dismissal;
      return [
        { name: id },
        untilMs === undefined ? ` was dismissed by ${by}` : ` was snoozed by ${by}`,
      ];
    }
    case "need.restored":
      return [{ name: entry.id }, " is back on the list of what needs you"];
    case "plane.opened":
      return ["the daemon started"];
    case "plane.resumed":
      return ["the daemon went on after a pause"];
  }
  if ("id" in entry) return workSentence(entry);
  // A newer daemon may have events that this page does not know.
  return [(entry satisfies never as { type: string }).type];
}

/** What is not told to this page is left out. */
function workSentence(entry: WorkEntry): readonly Part[] {
  if (entry.question) return questionSentence(entry.question);
  const job: Part = {
    jobId: entry.id,
    href: jobAddress(entry.id),
    ...(entry.job && { name: entry.job.agent }),
  };
  switch (entry.type) {
    case "job.accepted":
      return ["job ", job, " was asked for", ...by(entry.job?.principal)];
    case "job.started":
      return ["job ", job, " was started", ...by(entry.worker?.id)];
    case "job.emitted":
      return ["job ", job, entry.kind === undefined ? " said something" : ` says ${entry.kind}`];
    case "job.cancelling":
      return ["job ", job, " is asked to end", ...because(entry.reason ?? "")];
    case "job.orphaned":
      return ["job ", job, " has lost its worker for now"];
    case "job.offered":
      return ["job ", job, " waits for another worker"];
    case "job.ended":
      return [
        "job ",
        job,
        endings[entry.state ?? ""] ?? " ended",
        ...because(entry.failure?.message ?? ""),
      ];
    default: {
      const [what, happened] = entry.type.split(".");
      const name: Part = what === "job" ? job : { name: entry.id };
      return [`${what} `, name, ` ${happened}`];
    }
  }
}

function questionSentence({
  asker: { kind, id },
  state,
  prompt,
  answeredBy,
}: NonNullable<WorkEntry["question"]>): readonly Part[] {
  const asker: Part = kind === "agent" ? agent(id) : { jobId: id, href: jobAddress(id) };
  switch (state) {
    case "open":
      return [asker, " asks", ...because(prompt)];
    case "answered":
      return [asker, " was answered", ...by(answeredBy)];
    case "closed":
      return ["the question of ", asker, " was closed", ...because(prompt)];
  }
}

const endings: Readonly<Record<string, string>> = {
  success: " is done",
  error: " failed",
  cancelled: " was cancelled",
  timed_out: " took too long",
};

function by(name: string | undefined): readonly Part[] {
  return name === undefined ? [] : [" by ", { name }];
}

function agent(agentId: string, name?: string): Part {
  const href = agentAddress(agentId);
  return name === undefined || name === "" ? { agentId, href } : { agentId, name, href };
}

function seen({ observed }: { readonly observed: Observed }): Part {
  return { name: observed.name, href: sightingAddress(observed.id) };
}

function lease({ lease }: { readonly lease: { readonly taskId: string } }): Part {
  return { name: lease.taskId, href: leaseAddress(lease.taskId) };
}

function group(name: string): Part {
  return { name, href: groupAddress(name) };
}

function policy(id: string): Part {
  return { name: id, href: policyAddress(id) };
}

type OfTask = {
  readonly task: { readonly id: string; readonly type: string; readonly claimant?: string };
};

function task({ task }: OfTask): Part {
  return { name: task.type || task.id, href: taskAddress(task.id) };
}

function claimant({ task }: OfTask): readonly Part[] {
  return [task.claimant === undefined ? "someone" : agent(task.claimant)];
}

function because(reason: string): readonly Part[] {
  return reason === "" ? [] : [": ", { name: reason }];
}

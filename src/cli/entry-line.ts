/** An entry of the log as one line for people. */
import type { Tone } from "../terminal/index.ts";
import {
  type Agent,
  asksText,
  type Entry,
  type Lease,
  promptText,
  type Question,
  type Task,
} from "../wire/api/index.ts";
import { limits } from "./limits.ts";
import { forHowLong } from "./times.ts";

/** Names of agents by their ids, for entries that know only the id. */
export class Names {
  readonly #names = new Map<string, string>();

  learn({ id, card }: Pick<Agent, "id" | "card">): void {
    this.#names.delete(id);
    this.#names.set(id, card.name);
    const [oldest] = this.#names.keys();
    if (this.#names.size > limits.namesMax && oldest !== undefined) this.#names.delete(oldest);
  }

  of(id: string): string {
    const name = this.#names.get(id);
    return name === undefined ? id.slice(0, 8) : `${name} (${id.slice(0, 8)})`;
  }
}

export type EntryLine = { readonly text: string; readonly tone: Tone | undefined };

/** What happened, as one says it. */
export function describeEntry(entry: Entry, names: Names): EntryLine {
  switch (entry.type) {
    case "agent.registered":
      return { text: `${names.of(entry.agent.id)} is here`, tone: "good" };
    case "agent.unreachable":
      return { text: `${names.of(entry.agent.id)} is not heard any more`, tone: "warn" };
    case "agent.recovered":
      return { text: `${names.of(entry.agent.id)} is heard again`, tone: "good" };
    case "agent.died":
      return entry.agent.hasLeft
        ? { text: `${names.of(entry.agent.id)} left`, tone: "dim" }
        : { text: `${names.of(entry.agent.id)} died: it missed its heartbeats`, tone: "bad" };
    case "agent.active":
      return {
        text: doing(entry, names),
        tone: entry.activity.state === "waiting" ? "warn" : undefined,
      };
    case "agent.forgotten":
      return { text: `${names.of(entry.agentId)} is forgotten`, tone: "dim" };
    case "lease.acquired":
      return { text: `${holds(entry.lease, names)}`, tone: "good" };
    case "lease.renewed":
      return { text: `${holds(entry.lease, names)}, renewed`, tone: "dim" };
    case "lease.released":
      return {
        text: `${entry.lease.taskId} is free; ${names.of(entry.lease.holder)} let it go`,
        tone: undefined,
      };
    case "lease.expired":
      return {
        text: `${entry.lease.taskId} is free; ${names.of(entry.lease.holder)} let it expire`,
        tone: "warn",
      };
    case "leader.changed":
      return entry.leader === undefined
        ? { text: `${entry.group} has no leader, term ${entry.term}`, tone: "warn" }
        : {
            text: `${entry.group} is led by ${names.of(entry.leader)}, term ${entry.term}`,
            tone: "good",
          };
    case "election.joined":
      return { text: `${names.of(entry.agentId)} stands for ${entry.group}`, tone: undefined };
    case "election.left":
      return {
        text: `${names.of(entry.agentId)} stands for ${entry.group} no longer`,
        tone: undefined,
      };
    case "policy.changed": {
      const { id, subject, action, resource, effect } = entry.policy;
      const may = effect === "allow" ? "may" : "may not";
      return { text: `policy ${id}: ${subject} ${may} ${action} ${resource}`, tone: undefined };
    }
    case "policy.deleted":
      return { text: `policy ${entry.policy.id} is deleted`, tone: "warn" };
    case "task.created":
    case "task.ready":
    case "task.claimed":
    case "task.extended":
    case "task.completed":
    case "task.failed":
    case "task.requeued":
    case "task.cancelled":
    case "task.dead":
      return describeTask(entry.type, entry.task, names);
    case "task.forgotten":
      return { text: `task ${entry.taskId.slice(0, 8)} is forgotten`, tone: "dim" };
    case "observed.changed": {
      const { name, state, note } = entry.observed;
      const said = note === "" ? "" : `: ${note}`;
      return { text: `${name} is ${state}${said}`, tone: state === "waiting" ? "warn" : undefined };
    }
    case "observed.left":
      return { text: `${entry.observed.name} has left`, tone: "dim" };
    case "need.dismissed": {
      const { id, untilMs, atMs, by } = entry.dismissal;
      const what =
        untilMs === undefined ? "dismissed" : `snoozed for ${forHowLong(untilMs - atMs)}`;
      return { text: `${id} is ${what} by ${by}`, tone: "dim" };
    }
    case "need.restored":
      return { text: `${entry.id} is back on the list of what needs you`, tone: "dim" };
    case "plane.opened":
      return { text: "the daemon started", tone: "bold" };
    case "plane.resumed":
      return { text: "the daemon was suspended and has come back", tone: "warn" };
    default:
      if ("question" in entry && entry.question) return describeQuestion(entry.question, names);
      if ("id" in entry) {
        // Of jobs and sessions: `job.started` is "job … started".
        const [what, happened] = entry.type.split(".");
        return { text: `${what} ${entry.id} ${happened}`, tone: "dim" };
      }
      // A newer daemon knows facts that we do not.
      return { text: (entry satisfies never as Entry).type, tone: undefined };
  }
}

function doing(
  { agentId, activity }: Extract<Entry, { type: "agent.active" }>,
  names: Names,
): string {
  const note = activity.note === "" ? "" : `: ${activity.note}`;
  return `${names.of(agentId)} is ${activity.state}${note}`;
}

function holds({ taskId, holder, ttlMs, token }: Omit<Lease, "holderName">, names: Names): string {
  return `${taskId} is held by ${names.of(holder)} for ${forHowLong(ttlMs)}, token ${token}`;
}

function describeQuestion(question: Omit<Question, "askerName">, names: Names): EntryLine {
  const { state, asker, answeredBy, reason } = question;
  const prompt = promptText(question);
  const who = asker.kind === "agent" ? names.of(asker.id) : `job ${asker.id}`;
  switch (state) {
    case "open":
      return { text: `${who} ${asksText(question)}`, tone: "warn" };
    case "answered":
      return { text: `${who} was answered by ${answeredBy}: ${prompt}`, tone: "good" };
    case "closed":
      return {
        text: `${who} got no answer (${(reason ?? "").replaceAll("_", " ")}): ${prompt}`,
        tone: "dim",
      };
  }
}

type TaskType = Extract<Entry, { readonly task: unknown }>["type"];

function describeTask(type: TaskType, task: Omit<Task, "claimantName">, names: Names): EntryLine {
  const what = `${task.type} ${task.id.slice(0, 8)}`;
  const by = task.claimant === undefined ? "" : ` by ${names.of(task.claimant)}`;
  const why = task.failureReason === "" ? "" : `: ${task.failureReason}`;
  switch (type) {
    case "task.created":
      return { text: `${what} is queued`, tone: undefined };
    case "task.ready":
      return { text: `${what} is due`, tone: undefined };
    case "task.claimed":
      return { text: `${what} is worked on${by}`, tone: "good" };
    case "task.extended":
      return { text: `${what} takes longer${by}`, tone: "dim" };
    case "task.completed":
      return { text: `${what} is done${by}`, tone: "good" };
    case "task.failed":
      return { text: `${what} failed${why}`, tone: "warn" };
    case "task.requeued":
      return { text: `${what} is queued again${why}`, tone: "warn" };
    case "task.cancelled":
      return { text: `${what} is cancelled`, tone: "dim" };
    case "task.dead":
      return { text: `${what} is dead${why}`, tone: "bad" };
  }
}

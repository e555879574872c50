/**
 * The whole state as rows, section by section, and back. Records are never changed in place, so taking
 * hold of them is enough: about a millisecond for 100,000. Printing them, the slow part, can then be
 * done in slices while the state moves on.
 */
import { type Credential, putCredential } from "./credentials.ts";
import { type Election, putElection } from "./elections.ts";
import { type Policy, putPolicy } from "./entitlements.ts";
import { type AgentId, type TaskId, term, token } from "./ids.ts";
import { type JobRow, putJobRow, rowOfJob } from "./job-records.ts";
import { type Lease, putLease } from "./leases.ts";
import { emptyState, hasEnded, type OwnState, type State } from "./machine.ts";
import { type Dismissal, putDismissal } from "./needs.ts";
import { type Observed, putObserved } from "./observed.ts";
import { putQuestion, type Question } from "./questions.ts";
import { type Activity, type Agent, putAgent } from "./registry.ts";
import { putSessionRow, rowOfSession, type SessionRow } from "./sessions.ts";
import { keepBytes, putTask, type Task, withDefaults } from "./tasks.ts";

type Rows = {
  readonly counters: Counters;
  readonly agent: Agent;
  readonly activity: readonly [AgentId, Activity];
  readonly lease: Lease;
  readonly election: Election;
  readonly policy: Policy;
  readonly task: Task;
  readonly input: readonly [TaskId, string];
  readonly output: readonly [TaskId, string];
  readonly observed: Observed;
  readonly dismissal: Dismissal;
  readonly job: JobRow;
  readonly credential: Credential;
  readonly session: SessionRow;
  readonly question: Question;
  /** Soft: left out of what is compared. */
  readonly heartbeat: readonly [AgentId, number];
};

type Counters = {
  readonly lastToken: bigint;
  readonly lastBusSequence: number;
  readonly lastPlace: number;
  /** Of jobs; the other is of tasks. */
  readonly lastJobPlace: number;
  readonly lastQuestionPlace: number;
  readonly listeningSinceMs: number;
  readonly openedAtMs: number;
};

export type SectionName = keyof Rows;
export type Section = {
  readonly [Name in SectionName]: { readonly name: Name; readonly rows: readonly Rows[Name][] };
}[SectionName];

/** A consistent copy of the references, in one go. */
export function capture(state: State): readonly Section[] {
  const { registry, leases, elections, entitlements, tasks, observed, needs, jobs, sessions } =
    state;
  const { credentials, questions, lastBusSequence, openedAtMs } = state;
  const { lastToken } = leases;
  const { lastPlace } = tasks;
  const lastJobPlace = jobs.lastPlace;
  const lastQuestionPlace = questions.lastPlace;
  const { listeningSinceMs } = registry;
  // The dead and the ended come in the order of their ends, which is the order they are forgotten in.
  const living = [...registry.agents.values()].filter(({ id }) => !registry.dead.has(id));
  const dead = [...registry.dead].flatMap((id) => registry.agents.get(id) ?? []);
  const open = [...tasks.byId.values()].filter((task) => !tasks.ended.has(task.id));
  const ended = [...tasks.ended].flatMap((id) => tasks.byId.get(id) ?? []);
  return [
    {
      name: "counters",
      rows: [
        {
          lastToken,
          lastBusSequence,
          lastPlace,
          lastJobPlace,
          lastQuestionPlace,
          listeningSinceMs,
          openedAtMs,
        },
      ],
    },
    { name: "heartbeat", rows: [...registry.heartbeats] },
    { name: "agent", rows: living.concat(dead) },
    { name: "activity", rows: [...registry.activities] },
    { name: "lease", rows: [...leases.held.values()] },
    { name: "election", rows: [...elections.groups.values()] },
    { name: "policy", rows: [...entitlements.policies.values()] },
    { name: "task", rows: open.concat(ended) },
    { name: "input", rows: [...tasks.inputs] },
    { name: "output", rows: [...tasks.outputs] },
    { name: "observed", rows: [...observed.byId.values()] },
    { name: "dismissal", rows: [...needs.dismissals.values()] },
    // In the order of their places.
    { name: "job", rows: [...jobs.byId.values()].map((job) => rowOfJob(jobs, job)) },
    {
      name: "credential",
      rows: [...credentials.byJob.values()].flatMap((own) => [...own.values()]),
    },
    {
      name: "session",
      rows: [...sessions.byId.values()].map((session) => rowOfSession(sessions, session)),
    },
    { name: "question", rows: inOrder(questions) },
  ];
}

/** Those that are deleted first if memory is short come last, in the order in which that happens. */
function inOrder({ byId, over }: State["questions"]): readonly Question[] {
  const last = new Set([...over.values()].flatMap((ids) => [...ids]));
  const others = [...byId.values()].filter(({ id }) => !last.has(id));
  return others.concat([...last].flatMap((id) => byId.get(id) ?? []));
}

/** One row as JSON. */
export function printRow(section: Section, index: number): string {
  switch (section.name) {
    case "counters":
    case "lease":
    case "election":
      return JSON.stringify(section.rows[index], (_, value) =>
        typeof value === "bigint" ? String(value) : value,
      );
    default:
      return JSON.stringify(section.rows[index]);
  }
}

/** Fills an empty state, row by row, in the order in which `capture` gave them. */
export class Restoring {
  readonly state: OwnState = emptyState();

  add(name: SectionName, row: string): void {
    const { state } = this;
    const value = JSON.parse(row);
    switch (name) {
      case "counters":
        state.leases.lastToken = token(BigInt(value.lastToken));
        state.lastBusSequence = value.lastBusSequence;
        state.tasks.lastPlace = value.lastPlace;
        state.jobs.lastPlace = value.lastJobPlace ?? 0;
        state.questions.lastPlace = value.lastQuestionPlace ?? 0;
        state.registry.listeningSinceMs = value.listeningSinceMs;
        // Older snapshots lack `openedAtMs`; the time at which the plane began to listen replaces it.
        state.openedAtMs = value.openedAtMs ?? value.listeningSinceMs;
        return;
      case "heartbeat":
        state.registry.heartbeats.set(value[0], value[1]);
        return;
      case "agent":
        putAgent(
          state.registry,
          value,
          state.registry.heartbeats.get(value.id) ?? value.registeredAtMs,
        );
        return;
      case "activity":
        state.registry.activities.set(value[0], value[1]);
        return;
      case "lease":
        putLease(state.leases, { ...value, token: token(BigInt(value.token)) });
        return;
      case "election":
        putElection(state.elections, { ...value, term: term(BigInt(value.term)) });
        return;
      case "policy":
        putPolicy(state.entitlements, value);
        return;
      case "task":
        putTask(state.tasks, withDefaults(value));
        return;
      case "input":
        keepBytes(state.tasks, state.tasks.inputs, value[0], value[1]);
        return;
      case "output":
        keepBytes(state.tasks, state.tasks.outputs, value[0], value[1]);
        return;
      case "observed":
        putObserved(state.observed, value);
        return;
      case "dismissal":
        putDismissal(state.needs, value);
        return;
      case "job":
        putJobRow(state.jobs, value);
        return;
      case "credential":
        putCredential(state.credentials, value);
        return;
      case "session":
        putSessionRow(state.sessions, value);
        return;
      case "question":
        putQuestion(state.questions, value, (jobId) => hasEnded(state, jobId));
        return;
    }
  }
}

/** The state in one text that is equal for equal states: what was kept, in the order of its names. */
export function describe(state: State): string {
  const lines: string[] = [];
  for (const section of capture(state)) {
    if (section.name === "heartbeat") continue;
    for (let index = 0; index < section.rows.length; index++) {
      lines.push(`${section.name} ${printRow(section, index)}`);
    }
  }
  return lines.sort().join("\n");
}

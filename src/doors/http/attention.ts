/** What needs a person: who waits for one, who fell silent, what nobody can or will do. */
import {
  type Agent,
  type Dismissal,
  dismissalOf,
  jobId,
  lastHeard,
  type State,
} from "../../core/index.ts";
import type { Plane } from "../../plane/index.ts";
import {
  type Answer,
  type Attention,
  limits as apiLimits,
  asksText,
  type Input,
  type Sighting,
} from "../../wire/api/index.ts";
import { limits as fileLimits } from "../../wire/status-file/index.ts";
import { shorten } from "./encode-job.ts";
import { readFailures } from "./jobs.ts";
import { limits } from "./limits.ts";
import type { Call, OperationParts, Reply } from "./operations.ts";
import { Smallest } from "./pages.ts";
import { type Look, lookInTurns, slices, type Turn } from "./slices.ts";

type Kind = Attention["kind"];

export function attentionIn(
  parts: Parts,
  { dismissed = false }: Input<"getAttention">,
  { signal, maySee }: Pick<Call, "signal" | "maySee">,
): Promise<Reply<Answer<"getAttention">>> {
  return lookInTurns(parts.plane, signal, (turn) => lookFor(parts, { turn, maySee, dismissed }));
}

type Parts = Pick<OperationParts, "plane" | "find" | "lookAround">;

async function lookFor(
  { plane, find, lookAround }: Parts,
  {
    turn,
    maySee,
    dismissed,
  }: { readonly turn: Turn; readonly maySee: boolean; readonly dismissed: boolean },
): Promise<Answer<"getAttention">> {
  await turn();
  const seen = maySee ? await lookAround({ silentAfterMs: apiLimits.silentAfterMs }) : [];
  const queues = await plane.read((state, nowMs) => longWaitingIn(state, nowMs));
  const able = await Promise.all(
    queues.map(({ tools }) => find({ query: "", tools, limit: 1 }).then(({ hits }) => hits.length)),
  );
  const needs = await slices(plane, turn, function* (state, nowMs) {
    const notes = new Notes(state.needs, { nowMs, dismissed });
    if (maySee) yield* noteQuestions(notes, state);
    yield* noteSeen(notes, seen, nowMs);
    yield* noteUnseen(notes, state, { seen, nowMs });
    yield* noteUnreachable(notes, state);
    yield* noteDeadTasks(notes, state);
    if (maySee) yield* noteFailedJobs(notes, state);
    for (const [index, { stuck }] of queues.entries()) {
      if (able[index] !== 0) continue;
      for (const { text, ...about } of stuck) yield* notes.add(about, () => text);
    }
    return yield* notes.print();
  });
  return { ...needs, items: await explainFailures(plane, needs.items, turn) };
}

/** Adds to each failed job why it failed. The state does not have the reasons; the log has them. */
async function explainFailures(
  plane: Plane,
  items: readonly Attention[],
  turn: Turn,
): Promise<readonly Attention[]> {
  const failed = items.filter(({ kind }) => kind === "job_failed");
  if (failed.length === 0) return items;
  const jobs = await plane.read((state) =>
    failed.flatMap(({ id }) => state.jobs.byId.get(jobId(id)) ?? []),
  );
  const failures = await readFailures(plane, jobs, turn);
  return items.map((item) => {
    const why = item.kind === "job_failed" && failures.get(item.id)?.failure?.message;
    return why ? { ...item, text: `${item.text}: ${shorten(why)}` } : item;
  });
}

/** What was found, the longest of each kind. Only what is shown is put into words. */
class Notes {
  /** Order: questions and agents that wait for a person, then what has failed, then what may have failed. */
  readonly #byKind: Readonly<Record<Kind, Smallest<Note>>> = {
    question: new Smallest(limits.attentionMax),
    agent_waiting: new Smallest(limits.attentionMax),
    task_dead: new Smallest(limits.attentionMax),
    job_failed: new Smallest(limits.attentionMax),
    task_stuck: new Smallest(limits.attentionMax),
    agent_silent: new Smallest(limits.attentionMax),
    agent_unreachable: new Smallest(limits.attentionMax),
  };
  readonly #needs: State["needs"];
  readonly #options: { readonly nowMs: number; readonly dismissed: boolean };

  /** `dismissed`: lists dismissed items instead of the others. */
  constructor(
    needs: State["needs"],
    options: { readonly nowMs: number; readonly dismissed: boolean },
  ) {
    this.#needs = needs;
    this.#options = options;
  }

  *add(about: Omit<Note["about"], "source">, text: () => string): Look<void> {
    yield* this.addFrom("registry", about, text);
  }

  *addFrom(
    source: Attention["source"],
    about: Omit<Note["about"], "source">,
    text: () => string,
  ): Look<void> {
    const dismissal = dismissalOf(this.#needs, about, this.#options.nowMs);
    if ((dismissal !== undefined) !== this.#options.dismissed) return;
    const kind = this.#byKind[about.kind];
    const note = { about: { ...about, source, ...(dismissal && encode(dismissal)) }, text };
    if (kind.offer(about.sinceMs, about.id, note)) yield* kind.shrink();
  }

  *print(): Look<Answer<"getAttention">> {
    const items: Attention[] = [];
    let total = 0;
    for (const kind of Object.values(this.#byKind)) {
      total += kind.offered;
      for (const { item } of yield* kind.from(0)) {
        if (items.length < limits.attentionMax) items.push({ ...item.about, text: item.text() });
      }
    }
    return { items, total };
  }
}

function encode({ by, atMs, untilMs }: Dismissal): Pick<Attention, "dismissed"> {
  return { dismissed: { by, atMs, ...(untilMs === undefined ? {} : { untilMs }) } };
}

type Note = { readonly about: Omit<Attention, "text">; readonly text: () => string };

/** Open questions of jobs and registered agents: only a person can answer them. */
function* noteQuestions(notes: Notes, { questions, jobs, registry }: State): Look<void> {
  for (const id of questions.open) {
    yield;
    const question = questions.byId.get(id);
    if (!question) continue;
    const { asker, prompt, askedAtMs: sinceMs, expiresAtMs, expects } = question;
    const scope = expects.of === "scope" ? expects.scope : undefined;
    const isJob = asker.of === "job";
    const askerId = isJob ? asker.jobId : asker.agentId;
    const name = isJob
      ? jobs.byId.get(asker.jobId)?.agent
      : registry.agents.get(asker.agentId)?.card.name;
    const who = { kind: asker.of, id: askerId };
    const closes = expiresAtMs === undefined ? {} : { expiresAtMs };
    const about = { kind: "question", id, name: name ?? askerId, sinceMs, asker: who } as const;
    yield* notes.add({ ...about, ...closes }, () => asksText({ prompt, scope }));
  }
}

/** Whoever is shown is judged as it is shown. */
function* noteSeen(notes: Notes, seen: readonly Sighting[], nowMs: number): Look<void> {
  for (const { id, name, state, doing = "", known, sinceMs = nowMs, questionId } of seen) {
    yield;
    // Its question is already listed.
    if (questionId !== undefined) continue;
    const source = known[0]?.source ?? "process";
    const about = { id, name, sinceMs };
    switch (state) {
      case "waiting":
        yield* notes.addFrom(source, { kind: "agent_waiting", ...about }, () => asks(doing));
        break;
      case "silent":
        yield* notes.addFrom(source, { kind: "agent_silent", ...about }, () => isStill(doing));
        break;
      case "lost":
        // Whom the registry misses is told below, whether it is shown or not. And what a machine left behind
        // when it was switched off is no news for ever.
        if (source === "registry" || nowMs - sinceMs > fileLimits.pruneAfterMs) break;
        yield* notes.addFrom(source, { kind: "agent_unreachable", ...about }, () => {
          return "its status file is not kept up to date any more; if it is gone, agent-status prune --prune-after 60 removes the file";
        });
        break;
      case "working":
      case "failed":
      case "idle":
      case "stopped":
      case "unknown":
        break;
    }
  }
}

/** Of a large fleet not everyone is shown: the others by what they say themselves. */
function* noteUnseen(
  notes: Notes,
  { registry }: State,
  { seen, nowMs }: { readonly seen: readonly Sighting[]; readonly nowMs: number },
): Look<void> {
  const shown = new Set<string>(seen.map(({ id }) => id));
  for (const [id, { state, note, sinceMs, reportedAtMs = sinceMs }] of registry.activities) {
    yield;
    if (state === "idle" || shown.has(id)) continue;
    const agent = registry.agents.get(id);
    if (agent?.liveness !== "alive") continue;
    const { name } = agent.card;
    if (state === "waiting") {
      yield* notes.add({ kind: "agent_waiting", id, name, sinceMs }, () => asks(note));
      continue;
    }
    const progressAtMs = registry.reports.get(id) ?? reportedAtMs;
    const quietSinceMs = Math.max(progressAtMs, registry.listeningSinceMs);
    if (nowMs - quietSinceMs <= apiLimits.silentAfterMs) continue;
    const about = { kind: "agent_silent", id, name, sinceMs: quietSinceMs } as const;
    yield* notes.add(about, () => isStill(note));
  }
}

function asks(note: string): string {
  return note === "" ? "waits for a person" : `asks: ${note}`;
}

function isStill(last: string): string {
  return `says it works, but made no progress${last === "" ? "" : `; last: ${last}`}`;
}

/** Agents of one process are one row: they were lost together. */
function* noteUnreachable(notes: Notes, { registry, openedAtMs }: State): Look<void> {
  let left = registry.counts.unreachable;
  const lost: LostAgent[] = [];
  for (const agent of registry.agents.values()) {
    if (left === 0) break;
    yield;
    if (agent.liveness !== "unreachable") continue;
    left -= 1;
    const { lastHeartbeatAtMs, unheardSinceMs } = lastHeard(registry, agent, openedAtMs);
    const isUnheard = unheardSinceMs !== undefined;
    lost.push({ agent, sinceMs: unheardSinceMs ?? lastHeartbeatAtMs, isUnheard });
  }
  for (const [process, members] of Map.groupBy(lost, ({ agent }) => processOf(agent))) {
    yield;
    const [first] = members;
    if (!first) continue;
    const what = first.isUnheard ? unheardWords : "its heartbeats stopped";
    const { id, card } = first.agent;
    const kind = "agent_unreachable" as const;
    if (members.length === 1) {
      yield* notes.add({ kind, id, name: card.name, sinceMs: first.sinceMs }, () => {
        return `${what}; what it holds is freed when it is declared dead`;
      });
      continue;
    }
    const agents = members.slice(0, limits.namedTogetherMax).map(({ agent }) => ({
      id: agent.id,
      name: agent.card.name,
    }));
    // The row counts as new again when another agent is lost.
    const sinceMs = members.reduce((latest, { sinceMs }) => Math.max(latest, sinceMs), 0);
    const name = `${card.name} and ${members.length - 1} more`;
    const about = { kind, id: process, name, sinceMs, agents, agentCount: members.length };
    yield* notes.add(about, () => {
      const names = agents.map(({ name }) => name).join(", ");
      const more = members.length > agents.length ? ", …" : "";
      const heard = first.isUnheard ? unheardWords : "heartbeats stopped";
      return `${members.length} agents of one process: ${heard}; ${names}${more}`;
    });
  }
}

type LostAgent = {
  readonly agent: Agent;
  readonly sinceMs: number;
  readonly isUnheard: boolean;
};

/** The process that its client or its card names. An agent without either has a row of its own. */
function processOf({ id, card, process }: Agent): string {
  if (process !== undefined) return `process ${process}`;
  const told = new Map(card.metadata);
  const [host, pid] = [told.get("host"), told.get("pid")];
  return host && pid ? `process ${pid} on ${host}`.slice(0, limits.hostNameLengthMax) : id;
}

const unheardWords = "not heard since the restart";

function* noteDeadTasks(notes: Notes, { tasks }: State): Look<void> {
  for (const id of tasks.ended) {
    yield;
    const task = tasks.byId.get(id);
    if (task?.state !== "dead") continue;
    const { type: name, diedAtMs: sinceMs, failureReason: why } = task;
    yield* notes.add({ kind: "task_dead", id, name, sinceMs }, () =>
      why === "" ? "failed for good" : `failed for good: ${why}`,
    );
  }
}

/**
 * A job that failed or timed out and was not submitted by another job, so that only a person can act on it. Cancelled
 * jobs are not listed, because somebody wanted them to end.
 */
function* noteFailedJobs(notes: Notes, { jobs }: State): Look<void> {
  for (const job of jobs.byId.values()) {
    yield;
    if (job.state !== "ended" || job.parentId !== undefined) continue;
    const { id, status, agent: name, endedAtMs: sinceMs } = job;
    if (status !== "error" && status !== "timed_out") continue;
    const about = { kind: "job_failed", id, name, sinceMs } as const;
    yield* notes.add(about, () => (status === "error" ? "failed" : "timed out"));
  }
}

type LongWaiting = {
  readonly tools: readonly string[];
  readonly stuck: readonly Omit<Attention, "source">[];
};

/** The first of each type in each queue, if it waits for long: nobody may have the tools for it. */
function longWaitingIn({ tasks }: State, nowMs: number): readonly LongWaiting[] {
  const found: LongWaiting[] = [];
  let left: number = limits.lanesLookedAt;
  for (const { tools, lanes } of tasks.queues.values()) {
    if (left <= 0) break;
    if (tools.length === 0) continue;
    const stuck: Omit<Attention, "source">[] = [];
    for (const { first, size } of lanes.values().take(left)) {
      left -= 1;
      const task = first && tasks.byId.get(first.key);
      if (task?.state !== "pending") continue;
      const { pendingSinceMs: sinceMs } = task;
      if (nowMs - sinceMs < limits.stuckMs) continue;
      const text = `${size} waiting for an agent with ${tools.join(", ")}; there is none`;
      const { id, type: name } = task;
      stuck.push({ kind: "task_stuck", id, name, sinceMs, text, tools });
    }
    if (stuck.length > 0) found.push({ tools, stuck });
  }
  return found;
}

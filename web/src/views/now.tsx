/** What needs a person, how much is going on, who holds what, and what is happening. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import {
  type Answer,
  type Attention,
  call,
  type Entry,
  type Overview,
  reasonOf,
  type Sighting,
  type Timeline,
} from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { limits } from "../limits.ts";
import { overview, recent } from "../live.ts";
import { notify } from "../notices.ts";
import { Sparkline } from "../parts/chart.tsx";
import { EventLine } from "../parts/event.tsx";
import { Empty } from "../parts/field.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { AgentLink, Said } from "../parts/said.tsx";
import { Dot, StateWord, type Tone } from "../parts/standing.tsx";
import { Ago, Since, TimeLeft } from "../parts/time.tsx";
import {
  agentAddress,
  groupAddress,
  jobAddress,
  leaseAddress,
  sightingAddress,
  taskAddress,
} from "../route.ts";
import { mayWrite } from "../session.ts";
import { isNews } from "../words/sentence.ts";
import { count, figure, milliseconds, number } from "../words/time.ts";
import { lastMinute, paceOf } from "../words/timeline.ts";
import { AgentDot, Doing, silentOf } from "./agents.tsx";
import { GettingStarted } from "./getting-started.tsx";
import { WhatItDoes } from "./machine.tsx";
import { QuestionBox } from "./question.tsx";

export function NowView(): JSX.Element {
  const seen = overview.value;
  const { alive = 0, unreachable = 0, dead = 0 } = seen?.counts.agents ?? {};
  const { value: attention } = useAnswer(
    "getAttention",
    {},
    { concerns: isNews, everyMs: limits.pollEveryMs },
  );
  const { value: status, problem } = useAnswer(
    "getStatus",
    { limit: limits.sightingsMax },
    { concerns: ofTypes("observed.", "agent."), everyMs: limits.pollEveryMs },
  );
  const observed = status?.agents.filter(isObserved) ?? [];
  const hasRegistered = seen !== undefined && alive + unreachable + dead > 0;
  const isHidden = problem?.code === "token_required";
  const isUnused = seen !== undefined && (status !== undefined || isHidden) && !hasRegistered;
  return (
    <main class="now">
      <h1 class="unseen">Now</h1>
      <Needs attention={attention} />
      <Totals />
      <div class="now-columns">
        <div class="now-column">
          {isHidden && <HiddenMachine />}
          {status && observed.length > 0 && (
            <OnThisMachine observed={observed} isPart={status.total > status.agents.length} />
          )}
          {isUnused && observed.length === 0 && <GettingStarted overview={seen} />}
          {hasRegistered && (
            <>
              <Held />
              <Leaders />
              {(alive + unreachable > 0 || observed.length === 0) && (
                <AtWork silent={silentOf(attention)} />
              )}
            </>
          )}
        </div>
        <Happening />
      </div>
    </main>
  );
}

const needs: Readonly<
  Record<
    Attention["kind"],
    {
      readonly icon: IconName;
      readonly tone: Extract<Tone, "red" | "amber">;
      readonly word: string;
    }
  >
> = {
  question: { icon: "question", tone: "red", word: "asks you" },
  agent_waiting: { icon: "question", tone: "red", word: "waits for you" },
  agent_silent: { icon: "silent", tone: "amber", word: "silent" },
  agent_unreachable: { icon: "lost", tone: "amber", word: "unreachable" },
  task_dead: { icon: "dead", tone: "red", word: "task failed" },
  job_failed: { icon: "dead", tone: "red", word: "job failed" },
  task_stuck: { icon: "stuck", tone: "amber", word: "no worker" },
};

const needsShown = 5;
/** Rows of items that are over, below the row that the pointer or the focus is on. */
const overShown = 5;

function Needs({
  attention,
}: {
  readonly attention: Answer<"getAttention"> | undefined;
}): JSX.Element {
  const isWhole = useSignal(false);
  const section = useRef<HTMLElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const kept = useRef<readonly Attention[]>([]);
  const left = useSignal(0);
  // The daemon tells every page how many questions are open, but only a page with a key what they are.
  const hidden = mayWrite.value === false ? (overview.value?.counts.questions ?? 0) : 0;
  if (!attention) return <section class="needs calm" aria-label="Needs you" />;
  const { total } = attention;
  // Reading the signal here renders the rows again when the pointer or the focus has left them.
  void left.value;
  const isHeld = section.current?.matches(held) ?? false;
  const lastHeld = [...(list.current?.children ?? [])].findLastIndex((row) => row.matches(held));
  const items = isHeld ? keepPlaces(kept.current, attention.items, lastHeld) : attention.items;
  kept.current = items;
  const current = new Set(attention.items.map(keyOf));
  if (items.length === 0) {
    return (
      <section class="needs calm" aria-label="Needs you">
        {hidden > 0 ? <HiddenQuestions total={hidden} /> : <p>Nothing needs you.</p>}
      </section>
    );
  }
  const look = (): void => {
    left.value += 1;
  };
  // A button for one row would take as much room as the row.
  const isAll = isWhole.value || total <= needsShown + 1;
  const open = items.filter((item) => current.has(keyOf(item)));
  const next = open[needsShown];
  const shown = isAll || !next ? items : items.slice(0, items.indexOf(next));
  const tone = items.some(({ kind }) => needs[kind].tone === "red") ? "red" : "amber";
  return (
    <section
      ref={section}
      class="needs"
      data-tone={tone}
      aria-labelledby="needs-title"
      onPointerLeave={look}
      onFocusOut={look}
    >
      <h2 id="needs-title">
        Needs you <span class="count">{number(total)}</span>
      </h2>
      <ul ref={list}>
        {shown.map((item) => (
          <Need key={keyOf(item)} item={item} isOver={!current.has(keyOf(item))} />
        ))}
      </ul>
      {!isAll && (
        <button
          type="button"
          class="more needs-more"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          {number(total - needsShown)} more
        </button>
      )}
      {isAll && total > open.length && (
        <p class="soft">and {count(total - open.length, "other", "others")}</p>
      )}
      {hidden > 0 && <HiddenQuestions total={hidden} />}
    </section>
  );
}

function HiddenQuestions({ total }: { readonly total: number }): JSX.Element {
  return (
    <p class="soft">
      {count(total, "question is", "questions are")} hidden: open the link that{" "}
      <code>tipstaff dashboard</code> prints
    </p>
  );
}

function keyOf({ kind, id }: Attention): string {
  return `${kind} ${id}`;
}

const held = ":hover, :focus-within";

/**
 * Rows stay where they are while someone points at one or types in one: a click that is on its way must not
 * answer the question that moved up. A pointer may rest on the list for hours, so only a few of the items that are over
 * stay below the row at `lastHeld`. Deleting those does not move that row.
 */
function keepPlaces(
  before: readonly Attention[],
  items: readonly Attention[],
  lastHeld: number,
): readonly Attention[] {
  const fresh = new Map(items.map((item) => [keyOf(item), item]));
  let spare = overShown;
  const staying = before.filter(
    (item, index) => fresh.has(keyOf(item)) || index <= lastHeld || spare-- > 0,
  );
  const places = new Set(staying.map(keyOf));
  return [
    ...staying.map((item) => fresh.get(keyOf(item)) ?? item),
    ...items.filter((item) => !places.has(keyOf(item))),
  ];
}

function Need({
  item,
  isOver,
}: {
  readonly item: Attention;
  /** The item no longer needs a person. It is still shown so that the other rows do not move. */
  readonly isOver: boolean;
}): JSX.Element {
  const { icon, tone, word } = needs[item.kind];
  return (
    <li class="need" data-tone={tone} data-kind={item.kind} data-over={isOver}>
      <Icon name={icon} />
      <span class="word">{word}</span>
      <a class="name" href={addressOf(item)} data-row>
        <Said text={item.name} />
      </a>
      <span class="text">
        <Said text={item.text} lengthMax={300} />{" "}
        {item.source !== "registry" && <small class="soft">by its {item.source}</small>}
      </span>
      <Since atMs={item.sinceMs} />
      {isOver ? <span class="clear soft">over</span> : <Clear item={item} />}
      {item.kind === "question" && <QuestionBox questionId={item.id} shown={item.text} />}
    </li>
  );
}

/** Neither button asks for confirmation: nothing is lost, and `tipstaff needs restore` undoes it. */
function Clear({ item }: { readonly item: Attention }): JSX.Element | null {
  const isBusy = useSignal(false);
  if (!mayWrite.value) return null;
  const clear = async (snooze: { readonly forMs?: number }, done: string): Promise<void> => {
    isBusy.value = true;
    const { kind, id, sinceMs } = item;
    try {
      await call("dismissNeed", { kind, id, sinceMs, ...snooze });
      notify(`${item.name} is ${done}.`);
    } catch (error) {
      notify(reasonOf(error));
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <span class="clear">
      <button
        type="button"
        disabled={isBusy.value}
        title="hide it for an hour"
        onClick={() => void clear({ forMs: snoozeMs }, "snoozed for an hour")}
      >
        Snooze
      </button>
      <button
        type="button"
        disabled={isBusy.value}
        title="hide it until the same happens again"
        onClick={() => void clear({}, "dismissed")}
      >
        Dismiss
      </button>
    </span>
  );
}

const snoozeMs = 3_600_000;

function addressOf({ kind, id, source, agents, asker }: Attention): string {
  if (source !== "registry") return sightingAddress(id);
  if (asker) return asker.kind === "job" ? jobAddress(asker.id) : agentAddress(asker.id);
  const [first] = agents ?? [];
  if (first) return agentAddress(first.id);
  switch (kind) {
    case "question":
    case "agent_waiting":
    case "agent_silent":
    case "agent_unreachable":
      return agentAddress(id);
    case "task_dead":
    case "task_stuck":
      return taskAddress(id);
    case "job_failed":
      return jobAddress(id);
  }
}

function Totals(): JSX.Element {
  const { value: timeline } = useAnswer("getTimeline", {}, { everyMs: limits.timelineEveryMs });
  const seen = overview.value;
  return (
    <section class="totals" aria-label="Totals">
      <Counts overview={seen} />
      {timeline && <Paces timeline={timeline} />}
    </section>
  );
}

function Counts({ overview }: { readonly overview: Overview | undefined }): JSX.Element {
  const agents = overview?.counts.agents;
  return (
    <>
      <a class="tile" href="/agents">
        <Total value={agents?.alive} one="agent registered" many="agents registered" />
        <small>
          {agents &&
            `${number(agents.unreachable)} unreachable · ${number(agents.dead - agents.left)} died`}
        </small>
      </a>
      <a class="tile" href="/coordination">
        <Total value={overview?.counts.leases} one="lease held" many="leases held" />
        <small>{overview && count(overview.counts.elections, "group", "groups")}</small>
      </a>
      <WorkTile counts={overview?.counts} />
    </>
  );
}

/** Jobs while there are any that have not ended, else tasks. */
function WorkTile({ counts }: { readonly counts: Overview["counts"] | undefined }): JSX.Element {
  const { tasks, jobs } = counts ?? {};
  const openTasks = tasks && tasks.pending + tasks.claimed + tasks.delayed;
  if (jobs && jobs.waiting + jobs.running + jobs.pending > 0) {
    return (
      <a class="tile" href="/work">
        <Total value={jobs.running} one="job runs" many="jobs run" />
        <small>
          {jobs.waiting > 0 && `${count(jobs.waiting, "asks", "ask")} you · `}
          {number(jobs.pending)} waiting · {count(openTasks ?? 0, "task", "tasks")} open
        </small>
      </a>
    );
  }
  return (
    <a class="tile" href="/tasks">
      <Total value={openTasks} one="task open" many="tasks open" />
      <small>
        {tasks && `${number(tasks.claimed)} claimed · ${number(tasks.pending)} pending`}
      </small>
    </a>
  );
}

function Total({
  value,
  one,
  many,
}: {
  readonly value: number | undefined;
  readonly one: string;
  readonly many: string;
}): JSX.Element {
  return (
    <>
      <b>{value === undefined ? "–" : number(value)}</b> {value === 1 ? one : many}
    </>
  );
}

function Paces({ timeline }: { readonly timeline: Timeline }): JSX.Element {
  const { stepMs } = timeline;
  const { eventsPerMinute, callsPerMinute, p50Ms, p99Ms } = paceOf(timeline);
  const p50 = p50Ms.findLast((value) => value !== null);
  const p99 = p99Ms.findLast((value) => value !== null);
  return (
    <>
      <a class="tile" href="/pace">
        <b>{figure(Math.round(lastMinute({ stepMs, events: timeline.events })))}</b> events a minute
        <Sparkline values={eventsPerMinute} />
      </a>
      <a class="tile" href="/pace">
        <b>{figure(Math.round(lastMinute({ stepMs, events: timeline.calls })))}</b> calls a minute
        <Sparkline values={callsPerMinute} />
      </a>
      <a class="tile" href="/pace">
        <b>{p99 === undefined ? "–" : milliseconds(p99)}</b>{" "}
        {p50 === undefined ? "p99 of calls" : `p99, half in ${milliseconds(p50)}`}
        <Sparkline values={p99Ms} />
      </a>
    </>
  );
}

const heldShown = 50;
/** On a narrow page the cards do not scroll for themselves; now.css hides the rows after these. */
const rowsWhenNarrow = 8;

/** Where the rest is, on a page too narrow for it. */
function Rest({
  total,
  href,
  children,
}: {
  readonly total: number;
  readonly href: string;
  readonly children: string;
}): JSX.Element | null {
  if (total <= rowsWhenNarrow) return null;
  return (
    <a class="rest" href={href}>
      {number(total - rowsWhenNarrow)} more {children}
    </a>
  );
}

function Held(): JSX.Element {
  const { value } = useAnswer(
    "listLeases",
    { sort: "oldest", limit: heldShown },
    { concerns: ofTypes("lease.", "agent.died") },
  );
  return (
    <section class="card held" aria-labelledby="held-title">
      <h2 id="held-title">
        Held now <a href="/coordination">{value ? number(value.total) : ""}</a>
      </h2>
      {value?.total === 0 && (
        <Empty>
          Nothing is held. An agent takes a lease so that no other works on the same task.
        </Empty>
      )}
      {value && value.total > 0 && (
        <div class="card-scroll">
          <table class="small">
            <thead>
              <tr>
                <th scope="col">Task</th>
                <th scope="col">Held by</th>
                <th scope="col">For</th>
                <th scope="col" class="left">
                  Time left
                </th>
              </tr>
            </thead>
            <tbody>
              {value.rows.map((lease) => (
                <tr key={lease.taskId}>
                  <td>
                    <a class="name" href={leaseAddress(lease.taskId)} data-row>
                      <Said text={lease.taskId} />
                    </a>
                  </td>
                  <td>
                    <AgentLink id={lease.holder} name={lease.holderName} />
                  </td>
                  <td>
                    <Since atMs={lease.acquiredAtMs} />
                  </td>
                  <td class="left">
                    <TimeLeft expiresAtMs={lease.expiresAtMs} ttlMs={lease.ttlMs} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <Rest total={value.total} href="/coordination">
            held
          </Rest>
        </div>
      )}
    </section>
  );
}

function Leaders(): JSX.Element | null {
  const { value } = useAnswer(
    "listElections",
    { limit: 20 },
    { concerns: ofTypes("leader.", "election.") },
  );
  if (!value || value.total === 0) return null;
  return (
    <section class="card leaders" aria-labelledby="leaders-title">
      <h2 id="leaders-title">
        Leaders <a href="/coordination/elections">{number(value.total)}</a>
      </h2>
      <div class="card-scroll">
        <table class="small">
          <thead>
            <tr>
              <th scope="col">Group</th>
              <th scope="col">Led by</th>
              <th scope="col">For</th>
              <th scope="col" class="left">
                Term
              </th>
            </tr>
          </thead>
          <tbody>
            {value.rows.map(({ group, leader, leaderName, term, changedAtMs, candidateCount }) => (
              <tr key={group}>
                <td>
                  <a class="name" href={groupAddress(group)} data-row>
                    <Said text={group} />
                  </a>
                </td>
                <td>
                  {leader === undefined ? (
                    <span class="soft">nobody</span>
                  ) : (
                    <AgentLink id={leader} name={leaderName} />
                  )}
                </td>
                <td>
                  <Since atMs={changedAtMs} />
                </td>
                <td class="left">
                  {term} <span class="soft">· {count(candidateCount, "stands", "stand")}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <Rest total={value.total} href="/coordination/elections">
          with a leader
        </Rest>
      </div>
    </section>
  );
}

/** Who does not speak to us itself: a file, its host or its process tells of it. */
function isObserved({ known, state }: Sighting): boolean {
  return state !== "stopped" && known.every(({ source }) => source !== "registry");
}

/** Files and processes are their user's alone, and a page without a link may be anybody's. */
function HiddenMachine(): JSX.Element {
  return (
    <section class="card" aria-labelledby="machine-title">
      <h2 id="machine-title">On this machine</h2>
      <p class="empty">
        Agents that do not register are shown in a page that was opened by a link:{" "}
        <code>tipstaff dashboard</code> prints one.
      </p>
    </section>
  );
}

function OnThisMachine({
  observed,
  isPart,
}: {
  readonly observed: readonly Sighting[];
  /** There are more than were asked for. */
  readonly isPart: boolean;
}): JSX.Element {
  return (
    <section class="card at-work" aria-labelledby="machine-title">
      <h2 id="machine-title">
        On this machine{" "}
        <a href="/machine">
          {number(observed.length)}
          {isPart && "+"}
        </a>
      </h2>
      <div class="card-scroll">
        <table class="small">
          <thead class="unseen">
            <tr>
              <th scope="col">Agent</th>
              <th scope="col">Doing</th>
            </tr>
          </thead>
          <tbody>
            {observed.slice(0, heldShown).map((one) => (
              <tr key={one.id}>
                <td>
                  <Dot standing={{ kind: "sighting", state: one.state }} />
                  <a class="name" href={sightingAddress(one.id)} data-row>
                    <Said text={one.name} />
                  </a>{" "}
                  <span class="soft">
                    <Said text={lastPart(one.workspace)} lengthMax={40} />
                  </span>
                </td>
                <td class="doing">
                  <StateWord standing={{ kind: "sighting", state: one.state }} />{" "}
                  <WhatItDoes sighting={one} />{" "}
                  {one.sinceMs !== undefined && (
                    <span class="soft">
                      <Ago atMs={one.sinceMs} form="for" />
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <Rest total={observed.length} href="/machine">
          on this machine
        </Rest>
      </div>
    </section>
  );
}

/** Of a path, what tells one from the other. */
function lastPart(path = ""): string {
  return path.split("/").findLast((part) => part !== "") ?? "";
}

/** Everyone but the dead: who cannot be reached may still hold something. */
function AtWork({ silent }: { readonly silent: ReadonlySet<string> }): JSX.Element {
  const { value } = useAnswer(
    "listAgents",
    { liveness: ["alive", "unreachable"], limit: 50 },
    { concerns: ofTypes("agent.", "question."), everyMs: limits.pollEveryMs },
  );
  return (
    <section class="card at-work" aria-labelledby="at-work-title">
      <h2 id="at-work-title">
        Agents <a href="/agents">{value ? number(value.total) : ""}</a>
      </h2>
      {value?.total === 0 && (
        <Empty>
          No agent is here now. Those who were are in <a href="/agents">the list of agents</a>.
        </Empty>
      )}
      {value && value.total > 0 && (
        <div class="card-scroll">
          <table class="small">
            <thead class="unseen">
              <tr>
                <th scope="col">Agent</th>
                <th scope="col">Doing</th>
              </tr>
            </thead>
            <tbody>
              {value.rows.map((agent) => (
                <tr key={agent.id}>
                  <td>
                    <AgentDot agent={agent} isSilent={silent.has(agent.id)} />
                    <a class="name" href={agentAddress(agent.id)} data-row>
                      <Said text={agent.card.name || agent.id} />
                    </a>
                  </td>
                  <td class="doing">
                    <Doing agent={agent} isSilent={silent.has(agent.id)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <Rest total={value.total} href="/agents">
            here
          </Rest>
        </div>
      )}
    </section>
  );
}

/** The stream stands still while someone reads further down, or points at it. */
function Happening(): JSX.Element {
  const card = useRef<HTMLElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const heldAt = useSignal<number | undefined>(undefined);
  const isPointedAt = useRef(false);
  const entries = recent.value;
  const newest = entries[0]?.sequence ?? 0;
  const look = (): void => {
    const isHeld = isPointedAt.current || isReadFurtherDown(card.current, list.current);
    if (!isHeld) heldAt.value = undefined;
    else heldAt.value ??= recent.peek()[0]?.sequence ?? 0;
  };
  useEffect(() => {
    // Its own list scrolls, or on a narrow page everything; neither bubbles.
    document.addEventListener("scroll", look, { capture: true, passive: true });
    return () => document.removeEventListener("scroll", look, { capture: true });
  }, []);
  const upTo = heldAt.value ?? newest;
  const shown = entries.filter((entry: Entry) => entry.sequence <= upTo);
  const waiting = entries.length - shown.length;
  return (
    <section
      ref={card}
      class="card happening"
      aria-labelledby="happening-title"
      onPointerEnter={() => {
        isPointedAt.current = true;
        look();
      }}
      onPointerLeave={() => {
        isPointedAt.current = false;
        look();
      }}
    >
      <h2 id="happening-title">
        Happening
        <small class="soft">
          renewals and the past are in <a href="/log">the log</a>
        </small>
        {waiting > 0 && (
          <button
            type="button"
            class="more"
            onClick={() => {
              heldAt.value = newest;
              list.current?.scrollTo({ top: 0 });
            }}
          >
            {waiting} new
          </button>
        )}
      </h2>
      {entries.length === 0 && (
        <Empty>Nothing has happened yet. What agents do appears here.</Empty>
      )}
      <ol ref={list}>
        {shown.map((entry) => (
          <EventLine key={entry.sequence} entry={entry} />
        ))}
      </ol>
    </section>
  );
}

/** Whether the newest is out of sight, above. */
function isReadFurtherDown(card: HTMLElement | null, list: HTMLElement | null): boolean {
  const view = card?.closest("main");
  if (!card || !list || !view) return false;
  return list.scrollTop > 8 || card.getBoundingClientRect().top < view.getBoundingClientRect().top;
}

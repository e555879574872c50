/** One agent of this machine: what each source says of it, and its day. */
import type { JSX } from "preact";
import { type Entry, type Known, reasonOf, type Sighting } from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { limits } from "../limits.ts";
import { CopyButton } from "../parts/act.tsx";
import { EventLine } from "../parts/event.tsx";
import { Empty, Fact, Facts } from "../parts/field.tsx";
import { Panel, PanelPart } from "../parts/panel.tsx";
import { Said } from "../parts/said.tsx";
import { Dot, StateWord } from "../parts/standing.tsx";
import { Ago, Heard, Since } from "../parts/time.tsx";
import { agentAddress, withQuery } from "../route.ts";
import { clockTime, number } from "../words/time.ts";
import { WhatItDoes } from "./machine.tsx";

export function SightingPanel({ id }: { readonly id: string }): JSX.Element {
  const { value: seen, problem } = useAnswer(
    "getStatus",
    { limit: limits.sightingsMax },
    { concerns: ofTypes("observed.", "agent."), everyMs: limits.pollEveryMs },
  );
  const { value: entries } = useAnswer(
    "listEntries",
    { about: id, type: ["observed.", "agent."], limit: 200 },
    { concerns: ofTypes("observed.", "agent.") },
  );
  const sighting = seen?.agents.find((one) => one.id === id);
  const nowMs = seen?.nowMs ?? Date.now();
  const ofDay = entries?.rows.filter(({ atMs }) => atMs >= nowMs - dayMs) ?? [];
  return (
    <Panel
      kind="agent of this machine"
      title={sighting?.name ?? id}
      closeAddress={withQuery({}, "/machine")}
    >
      {sighting && <Told sighting={sighting} />}
      {seen && !sighting && <Empty>It is not known here any more.</Empty>}
      {problem && <Empty>{reasonOf(problem)}</Empty>}
      {entries && entries.rows.length > 0 && (
        <PanelPart title="Last 24 hours">
          <Day entries={entries.rows} nowMs={nowMs} />
          <ol class="events">
            {ofDay.slice(0, 50).map((entry) => (
              <EventLine key={entry.sequence} entry={entry} />
            ))}
          </ol>
        </PanelPart>
      )}
    </Panel>
  );
}

function Told({ sighting }: { readonly sighting: Sighting }): JSX.Element {
  const { id, state, sinceMs, known, goal, workspace, branch, pid, host, hint } = sighting;
  const standing = { kind: "sighting", state } as const;
  const isRegistered = known.some(({ source }) => source === "registry");
  return (
    <>
      <p class="standing">
        <Dot standing={standing} /> <StateWord standing={standing} />{" "}
        {sinceMs !== undefined && <Since atMs={sinceMs} />}
      </p>
      <p class="description">
        <WhatItDoes sighting={sighting} />
      </p>
      <Facts>
        {goal !== undefined && (
          <Fact name="goal">
            <Said text={goal} lengthMax={300} />
          </Fact>
        )}
        {workspace !== undefined && (
          <Fact name="where">
            <Said text={workspace} lengthMax={300} />
            {branch !== undefined && (
              <span class="soft">
                {" "}
                on <Said text={branch} lengthMax={80} />
              </span>
            )}
          </Fact>
        )}
        {sighting.lastProgressAtMs !== undefined && (
          <Fact name="progress">
            <Ago atMs={sighting.lastProgressAtMs} />
          </Fact>
        )}
        {sighting.tokens && (
          <Fact name="tokens">
            {number(sighting.tokens.input)} in · {number(sighting.tokens.output)} out
            {sighting.costUsd !== undefined && ` · $${sighting.costUsd.toFixed(2)}`}
          </Fact>
        )}
        <Fact name="process">
          {pid === undefined ? "" : `${pid} on `}
          <Said text={host} lengthMax={80} />
        </Fact>
        <Fact name="id">
          {isRegistered ? <a href={agentAddress(id)}>{id}</a> : <code>{id}</code>}
        </Fact>
      </Facts>
      <PanelPart title={sighting.isContradicted ? "Sources differ" : "How we know"}>
        <ul class="things">
          {known.map((one) => (
            <Source key={`${one.source} ${one.path}`} known={one} />
          ))}
        </ul>
      </PanelPart>
      {hint !== undefined && (
        <PanelPart title="To see more">
          <code>{hint}</code> <CopyButton label="copy" text={() => hint} />
        </PanelPart>
      )}
    </>
  );
}

function Source({ known }: { readonly known: Known }): JSX.Element {
  return (
    <li>
      <b>{known.source}</b>
      <span>
        says {known.word}
        {known.sinceMs !== undefined && (
          <>
            {" "}
            for <Ago atMs={known.sinceMs} form="for" />
          </>
        )}
      </span>
      <span class="soft">
        <Heard verb="heard" atMs={known.heardAtMs} unheardSinceMs={known.unheardSinceMs} />
      </span>
    </li>
  );
}

const dayMs = 86_400_000;

/** The last 24 hours as a strip: each piece as wide as it was long. */
function Day({
  entries,
  nowMs,
}: {
  readonly entries: readonly Entry[];
  readonly nowMs: number;
}): JSX.Element {
  const fromMs = nowMs - dayMs;
  const pieces = entries
    .flatMap((entry, index) => {
      const endMs = entries[index - 1]?.atMs ?? nowMs;
      const startMs = Math.max(entry.atMs, fromMs);
      const state = stateOf(entry);
      return state === undefined || endMs <= startMs ? [] : [{ state, startMs, endMs }];
    })
    .reverse();
  return (
    <div class="day" role="img" aria-label="what it did in the last 24 hours">
      {pieces.map(({ state, startMs, endMs }) => (
        <span
          key={startMs}
          data-state={state}
          title={`${state}, ${clockTime(startMs, nowMs)} to ${clockTime(endMs, nowMs)}`}
          style={{
            left: `${(((startMs - fromMs) / dayMs) * 100).toFixed(3)}%`,
            width: `${(((endMs - startMs) / dayMs) * 100).toFixed(3)}%`,
          }}
        />
      ))}
    </div>
  );
}

function stateOf(entry: Entry): string | undefined {
  switch (entry.type) {
    case "observed.changed":
      return entry.observed.state;
    case "agent.active": {
      const { state } = entry.activity;
      return state === "waiting" || state === "idle" ? state : "working";
    }
    case "agent.unreachable":
      return "lost";
    default:
      return undefined;
  }
}

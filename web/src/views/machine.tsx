/** Every agent that is known here, whoever tells of it: files, hosts, processes and the registry. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { type Answer, call, type Sighting, type SightingState } from "../api.ts";
import { ofTypes } from "../ask.ts";
import { limits } from "../limits.ts";
import { Choices, SearchField } from "../parts/field.tsx";
import { Said } from "../parts/said.tsx";
import { Dot, StateWord } from "../parts/standing.tsx";
import { type Column, RowTable } from "../parts/table.tsx";
import { Ago, Heard } from "../parts/time.tsx";
import { navigate, route, sightingAddress, withQuery } from "../route.ts";
import { useRows } from "../rows.ts";
import { number } from "../words/time.ts";
import { SightingPanel } from "./sighting-panel.tsx";

const states: readonly SightingState[] = [
  "waiting",
  "silent",
  "failed",
  "lost",
  "working",
  "idle",
  "stopped",
  "unknown",
];

export function MachineView(): JSX.Element {
  const { query, rest: openId } = route.value;
  const words = (query.get("query") ?? "").toLowerCase();
  const state = states.find((one) => one === query.get("state"));
  /** Of all, also of those beyond the ones that are listed. */
  const known = useSignal<Pick<Answer<"getStatus">, "total" | "counts"> | undefined>(undefined);
  const rows = useRows<Sighting>(`${words} ${state}`, {
    fetch: async ({ offset, limit }, signal) => {
      const seen = await call("getStatus", { limit: limits.sightingsMax }, { signal });
      known.value = { total: seen.total, counts: seen.counts };
      const wanted = seen.agents.filter(
        (one) => (state === undefined || one.state === state) && has(one, words),
      );
      return {
        rows: wanted.slice(offset, offset + limit),
        total: wanted.length,
        sequence: 0,
        nowMs: seen.nowMs,
      };
    },
    keyOf: ({ id }) => id,
    freshness: { concerns: ofTypes("observed.", "agent."), everyMs: limits.pollEveryMs },
  });
  rows.revision.value;
  const change = (changes: Readonly<Record<string, string>>): void =>
    navigate(withQuery(changes), { isReplacing: true });
  const isNarrowed = words !== "" || state !== undefined;
  return (
    <main class="list-view">
      <h1 class="unseen">Machine</h1>
      <div class="list">
        <div class="toolbar">
          <SearchField
            value={words}
            label="Search names, places, goals"
            onSearch={(text) => change({ query: text })}
          />
          <Choices
            label="State"
            chosen={state ?? "all"}
            onChoose={(name) => change({ state: name === "all" ? "" : name })}
            choices={["all" as const, ...states].map((name) => ({
              name,
              title: name,
              count: name === "all" ? known.value?.total : known.value?.counts[name],
            }))}
          />
          <p class="found soft" role="status">
            {rows.isLoaded && foundAmong(rows.total, { isNarrowed, total: known.value?.total })}
            {rows.isBehind && " · changed; move the pointer away"}
          </p>
        </div>
        <RowTable
          label="Agents of this machine"
          look="machine"
          rows={rows}
          columns={columns}
          keyOf={({ id }) => id}
          isOpen={({ id }) => id === openId}
          isOver={({ state: now }) => now === "stopped"}
          empty={
            isNarrowed ? (
              <p>No agent matches.</p>
            ) : (
              <p>
                No agent is known here. <code>tipstaff install claude-code</code> lets one show what
                it does; so do <code>codex</code>, <code>opencode</code> and <code>pi</code>.
              </p>
            )
          }
        />
      </div>
      {openId !== "" && <SightingPanel key={openId} id={openId} />}
    </main>
  );
}

/** Only so many are asked for: who is beyond them is counted, and not found. */
function foundAmong(
  count: number,
  {
    isNarrowed,
    total = count,
  }: { readonly isNarrowed: boolean; readonly total?: number | undefined },
): string {
  const isAll = total <= limits.sightingsMax;
  if (isNarrowed) {
    return `${number(count)} found${isAll ? "" : ` among the first ${number(limits.sightingsMax)}`}`;
  }
  return `${isAll ? "" : `${number(count)} of `}${number(total)} known here`;
}

function has(sighting: Sighting, words: string): boolean {
  const { id, name, workspace, branch, doing, goal, host } = sighting;
  const text = [id, name, workspace, branch, doing, goal, host].join(" ").toLowerCase();
  return words.split(/\s+/).every((word) => text.includes(word));
}

const columns: readonly Column<Sighting>[] = [
  {
    title: "State",
    look: "state",
    cell: ({ state, isContradicted }) => (
      <>
        <Dot standing={{ kind: "sighting", state }} />
        <StateWord standing={{ kind: "sighting", state }} />
        {isContradicted && <span class="chip">sources differ</span>}
      </>
    ),
  },
  {
    title: "For",
    look: "age",
    cell: ({ sinceMs }) => sinceMs !== undefined && <Ago atMs={sinceMs} form="for" />,
  },
  {
    title: "Agent",
    look: "agent",
    cell: ({ id, name }) => (
      <a class="name" href={withQuery({}, sightingAddress(id))} data-row>
        <Said text={name} lengthMax={60} />
      </a>
    ),
  },
  {
    title: "Where",
    look: "where",
    cell: ({ workspace, branch, host }) => (
      <>
        <Said text={workspace ?? host} lengthMax={80} />{" "}
        {branch !== undefined && (
          <span class="soft">
            <Said text={branch} lengthMax={40} />
          </span>
        )}
      </>
    ),
  },
  { title: "Doing", look: "doing", cell: (sighting) => <WhatItDoes sighting={sighting} /> },
  {
    title: "Known from",
    look: "known",
    cell: ({ known: [first] }) =>
      first && (
        <span class="soft">
          {first.source} · <Heard atMs={first.heardAtMs} unheardSinceMs={first.unheardSinceMs} />
        </span>
      ),
  },
];

export function WhatItDoes({ sighting }: { readonly sighting: Sighting }): JSX.Element {
  const { state, doing, goal, hint } = sighting;
  if (doing !== undefined) {
    return (
      <>
        {state === "waiting" && <span class="soft">asks: </span>}
        <Said text={doing} lengthMax={200} />
      </>
    );
  }
  if (goal !== undefined) {
    return (
      <span class="soft">
        goal: <Said text={goal} lengthMax={200} />
      </span>
    );
  }
  return <span class="soft">{hint === undefined ? "" : `${hint} shows more`}</span>;
}

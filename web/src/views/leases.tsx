/** Leases, each with its holder and the time it has left. */
import type { JSX } from "preact";
import { call, type Lease, type LeaseSort } from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { learnName } from "../names.ts";
import { ActionButton, ReadOnlyHint } from "../parts/act.tsx";
import { EventLine } from "../parts/event.tsx";
import { Empty, Fact, Facts, SearchField, Select } from "../parts/field.tsx";
import { Panel, PanelPart } from "../parts/panel.tsx";
import { AgentLink, Said } from "../parts/said.tsx";
import { type Column, Found, RowTable } from "../parts/table.tsx";
import { Since, TimeLeft } from "../parts/time.tsx";
import { navigate, route, withQuery } from "../route.ts";
import { useRows } from "../rows.ts";
import { duration } from "../words/time.ts";

const sorts: readonly (readonly [LeaseSort, string])[] = [
  ["newest", "newest first"],
  ["oldest", "oldest first"],
  ["expiry", "next to expire first"],
  ["task", "by task"],
];

export function LeasesPart({ tabs }: { readonly tabs: JSX.Element }): JSX.Element {
  const { query } = route.value;
  const words = query.get("query") ?? "";
  const openId = query.get("lease") ?? "";
  const sort = sorts.find(([name]) => name === query.get("sort"))?.[0] ?? "newest";
  const asked = { sort, ...(words === "" ? {} : { query: words }) };
  const rows = useRows<Lease>(JSON.stringify(asked), {
    fetch: async (range, signal) => {
      const page = await call("listLeases", { ...asked, ...range }, { signal });
      for (const { holder, holderName } of page.rows) learnName(holder, holderName);
      return page;
    },
    keyOf: ({ taskId }) => taskId,
    freshness: { concerns: ofTypes("lease.") },
  });
  rows.revision.value;
  const change = (changes: Readonly<Record<string, string>>): void =>
    navigate(withQuery(changes), { isReplacing: true });
  return (
    <>
      <div class="list">
        <div class="toolbar">
          {tabs}
          <SearchField
            value={words}
            label="Search tasks and holders"
            onSearch={(text) => change({ query: text })}
          />
          <Select
            label="Sort"
            options={sorts}
            value={sort}
            onChange={(name) => change({ sort: name === "newest" ? "" : name })}
          />
          <Found rows={rows} isNarrowed={words !== ""} all="held" />
        </div>
        <RowTable
          label="Leases"
          look="leases"
          rows={rows}
          columns={columns}
          keyOf={({ taskId }) => taskId}
          isOpen={({ taskId }) => taskId === openId}
          empty={
            words === "" ? (
              <p>
                Nothing is held. An agent takes a lease so that no other works on the same task.
              </p>
            ) : (
              <p>No lease matches. What is not held is not listed; the log has what was.</p>
            )
          }
        />
      </div>
      {openId !== "" && <LeasePanel key={openId} id={openId} />}
    </>
  );
}

const columns: readonly Column<Lease>[] = [
  {
    title: "Task",
    look: "task",
    cell: ({ taskId }) => (
      <a class="name" href={withQuery({ lease: taskId })} data-row>
        <Said text={taskId} lengthMax={120} />
      </a>
    ),
  },
  {
    title: "Held by",
    look: "by",
    cell: ({ holder, holderName }) => <AgentLink id={holder} name={holderName} />,
  },
  { title: "For", look: "for", cell: ({ acquiredAtMs }) => <Since atMs={acquiredAtMs} /> },
  { title: "Token", look: "token", cell: ({ token }) => token },
  {
    title: "Time left",
    look: "left",
    cell: ({ expiresAtMs, ttlMs }) => <TimeLeft expiresAtMs={expiresAtMs} ttlMs={ttlMs} />,
  },
];

function LeasePanel({ id }: { readonly id: string }): JSX.Element {
  const concerns = (entry: unknown): boolean => JSON.stringify(entry).includes(JSON.stringify(id));
  const { value: lease, problem } = useAnswer("getLease", { taskId: id }, { concerns });
  const { value: entries } = useAnswer(
    "listEntries",
    { about: id, type: ["lease."], limit: 50 },
    { concerns },
  );
  const isFree = problem?.code === "lease_not_found";
  return (
    <Panel kind="lease" title={id} closeAddress={withQuery({ lease: "" })}>
      {isFree && <p class="standing">Nobody holds it.</p>}
      {problem && !isFree && <Empty>{problem.message}</Empty>}
      {lease && (
        <Facts>
          <Fact name="held by">
            <AgentLink id={lease.holder} name={lease.holderName} />
          </Fact>
          <Fact name="for">
            <Since atMs={lease.acquiredAtMs} />
          </Fact>
          <Fact name="time left">
            <TimeLeft expiresAtMs={lease.expiresAtMs} ttlMs={lease.ttlMs} />
            <span class="soft"> of {duration(lease.ttlMs)}</span>
          </Fact>
          <Fact name="token">
            <code>{lease.token}</code>
          </Fact>
        </Facts>
      )}
      <PanelPart title="Who held it">
        {entries?.rows.length === 0 && <Empty>The log no longer has anything about it.</Empty>}
        <ol class="events">
          {entries?.rows.map((entry) => (
            <EventLine key={entry.sequence} entry={entry} />
          ))}
        </ol>
      </PanelPart>
      <footer class="actions">
        <ReadOnlyHint />
        {lease && (
          <ActionButton
            action={{
              verb: `Release ${id}`,
              question: `Release ${id}?`,
              consequence: `${lease.holderName} loses it at once and another agent may take it. If ${lease.holderName} still works on it, its token ${lease.token} is refused from then on by whoever checks.`,
              done: `${id} is free.`,
              run: () =>
                call("releaseLease", { taskId: id, agentId: lease.holder, token: lease.token }),
            }}
          />
        )}
      </footer>
    </Panel>
  );
}

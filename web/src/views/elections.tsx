/** Groups and their leaders. */
import type { JSX } from "preact";
import { call, type Election, type Entry } from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { learnName } from "../names.ts";
import { ActionButton, ReadOnlyHint } from "../parts/act.tsx";
import { Empty, Fact, Facts, SearchField } from "../parts/field.tsx";
import { Panel, PanelPart } from "../parts/panel.tsx";
import { AgentLink, Said } from "../parts/said.tsx";
import { type Column, Found, RowTable } from "../parts/table.tsx";
import { Ago, Since } from "../parts/time.tsx";
import { navigate, route, withQuery } from "../route.ts";
import { useRows } from "../rows.ts";
import { duration, number } from "../words/time.ts";

export function ElectionsPart({ tabs }: { readonly tabs: JSX.Element }): JSX.Element {
  const { query } = route.value;
  const words = query.get("query") ?? "";
  const openGroup = query.get("group") ?? "";
  const asked = words === "" ? {} : { query: words };
  const rows = useRows<Election>(JSON.stringify(asked), {
    fetch: async (range, signal) => {
      const page = await call("listElections", { ...asked, ...range }, { signal });
      for (const { leader, leaderName } of page.rows) {
        if (leader !== undefined) learnName(leader, leaderName);
      }
      return page;
    },
    keyOf: ({ group }) => group,
    freshness: { concerns: ofTypes("leader.", "election.") },
  });
  rows.revision.value;
  return (
    <>
      <div class="list">
        <div class="toolbar">
          {tabs}
          <SearchField
            value={words}
            label="Search groups"
            onSearch={(text) => navigate(withQuery({ query: text }), { isReplacing: true })}
          />
          <Found rows={rows} isNarrowed={words !== ""} />
        </div>
        <RowTable
          label="Elections"
          look="elections"
          rows={rows}
          columns={columns}
          keyOf={({ group }) => group}
          isOpen={({ group }) => group === openGroup}
          empty={
            words === "" ? (
              <p>No groups yet. The first agent to campaign in a group leads it.</p>
            ) : (
              <p>No group matches.</p>
            )
          }
        />
      </div>
      {openGroup !== "" && <ElectionPanel key={openGroup} group={openGroup} />}
    </>
  );
}

const columns: readonly Column<Election>[] = [
  {
    title: "Group",
    look: "task",
    cell: ({ group }) => (
      <a class="name" href={withQuery({ group })} data-row>
        <Said text={group} lengthMax={120} />
      </a>
    ),
  },
  {
    title: "Led by",
    look: "by",
    cell: ({ leader, leaderName }) =>
      leader === undefined ? (
        <span class="soft">nobody</span>
      ) : (
        <AgentLink id={leader} name={leaderName} />
      ),
  },
  { title: "For", look: "for", cell: ({ changedAtMs }) => <Since atMs={changedAtMs} /> },
  { title: "Term", look: "term", cell: ({ term }) => term },
  {
    title: "Candidates",
    look: "candidates",
    cell: ({ candidates, candidateCount }) => (
      <>
        {number(candidateCount)}{" "}
        <span class="soft">
          {candidates.slice(0, 6).map(({ agentId, name }, index) => (
            <span key={agentId}>
              {index > 0 && ", "}
              <Said text={name} lengthMax={30} />
            </span>
          ))}
        </span>
      </>
    ),
  },
];

function ElectionPanel({ group }: { readonly group: string }): JSX.Element {
  const concerns = (entry: Entry): boolean => "group" in entry && entry.group === group;
  const { value: election, problem } = useAnswer("getElection", { group }, { concerns });
  const { value: entries } = useAnswer(
    "listEntries",
    { about: group, type: ["leader.changed"], limit: 100 },
    { concerns },
  );
  const leaderName = election?.leaderName ?? "its leader";
  const next = election?.candidates.find(({ agentId }) => agentId !== election.leader);
  return (
    <Panel kind="group" title={group} closeAddress={withQuery({ group: "" })}>
      {problem && <Empty>{problem.message}</Empty>}
      {election && (
        <>
          <Facts>
            <Fact name="led by">
              {election.leader === undefined ? (
                "nobody"
              ) : (
                <AgentLink id={election.leader} name={election.leaderName} />
              )}
            </Fact>
            <Fact name="for">
              <Since atMs={election.changedAtMs} />
            </Fact>
            <Fact name="term">{election.term}</Fact>
          </Facts>
          <PanelPart title="Candidates" count={election.candidateCount}>
            <ul class="things">
              {election.candidates.map(({ agentId, name }) => (
                <li key={agentId}>
                  <AgentLink id={agentId} name={name} />
                  <span class="soft">{agentId === election.leader ? "leads" : ""}</span>
                </li>
              ))}
            </ul>
          </PanelPart>
        </>
      )}
      <PanelPart title="Leaders so far">
        {entries?.rows.length === 0 && <Empty>The log no longer has anything about it.</Empty>}
        <Terms entries={entries?.rows ?? []} />
      </PanelPart>
      <footer class="actions">
        <ReadOnlyHint />
        {election?.leader !== undefined && (
          <ActionButton
            action={{
              verb: `Resign ${leaderName}`,
              question: `Let ${leaderName} resign from ${group}?`,
              consequence: next
                ? `${next.name} leads then, and the term grows by one. ${leaderName} leaves the group; it may campaign again.`
                : `Nobody else stands: ${group} has no leader then, until an agent campaigns.`,
              done: `${leaderName} no longer leads ${group}.`,
              run: () => call("resign", { group, agentId: election.leader ?? "" }),
            }}
          />
        )}
      </footer>
    </Panel>
  );
}

/** Each term with how long it lasted. */
function Terms({ entries }: { readonly entries: readonly Entry[] }): JSX.Element {
  const terms = entries.filter((entry) => entry.type === "leader.changed");
  return (
    <ol class="things">
      {terms.map((term, index) => {
        const later = terms[index - 1];
        return (
          <li key={term.sequence}>
            <span class="term">{term.term}</span>
            {term.leader === undefined ? (
              <span class="soft">nobody</span>
            ) : (
              <AgentLink id={term.leader} />
            )}
            <span class="soft">
              {later ? (
                `for ${duration(later.changedAtMs - term.changedAtMs)}`
              ) : (
                <>
                  since <Ago atMs={term.changedAtMs} />
                </>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

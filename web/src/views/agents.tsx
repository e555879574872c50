/** Everyone who is here, or was. */
import type { JSX } from "preact";
import {
  type Agent,
  type AgentSort,
  type Answer,
  call,
  type Liveness,
  type Overview,
} from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { limits } from "../limits.ts";
import { overview } from "../live.ts";
import { learnAgent } from "../names.ts";
import { Choices, SearchField, Select } from "../parts/field.tsx";
import { Said } from "../parts/said.tsx";
import { Dot, StateWord, standingOf } from "../parts/standing.tsx";
import { type Column, Found, RowTable } from "../parts/table.tsx";
import { Ago, Heard } from "../parts/time.tsx";
import { agentAddress, groupAddress, leaseAddress, navigate, route, withQuery } from "../route.ts";
import { type RowWindow, useRows } from "../rows.ts";
import { count, number } from "../words/time.ts";
import { AgentPanel } from "./agent-panel.tsx";
import { firstSteps } from "./getting-started.tsx";

const sorts: readonly (readonly [AgentSort, string])[] = [
  ["attention", "what needs you first"],
  ["newest", "newest first"],
  ["oldest", "oldest first"],
  ["name", "by name"],
];
/** What can be chosen, and what is asked for then. Agents that left are shown only if they are chosen. */
const choices = {
  all: { hasLeft: false },
  alive: { liveness: ["alive"] },
  unreachable: { liveness: ["unreachable"] },
  died: { liveness: ["dead"], hasLeft: false },
  left: { hasLeft: true },
} as const satisfies Readonly<
  Record<string, { readonly liveness?: readonly Liveness[]; readonly hasLeft?: boolean }>
>;
type Choice = keyof typeof choices;
const choiceNames: readonly Choice[] = ["all", "alive", "unreachable", "died", "left"];

export function AgentsView(): JSX.Element {
  const { query, rest: openId } = route.value;
  const words = query.get("query") ?? "";
  const sort = sorts.find(([name]) => name === query.get("sort"))?.[0] ?? "attention";
  const chosen = choiceNames.find((one) => one === query.get("state")) ?? "all";
  const tool = query.get("tool") ?? "";
  const asked = {
    sort,
    ...(words === "" ? {} : { query: words }),
    ...choices[chosen],
    ...(tool === "" ? {} : { tool: [tool] }),
  };
  const rows = useRows<Agent>(JSON.stringify(asked), {
    fetch: async (range, signal) => {
      const page = await call("listAgents", { ...asked, ...range }, { signal });
      page.rows.forEach(learnAgent);
      return page;
    },
    keyOf: ({ id }) => id,
    freshness: {
      concerns: ofTypes("agent.", "lease.", "leader.", "question."),
      everyMs: limits.pollEveryMs,
    },
  });
  rows.revision.value;
  const { value: attention } = useAnswer("getAttention", {}, { everyMs: limits.pollEveryMs });
  const silent = silentOf(attention);
  const counts = overview.value?.counts.agents;
  const countBy = counts && countsOf(counts);
  const change = (changes: Readonly<Record<string, string>>): void =>
    navigate(withQuery(changes), { isReplacing: true });
  const isNarrowed = words !== "" || tool !== "" || chosen !== "all";
  return (
    <main class="list-view">
      <h1 class="unseen">Agents</h1>
      <div class="list">
        <div class="toolbar">
          <SearchField
            value={words}
            label="Search names, tools, descriptions"
            onSearch={(text) => change({ query: text })}
          />
          <Choices
            label="State"
            chosen={chosen}
            onChoose={(name) => change({ state: name === "all" ? "" : name })}
            choices={choiceNames.map((name) => ({ name, title: name, count: countBy?.[name] }))}
          />
          <ToolField rows={rows} tool={tool} onChange={(name) => change({ tool: name })} />
          <Select
            label="Sort"
            options={sorts}
            value={sort}
            onChange={(name) => change({ sort: name === "attention" ? "" : name })}
          />
          <Found rows={rows} isNarrowed={isNarrowed} />
        </div>
        <RowTable
          label="Agents"
          look="agents"
          rows={rows}
          columns={columnsFor(silent)}
          keyOf={({ id }) => id}
          isOpen={({ id }) => id === openId}
          isOver={({ liveness }) => liveness === "dead"}
          empty={
            isNarrowed ? (
              <p>No agent matches. Search looks for each word in names, tools and descriptions.</p>
            ) : (
              <p>
                {countBy?.left ? "No agents now." : "No agents yet."} Run{" "}
                <code>{firstSteps(overview.value ?? {})}</code>, or point an AgentKeeper SDK at{" "}
                <code>{overview.value?.grpcAddress ?? "the gRPC address"}</code>.
              </p>
            )
          }
        />
      </div>
      {openId !== "" && <AgentPanel key={openId} id={openId} isSilent={silent.has(openId)} />}
    </main>
  );
}

function countsOf({
  alive,
  unreachable,
  dead,
  left,
}: Overview["counts"]["agents"]): Record<Choice, number> {
  const died = dead - left;
  return { all: alive + unreachable + died, alive, unreachable, died, left };
}

const toolsOffered = 50;

/** Offers the tools of the agents in view. */
function ToolField({
  rows,
  tool,
  onChange,
}: {
  readonly rows: RowWindow<Agent>;
  readonly tool: string;
  readonly onChange: (tool: string) => void;
}): JSX.Element {
  const offered = new Set<string>();
  for (let index = 0; index < limits.pageRows && offered.size < toolsOffered; index += 1) {
    for (const name of rows.row(index)?.card.tools ?? []) offered.add(name);
  }
  return (
    <label class="tool-field">
      <span>Tool</span>
      <input
        // Another tool by another way than this field, and it starts anew.
        key={tool}
        list="tools"
        placeholder="any"
        autocomplete="off"
        spellcheck={false}
        defaultValue={tool}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id="tools">
        {[...offered].slice(0, toolsOffered).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

function columnsFor(silent: ReadonlySet<string>): readonly Column<Agent>[] {
  return [
    {
      title: "Agent",
      look: "agent",
      cell: (agent) => (
        <>
          <AgentDot agent={agent} isSilent={silent.has(agent.id)} />
          <a class="name" href={withQuery({}, agentAddress(agent.id))} data-row>
            <Said text={agent.card.name || agent.id} lengthMax={120} />
          </a>{" "}
          <small class="soft">
            <Said text={agent.card.version} lengthMax={12} />
          </small>
        </>
      ),
    },
    {
      title: "Doing",
      look: "doing",
      cell: (agent) => <Doing agent={agent} isSilent={silent.has(agent.id)} />,
    },
    {
      title: "Holds",
      look: "holds",
      cell: ({ holds }) => holds && <Holds holds={holds} />,
    },
    {
      title: "Tools",
      look: "tools",
      cell: ({ card }) => <Tools tools={card.tools} />,
    },
    {
      title: "Known from",
      look: "known",
      cell: (agent) => (
        <span class="soft">
          registry ·{" "}
          <Heard
            atMs={agent.diedAtMs ?? agent.lastHeartbeatAtMs}
            unheardSinceMs={agent.unheardSinceMs}
          />
        </span>
      ),
    },
    {
      title: "Since",
      look: "age",
      cell: (agent) => <Ago atMs={agent.registeredAtMs} form="for" />,
    },
  ];
}

/** The first lease and the first group; the others are counted. */
function Holds({ holds }: { readonly holds: NonNullable<Agent["holds"]> }): JSX.Element {
  const [lease] = holds.leases;
  const [group] = holds.leads;
  const more = [
    ...(holds.leaseCount > 1 ? [`+${number(holds.leaseCount - 1)}`] : []),
    ...(holds.claimCount > 0 ? [count(holds.claimCount, "task", "tasks")] : []),
  ];
  return (
    <>
      {lease !== undefined && (
        <a href={leaseAddress(lease)}>
          <Said text={lease} lengthMax={60} />
        </a>
      )}{" "}
      <span class="soft">{more.join(" · ")}</span>
      {group !== undefined && (
        <>
          {" "}
          <span class="soft">leads</span>{" "}
          <a href={groupAddress(group)}>
            <Said text={group} lengthMax={40} />
          </a>
        </>
      )}
    </>
  );
}

export function Tools({ tools }: { readonly tools: readonly string[] }): JSX.Element {
  return (
    <span class="tool-list">
      {tools.slice(0, 6).map((tool) => (
        <a key={tool} class="chip" href={withQuery({ tool }, "/agents")}>
          <Said text={tool} lengthMax={40} />
        </a>
      ))}
      {tools.length > 6 && <span class="soft">+{tools.length - 6}</span>}
    </span>
  );
}

type Shown = { readonly agent: Agent; readonly isSilent: boolean };

export function AgentDot({ agent, isSilent }: Shown): JSX.Element {
  return <Dot standing={standingOf(agent, { isSilent })} />;
}

export function Doing({ agent, isSilent }: Shown): JSX.Element | null {
  const { activity, liveness, question } = agent;
  const standing = standingOf(agent, { isSilent });
  if (liveness === "dead") return <StateWord standing={standing} />;
  if (liveness === "unreachable") {
    return (
      <>
        <StateWord standing={standing} />{" "}
        <span class="soft">
          <Heard
            verb="heard"
            atMs={agent.lastHeartbeatAtMs}
            unheardSinceMs={agent.unheardSinceMs}
          />
        </span>
      </>
    );
  }
  if (question) {
    return (
      <>
        <StateWord standing={standing} /> asks: <Said text={question.prompt} lengthMax={200} />{" "}
        <span class="soft">
          <Ago atMs={question.askedAtMs} form="for" />
        </span>
      </>
    );
  }
  if (!activity) return null;
  return (
    <>
      <StateWord standing={standing}>
        {standing.state === "silent" ? `silent, was ${activity.state}` : activity.state}
      </StateWord>{" "}
      <Said text={activity.note} lengthMax={200} />{" "}
      <span class="soft">
        <Ago atMs={activity.sinceMs} form="for" />
      </span>
    </>
  );
}

/** The ids of agents that have said nothing for long. */
export function silentOf(attention: Answer<"getAttention"> | undefined): ReadonlySet<string> {
  const silent = attention?.items.filter(({ kind }) => kind === "agent_silent") ?? [];
  return new Set(silent.map(({ id }) => id));
}

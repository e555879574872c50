/** Work that waits, is worked on, or has ended. */
import type { JSX } from "preact";
import { type Answer, call, type Task, type TaskSort, type TaskState } from "../api.ts";
import { ofTypes, useAnswer } from "../ask.ts";
import { limits } from "../limits.ts";
import { overview } from "../live.ts";
import { shortId } from "../names.ts";
import { Choices, SearchField, Select } from "../parts/field.tsx";
import { AgentLink, Said } from "../parts/said.tsx";
import { Dot, type Standing, StateWord } from "../parts/standing.tsx";
import { type Column, Found, RowTable } from "../parts/table.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { navigate, route, taskAddress, withQuery } from "../route.ts";
import { useRows } from "../rows.ts";
import { triesOf } from "../words/tries.ts";
import { Tools } from "./agents.tsx";
import { TaskPanel } from "./task-panel.tsx";
import { WorkTabs } from "./work-tabs.tsx";

const sorts: readonly (readonly [TaskSort, string])[] = [
  ["attention", "what needs you first"],
  ["newest", "newest first"],
  ["oldest", "oldest first"],
];
const states: readonly TaskState[] = [
  "pending",
  "claimed",
  "delayed",
  "dead",
  "completed",
  "cancelled",
];

export function TasksView(): JSX.Element {
  const { query, rest: openId } = route.value;
  const words = query.get("query") ?? "";
  const sort = sorts.find(([name]) => name === query.get("sort"))?.[0] ?? "attention";
  const state = states.find((one) => one === query.get("state"));
  const asked = {
    sort,
    ...(words === "" ? {} : { query: words }),
    ...(state === undefined ? {} : { state: [state] }),
  };
  const rows = useRows<Task>(JSON.stringify(asked), {
    fetch: (range, signal) => call("listTasks", { ...asked, ...range }, { signal }),
    keyOf: ({ id }) => id,
    freshness: { concerns: ofTypes("task.", "agent.died") },
  });
  rows.revision.value;
  const { value: attention } = useAnswer("getAttention", {}, { everyMs: limits.pollEveryMs });
  const lacking = lackingTools(attention);
  const counts = overview.value?.counts.tasks;
  const change = (changes: Readonly<Record<string, string>>): void =>
    navigate(withQuery(changes), { isReplacing: true });
  const isNarrowed = words !== "" || state !== undefined;
  return (
    <main class="list-view">
      <h1 class="unseen">Tasks</h1>
      <div class="list">
        <div class="toolbar">
          <WorkTabs />
          <SearchField
            value={words}
            label="Search tasks"
            onSearch={(text) => change({ query: text })}
          />
          <Choices
            label="State"
            chosen={state ?? "all"}
            onChoose={(name) => change({ state: name === "all" ? "" : name })}
            choices={[
              { name: "all", title: "all" },
              ...states.map((name) => ({ name, title: name, count: counts?.[name] })),
            ]}
          />
          <Select
            label="Sort"
            options={sorts}
            value={sort}
            onChange={(name) => change({ sort: name === "attention" ? "" : name })}
          />
          <Found rows={rows} isNarrowed={isNarrowed} />
        </div>
        <RowTable
          label="Tasks"
          look="tasks"
          rows={rows}
          columns={columnsFor(lacking)}
          keyOf={({ id }) => id}
          isOpen={({ id }) => id === openId}
          isOver={({ state }) => state === "completed" || state === "cancelled"}
          empty={
            isNarrowed ? (
              <p>No task matches.</p>
            ) : (
              <p>
                No tasks. Create one through any door, and the first agent that has its tools can
                claim it.
              </p>
            )
          }
        />
      </div>
      {openId !== "" && <TaskPanel key={openId} id={openId} />}
    </main>
  );
}

/** Sets of tools that no agent has. */
function lackingTools(attention: Answer<"getAttention"> | undefined): ReadonlySet<string> {
  return new Set(attention?.items.flatMap(({ tools }) => (tools ? [nameOf(tools)] : [])));
}

function toolsOf({ requiredTools }: Task): string {
  return nameOf(requiredTools);
}

function nameOf(tools: readonly string[]): string {
  return tools.toSorted().join(", ");
}

function columnsFor(lacking: ReadonlySet<string>): readonly Column<Task>[] {
  return [
    {
      title: "Task",
      look: "task",
      cell: (task) => (
        <>
          <Dot standing={standingIn(lacking, task)} />
          <a class="name" href={withQuery({}, taskAddress(task.id))} data-row>
            <Said text={task.type || task.id} lengthMax={120} />
          </a>{" "}
          {task.type !== "" && (
            <code class="soft" title={task.id}>
              {shortId(task.id)}
            </code>
          )}
        </>
      ),
    },
    {
      title: "State",
      look: "state",
      cell: (task) => <TaskStanding task={task} standing={standingIn(lacking, task)} />,
    },
    { title: "Needs", look: "tools", cell: ({ requiredTools }) => <Tools tools={requiredTools} /> },
    {
      title: "By",
      look: "by",
      cell: ({ claimant, claimantName }) =>
        claimant === undefined ? null : <AgentLink id={claimant} name={claimantName} />,
    },
    {
      title: "Last failure",
      look: "failure",
      cell: ({ failureReason }) => <Said text={failureReason} lengthMax={200} />,
    },
    {
      title: "Priority",
      look: "priority",
      cell: ({ priority }) => (priority === 0 ? "" : priority),
    },
    { title: "Tried", look: "tries", cell: triesOf },
    {
      title: "Age",
      look: "age",
      cell: ({ createdAtMs }) => <Ago atMs={createdAtMs} form="for" />,
    },
  ];
}

function standingIn(lacking: ReadonlySet<string>, task: Task): Standing {
  const isStuck = task.state === "pending" && lacking.has(toolsOf(task));
  return { kind: "task", state: isStuck ? "stuck" : task.state };
}

function TaskStanding({
  task,
  standing,
}: {
  readonly task: Task;
  readonly standing: Standing;
}): JSX.Element {
  return (
    <StateWord standing={standing}>
      {standing.state === "stuck" ? (
        <>
          nobody has <Said text={toolsOf(task)} />
        </>
      ) : (
        task.state
      )}
      {task.state === "delayed" && task.readyAtMs !== undefined && (
        <>
          , <Until atMs={task.readyAtMs} />
        </>
      )}
    </StateWord>
  );
}

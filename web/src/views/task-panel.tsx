/** One task: how it stands, what it was given and what came of it. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { call, type TaskDetail } from "../api.ts";
import { useAnswer } from "../ask.ts";
import { ActionButton, CopyButton, ReadOnlyHint } from "../parts/act.tsx";
import { EventLine } from "../parts/event.tsx";
import { Choices, Empty, Fact, Facts } from "../parts/field.tsx";
import { Panel, PanelPart } from "../parts/panel.tsx";
import { AgentLink, Said } from "../parts/said.tsx";
import { Dot, StateWord } from "../parts/standing.tsx";
import { Since, TimeLeft } from "../parts/time.tsx";
import { withQuery } from "../route.ts";
import { type Form, printContent, readContent, shownBytesMax } from "../words/content.ts";
import { bytes } from "../words/time.ts";
import { claimsOf, triesOf } from "../words/tries.ts";

export function TaskPanel({ id }: { readonly id: string }): JSX.Element {
  const concerns = (entry: unknown): boolean => JSON.stringify(entry).includes(id);
  const { value: task, problem } = useAnswer("getTask", { taskId: id }, { concerns });
  const { value: entries } = useAnswer("listEntries", { about: id, limit: 50 }, { concerns });
  const closeAddress = withQuery({}, "/tasks");
  if (!task) {
    return (
      <Panel kind="task" title={id} closeAddress={closeAddress}>
        {problem && <Empty>{problem.message}</Empty>}
      </Panel>
    );
  }
  const standing = { kind: "task", state: task.state } as const;
  return (
    <Panel kind="task" title={task.type || id} closeAddress={closeAddress}>
      <p class="standing">
        <Dot standing={standing} /> <StateWord standing={standing} />
      </p>
      {task.failureReason !== "" && (
        <p class="description">
          last failure: <Said text={task.failureReason} lengthMax={1_000} />
        </p>
      )}
      <TaskFacts task={task} />
      <ContentPart title="Input" base64={task.input} />
      {task.state === "completed" && <ContentPart title="Output" base64={task.output} />}
      <PanelPart title="What happened">
        <ol class="events">
          {entries?.rows.map((entry) => (
            <EventLine key={entry.sequence} entry={entry} />
          ))}
        </ol>
      </PanelPart>
      <footer class="actions">
        <ReadOnlyHint />
        <TaskActions task={task} />
      </footer>
    </Panel>
  );
}

function TaskFacts({ task }: { readonly task: TaskDetail }): JSX.Element {
  const claims = claimsOf(task);
  return (
    <Facts>
      {task.claimant !== undefined && (
        <Fact name={task.state === "claimed" ? "worked on by" : "last with"}>
          <AgentLink id={task.claimant} name={task.claimantName} />
        </Fact>
      )}
      {task.claimedAtMs !== undefined && (
        <Fact name="claimed">
          <Since atMs={task.claimedAtMs} />
        </Fact>
      )}
      {task.state === "claimed" && task.claimExpiresAtMs !== undefined && (
        <Fact name="claim">
          <TimeLeft expiresAtMs={task.claimExpiresAtMs} ttlMs={task.claimMs} />
        </Fact>
      )}
      {task.state === "delayed" && task.readyAtMs !== undefined && (
        <Fact name="ready">
          <TimeLeft
            expiresAtMs={task.readyAtMs}
            ttlMs={Math.max(1, task.readyAtMs - task.createdAtMs)}
          />
        </Fact>
      )}
      <Fact name="created">
        <Since atMs={task.createdAtMs} />
      </Fact>
      {task.endedAtMs !== undefined && (
        <Fact name="ended">
          <Since atMs={task.endedAtMs} />
        </Fact>
      )}
      <Fact name="tried">{triesOf(task) || `never, ${task.maxRetries + 1} at most`}</Fact>
      {claims !== undefined && <Fact name="claimed so far">{claims}</Fact>}
      {task.priority !== 0 && <Fact name="priority">{task.priority}</Fact>}
      {task.requiredTools.length > 0 && (
        <Fact name="needs tools">
          {task.requiredTools.map((tool) => (
            <a key={tool} class="chip" href={`/agents?tool=${encodeURIComponent(tool)}`}>
              <Said text={tool} />
            </a>
          ))}
        </Fact>
      )}
      <Fact name="id">
        <code>{task.id}</code>
      </Fact>
    </Facts>
  );
}

function ContentPart({
  title,
  base64,
}: {
  readonly title: string;
  readonly base64: string;
}): JSX.Element {
  const content = readContent(base64);
  const chosen = useSignal<Form | undefined>(undefined);
  const form = content.forms.find((one) => one === chosen.value) ?? content.forms[0] ?? "hex";
  if (content.bytes.length === 0) {
    return (
      <PanelPart title={title}>
        <p class="soft">empty</p>
      </PanelPart>
    );
  }
  return (
    <PanelPart title={title}>
      <div class="content-bar">
        <Choices
          label="Shown as"
          chosen={form}
          onChoose={(name) => {
            chosen.value = name;
          }}
          choices={content.forms.map((name) => ({ name, title: name }))}
        />
        <span class="soft">{bytes(content.bytes.length)}</span>
        <CopyButton label="copy" text={() => printContent(content, form)} />
      </div>
      <pre class="content">
        <bdi>{printContent(content, form)}</bdi>
      </pre>
      {content.bytes.length > shownBytesMax && <p class="soft">only the beginning is shown</p>}
    </PanelPart>
  );
}

function TaskActions({ task }: { readonly task: TaskDetail }): JSX.Element | null {
  const { id } = task;
  const name = task.type || id;
  switch (task.state) {
    case "dead":
      return (
        <ActionButton
          action={{
            verb: `Requeue ${name}`,
            question: `Requeue ${name}?`,
            consequence:
              "It goes back to the queue with all its tries, and the next free agent gets it.",
            done: `${name} is in the queue again.`,
            run: () => call("requeueTask", { taskId: id }),
          }}
        />
      );
    case "pending":
    case "claimed":
    case "delayed":
      return (
        <ActionButton
          action={{
            verb: `Cancel ${name}`,
            question: `Cancel ${name}?`,
            consequence:
              task.state === "claimed"
                ? `It ends now. ${task.claimantName ?? "Its agent"} works on it and will be refused when it reports.`
                : "It ends now, and no agent will get it.",
            done: `${name} is cancelled.`,
            run: () => call("cancelTask", { taskId: id }),
          }}
        />
      );
    case "completed":
    case "cancelled":
      return null;
  }
}

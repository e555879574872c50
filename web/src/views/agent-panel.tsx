/** One agent: what it says of itself, what it holds, what it did. */
import type { JSX } from "preact";
import { type AgentDetail, call } from "../api.ts";
import { useAnswer } from "../ask.ts";
import { limits } from "../limits.ts";
import { ActionButton, ReadOnlyHint } from "../parts/act.tsx";
import { EventLine } from "../parts/event.tsx";
import { Empty, Fact, Facts } from "../parts/field.tsx";
import { Panel, PanelPart } from "../parts/panel.tsx";
import { Said } from "../parts/said.tsx";
import { Ago, Heard, Since, TimeLeft } from "../parts/time.tsx";
import { groupAddress, leaseAddress, taskAddress, withQuery } from "../route.ts";
import { count, duration } from "../words/time.ts";
import { AgentDot, Doing } from "./agents.tsx";

export function AgentPanel({
  id,
  isSilent,
}: {
  readonly id: string;
  readonly isSilent: boolean;
}): JSX.Element {
  const concerns = (entry: unknown): boolean => JSON.stringify(entry).includes(id);
  const { value: agent, problem } = useAnswer(
    "getAgent",
    { agentId: id },
    { concerns, everyMs: limits.pollEveryMs },
  );
  const { value: entries } = useAnswer("listEntries", { about: id, limit: 50 }, { concerns });
  const closeAddress = withQuery({}, "/agents");
  if (!agent) {
    return (
      <Panel kind="agent" title={id} closeAddress={closeAddress}>
        {problem && <Empty>{problem.message}</Empty>}
      </Panel>
    );
  }
  const { card } = agent;
  return (
    <Panel kind="agent" title={card.name || id} closeAddress={closeAddress}>
      <p class="standing">
        <AgentDot agent={agent} isSilent={isSilent} />{" "}
        {agent.liveness !== "dead" && <b>{agent.liveness}</b>}{" "}
        <Doing agent={agent} isSilent={isSilent} />
      </p>
      {card.description !== "" && (
        <p class="description">
          <Said text={card.description} lengthMax={1_000} />
        </p>
      )}
      <Facts>
        <LastSign agent={agent} />
        {agent.activity && (
          <Fact name="activity">
            said by the agent · <Ago atMs={agent.activity.reportedAtMs} />
          </Fact>
        )}
        <Fact name="registered">
          <Since atMs={agent.registeredAtMs} />
        </Fact>
        {card.version !== "" && (
          <Fact name="version">
            <Said text={card.version} />
          </Fact>
        )}
        {card.tools.length > 0 && (
          <Fact name="tools">
            {card.tools.map((tool) => (
              <a key={tool} class="chip" href={withQuery({ tool }, "/agents")}>
                <Said text={tool} />
              </a>
            ))}
          </Fact>
        )}
        {card.capabilities.map(({ name, description }) => (
          <Fact key={name} name="can">
            <Said text={name} />{" "}
            <span class="soft">
              <Said text={description} lengthMax={300} />
            </span>
          </Fact>
        ))}
        {Object.entries(card.metadata).map(([name, value]) => (
          <Fact key={name} name={name.slice(0, 40)}>
            <Said text={value} lengthMax={300} />
          </Fact>
        ))}
        <Fact name="id">
          <code>{id}</code>
        </Fact>
      </Facts>
      <Holdings agent={agent} />
      <PanelPart title="Recently">
        {entries?.rows.length === 0 && <Empty>The log no longer has anything about it.</Empty>}
        <ol class="events">
          {entries?.rows.map((entry) => (
            <EventLine key={entry.sequence} entry={entry} />
          ))}
        </ol>
      </PanelPart>
      <footer class="actions">
        <ReadOnlyHint />
        {agent.liveness !== "dead" && (
          <ActionButton
            action={{
              verb: `Deregister ${card.name || id}`,
              question: `Deregister ${card.name || id}?`,
              consequence: consequenceOf(agent),
              done: `${card.name || id} is deregistered.`,
              run: () => call("deregisterAgent", { agentId: id }),
            }}
          />
        )}
      </footer>
    </Panel>
  );
}

function LastSign({ agent }: { readonly agent: AgentDetail }): JSX.Element {
  if (agent.diedAtMs !== undefined) {
    return (
      <Fact name={agent.hasLeft ? "left" : "died"}>
        <Since atMs={agent.diedAtMs} />
      </Fact>
    );
  }
  return (
    <Fact name="heartbeat">
      registry · <Heard atMs={agent.lastHeartbeatAtMs} unheardSinceMs={agent.unheardSinceMs} />
      <span class="soft">, expected every {duration(agent.ttlMs)}</span>
    </Fact>
  );
}

function Holdings({ agent }: { readonly agent: AgentDetail }): JSX.Element {
  const { leases, claims, groups } = agent;
  return (
    <>
      {leases.length > 0 && (
        <PanelPart title="Leases" count={leases.length}>
          <ul class="things">
            {leases.map((lease) => (
              <li key={lease.taskId}>
                <a class="name" href={leaseAddress(lease.taskId)}>
                  <Said text={lease.taskId} />
                </a>
                <Since atMs={lease.acquiredAtMs} />
                <TimeLeft expiresAtMs={lease.expiresAtMs} ttlMs={lease.ttlMs} />
              </li>
            ))}
          </ul>
        </PanelPart>
      )}
      {claims.length > 0 && (
        <PanelPart title="Tasks it works on" count={claims.length}>
          <ul class="things">
            {claims.map((task) => (
              <li key={task.id}>
                <a class="name" href={taskAddress(task.id)}>
                  <Said text={task.type} />
                </a>
                {task.claimedAtMs !== undefined && <Since atMs={task.claimedAtMs} />}
              </li>
            ))}
          </ul>
        </PanelPart>
      )}
      {groups.length > 0 && (
        <PanelPart title="Groups" count={groups.length}>
          <ul class="things">
            {groups.map(({ group, isLeader }) => (
              <li key={group}>
                <a class="name" href={groupAddress(group)}>
                  <Said text={group} />
                </a>
                <span class="soft">{isLeader ? "leads" : "stands by"}</span>
              </li>
            ))}
          </ul>
        </PanelPart>
      )}
    </>
  );
}

function consequenceOf({ leases, claims, groups }: AgentDetail): string {
  const losses = [
    ...(leases.length > 0 ? [`${count(leases.length, "lease", "leases")} become free`] : []),
    ...(claims.length > 0 ? [`${count(claims.length, "task", "tasks")} go back to the queue`] : []),
    ...(groups.length > 0 ? [`it leaves ${count(groups.length, "group", "groups")}`] : []),
  ];
  const what = losses.length > 0 ? `: ${losses.join(", ")}` : "";
  return `The agent is deregistered at once${what}. Its process keeps running and may register again.`;
}

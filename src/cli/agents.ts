/** `tipstaff agents`: who is there, and how they are. */
import { paint, printable, type Tone } from "../terminal/index.ts";
import type { Agent, AgentDetail, Input } from "../wire/api/index.ts";
import { type Cell, type Column, printFacts } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { call } from "./daemon.ts";
import { Failure, no } from "./failure.ts";
import { limits } from "./limits.ts";
import { collect, printList, printOne, tally } from "./lists.ts";
import type { Values } from "./table.ts";
import { ago, countOf, forHowLong, heardAgo, left } from "./times.ts";
import { choiceIn, choicesIn, textIn, textsIn } from "./values.ts";

const livenesses = ["alive", "unreachable", "dead"] as const;

export async function listAgents(values: Values): Promise<number> {
  const liveness = choicesIn(values, "liveness", livenesses);
  const tool = textsIn(values, "tool");
  const sort = choiceIn(values, "sort", ["attention", "newest", "oldest", "name"]) ?? "attention";
  const filter = { ...(liveness ? { liveness } : {}), ...(tool ? { tool } : {}) };
  const isAll = values["all"] === true;
  const shown = isAll ? {} : { hasLeft: false };
  const listed = await collect(values, "listAgents", { sort, ...shown }, filter);
  const hidden = isAll || values["json"] === true ? 0 : await countLeft(values, filter);
  const more = hidden === 0 ? [] : [hiddenNote(hidden)];
  return printList(values, listed, {
    columns: columnsAt(listed.nowMs),
    noun: ["agent", "agents"],
    empty: ["no agents; examples/one-holder shows how one registers", ...more].join("\n"),
    counts: (rows) => [
      ...waitingCount(rows),
      ...tally(rows, (row) => stateOf(row).text, ["unreachable", "died", "left"]),
      ...more,
    ],
  });
}

function hiddenNote(count: number): string {
  const them = count === 1 ? "it" : "them";
  return `${countOf(count, "deregistered agent")} hidden; --all shows ${them}`;
}

/** How many agents that left match as well. */
async function countLeft(values: Values, filter: Input<"listAgents">): Promise<number> {
  const query = textIn(values, "query");
  const asked = { ...filter, ...(query === undefined ? {} : { query }) };
  return (await call(values, "listAgents", { ...asked, hasLeft: true, limit: 1 })).total;
}

function waitingCount(rows: readonly Agent[]): readonly string[] {
  const count = rows.filter((row) => stateOf(row).text === "waiting").length;
  return count === 0 ? [] : [`${count} ${count === 1 ? "waits" : "wait"} for you`];
}

/** What it does, or if that does not matter any more, how it is. */
function stateOf({
  liveness,
  hasLeft,
  activity,
  question,
}: Pick<Agent, "liveness" | "hasLeft" | "activity" | "question">): {
  readonly text: string;
  readonly tone: Tone;
} {
  switch (liveness) {
    case "dead":
      return hasLeft ? { text: "left", tone: "dim" } : { text: "died", tone: "bad" };
    case "unreachable":
      return { text: "unreachable", tone: "bad" };
    case "alive":
      if (question || activity?.state === "waiting") return { text: "waiting", tone: "warn" };
      return { text: activity?.state ?? "alive", tone: "good" };
  }
}

function columnsAt(nowMs: number): readonly Column<Agent>[] {
  return [
    { title: "STATE", cell: stateOf, weight: 10 },
    { title: "FOR", cell: (row) => forHowLong(nowMs - sinceMs(row)), weight: 6 },
    { title: "AGENT", cell: ({ card }) => card.name, weight: 9, cellsMin: 10 },
    { title: "ID", cell: ({ id }) => id.slice(0, 8), weight: 8 },
    { title: "DOING", cell: doingOf, weight: 5, cellsMin: 12 },
    { title: "TOOLS", cell: ({ card }) => card.tools.join(", "), weight: 2, cellsMin: 8 },
    { title: "DOES", cell: ({ card }) => card.description, weight: 1, cellsMin: 12 },
    {
      title: "HEARD",
      cell: (row) => (row.liveness === "dead" ? "" : heardAgo(heardOf(row), nowMs)),
      weight: 7,
    },
  ];
}

/** What it asks a person, otherwise what it says that it does. */
function doingOf({ activity, question }: Agent): string {
  return question ? `asks: ${question.prompt}` : (activity?.note ?? "");
}

function sinceMs(row: Agent): number {
  if (row.liveness === "dead") return row.diedAtMs ?? row.lastHeartbeatAtMs;
  if (row.liveness === "unreachable") return row.unheardSinceMs ?? row.lastHeartbeatAtMs;
  return row.question?.askedAtMs ?? row.activity?.sinceMs ?? row.registeredAtMs;
}

function heardOf({ lastHeartbeatAtMs: heardAtMs, unheardSinceMs }: Agent): {
  readonly heardAtMs: number;
  readonly unheardSinceMs: number | undefined;
} {
  return { heardAtMs, unheardSinceMs };
}

export async function getAgent(values: Values, [word = ""]: readonly string[]): Promise<number> {
  const { id } = await findAgent(values, word);
  const agent = await call(values, "getAgent", { agentId: id });
  const { nowMs } = await call(values, "getOverview", {});
  return printOne(values, agent, (shown) => describe(shown, nowMs));
}

function describe(agent: AgentDetail, nowMs: number): string {
  const { card, activity } = agent;
  const { text: state, tone } = stateOf(agent);
  const facts: (readonly [string, Cell])[] = [
    ["id", agent.id],
    ["state", { text: `${state} for ${forHowLong(nowMs - sinceMs(agent))}`, tone }],
    ["heartbeat", `${heardAgo(heardOf(agent), nowMs)}, TTL ${forHowLong(agent.ttlMs)}`],
    ["registered", ago(agent.registeredAtMs, nowMs)],
  ];
  const add = (name: string, text: string): void => {
    if (text !== "") facts.push([name, text]);
  };
  add("doing", activity?.note ?? "");
  if (agent.question) {
    const { id, prompt } = agent.question;
    // The short form of a question does not say what an answer is; `answer` without one does.
    add("asks", `${prompt} · tipstaff answer ${id}`);
  }
  add("does", card.description);
  add("version", card.version);
  add("tools", card.tools.join(", "));
  for (const { name, description } of card.capabilities) {
    add("can", description === "" ? name : `${name}: ${description}`);
  }
  for (const [name, value] of Object.entries(card.metadata)) add(name, value);
  for (const { taskId, token, expiresAtMs } of agent.leases) {
    add("holds", `${taskId} · ${left(expiresAtMs, nowMs)} · token ${token}`);
  }
  for (const { id, type, claimExpiresAtMs } of agent.claims) {
    const until = claimExpiresAtMs === undefined ? "" : ` · ${left(claimExpiresAtMs, nowMs)}`;
    add("works on", `${type} ${id}${until}`);
  }
  for (const { group, isLeader } of agent.groups) add(isLeader ? "leads" : "stands for", group);
  return `${paint("bold", printable(card.name))}\n\n${printFacts(facts)}`;
}

export async function deregisterAgent(
  values: Values,
  [word = ""]: readonly string[],
): Promise<number> {
  const agent = await findAgent(values, word);
  const { leases, claims, groups } = await call(values, "getAgent", { agentId: agent.id });
  const held = [
    ...(leases.length > 0 ? [countOf(leases.length, "lease")] : []),
    ...(claims.length > 0 ? [countOf(claims.length, "task")] : []),
    ...(groups.length > 0 ? [countOf(groups.length, "group")] : []),
  ];
  const loses = held.length > 0 ? `, which loses ${held.join(", ")}` : "";
  confirm(values, `End agent ${agent.card.name} (${agent.id.slice(0, 8)})${loses}?`);
  await call(values, "deregisterAgent", { agentId: agent.id });
  return printOne(values, { agentId: agent.id }, () => `${printable(agent.card.name)} has left\n`);
}

/** As `findAgent`, for words that may also be the id of something else. */
export async function findAgentIfAny(values: Values, word: string): Promise<Agent | undefined> {
  try {
    return await findAgent(values, word);
  } catch (error) {
    if (error instanceof Failure && error.code === "agent_not_found") return undefined;
    throw error;
  }
}

/**
 * The agent that is meant: by its id, the beginning of its id, or its card's name. Among several of one
 * name, those that are dead do not count if one lives.
 */
export async function findAgent(values: Values, word: string): Promise<Agent> {
  if (word === "") throw no("an agent without a name is none");
  if (/^[0-9a-f]{32}$/.test(word)) return await call(values, "getAgent", { agentId: word });
  const { rows, total } = await call(values, "listAgents", { query: word, limit: limits.pageMax });
  const named = rows.filter(({ card }) => card.name === word);
  const begun = word.length >= 2 ? rows.filter(({ id }) => id.startsWith(word)) : [];
  const matching = named.length > 0 ? named : begun;
  const living = matching.filter(({ liveness }) => liveness !== "dead");
  const [agent, ...others] = living.length > 0 ? living : matching;
  if (!agent) {
    const isCut = total > limits.pageMax;
    throw new Failure("agent_not_found", `there is no agent ${printable(word)}`, [
      isCut ? `${total} contain it; give the whole id` : "tipstaff agents lists them",
    ]);
  }
  if (others.length > 0) {
    const shown = [agent, ...others].slice(0, limits.namesakesShownMax);
    throw no(
      `${printable(word)} is ${countOf(others.length + 1, "agent")}; give the id of one`,
      ...shown.map((one) => `${one.id}  ${printable(one.card.name)}  ${stateOf(one).text}`),
      ...(others.length + 1 > shown.length ? ["…"] : []),
    );
  }
  return agent;
}

/** Agents: here, gone, found, and what they hold. */
import { randomBytes } from "node:crypto";
import { type Agent, agentId, type Card, deadlinesOf, type State } from "../../../core/index.ts";
import { idFromKey } from "../../../plane/index.ts";
import type { Answer, Input } from "../../../wire/api/index.ts";
import { limits as wireLimits } from "../../../wire/openapi/index.ts";
import { encodeAgent, encodeLease, encodeTask } from "../encode.ts";
import { limits } from "../limits.ts";
import { listAgents } from "../lists.ts";
import type { Call, Handlers, OperationParts } from "../operations.ts";
import { answer, invalid, refused, submit } from "./answer.ts";

export function agentHandlers(
  parts: OperationParts,
): Pick<
  Handlers,
  | "listAgents"
  | "registerAgent"
  | "getAgent"
  | "heartbeat"
  | "deregisterAgent"
  | "withdraw"
  | "findAgents"
> {
  const { plane, find } = parts;
  return {
    listAgents: (input, call) => listAgents(plane, input, call),
    registerAgent: async (
      { card, ttlMs = wireLimits.agentTtlMsDefault, process },
      { caller, key, maySee },
    ) => {
      const whole = decodeCard(card);
      if (cardBytes(whole) > limits.cardBytesMax) {
        return invalid(`card: is longer than ${limits.cardBytesMax} bytes`);
      }
      const id = agentId(
        key === undefined ? randomBytes(16).toString("hex") : idFromKey("agent", key),
      );
      const registering = { type: "agent.register", agentId: id, card: whole, ttlMs } as const;
      // Each HTTP request makes its own connection if there is none; a gRPC channel pauses for up to 120 s.
      const marks = {
        reconnectsSoon: true,
        ...(process === undefined ? {} : { process }),
      } as const;
      const command = { ...registering, ...marks };
      return submit(plane, command, caller, (state) => {
        const agent = state.registry.agents.get(id);
        return agent && encodeAgent(state, agent, { maySee });
      });
    },
    getAgent: async ({ agentId: id }, { maySee }) => {
      const value = await plane.read((state) => {
        const agent = state.registry.agents.get(agentId(id));
        return agent && detail(state, agent, { maySee });
      });
      return value ? { value } : refused("agent_not_found", `agent not found: ${id}`);
    },
    heartbeat: async ({ agentId: id, activity }, { caller }) => {
      const said = activity && { state: activity.state, note: activity.note ?? "" };
      const beat = { type: "agent.heartbeat", agentId: agentId(id) } as const;
      const command = said ? { ...beat, activity: said } : beat;
      return submit(plane, command, caller, (state) => {
        const agent = state.registry.agents.get(agentId(id));
        return agent && { liveness: agent.liveness, ...deadlinesOf(state.registry, agent) };
      });
    },
    deregisterAgent: async ({ agentId: id }, { caller }) =>
      submit(plane, { type: "agent.deregister", agentId: agentId(id) }, caller, () => ({})),
    withdraw: async ({ agentId: id, key }, { caller }) =>
      answer(plane, await plane.withdraw({ agentId: agentId(id), key }, caller)),
    findAgents: async (
      { query = "", tool: tools = [], limit = wireLimits.findDefault },
      { maySee },
    ) => {
      const { hits, ...how } = await find({ query, tools, limit });
      const encoded = await plane.read((state) =>
        hits.flatMap(({ agentId: id, score, matched }) => {
          const agent = state.registry.agents.get(agentId(id));
          return agent ? [{ agent: encodeAgent(state, agent, { maySee }), score, matched }] : [];
        }),
      );
      return { value: { hits: encoded, ...how } };
    },
  };
}

function decodeCard(card: Input<"registerAgent">["card"]): Card {
  const { name, description = "", version = "", capabilities = [], tools = [] } = card;
  const metadata = Object.entries(card.metadata ?? {});
  return { name, description, version, capabilities, tools, metadata };
}

function cardBytes({ description, tools, capabilities, metadata }: Card): number {
  const named = capabilities.flatMap(({ name, description }) => [name, description]);
  const texts = [description, ...tools, ...named, ...metadata.flat()];
  return texts.reduce((total, text) => total + Buffer.byteLength(text), 0);
}

function detail(state: State, agent: Agent, call: Pick<Call, "maySee">): Answer<"getAgent"> {
  const { leases, tasks, elections } = state;
  const held = leases.byHolder.get(agent.id) ?? new Set();
  const claimed = tasks.byClaimant.get(agent.id) ?? new Set();
  const groups = elections.byCandidate.get(agent.id) ?? new Set();
  const shown = limits.detailRowsMax;
  return {
    ...encodeAgent(state, agent, call),
    leases: [...held.values().take(shown)].flatMap((id) => {
      const lease = leases.held.get(id);
      return lease ? [encodeLease(state, lease)] : [];
    }),
    claims: [...claimed.values().take(shown)].flatMap((id) => {
      const task = tasks.byId.get(id);
      return task ? [encodeTask(state, task)] : [];
    }),
    groups: [...groups.values().take(shown)].map((group) => ({
      group,
      isLeader: elections.groups.get(group)?.leader === agent.id,
    })),
  };
}

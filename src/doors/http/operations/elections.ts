/** Groups: who leads, and who would. */
import { agentId, groupName, type State } from "../../../core/index.ts";
import type { Plane } from "../../../plane/index.ts";
import { encodeElection } from "../encode.ts";
import { listElections } from "../lists.ts";
import type { Handlers } from "../operations.ts";
import { answer, refused, submit } from "./answer.ts";

export function electionHandlers(
  plane: Plane,
): Pick<Handlers, "listElections" | "getElection" | "campaign" | "resign"> {
  const look = (group: string) => (state: State) => {
    const election = state.elections.groups.get(groupName(group));
    return election && encodeElection(state, election);
  };
  const unknown = (group: string) => refused("election_not_found", `no group is called ${group}`);
  return {
    listElections: (input, { signal }) => listElections(plane, input, signal),
    getElection: async ({ group }) => {
      const value = await plane.read(look(group));
      return value ? { value } : unknown(group);
    },
    campaign: async ({ group, agentId: id }, { caller }) => {
      const standing = { group: groupName(group), agentId: agentId(id) };
      return submit(plane, { type: "election.campaign", ...standing }, caller, look(group));
    },
    resign: async ({ group, agentId: id }, { caller }) => {
      const standing = { group: groupName(group), agentId: agentId(id) };
      const command = { type: "election.resign", ...standing } as const;
      const { value, refusal } = await plane.submit(command, caller, look(group));
      if (refusal) return answer(plane, { refusal });
      return value ? { value } : unknown(group);
    },
  };
}

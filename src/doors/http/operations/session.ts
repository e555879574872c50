/** How a browser comes to be trusted. */
import type { Handlers, OperationParts } from "../operations.ts";
import { refused } from "./answer.ts";

export function sessionHandlers({
  plane,
  credentials,
}: OperationParts): Pick<Handlers, "openSession" | "getSession" | "createLink"> {
  const now = (): Promise<number> => plane.read((_, nowMs) => nowMs);
  return {
    // The cookie is set where headers are: see `api.ts`.
    openSession: async ({ key }) => {
      if (credentials.redeem(key, await now())) return { value: { pageKey: credentials.pageKey } };
      return refused("link_used", "this link was used or is too old; tipstaff dashboard makes one");
    },
    getSession: async (_, { mayWrite }) => ({ value: { mayWrite } }),
    createLink: async () => ({ value: { path: `/#key=${credentials.makeLink(await now())}` } }),
  };
}

/** Jobs that ask. `tipstaff up --agents examples/questions/agents.ts` runs them. */
import type { JobContext } from "tipstaff/runtime";

export const agents = {
  /** Run again after a restart, it is given the answers that it had, and goes on waiting for the others. */
  payer: {
    handler: async (input: unknown, job: JobContext): Promise<unknown> => {
      const when = await job.ask("Pay 5 EUR to the printer?", {
        choices: ["pay now", "wait"],
        timeoutMs: 86_400_000,
      });
      return { input, when };
    },
    isIdempotent: true,
  },
  /** Asks for files that it may not read yet. */
  reader: {
    handler: async (_: unknown, job: JobContext): Promise<unknown> => {
      const granted = await job.requestScope({
        reason: "to compare the invoices",
        read: ["invoices/**"],
        ttlSeconds: 600,
        timeoutMs: 600_000,
      });
      return { mayRead: granted.read, until: granted.expiresAt };
    },
    mayRequestScope: true,
  },
};

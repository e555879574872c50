/** A worker in a process of its own. It counts, says how far it is, and survives a restart of the runtime. */
import { setTimeout as sleep } from "node:timers/promises";
import { connectWorker, type JobContext } from "tipstaff/runtime";
import { z } from "zod";

const Input = z.object({ to: z.int().positive() });

async function count(input: unknown, context: JobContext): Promise<unknown> {
  const { to } = Input.parse(input);
  for (let at = 1; at <= to; at += 1) {
    await context.progress(at, { total: to });
    await sleep(50, undefined, { signal: context.signal });
  }
  return { counted: to };
}

const { ARCP_URL = "ws://127.0.0.1:7777/arcp", ARCP_TOKEN = "" } = process.env;
const worker = await connectWorker(ARCP_URL, {
  token: ARCP_TOKEN,
  offers: [{ name: "count", version: "1.0.0", handler: count }],
  jobsAtOnce: 4,
});
await worker.closed;

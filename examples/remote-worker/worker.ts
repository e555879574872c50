/** A worker in a process of its own. It counts, says how far it is, and survives a restart of the runtime. */
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPError, connectWorker, type JobContext } from "tipstaff/runtime";
import { z } from "zod";

const Input = z.object({ to: z.int().positive() });

async function count(input: unknown, context: JobContext): Promise<unknown> {
  const read = Input.safeParse(input);
  // Whoever asked is told what is wrong with it, by a code of the protocol.
  if (!read.success) throw new ARCPError("INVALID_REQUEST", z.prettifyError(read.error));
  const { to } = read.data;
  for (let at = 1; at <= to; at += 1) {
    await context.progress(at, { total: to });
    await sleep(50, undefined, { signal: context.signal });
  }
  return { counted: to };
}

const { ARCP_URL = "ws://127.0.0.1:7777/arcp", ARCP_TOKEN = "" } = process.env;
let isThere = false;
try {
  const worker = await connectWorker(ARCP_URL, {
    token: ARCP_TOKEN,
    offers: [{ name: "count", version: "1.0.0", handler: count }],
    jobsAtOnce: 4,
    // Who asked is told that a handler failed; where it did is told here.
    logger: console,
    // A runtime that was there once comes back; one that never was may be somewhere else.
    onLost: () => isThere || console.error(`nobody answers at ${ARCP_URL}; trying again`),
  });
  isThere = true;
  await worker.closed;
} catch (error) {
  const why = error instanceof Error ? error.message : error;
  console.error(`${ARCP_URL} sends this worker away: ${why}`);
  process.exitCode = 1;
}

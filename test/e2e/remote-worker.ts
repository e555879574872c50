/** A worker for the tests: writes down each start, works in small steps, and is killed in the middle of them. */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connectWorker, fromProcess, type JobContext } from "../../src/arcp-server.ts";
import { askTwice } from "./asking-agent.ts";

const { ARCP_URL, ARCP_TOKEN = "", STARTS = "" } = process.env;

async function step(input: unknown, context: JobContext): Promise<unknown> {
  const { steps } = input as { steps: number };
  appendFileSync(STARTS, `${context.jobId}\n`);
  for (let at = 1; at <= steps; at += 1) {
    await context.log("info", String(at));
    await sleep(10, undefined, { signal: context.signal });
  }
  return { steps, pid: process.pid };
}

const worker = await connectWorker(ARCP_URL ?? fromProcess(process), {
  token: ARCP_TOKEN,
  offers: [
    { name: "once", handler: step },
    { name: "again", handler: step, isIdempotent: true },
    { name: "limited", handler: step, timeoutMs: 200 },
    { name: "asks", handler: askTwice, isIdempotent: true },
    { name: "asks-once", handler: askTwice },
  ],
});
await worker.closed.catch(() => undefined);

/** `arcp submit`: one job, to its end. */
import { isARCPError, type JobHandle, type LeaseShape } from "../../client/arcp/index.ts";
import { jsonOf, print, say } from "../../terminal/index.ts";
import { exits } from "../exits.ts";
import { mistake } from "../failure.ts";
import type { Values } from "../table.ts";
import { numberIn, textIn } from "../values.ts";
import { connectFrom, requiredIn } from "./connecting.ts";
import { ending } from "./ending.ts";
import { Endings, lineOf, withResult } from "./following.ts";
import { jsonIn } from "./input.ts";
import { Submission } from "./submission.ts";

export function submit(values: Values): Promise<number> {
  return ending("submit", async () => {
    const request = {
      agent: requiredIn(values, "agent"),
      input: jsonIn(values, "input", { mayBeText: true }) ?? null,
      ...leaseIn(values),
      idempotencyKey: textIn(values, "idempotency-key"),
      maxRuntimeSec: numberIn(values, "max-runtime"),
      traceId: textIn(values, "trace-id"),
    };
    await using client = await connectFrom(values);
    const endings = new Endings(client);
    using submission = new Submission(client, "arcp list");
    const job = await submission.submit(request);
    try {
      const telling = values["events"] === true ? tellEvents(job) : undefined;
      const done = await job.done;
      await telling;
      if (values["raw"] === true && done.result_id !== undefined) {
        print(await job.collectChunks());
      } else {
        print(`${indented(await withResult(job, done))}\n`);
      }
      return exits.ok;
    } catch (error) {
      const payload = endings.of(job.jobId);
      const { isAsked } = submission.interruption;
      if (!isARCPError(error) || client.isClosed || !(payload || isAsked)) throw error;
      if (payload) say(`${indented(payload)}\n`);
      return isAsked ? exits.interrupted : exits.no;
    }
  });
}

/** Beside the result, which is for standard output. */
async function tellEvents(job: JobHandle): Promise<void> {
  for await (const event of job.events({ buffer: "all" })) say(`${jsonOf(lineOf(event))}\n`);
}

function leaseIn(values: Values): {
  readonly lease?: LeaseShape;
  readonly leaseConstraints?: { readonly expiresAt: string };
} {
  const lease = jsonIn(values, "lease");
  const expiresAt = textIn(values, "expires-at");
  return {
    ...(lease !== undefined && { lease: leaseOf(lease) }),
    ...(expiresAt !== undefined && { leaseConstraints: { expiresAt } }),
  };
}

/** Whether its names and values make sense, the runtime says. */
export function leaseOf(value: unknown): LeaseShape {
  const isLease =
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every(
      (list) => Array.isArray(list) && list.every((text) => typeof text === "string"),
    );
  if (!isLease) {
    throw mistake('--lease is an object of lists, such as {"tool.call": ["search"]}');
  }
  return value as LeaseShape;
}

function indented(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** `arcp cancel`: asks for the end of a job, unless it has ended. How it ends, `arcp tail` says. */
import { print } from "../../terminal/index.ts";
import { exits } from "../exits.ts";
import type { Values } from "../table.ts";
import { textIn } from "../values.ts";
import { connectFrom, requiredIn } from "./connecting.ts";
import { ending } from "./ending.ts";
import { askToEnd } from "./following.ts";

export function cancel(values: Values): Promise<number> {
  return ending("cancel", async () => {
    const jobId = requiredIn(values, "job-id");
    await using client = await connectFrom(values);
    const cancelled = await askToEnd(client, jobId, textIn(values, "reason"));
    print(`${JSON.stringify({ job_id: jobId, cancelled })}\n`);
    return exits.ok;
  });
}

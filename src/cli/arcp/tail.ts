/** `arcp tail`: what a job says, from its beginning or from now on, and how it ends. */
import { isARCPError } from "../../client/arcp/index.ts";
import { jsonOf, print } from "../../terminal/index.ts";
import { exits } from "../exits.ts";
import type { Values } from "../table.ts";
import { numberIn } from "../values.ts";
import { connectFrom, requiredIn } from "./connecting.ts";
import { ending } from "./ending.ts";
import { Endings, Interruption, lineOf } from "./following.ts";

export function tail(values: Values): Promise<number> {
  return ending("tail", async () => {
    const jobId = requiredIn(values, "job-id");
    const fromEventSeq = numberIn(values, "from-seq") ?? 0;
    await using client = await connectFrom(values);
    const endings = new Endings(client);
    const history = values["no-history"] !== true;
    const job = await client.subscribe(jobId, { history, fromEventSeq });
    using interruption = new Interruption(() => job.unsubscribe());
    for await (const event of job.events({ buffer: "all" })) {
      if (!print(`${jsonOf(lineOf(event))}\n`)) return exits.ok;
    }
    if (interruption.isAsked) return exits.interrupted;
    const failure = await job.done.then(
      () => undefined,
      (error: unknown) => error,
    );
    const payload = endings.of(jobId);
    if (payload) print(`${jsonOf(payload)}\n`);
    if (failure === undefined) return exits.ok;
    if (!payload || !isARCPError(failure)) throw failure;
    return exits.no;
  });
}

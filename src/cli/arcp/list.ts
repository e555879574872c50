/** `arcp list`: one page of the jobs that this token may see. */
import { print } from "../../terminal/index.ts";
import { exits } from "../exits.ts";
import type { Values } from "../table.ts";
import { numberIn, textIn, textsIn } from "../values.ts";
import { connectFrom } from "./connecting.ts";
import { ending } from "./ending.ts";

export function list(values: Values): Promise<number> {
  return ending("list", async () => {
    const limit = numberIn(values, "limit");
    await using client = await connectFrom(values);
    // As it came: what else a runtime says of a job is for whoever reads this.
    const { promise, resolve } = Promise.withResolvers<unknown>();
    client.on("session.jobs", ({ payload }) => resolve(payload));
    await client.listJobs(
      { status: textsIn(values, "status"), agent: textIn(values, "agent") },
      { limit, cursor: textIn(values, "cursor") },
    );
    print(`${JSON.stringify(await promise, undefined, 2)}\n`);
    return exits.ok;
  });
}

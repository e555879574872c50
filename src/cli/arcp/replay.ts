/** `arcp replay`: what a session was told, once more, out of a log that nobody has to serve. */
import { resolve } from "node:path";
import { replaySession } from "../../doors/arcp/index.ts";
import { LogReader } from "../../log/index.ts";
import { print } from "../../terminal/index.ts";
import { exits } from "../exits.ts";
import type { Values } from "../table.ts";
import { numberIn, textIn, textsIn } from "../values.ts";
import { requiredIn } from "./connecting.ts";
import { ending } from "./ending.ts";
import { type Replayed, replayFile } from "./event-files.ts";

export function replay(values: Values): Promise<number> {
  return ending("replay", async () => {
    const path = resolve(requiredIn(values, "db"));
    const session = requiredIn(values, "session");
    const afterEventSeq = numberIn(values, "after-seq") ?? 0;
    const jobId = textIn(values, "job-id");
    const types = textsIn(values, "type");
    for await (const frame of framesIn(path, session, afterEventSeq)) {
      if (jobId !== undefined && frame.jobId !== jobId) continue;
      if (types && !types.includes(frame.type)) continue;
      if (!print(`${frame.text}\n`)) break;
    }
    return exits.ok;
  });
}

/** A directory of ours, or a file of another SDK's. */
async function* framesIn(
  path: string,
  session: string,
  afterEventSeq: number,
): AsyncGenerator<Replayed> {
  if (!LogReader.isIn(path)) {
    yield* replayFile(path, session, afterEventSeq);
    return;
  }
  using log = LogReader.open(path);
  yield* replaySession(log, session, { afterEventSeq });
}

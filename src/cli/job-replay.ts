/** `tipstaff job replay`: what a job said, out of the log; the daemon may be gone. */
import { printDecimal } from "../core/index.ts";
import { costInLog, replayJob } from "../doors/arcp/index.ts";
import { LogError, LogReader } from "../log/index.ts";
import { printable } from "../terminal/index.ts";
import { Assembly, normaliseBody } from "../wire/arcp/index.ts";
import { exits } from "./exits.ts";
import { type Failure, no } from "./failure.ts";
import { isMeant, isWholeId, onlyJob } from "./job-ids.ts";
import { JobTeller, lookIn } from "./job-teller.ts";
import { spentOf } from "./job-words.ts";
import { dataDirectoryFrom, printPath } from "./paths.ts";
import type { Values } from "./table.ts";

export async function replay(values: Values, [named = ""]: readonly string[]): Promise<number> {
  const directory = dataDirectoryFrom(values);
  try {
    using log = LogReader.open(directory);
    return await tell(values, log, findJob(values, log, named));
  } catch (error) {
    if (!(error instanceof LogError)) throw error;
    throw no(error.message);
  }
}

async function tell(values: Values, log: LogReader, jobId: string): Promise<number> {
  let teller: JobTeller | undefined;
  let assembly: Assembly | undefined;
  for await (const part of replayJob(log, jobId)) {
    if ("accepted" in part) {
      const { agent } = part.accepted;
      teller = new JobTeller({ jobId, agent }, lookIn(values));
      continue;
    }
    teller ??= new JobTeller({ jobId, agent: "" }, lookIn(values));
    const payload: Readonly<Record<string, unknown>> = JSON.parse(part.said.payload);
    if (part.said.type === "job.event") {
      const { kind, body, ts } = payload;
      const view = normaliseBody(String(kind), body);
      if (view?.kind === "result_chunk") {
        assembly ??= new Assembly(view.resultId);
        assembly.add(view);
      }
      const event = { kind: String(kind), body, view, atMs: part.entry.atMs };
      teller.take(event, { kind, ts, body, event_seq: part.eventSeq });
      if (!teller.isHeard) return exits.ok;
      continue;
    }
    teller.setCost(await readCost(log, jobId));
    if (part.said.type === "job.error") {
      const { code, message } = payload;
      const ended = { code: String(code), message: String(message) };
      throw no(teller.fail(payload, ended));
    }
    teller.succeed(payload, assembly ? assembly.finish().value : payload["result"]);
    return exits.ok;
  }
  if (teller) return exits.ok;
  throw unknown(values, jobId);
}

/** The job's cost, formatted as in `job list`. */
async function readCost(log: LogReader, jobId: string): Promise<string> {
  const cost = (await costInLog(log, jobId)).map(({ currency, total, cap }) => ({
    currency,
    total: printDecimal(total),
    ...(cap && { cap: printDecimal(cap) }),
  }));
  return spentOf({ cost });
}

/** Its id, or a part of the id of one that the log tells of. */
function findJob(values: Values, log: LogReader, named: string): string {
  if (isWholeId(named)) return named;
  const known = log.streams(stream).map((name) => name.slice(stream.length));
  return onlyJob([...known.filter((id) => isMeant(id, named))], named, () =>
    unknown(values, named),
  );
}

const stream = "job/";

function unknown(values: Values, named: string): Failure {
  return no(
    `the log in ${printPath(dataDirectoryFrom(values))} knows no job ${printable(named)}`,
    "give --data-dir if the log is elsewhere",
  );
}

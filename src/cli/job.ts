/** `tipstaff job`: work that an agent does for you, through the daemon's ARCP door. */
import {
  type ARCPClient,
  type ARCPError,
  isARCPError,
  type JobHandle,
  type ReceivedEvent,
  TransportError,
} from "../client/arcp/index.ts";
import { jsonOf, print, printable, say } from "../terminal/index.ts";
import type { JobDetail } from "../wire/api/index.ts";
import { readTimestamp } from "../wire/arcp/index.ts";
import { connect } from "./arcp/connecting.ts";
import { askToEnd, Endings, Interruption, lineOf, withResult } from "./arcp/following.ts";
import { parse, readText } from "./arcp/input.ts";
import { Submission } from "./arcp/submission.ts";
import { leaseOf } from "./arcp/submit.ts";
import { type Column, printColumns } from "./columns.ts";
import { confirm } from "./confirm.ts";
import { bearer, call } from "./daemon.ts";
import { exits } from "./exits.ts";
import { Failure, mistake, no } from "./failure.ts";
import { isMeant, isWholeId, onlyJob } from "./job-ids.ts";
import { Lookout } from "./job-lookout.ts";
import { JobTeller, lookIn } from "./job-teller.ts";
import { daemonIsAway, lullOf, spentOf } from "./job-words.ts";
import { limits } from "./limits.ts";
import { printOne } from "./lists.ts";
import { askOverview } from "./status.ts";
import type { Values } from "./table.ts";
import { durationIn, textIn, textsIn } from "./values.ts";

export async function submitJob(
  values: Values,
  [agent = "", word]: readonly string[],
): Promise<number> {
  const flag = textIn(values, "input");
  if (word !== undefined && flag !== undefined) throw mistake("the input is given twice");
  const input = word ?? flag;
  const request = {
    agent,
    input: input === undefined ? null : readInput(input),
    lease: leaseFrom(values),
    idempotencyKey: textIn(values, "key"),
    maxRuntimeSec: secondsIn(values, "timeout"),
  };
  return await withDaemon(values, async (client) => {
    const endings = new Endings(client);
    using submission = new Submission(client, "tipstaff job list");
    // Unsubscribes from the job before the goodbye, so that the daemon need not keep the session for a resume.
    using job = await submission.submit(request);
    if (values["detach"] !== true) return await tell(values, { client, endings, job }, submission);
    if (submission.interruption.isAsked) return exits.interrupted;
    // Its id is all that was asked for: whoever leaves now leaves the job to itself.
    submission[Symbol.dispose]();
    const { jobId } = job;
    print(values["json"] === true ? `${jsonOf({ job_id: jobId })}\n` : `${jobId}\n`);
    const seen = await askJob(values, jobId);
    const lull = seen ? lullOf(seen, Date.now()) : "";
    if (lull !== "") say(`${printable(lull)}\n`);
    return exits.ok;
  });
}

export async function tailJob(values: Values, [named = ""]: readonly string[]): Promise<number> {
  return await withDaemon(values, async (client) => {
    const jobId = await findJob(client, named);
    const endings = new Endings(client);
    const job = await client.subscribe(jobId, { history: values["no-history"] !== true });
    using interruption = new Interruption(() => job.unsubscribe());
    return await tell(values, { client, endings, job }, { interruption });
  });
}

export async function cancelJob(values: Values, [named = ""]: readonly string[]): Promise<number> {
  return await withDaemon(values, async (client) => {
    const jobId = await findJob(client, named);
    confirm(values, `End job ${jobId}?`);
    const cancelled = await askToEnd(client, jobId, textIn(values, "reason"));
    if (!cancelled) throw no(`${jobId} has ended already, and needs no cancelling`);
    return printOne(values, { job_id: jobId, cancelled }, () => `${jobId} is asked to end\n`);
  });
}

export async function listOffers(values: Values): Promise<number> {
  return await withDaemon(values, async ({ agents }) => {
    const rows = [...agents].sort((one, other) => (one.name < other.name ? -1 : 1));
    return printOne(values, { rows, total: rows.length }, () =>
      rows.length === 0
        ? "no agent takes jobs; tipstaff up --agents ./agents.ts brings some\n"
        : printColumns(rows, offerColumns),
    );
  });
}

type Offer = ARCPClient["agents"][number];

const offerColumns: readonly Column<Offer>[] = [
  { title: "AGENT", cell: ({ name }) => name, weight: 3, cellsMin: 12 },
  {
    title: "VERSIONS",
    cell: ({ versions = [] }) => versions.join(", "),
    weight: 2,
    cellsMin: 8,
  },
  { title: "USUAL", cell: ({ default: usual = "" }) => usual, weight: 1 },
];

type Followed = {
  readonly client: ARCPClient;
  /** From before the job was: it may end before anybody looks on. */
  readonly endings: Endings;
  readonly job: JobHandle;
};

/** The whole of a job, to whoever looks on. */
async function tell(
  values: Values,
  { client, endings, job }: Followed,
  { interruption, cancelling }: { interruption: Interruption; cancelling?: AbortSignal },
): Promise<number> {
  using teller = new JobTeller(job, lookIn(values));
  const noteCancelling = (): void => teller.note("cancelling; ctrl-c again leaves it");
  if (cancelling?.aborted) noteCancelling();
  cancelling?.addEventListener("abort", noteCancelling);
  teller.begin(() => !client.isConnected);
  using lookout = new Lookout(
    async (signal) => {
      if (!client.isConnected) return daemonIsAway;
      const seen = await askJob(values, job.jobId, signal);
      if (!seen) return "";
      teller.setCost(spentOf(seen));
      return lullOf(seen, Date.now());
    },
    (lull) => teller.explain(lull),
  );
  // The last known cost may be too low: the job may have spent more since.
  const setFinalCost = async (): Promise<void> =>
    teller.setCost(spentOf((await askJob(values, job.jobId)) ?? {}));
  for await (const event of job.events({ buffer: "all" })) {
    lookout.hear();
    teller.take(storyEvent(event), lineOf(event));
    if (!teller.isHeard) return exits.ok;
  }
  try {
    const done = await job.done;
    const payload = await withResult(job, done);
    await setFinalCost();
    teller.succeed(payload, done.result_id === undefined ? done.result : await wholeOf(payload));
    return exits.ok;
  } catch (error) {
    if (interruption.isAsked) {
      await setFinalCost();
      teller.leave(cancelling ? "cancelled" : "left; the job goes on", endings.of(job.jobId));
      return exits.interrupted;
    }
    if (!isARCPError(error) || client.isClosed) throw error;
    const { code, message } = error;
    const payload = endings.of(job.jobId) ?? { ...error.toPayload() };
    await setFinalCost();
    throw no(teller.fail(payload, { code, message }), ...adviceOn(error));
  }
}

/** What to do about how a job ended, where that is the same for all agents. */
function adviceOn({ code, details }: Pick<ARCPError, "code" | "details">): readonly string[] {
  switch (code) {
    case "PERMISSION_DENIED":
      // A person denied the request, so another lease would not help.
      if (details?.["request_id"] !== undefined) return [];
      return [`--lease says what it may do, such as --lease '{"tool.call": ["search.*"]}'`];
    case "BUDGET_EXHAUSTED":
      return ["--budget says what it may spend, such as --budget USD:5.00"];
    default:
      return [];
  }
}

/**
 * The job as `job list` shows it; undefined if the daemon does not answer. The end of the job is reported by its
 * events.
 */
async function askJob(
  values: Values,
  jobId: string,
  signal?: AbortSignal,
): Promise<JobDetail | undefined> {
  try {
    return await call(values, "getJob", { jobId }, { signal });
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Bytes are bytes again. */
async function wholeOf({ result }: Readonly<Record<string, unknown>>): Promise<unknown> {
  if (typeof result !== "object" || result === null || !("data" in result)) return result;
  return Buffer.from(String(result.data), "base64");
}

function storyEvent({ kind, body, view, ts }: ReceivedEvent) {
  const atMs = ts === undefined ? undefined : readTimestamp(ts);
  return { kind, body, view, atMs: atMs ?? Date.now() };
}

/** JSON if it is; what begins like JSON and is none was meant to be. */
export function readInput(given: string): unknown {
  const text = readText(given, "input");
  const isJson = /^\s*[[{"]/.test(text);
  if (isJson) return parse(text, "the input", { quotedAfter: "" });
  try {
    return JSON.parse(text);
  } catch {
    return text.replace(/\n$/, "");
  }
}

function leaseFrom(values: Values): ReturnType<typeof leaseOf> | undefined {
  const given = textIn(values, "lease");
  const budget = textsIn(values, "budget");
  if (given === undefined && budget === undefined) return undefined;
  const lease = given === undefined ? {} : leaseOf(parse(readText(given, "lease"), "--lease"));
  return budget === undefined ? lease : { ...lease, "cost.budget": budget.map(checkAmount) };
}

/** The rest of what makes an amount is for the runtime to say. */
function checkAmount(amount: string): string {
  if (/^[^:\s]+:[0-9.]+$/.test(amount)) return amount;
  const given = `--budget ${printable(amount)}`;
  throw /^[0-9.]+$/.test(amount)
    ? mistake(`${given} names no currency; write --budget USD:${amount}`)
    : mistake(`${given} is no amount; write --budget USD:1.00`);
}

function secondsIn(values: Values, name: string): number | undefined {
  const ms = durationIn(values, name);
  if (ms === undefined) return undefined;
  if (ms < 1_000) throw mistake(`--${name} is a second or more`);
  return Math.round(ms / 1_000);
}

/** Its id, or a part of the id of one that the daemon knows. */
async function findJob(client: ARCPClient, named: string): Promise<string> {
  if (isWholeId(named)) return named;
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listJobs({}, { limit: limits.pageMax, cursor });
    found.push(...page.jobs.map(({ jobId }) => jobId).filter((id) => isMeant(id, named)));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return onlyJob(found, named, () => nobody(named));
}

function nobody(named: string): Failure {
  return no(`there is no job ${printable(named)}`, kept);
}

const kept = "tipstaff job list shows those that are kept; tipstaff job replay reads the log";

/** Rejects with a `Failure`, whatever the daemon has against it. */
async function withDaemon(
  values: Values,
  run: (client: ARCPClient) => Promise<number>,
): Promise<number> {
  const { arcpAddress } = await askOverview(values);
  if (arcpAddress === undefined) {
    throw new Failure("unreachable", "the daemon takes no jobs: it has no address for ARCP", [
      "start it with --arcp localhost:7777; another program may have had that address",
    ]);
  }
  const token = bearer(values).authorization?.replace("Bearer ", "") ?? "";
  try {
    await using client = await connect(`ws://${arcpAddress}/arcp`, token);
    return await run(client);
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): unknown {
  if (error instanceof TransportError) return new Failure("unreachable", error.message);
  if (!isARCPError(error)) return error;
  const { code, message } = error;
  switch (code) {
    case "UNAUTHENTICATED":
      return new Failure("token_required", message, [
        "the token is in the daemon's data directory: give --data-dir, or set TIPSTAFF_TOKEN",
      ]);
    case "HEARTBEAT_LOST":
      return new Failure("unreachable", `the daemon is gone: ${message}`);
    case "AGENT_NOT_AVAILABLE":
    case "AGENT_VERSION_NOT_AVAILABLE":
      return no(message, "tipstaff job agents lists those that take jobs");
    case "JOB_NOT_FOUND":
      return no(message, kept);
    default:
      return no(`${code} ${message}`);
  }
}

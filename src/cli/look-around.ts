/**
 * Every agent that can be known from here, once: what the status directory and this machine's processes tell,
 * and all that a daemon knows, if one answers. Nobody has to run one. `Feed` is the same as it changes.
 */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { Surroundings, sight, surveyProcesses } from "../sightings/index.ts";
import { readDirectory, type Warning } from "../status-files/index.ts";
import { socketIn } from "../transport/index.ts";
import type { Job, Page, Question, Sighting, Sightings } from "../wire/api/index.ts";
import { isMirrored } from "../wire/status-file/index.ts";
import { Failure, isDaemonDown } from "./failure.ts";
import { limits } from "./limits.ts";
import { type Looking, lookingFrom } from "./looking.ts";
import { joined } from "./one-list.ts";
import { dataDirectoryFrom, hasLog } from "./paths.ts";
import type { Unread } from "./question-words.ts";
import { readOpenQuestions } from "./read-pages.ts";
import type { Values } from "./table.ts";

export type Look = Unread & {
  /** Open questions, oldest first; empty without a daemon. */
  readonly questions: readonly Question[];
  /** Who waits for a person first. */
  readonly agents: readonly Sighting[];
  /** Files that tell nothing because something is wrong with them. */
  readonly warnings: readonly Warning[];
  /** How many more the daemon knows than it tells at once. */
  readonly untold: number;
  /** Jobs that run, ask a person, or wait for a worker; absent without a daemon. */
  readonly jobs?: { readonly rows: readonly Job[]; readonly total: number };
  readonly nowMs: number;
  /** The data directory, if a daemon has run there before and none runs now. */
  readonly downDirectory?: string;
};

/** Rejects with a `Failure` if the daemon that was named does not answer. */
export async function lookAround(values: Values): Promise<Look> {
  const looking = lookingFrom(values);
  const { files: all, warnings } = readDirectory(looking.directory);
  // What a daemon mirrors is its registry again.
  const files = all.filter(({ record }) => !isMirrored(record));
  // To load what asks takes as long as all the rest, and most have nobody to ask. Who has is answered
  // while we look ourselves.
  const isExpected = looking.isDaemonNamed || existsSync(socketIn(dataDirectoryFrom(values)));
  const asking = isExpected ? ask(values, looking) : undefined;
  // Heard below; should it fail while we look, that is no surprise.
  asking?.catch(() => {});
  const { agents: processes, hasDaemon } = surveyProcesses();
  const answer = await (asking ?? (hasDaemon ? ask(values, looking) : nobody));
  const { told, ...rest } = answer;
  const nowMs = Date.now();
  const found = { files, registered: [], processes };
  const own = sight(found, { nowMs, hostName: hostname(), ...silentIn(looking) });
  const surroundings = new Surroundings({ env: process.env });
  const agents = surroundings.look(joined(told, own), found);
  const directory = dataDirectoryFrom(values);
  const down = answer === nobody && hasLog(directory) ? { downDirectory: directory } : {};
  return { ...rest, agents, warnings, nowMs, ...down };
}

type Told = Pick<Look, "untold" | "jobs" | "questions"> &
  Unread & {
    readonly told: readonly Sighting[];
  };

const nobody: Told = { told: [], untold: 0, questions: [] };

async function ask(values: Values, looking: Looking): Promise<Told> {
  const { call, notOurs } = await import("./daemon.ts");
  const { isDaemonNamed } = looking;
  const options = { answerMs: isDaemonNamed ? limits.answerMs : limits.casualAnswerMs };
  const [agents, questions, jobs] = await Promise.all([
    askRows(async () => {
      const asked = { limit: limits.pageMax, ...silentIn(looking) };
      const status: Partial<Sightings> = await call(values, "getStatus", asked, options);
      if (!Array.isArray(status.agents)) throw notOurs("it has nothing to tell");
      return { rows: status.agents, total: status.total ?? 0 };
    }),
    askRows(() => readOpenQuestions((input) => call(values, "listQuestions", input, options))),
    askRows(() => {
      const state = ["waiting", "running", "pending"] as const;
      return call(values, "listJobs", { state, limit: limits.pageMax }, options);
    }),
  ]);
  if (agents.failure && isDaemonNamed) throw agents.failure;
  if (agents.failure && isDaemonDown(agents.failure)) return nobody;
  const { rows: told = [], total = 0 } = agents.page ?? {};
  return {
    told,
    untold: Math.max(0, total - told.length),
    questions: questions.page?.rows ?? [],
    ...(jobs.page && { jobs: jobs.page }),
    agentsError: agents.failure?.message,
    questionsError: questions.failure?.message,
    jobsError: jobs.failure?.message,
  };
}

type Rows<Row> = {
  readonly page?: { readonly rows: readonly Row[]; readonly total: number };
  readonly failure?: Failure;
};

/** A daemon that gives one list may refuse another: it is busy, or older than this command. */
async function askRows<Row>(ask: () => Promise<Partial<Page<Row>>>): Promise<Rows<Row>> {
  try {
    const { rows, total = 0 } = await ask();
    return Array.isArray(rows) ? { page: { rows, total } } : {};
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { failure: error };
  }
}

function silentIn({ silentAfterMs }: Looking): { readonly silentAfterMs?: number } {
  return silentAfterMs === undefined ? {} : { silentAfterMs };
}

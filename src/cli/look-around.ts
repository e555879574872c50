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
import { Failure } from "./failure.ts";
import { limits } from "./limits.ts";
import { type Looking, lookingFrom } from "./looking.ts";
import { joined } from "./one-list.ts";
import { dataDirectoryFrom, hasLog } from "./paths.ts";
import { readOpenQuestions } from "./read-pages.ts";
import type { Values } from "./table.ts";

export type Look = {
  /** Open questions, oldest first; empty without a daemon. */
  readonly questions: readonly Question[];
  /** Why the open questions could not be read, if a daemon answers and they could not. */
  readonly questionsError?: string;
  /** Who waits for a person first. */
  readonly agents: readonly Sighting[];
  /** Files that tell nothing because something is wrong with them. */
  readonly warnings: readonly Warning[];
  /** How many more the daemon knows than it tells at once. */
  readonly untold: number;
  /** Jobs that run, ask a person, or wait for a worker; absent without a daemon. */
  readonly jobs?: { readonly rows: readonly Job[]; readonly total: number };
  readonly nowMs: number;
  /** The data directory, if a daemon has run there before and does not answer now. */
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

type Told = Pick<Look, "untold" | "jobs" | "questions" | "questionsError"> & {
  readonly told: readonly Sighting[];
};

const nobody: Told = { told: [], untold: 0, questions: [] };

async function ask(values: Values, looking: Looking): Promise<Told> {
  const { call } = await import("./daemon.ts");
  const { isDaemonNamed } = looking;
  try {
    const options = { answerMs: isDaemonNamed ? limits.answerMs : limits.casualAnswerMs };
    const asked = { limit: limits.pageMax, ...silentIn(looking) };
    const [{ agents, total = 0 }, jobs, questions] = await Promise.all([
      call(values, "getStatus", asked, options) as Promise<Partial<Sightings>>,
      askRows(() =>
        call(
          values,
          "listJobs",
          { state: ["waiting", "running", "pending"], limit: limits.pageMax },
          options,
        ),
      ),
      askRows(() => readOpenQuestions((input) => call(values, "listQuestions", input, options))),
    ]);
    // Another program may listen where we ask.
    if (!Array.isArray(agents)) return nobody;
    const untold = Math.max(0, total - agents.length);
    return {
      told: agents,
      untold,
      questions: questions.page?.rows ?? [],
      ...(questions.error === undefined ? {} : { questionsError: questions.error }),
      ...(jobs.page && { jobs: jobs.page }),
    };
  } catch (error) {
    if (isDaemonNamed || !(error instanceof Failure)) throw error;
    // A daemon of ours, but of another data directory or user.
    const isLocked = error.code === "token_required";
    return isLocked ? { ...nobody, questionsError: error.message } : nobody;
  }
}

type Rows<Row> = {
  readonly page?: { readonly rows: readonly Row[]; readonly total: number };
  readonly error?: string;
};

/** An older daemon does not have jobs or questions. */
async function askRows<Row>(ask: () => Promise<Partial<Page<Row>>>): Promise<Rows<Row>> {
  try {
    const { rows, total = 0 } = await ask();
    return Array.isArray(rows) ? { page: { rows, total } } : {};
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { error: error.message };
  }
}

function silentIn({ silentAfterMs }: Looking): { readonly silentAfterMs?: number } {
  return silentAfterMs === undefined ? {} : { silentAfterMs };
}

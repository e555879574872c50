/**
 * Every agent that can be known from here, once: what the status directory and this machine's processes tell,
 * and all that a daemon knows, if one answers. Nobody has to run one. `Feed` is the same as it changes.
 */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { Surroundings, sight, surveyProcesses } from "../sightings/index.ts";
import { readDirectory, type Warning } from "../status-files/index.ts";
import { socketIn } from "../transport/index.ts";
import type { Job, JobPage, Sighting, Sightings } from "../wire/api/index.ts";
import { isMirrored } from "../wire/status-file/index.ts";
import { Failure } from "./failure.ts";
import { limits } from "./limits.ts";
import { type Looking, lookingFrom } from "./looking.ts";
import { joined } from "./one-list.ts";
import { dataDirectoryFrom, hasLog } from "./paths.ts";
import type { Values } from "./table.ts";

export type Look = {
  /** Who waits for a person first. */
  readonly agents: readonly Sighting[];
  /** Files that tell nothing because something is wrong with them. */
  readonly warnings: readonly Warning[];
  /** How many more the daemon knows than it tells at once. */
  readonly untold: number;
  /** Those that run or wait for a worker; absent where no daemon tells of them. */
  readonly jobs?: { readonly rows: readonly Job[]; readonly total: number };
  readonly nowMs: number;
  /** The data directory of a daemon that has run and does not answer. */
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
  const { told, untold, jobs } = answer;
  const nowMs = Date.now();
  const found = { files, registered: [], processes };
  const own = sight(found, { nowMs, hostName: hostname(), ...silentIn(looking) });
  const surroundings = new Surroundings({ env: process.env });
  const agents = surroundings.look(joined(told, own), found);
  const directory = dataDirectoryFrom(values);
  const down = answer === nobody && hasLog(directory) ? { downDirectory: directory } : {};
  return { agents, warnings, untold, nowMs, ...(jobs && { jobs }), ...down };
}

type Told = Pick<Look, "untold" | "jobs"> & { readonly told: readonly Sighting[] };

const nobody: Told = { told: [], untold: 0 };

async function ask(values: Values, looking: Looking): Promise<Told> {
  const { call } = await import("./daemon.ts");
  const { isDaemonNamed } = looking;
  try {
    const options = { answerMs: isDaemonNamed ? limits.answerMs : limits.casualAnswerMs };
    const asked = { limit: limits.pageMax, ...silentIn(looking) };
    const [{ agents, total = 0 }, jobs] = await Promise.all([
      call(values, "getStatus", asked, options) as Promise<Partial<Sightings>>,
      askJobs(() =>
        call(values, "listJobs", { state: ["running", "pending"], limit: limits.pageMax }, options),
      ),
    ]);
    // Another program may listen where we ask.
    if (!Array.isArray(agents)) return nobody;
    return { told: agents, untold: Math.max(0, total - agents.length), ...(jobs && { jobs }) };
  } catch (error) {
    if (isDaemonNamed || !(error instanceof Failure)) throw error;
    return nobody;
  }
}

/** A daemon may be older than jobs are. */
async function askJobs(ask: () => Promise<Partial<JobPage>>): Promise<Look["jobs"]> {
  try {
    const { rows, total = 0 } = await ask();
    return Array.isArray(rows) ? { rows, total } : undefined;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return undefined;
  }
}

function silentIn({ silentAfterMs }: Looking): { readonly silentAfterMs?: number } {
  return silentAfterMs === undefined ? {} : { silentAfterMs };
}

/**
 * Every agent that can be known from here: what the status directory and this machine's processes tell, and
 * all that a daemon knows, if one answers. Nobody has to run one.
 */
import { existsSync, statSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isMirrored,
  readDirectory,
  type StatusFile,
  statusDirectory,
  type Warning,
  watchDirectory,
} from "../doors/status-files/index.ts";
import { compareSightings, Surroundings, sight, surveyProcesses } from "../sightings/index.ts";
import { socketIn } from "../transport/index.ts";
import type { Sighting, Sightings } from "../wire/api/index.ts";
import { Failure, mistake } from "./failure.ts";
import { limits } from "./limits.ts";
import { dataDirectoryFrom } from "./paths.ts";
import type { Values } from "./table.ts";
import { say } from "./terminal.ts";
import { printable } from "./text.ts";
import { durationIn, textIn } from "./values.ts";

export type Look = {
  /** Who waits for a person first. */
  readonly agents: readonly Sighting[];
  /** Files that tell nothing because something is wrong with them. */
  readonly warnings: readonly Warning[];
  readonly nowMs: number;
};

export class Lookout {
  readonly #values: Values;
  readonly #directory: string;
  readonly #silentAfterMs: number | undefined;
  readonly #surroundings = new Surroundings({ env: process.env });
  /** A daemon that was named must answer; of others we do without. */
  readonly #isNamed: boolean;
  #askAgainAtMs = 0;
  /** What the daemon said last. */
  #told: { readonly agents: readonly Sighting[]; readonly atMs: number } | undefined;

  constructor(values: Values) {
    this.#values = values;
    this.#directory = directoryFrom(values);
    this.#silentAfterMs = durationIn(values, "silent-after");
    if (this.#silentAfterMs !== undefined && this.#silentAfterMs < 1_000) {
      throw mistake("--silent-after is one second or more");
    }
    const { http, "data-dir": dataDirectory } = values;
    const named = http ?? dataDirectory ?? process.env["TIPSTAFF_URL"];
    this.#isNamed = typeof named === "string" && named !== "";
  }

  /** Once. Rejects with a `Failure` if the daemon that was named does not answer. */
  async look(): Promise<Look> {
    const { files, warnings } = readDirectory(this.#directory);
    return await this.#look(files, warnings);
  }

  /** Again whenever a file changes, and every second for all that tells nobody. Ends with the signal. */
  async *follow(signal: AbortSignal): AsyncGenerator<Look> {
    const leaving = new AbortController();
    const ending = AbortSignal.any([signal, leaving.signal]);
    const watched = new WatchedFiles();
    const watching = watched.watch(this.#directory, ending);
    try {
      await Promise.race([watched.news, watching]);
      while (!ending.aborted) {
        watched.forgetNews();
        yield await this.#look(watched.files, watched.warnings);
        const pause = new AbortController();
        const paused = sleep(limits.lookMs, undefined, { signal: pause.signal }).catch(() => {});
        await Promise.race([watched.news, watching, paused]);
        pause.abort();
      }
    } finally {
      leaving.abort();
      await watching;
    }
  }

  async #look(all: readonly StatusFile[], warnings: readonly Warning[]): Promise<Look> {
    // What a daemon mirrors is its registry again.
    const files = all.filter(({ record }) => !isMirrored(record));
    // To load what asks takes as long as all the rest, and most have nobody to ask. Who has is answered
    // while we look ourselves.
    const isExpected = this.#isNamed || existsSync(socketIn(dataDirectoryFrom(this.#values)));
    const asking = isExpected ? this.#ask() : undefined;
    // Heard below; should it fail while we look, that is no surprise.
    asking?.catch(() => {});
    const { agents: processes, hasDaemon } = surveyProcesses();
    const told = await (asking ?? (hasDaemon ? this.#ask() : []));
    const nowMs = Date.now();
    const silent = this.#silentAfterMs === undefined ? {} : { silentAfterMs: this.#silentAfterMs };
    const found = { files, registered: [], processes };
    const own = sight(found, { nowMs, hostName: hostname(), ...silent });
    const agents = this.#surroundings.look(joined(told, own), found);
    return { agents, warnings, nowMs };
  }

  async #ask(): Promise<readonly Sighting[]> {
    const nowMs = Date.now();
    if (nowMs < this.#askAgainAtMs) return this.#remembered(nowMs);
    const { call } = await import("./daemon.ts");
    const silent = this.#silentAfterMs === undefined ? {} : { silentAfterMs: this.#silentAfterMs };
    const asked = { limit: limits.pageMax, ...silent };
    try {
      const answerMs = this.#isNamed ? limits.answerMs : limits.casualAnswerMs;
      const { agents }: Partial<Sightings> = await call(this.#values, "getStatus", asked, {
        answerMs,
      });
      // Another program may listen where we ask.
      if (!Array.isArray(agents)) return [];
      this.#told = { agents, atMs: nowMs };
      return agents;
    } catch (error) {
      // Who was there a moment ago may only be starting again.
      const mustAnswer = this.#isNamed && !this.#told;
      if (mustAnswer || !(error instanceof Failure)) throw error;
      this.#askAgainAtMs = nowMs + (this.#told ? limits.lookMs : limits.daemonPauseMs);
      return this.#remembered(nowMs);
    }
  }

  #remembered(nowMs: number): readonly Sighting[] {
    return this.#told && nowMs - this.#told.atMs <= limits.unseenMs ? this.#told.agents : [];
  }
}

/** The files of a directory, as they are now. */
class WatchedFiles {
  readonly #byPath = new Map<string, StatusFile>();
  #news = Promise.withResolvers<void>();
  warnings: readonly Warning[] = [];

  get files(): readonly StatusFile[] {
    return [...this.#byPath.values()];
  }

  /** Resolves when something has changed since it was forgotten. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  forgetNews(): void {
    this.#news = Promise.withResolvers<void>();
  }

  async watch(directory: string, signal: AbortSignal): Promise<void> {
    for await (const change of watchDirectory(directory, { signal })) {
      switch (change.type) {
        case "snapshot":
          for (const file of change.files) this.#byPath.set(file.path, file);
          this.warnings = change.warnings;
          break;
        case "upsert":
        case "state":
          this.#byPath.set(change.file.path, change.file);
          break;
        case "remove":
          this.#byPath.delete(change.path);
          break;
        case "warnings":
          this.warnings = change.warnings;
      }
      this.#news.resolve();
    }
  }
}

/**
 * The daemon sees what we see and its registry besides, unless it runs elsewhere or looks into another
 * directory: whom it does not tell of, we do.
 */
export function joined(told: readonly Sighting[], own: readonly Sighting[]): readonly Sighting[] {
  if (told.length === 0) return own;
  const names = new Set(told.flatMap(namesOf));
  const missing = own.filter((agent) => !namesOf(agent).some((name) => names.has(name)));
  return missing.length === 0 ? told : [...told, ...missing].sort(compareSightings);
}

/** By which an agent is known to be the same. */
export function namesOf({ id, host, pid, startedAtMs, known }: Sighting): readonly string[] {
  return [
    `id ${id}`,
    ...(pid === undefined || startedAtMs === undefined
      ? []
      : [`process ${host} ${pid} ${startedAtMs}`]),
    ...known.flatMap(({ path }) => (path === undefined ? [] : [`file ${host} ${path}`])),
  ];
}

/** Whether this is whom a person means. */
export function isNamed({ id, name }: Sighting, word: string): boolean {
  return id === word || name === word;
}

/** Where status files are. If one was named that is not there, that is told: it may be a slip. */
export function directoryFrom(values: Values): string {
  const flag = textIn(values, "status-dir");
  const directory = resolveDirectory(flag);
  if (flag !== undefined && !existsSync(directory)) {
    say(`${printable(directory)} is not there, so no status files are read\n`);
  } else if (flag !== undefined && !statSync(directory).isDirectory()) {
    say(`${printable(directory)} is no directory, so no status files are read\n`);
  }
  return directory;
}

function resolveDirectory(flag: string | undefined): string {
  try {
    return statusDirectory({ flag, env: process.env, home: homedir() });
  } catch (error) {
    throw error instanceof Error ? mistake(error.message) : error;
  }
}

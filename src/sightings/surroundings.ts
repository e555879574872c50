/**
 * What lies around an agent on this machine's disk: the branch it works on, and what it has used up by the
 * records of its own program. What was read is remembered, so keep one of these where you look again.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { branchOf } from "./branch.ts";
import { sessionOf } from "./claims.ts";
import { limits } from "./limits.ts";
import { claudeDirectory } from "./processes/claude-code.ts";
import type { Found } from "./sight.ts";
import type { FoundProcess, Sighting, StatusFile } from "./types.ts";
import { ClaudeTranscripts } from "./usage/claude-code.ts";
import { CodexRollouts } from "./usage/codex.ts";
import { type Budget, budgetOfLook } from "./usage/growing.ts";
import { OpencodeDatabases } from "./usage/opencode.ts";
import { PiSessions } from "./usage/pi.ts";
import type { Usage } from "./usage/usage.ts";

type Env = Readonly<Record<string, string | undefined>>;

export type SurroundingsOptions = {
  /** Where programs keep their records unless a process says otherwise. */
  readonly env?: Env;
  readonly home?: string;
};

export class Surroundings {
  readonly #env: Env;
  readonly #home: string;
  readonly #claude = new ClaudeTranscripts();
  readonly #codex = new CodexRollouts();
  readonly #opencode = new OpencodeDatabases();
  readonly #pi = new PiSessions();

  constructor({ env = {}, home = homedir() }: SurroundingsOptions = {}) {
    this.#env = env;
    this.#home = home;
  }

  /** The same sightings, with branch, tokens and cost where they can be told for certain. */
  look(
    sightings: readonly Sighting[],
    { files, processes }: Pick<Found, "files" | "processes">,
  ): readonly Sighting[] {
    const byPath = new Map(files.map((file) => [file.path, file]));
    const byPid = new Map(processes.map((found) => [found.pid, found]));
    const branches = new Map<string, string | undefined>();
    const budget = budgetOfLook();
    try {
      return sightings.map((sighting, index) => {
        // The registry may tell of another machine, whose paths mean nothing here.
        const isHere = sighting.known.some(({ source }) => source !== "registry");
        if (!isHere || index >= limits.surroundingsMax) return sighting;
        const { workspace, pid } = sighting;
        if (workspace !== undefined && !branches.has(workspace)) {
          branches.set(workspace, branchOf(workspace));
        }
        const branch = workspace === undefined ? undefined : branches.get(workspace);
        const found = pid === undefined ? undefined : byPid.get(pid);
        const records = sighting.known.flatMap(({ path = "" }) => byPath.get(path) ?? []);
        const usage = this.#usage(sighting, records, found, budget);
        return { ...sighting, ...(branch === undefined ? {} : { branch }), ...usage };
      });
    } finally {
      this.#opencode.close();
    }
  }

  #usage(
    { workspace }: Sighting,
    records: readonly StatusFile[],
    found: FoundProcess | undefined,
    budget: Budget,
  ): Usage | undefined {
    const named = records.find(({ record }) => sessionOf(record) !== undefined)?.record;
    const program = named?.agent_name ?? found?.program;
    const session = named ? sessionOf(named) : found?.told?.session;
    if (session === undefined) return undefined;
    const env = { ...this.#env, ...found?.env };
    const home = env["HOME"] || this.#home;
    switch (program) {
      case "claude-code":
        return this.#claude.usage(claudeDirectory(env, home), session, workspace, budget);
      case "codex":
        return this.#codex.usage(env["CODEX_HOME"] || join(home, ".codex"), session, budget);
      case "opencode": {
        const data = env["XDG_DATA_HOME"] || join(home, ".local", "share");
        return this.#opencode.usage(join(data, "opencode", "opencode.db"), session);
      }
      case "pi":
        return this.#pi.usage(session, budget);
      default:
        return undefined;
    }
  }
}

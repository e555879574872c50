/**
 * The plugin that runs inside OpenCode: what the host tells goes into the state, and the state into the file.
 * The file is there from the moment the plugin is loaded, because a host without a session is there, too.
 */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { type RunningAgent, runningRecord, tmuxOf } from "../../wire/status-file/index.ts";
import { call, memberOf, textAt } from "../fields.ts";
import { hasOtherEmitter, recordsIn } from "../other-emitter.ts";
import { attempt, Snapshot } from "../snapshot.ts";
import {
  absoluteStatusDirectory,
  type Shared,
  type Surroundings,
  sharedBy,
} from "../surroundings.ts";
import { firstPromptIn, signalOfEvent, signalOfMessage, signalOfTool } from "./signals.ts";
import { agentName, apply, emptyState, nowOf, type State, type Told } from "./state.ts";

/** What OpenCode calls. None of it ever rejects: the host would stop what it is doing. */
export type Hooks = {
  readonly event: (input: unknown) => Promise<void>;
  readonly "chat.message": (input: unknown, output: unknown) => Promise<void>;
  readonly "tool.execute.before": (input: unknown) => Promise<void>;
  readonly "tool.execute.after": (input: unknown) => Promise<void>;
  readonly dispose: () => Promise<void>;
};

/** `input`: what the host hands to a plugin, with its `client`, `project` and `directory`. */
export function openPlugin(input: unknown, surroundings: Surroundings): Hooks {
  const emitter = attempt(() => new Emitter(input, surroundings));
  const tell = async (signalOf: () => Told | undefined): Promise<void> => {
    attempt(() => {
      const signal = signalOf();
      if (signal) emitter?.tell(signal);
    });
  };
  return {
    event: (input) => tell(() => signalOfEvent(memberOf(input, "event"))),
    "chat.message": (input, output) => tell(() => signalOfMessage(input, output)),
    "tool.execute.before": (input) => tell(() => signalOfTool("tool.started", input)),
    "tool.execute.after": (input) => tell(() => signalOfTool("tool.ended", input)),
    dispose: async () => {
      attempt(() => emitter?.end());
    },
  };
}

export function newAgentId(): string {
  return `${agentName}-${randomUUID()}`;
}

class Emitter {
  readonly #client: unknown;
  readonly #surroundings: Surroundings;
  readonly #shared: Shared = sharedBy(agentName);
  readonly #directory: string;
  readonly #about: RunningAgent;
  readonly #projectId: string | undefined;
  /** One file for each directory that a process works in, however often the plugin is installed (AS-81). */
  readonly #place: string;
  #state: State = emptyState;
  #snapshot: Snapshot | undefined;
  #stopListening: () => void = () => {};
  /** Another plugin tells of this host (AS-94), or the host is done with us. */
  #isOver = false;

  constructor(input: unknown, surroundings: Surroundings) {
    const { env, pid, workingDirectory } = surroundings;
    const { TMUX, TMUX_PANE } = env;
    const workspace = textAt(input, "directory") ?? workingDirectory();
    this.#client = memberOf(input, "client");
    this.#surroundings = surroundings;
    this.#directory = absoluteStatusDirectory(surroundings);
    this.#projectId = textAt(memberOf(input, "project"), "id");
    this.#about = {
      agentName,
      agentId: newAgentId(),
      pid,
      workspace: workspace === undefined ? undefined : resolve(workspace),
      tmux: tmuxOf({ TMUX, TMUX_PANE }),
    };
    this.#place = JSON.stringify([this.#directory, workspace]);
    this.#start();
  }

  tell(told: Told): void {
    // Whoever was here first may be gone.
    if (!this.#snapshot) this.#start();
    if (!this.#snapshot || ("session" in told && this.#isSomebodyElses(told.session))) return;
    const before = this.#state;
    this.#state = apply(before, told, this.#surroundings.clock.nowMs());
    this.#own();
    const { attached } = this.#state;
    if (attached !== undefined && !before.sessions.has(attached)) {
      this.#restoreGoal(attached).catch(() => {});
    }
    if (told.type === "prompted" && !before.sessions.get(told.session)?.goal) {
      this.#standDown(told.session);
    }
    this.#snapshot?.show();
  }

  end(): void {
    this.#isOver = true;
    this.#stopListening();
    const { owners, agentIds } = this.#shared;
    for (const [key, owner] of owners) if (owner === this) owners.delete(key);
    this.#snapshot?.end();
    this.#snapshot = undefined;
    agentIds.delete(this.#about.agentId);
  }

  #start(): void {
    const { owners, agentIds } = this.#shared;
    if (this.#isOver || owners.has(this.#place)) return;
    owners.set(this.#place, this);
    agentIds.add(this.#about.agentId);
    const { clock, onExit, guard } = this.#surroundings;
    this.#snapshot = new Snapshot({
      directory: this.#directory,
      agentId: this.#about.agentId,
      clock,
      guard,
      recordAt: (nowMs) => runningRecord(this.#about, nowOf(this.#state, this.#projectId), nowMs),
      onBeat: () => {
        this.#state = apply(this.#state, { type: "beat" }, clock.nowMs());
      },
    });
    this.#stopListening = onExit(() => attempt(() => this.end()));
  }

  /** AS-94: by the first prompt every plugin has heard of the session. */
  #standDown(session: string): void {
    const { clock, pid } = this.#surroundings;
    const { agentId } = this.#about;
    const isOurs = (id: string): boolean => id === agentId || this.#shared.agentIds.has(id);
    const told = { name: agentName, metaKey: agentName, session, pid };
    const isTold = attempt(() =>
      hasOtherEmitter(recordsIn(this.#directory), told, { nowMs: clock.nowMs(), isOurs }),
    );
    if (isTold) this.end();
  }

  /** A session that was resumed had its first prompt before we came. */
  async #restoreGoal(session: string): Promise<void> {
    const sessions = memberOf(this.#client, "session");
    // Two generations of the host's client take the id in two places.
    const request = { path: { id: session }, sessionID: session };
    const answer = await call(sessions, "messages", request);
    const text = firstPromptIn(memberOf(answer, "data") ?? answer);
    if (text !== undefined) attempt(() => this.tell({ type: "goal.restored", session, text }));
  }

  #isSomebodyElses(session: string): boolean {
    const owner = this.#shared.owners.get(session);
    return owner !== undefined && owner !== this;
  }

  #own(): void {
    const { owners } = this.#shared;
    for (const [key, owner] of owners) {
      const isForgotten = key !== this.#place && !this.#state.sessions.has(key);
      if (owner === this && isForgotten) owners.delete(key);
    }
    for (const session of this.#state.sessions.keys()) owners.set(session, this);
  }
}

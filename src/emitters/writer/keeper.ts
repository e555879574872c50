/**
 * Keeps the sessions and their files: hears events, looks whether the hosts live and what else they show,
 * and says every 20 s that all is as it was. Time comes in as an argument; when to call what is the writer's.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { readDirectoryInTurns, statusDirectory } from "../../status-files/index.ts";
import {
  apply,
  beat,
  isOpen,
  metaKeys,
  newSession,
  recordOf,
  type Session,
  settle,
  textIn,
  witness,
} from "../../wire/host-events/index.ts";
import { type StatusRecord, type Tmux, tmuxOf } from "../../wire/status-file/index.ts";
import { BackgroundFile } from "../background-file.ts";
import { hasOtherEmitter, recordsIn } from "../other-emitter.ts";
import { randomHex, sweepTemporaries } from "./files.ts";
import { limits } from "./limits.ts";
import type { Places } from "./places.ts";
import {
  environmentOf,
  type Identity,
  identify,
  isAlive,
  isRunning,
  isSame,
  isServer,
  terminalsOf,
} from "./processes.ts";
import type { Queued } from "./queue.ts";
import {
  findGoal,
  forgetSession,
  type Kept,
  keepGoal,
  keepSession,
  keyOf,
  readSessions,
} from "./store.ts";
import { Traces } from "./traces.ts";

type Held = {
  kept: Kept;
  readonly file: BackgroundFile;
  readonly traces: Traces;
  /** Another emitter writes for this session: we do not. */
  standsBack: boolean;
  /** What a permission was last asked for, if it was a command. */
  askedCommand: string | undefined;
};

export type KeeperOptions = {
  readonly places: Places;
  /** Where files go unless the host's own environment says otherwise. */
  readonly statusDirectory: string;
};

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #held = new Map<string, Held>();
  /** Files that are being removed, by the agent. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** A look at who else writes. */
  #looking: Promise<void> | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0 && this.#leaving.size === 0;
  }

  /** Takes up what an earlier writer laid down. Sessions whose host died meanwhile end now. */
  adopt(nowMs: number): void {
    const found = new Map<string, readonly StatusRecord[]>();
    for (const kept of readSessions(this.#options.places)) {
      try {
        const { statusDirectory: directory } = kept;
        const records = found.get(directory) ?? recordsIn(directory);
        found.set(directory, records);
        this.#takeUp(kept, records, nowMs);
      } catch {
        // Somebody has changed what was laid down: it must not keep us from the others, now or ever.
        this.#held.delete(keyOf(kept.session));
        forgetSession(this.#options.places, kept.session);
      }
    }
  }

  hear(queued: Queued, nowMs: number): void {
    const { host, event, atMs } = queued;
    const isStart = event.name === "SessionStart";
    const known = this.#held.get(keyOf({ host, sessionId: event.sessionId }));
    const kept = isStart ? this.#place(queued, known?.kept, nowMs) : known?.kept;
    if (!kept) return;
    const session = apply(kept.session, event, {
      atMs,
      nowMs,
      workspace: workspaceOf(queued),
      storedGoal: isStart ? findGoal(this.#options.places, kept.session) : undefined,
    });
    if (!session) {
      if (known) this.#end(known);
      return;
    }
    // A subagent's start is not the session's.
    if (!session.hasStarted) return;
    const held = known ?? this.#begin(kept, nowMs);
    if (event.name === "PermissionRequest")
      held.askedCommand = commandIn(event.members.get("tool_input"));
    const transcriptPath = textIn(event.members, "transcript_path") ?? kept.transcriptPath;
    if (isStart) this.#replaceOthers(kept);
    held.kept = { ...kept, transcriptPath };
    this.#change(held, session);
  }

  /** Whether the hosts live, what they show beside their events, and whether an ending was shown long enough. */
  look(nowMs: number): void {
    for (const held of [...this.#held.values()]) {
      if (isOver(held.kept)) {
        this.#end(held);
        continue;
      }
      const session = settle(this.#witness(held, nowMs), nowMs);
      if (session !== held.kept.session) this.#change(held, session);
    }
  }

  beat(nowMs: number): void {
    for (const held of this.#held.values()) this.#publish(held, beat(held.kept.session, nowMs));
    this.#looking ??= this.#lookForOthers(nowMs).finally(() => {
      this.#looking = undefined;
    });
  }

  /** Until all that was published is in its file. */
  async flush(): Promise<void> {
    await this.#looking;
    await Promise.all([...this.#held.values()].map(({ file }) => file.flush()));
    await Promise.all(this.#leaving.values());
  }

  /** Where a session is that starts, or starts again: its process, and who looks at it. */
  #place(queued: Queued, known: Kept | undefined, nowMs: number): Kept | undefined {
    const host = identify(queued.pid);
    if (!host) return known;
    if (known && isSame(known.host, host) && known.terminals.length === 0) {
      return { ...known, isReplaced: false };
    }
    const workspace = workspaceOf(queued);
    const terminals = isServer(host.pid) && workspace ? terminalsOf(host, workspace) : [];
    const [terminal] = terminals.length === 1 ? terminals : [];
    const tmux = tmuxAt(queued, terminal ?? host, isServer(host.pid));
    const pid = (terminal ?? host).pid;
    if (known)
      return {
        ...known,
        host,
        terminals,
        session: { ...known.session, pid, tmux },
        isReplaced: false,
      };
    const agentId = `${queued.host}-${randomHex(16)}`;
    const beginning = { host: queued.host, agentId, sessionId: queued.event.sessionId, pid, tmux };
    return {
      session: newSession(beginning, nowMs),
      host,
      terminals,
      statusDirectory: this.#directoryOf(queued),
      transcriptPath: undefined,
      isReplaced: false,
    };
  }

  #takeUp(kept: Kept, records: readonly StatusRecord[], nowMs: number): void {
    const held = this.#hold(kept, records, nowMs);
    sweepTemporaries(kept.statusDirectory, kept.session.agentId);
    if (isAlive(kept.host)) this.#publish(held, beat(kept.session, nowMs));
    else this.#end(held);
  }

  #begin(kept: Kept, nowMs: number): Held {
    const held = this.#hold(kept, recordsIn(kept.statusDirectory), nowMs);
    const [oldest] = this.#held.values();
    if (this.#held.size > limits.sessionsMax && oldest) this.#end(oldest);
    return held;
  }

  #hold(kept: Kept, records: readonly StatusRecord[], nowMs: number): Held {
    const held: Held = {
      kept,
      file: new BackgroundFile(kept.statusDirectory, kept.session.agentId),
      traces: new Traces(),
      standsBack: false,
      askedCommand: undefined,
    };
    this.#held.set(keyOf(kept.session), held);
    this.#giveWay(held, records, nowMs);
    return held;
  }

  /** In turns: a directory may be long, and a daemon has other things to do. */
  async #lookForOthers(nowMs: number): Promise<void> {
    const directories = [...this.#held.values()].map(({ kept }) => kept.statusDirectory);
    for (const directory of new Set(directories)) {
      const { files } = await readDirectoryInTurns(directory);
      const records = files.map(({ record }) => record);
      for (const held of this.#held.values()) {
        if (held.kept.statusDirectory === directory) this.#giveWay(held, records, nowMs);
      }
    }
  }

  /** AS-94: another emitter may come after us; and when it is gone, there is nobody else. */
  #giveWay(held: Held, records: readonly StatusRecord[], nowMs: number): void {
    const { session } = held.kept;
    const { host: name, sessionId, agentId } = session;
    const told = { name, metaKey: metaKeys[name], session: sessionId };
    const isOurs = (id: string): boolean => id === agentId || this.#leaving.has(id);
    const isTold = hasOtherEmitter(records, told, { nowMs, isOurs });
    if (isTold === held.standsBack) return;
    held.standsBack = isTold;
    if (isTold) held.file.remove();
    else this.#publish(held, session);
  }

  /** A process shows one session at a time. Not every host says that one has ended when it shows the next. */
  #replaceOthers({ session, host, terminals }: Kept): void {
    for (const held of this.#held.values()) {
      const { kept } = held;
      if (kept.session.sessionId === session.sessionId || !isSame(kept.host, host)) continue;
      const isShownThere = isServer(host.pid)
        ? terminals.length === 1 && kept.session.pid === session.pid && kept.terminals.length === 1
        : true;
      if (isShownThere) held.kept = { ...kept, isReplaced: true };
    }
  }

  #witness({ kept, traces, askedCommand }: Held, nowMs: number): Session {
    const { session, transcriptPath: path, host } = kept;
    try {
      const report = path === undefined ? undefined : traces.readReport(session, path);
      if (report) return witness(session, report, nowMs);
      if (!isOpen(session)) return session;
      const isAllowed =
        askedCommand !== undefined &&
        session.asking.some(({ what }) => what === "permission") &&
        isRunning(askedCommand, {
          ancestor: host.pid,
          sinceMs: session.turn?.sinceMs ?? session.heardAtMs,
        });
      if (isAllowed) return witness(session, { kind: "is", status: "busy", sinceMs: nowMs }, nowMs);
      const told = path === undefined ? undefined : traces.readTranscript(session, path);
      return told ? witness(session, told, nowMs) : session;
    } catch {
      // What may not be read shows nothing.
      return session;
    }
  }

  #change(held: Held, session: Session): void {
    const { places } = this.#options;
    const before = held.kept.session;
    held.kept = { ...held.kept, session };
    try {
      if (session.goal !== before.goal) keepGoal(places, session);
      keepSession(places, held.kept);
    } catch {
      // Should this writer die, the next one begins with less.
    }
    this.#publish(held, session);
  }

  #publish(held: Held, session: Session): void {
    held.kept = { ...held.kept, session };
    const record = recordOf(session);
    if (record && !held.standsBack) held.file.publish(record);
  }

  #end(held: Held): void {
    const { session } = held.kept;
    const key = keyOf(session);
    this.#held.delete(key);
    held.file.remove();
    const leaving = held.file.flush().finally(() => {
      // Last, so that a writer that dies in between leaves the next one something to clear away. The same
      // session may have begun again meanwhile.
      if (!this.#held.has(key)) forgetSession(this.#options.places, session);
      this.#leaving.delete(session.agentId);
    });
    this.#leaving.set(session.agentId, leaving);
  }

  /** AS-3: emitters make it absolute. */
  #directoryOf({ env, workingDirectory }: Queued): string {
    const { AGENT_STATUS_DIR: own } = env;
    if (own === "") return this.#options.statusDirectory;
    try {
      return resolve(workingDirectory, statusDirectory({ flag: own, env: {} }));
    } catch {
      return this.#options.statusDirectory;
    }
  }
}

/** Without its process at once; without anybody who looks at it, when its turn is over. */
function isOver({ session, host, terminals, isReplaced }: Kept): boolean {
  if (!isAlive(host)) return true;
  if (isOpen(session)) return false;
  return isReplaced || (terminals.length > 0 && !terminals.some(isAlive));
}

/** Of the hook; else of the host. A server has that of whoever started it, which says nothing. */
function tmuxAt({ env }: Queued, { pid }: Identity, isInServer: boolean): Tmux | undefined {
  return (isInServer ? undefined : tmuxOf(env)) ?? tmuxOf(environmentOf(pid));
}

function workspaceOf({ event, workingDirectory }: Queued): string | undefined {
  const cwd = textIn(event.members, "cwd");
  if (cwd === undefined) return undefined;
  const path = resolve(workingDirectory, cwd);
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function commandIn(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("command" in input)) return undefined;
  return typeof input.command === "string" && input.command !== "" ? input.command : undefined;
}

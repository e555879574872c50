/**
 * The extension that runs inside Pi: what the host tells goes into the state, and the state into the file.
 * Nothing is there before a session is (AS-90), and nothing after it.
 */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { goalSource, printTimestamp, runningRecord, tmuxOf } from "../../wire/status-file/index.ts";
import { call, memberOf, textAt } from "../fields.ts";
import { limits } from "../limits.ts";
import { hasOtherEmitter, recordsIn } from "../other-emitter.ts";
import { attempt, Snapshot } from "../snapshot.ts";
import {
  absoluteStatusDirectory,
  type Shared,
  type Surroundings,
  sharedBy,
} from "../surroundings.ts";
import {
  bridgeOf,
  endingOf,
  goalEntry,
  goalIn,
  questionOf,
  sessionFileOf,
  summarizePrompt,
} from "./signals.ts";
import { agentName, apply, emptyState, nowOf, type State, type Told } from "./state.ts";

/** `pi`: what the host hands to an extension, with its `on`, `events` and `appendEntry`. */
export function openExtension(pi: unknown, surroundings: Surroundings): void {
  // Another session's worker. Whoever started it tells of it.
  if (surroundings.env["PI_SUBAGENT"] === "1") return;
  attempt(() => {
    if (typeof pi !== "object" || pi === null) return;
    const { taken } = sharedBy(agentName);
    if (taken.has(pi)) return;
    taken.add(pi);
    const emitter = new Emitter(pi, surroundings);
    /** A host may take what a handler answers for its own; and an error for a reason to say so. */
    const on = (name: string, handle: (event: unknown, context: unknown) => void): void => {
      call(pi, "on", name, (event: unknown, context: unknown): undefined => {
        attempt(() => handle(event, context));
      });
    };
    on("session_start", (_, context) => emitter.start(context));
    on("before_agent_start", (event, context) => emitter.prompt(event, context));
    on("agent_start", () => emitter.tell({ type: "working" }));
    on("tool_execution_start", (event) => {
      const question = questionOf(event);
      emitter.tell({
        type: "tool.started",
        call: textAt(event, "toolCallId") ?? "",
        ...(question === undefined ? {} : { question }),
      });
    });
    on("tool_execution_end", (event) => {
      emitter.tell({ type: "tool.ended", call: textAt(event, "toolCallId") ?? "" });
    });
    on("agent_end", (event) => {
      emitter.lookAround();
      const ending = attempt(() => endingOf(event));
      emitter.tell({ type: "ended", ...(ending && { ending }) });
    });
    on("session_shutdown", () => emitter.end());
  });
}

export function newAgentId(): string {
  return `${agentName}-${randomUUID()}`;
}

/** What a session is told apart by in this process. */
export function sessionKeyOf(
  context: unknown,
  { pid, workingDirectory }: Pick<Surroundings, "pid" | "workingDirectory">,
): string {
  const file = sessionFileOf(context);
  if (file !== undefined) return `session-file:${file}`;
  return `pid:${pid}:cwd:${resolve(textAt(context, "cwd") ?? workingDirectory() ?? "/")}`;
}

class Emitter {
  readonly #pi: object;
  readonly #surroundings: Surroundings;
  readonly #shared: Shared = sharedBy(agentName);
  readonly #agentId = newAgentId();
  #state: State;
  /** Undefined while no session is ours. */
  #open:
    | {
        readonly snapshot: Snapshot;
        readonly sessionFile: string | undefined;
        readonly directory: string;
      }
    | undefined;
  /** Of the time for which an ending is shown. */
  #passing = new AbortController();
  #looksLeft = 0;
  #stopListening: (() => void)[] = [];

  constructor(pi: object, surroundings: Surroundings) {
    this.#pi = pi;
    this.#surroundings = surroundings;
    this.#state = emptyState(surroundings.clock.nowMs());
  }

  start(context: unknown): void {
    const { env, pid, clock } = this.#surroundings;
    const { TMUX, TMUX_PANE } = env;
    const key = sessionKeyOf(context, this.#surroundings);
    const owner = this.#shared.owners.get(key);
    this.end();
    // Two copies of this extension are one agent (AS-81).
    if (owner !== undefined && owner !== this) return;
    const workspace = textAt(context, "cwd");
    const goal = attempt(() => goalIn(context, clock.nowMs()));
    this.#state = apply(this.#state, { type: "started", ...(goal ? { goal } : {}) }, clock.nowMs());
    this.#looksLeft = 2;
    const sessionFile = sessionFileOf(context);
    const about = {
      agentName,
      agentId: this.#agentId,
      pid,
      workspace: workspace === undefined ? undefined : resolve(workspace),
      tmux: tmuxOf({ TMUX, TMUX_PANE }),
    };
    const directory = absoluteStatusDirectory(this.#surroundings);
    this.#shared.owners.set(key, this);
    this.#shared.agentIds.add(this.#agentId);
    this.#listen();
    const snapshot = new Snapshot({
      directory,
      agentId: this.#agentId,
      clock,
      guard: this.#surroundings.guard,
      recordAt: (nowMs) => runningRecord(about, nowOf(this.#state, sessionFile), nowMs),
    });
    this.#open = { snapshot, sessionFile, directory };
  }

  prompt(event: unknown, context: unknown): void {
    this.lookAround();
    if (!this.#open) return;
    const prompt = memberOf(event, "prompt");
    const hadGoal = this.#state.goal !== undefined;
    this.tell({ type: "prompted", text: summarizePrompt(prompt) });
    if (!hadGoal) this.#noteGoal();
    this.#improve(prompt, context).catch(() => {});
  }

  tell(told: Told): void {
    if (!this.#open) return;
    this.#state = apply(this.#state, told, this.#surroundings.clock.nowMs());
    this.#open.snapshot.show();
    if (told.type === "ended" && told.ending) this.#pass().catch(() => {});
  }

  /** AS-24: how a turn ended is to be seen for a moment. */
  async #pass(): Promise<void> {
    const { clock } = this.#surroundings;
    this.#passing.abort();
    this.#passing = new AbortController();
    await clock.until(clock.nowMs() + limits.endingMs, this.#passing.signal);
    attempt(() => this.tell({ type: "passed" }));
  }

  /**
   * AS-94: whether another extension tells of this session. It says so during a turn, so we look as one
   * begins and as it ends, whoever of us is told first.
   */
  lookAround(): void {
    const { directory, sessionFile: session } = this.#open ?? {};
    if (this.#looksLeft === 0 || directory === undefined || session === undefined) return;
    this.#looksLeft -= 1;
    const { pid, clock } = this.#surroundings;
    const told = { name: agentName, metaKey: agentName, session, pid };
    const nowMs = clock.nowMs();
    const isOurs = (id: string): boolean => this.#shared.agentIds.has(id);
    if (attempt(() => hasOtherEmitter(recordsIn(directory), told, { nowMs, isOurs }))) this.end();
  }

  end(): void {
    this.#passing.abort();
    for (const stop of this.#stopListening.splice(0)) attempt(stop);
    const { owners, agentIds } = this.#shared;
    for (const [key, owner] of owners) if (owner === this) owners.delete(key);
    this.#open?.snapshot.end();
    this.#open = undefined;
    agentIds.delete(this.#agentId);
  }

  /** A terminal that is closed ends Pi without a word to its extensions. */
  #listen(): void {
    this.#stopListening.push(this.#surroundings.onExit(() => attempt(() => this.end())));
    const hear = (payload: unknown): void => {
      attempt(() => {
        const bridge = bridgeOf(payload);
        this.tell({ type: "bridged", ...(bridge ? { bridge } : {}) });
      });
    };
    const stop = attempt(() =>
      call(memberOf(this.#pi, "events"), "on", "agent-status:profile", hear),
    );
    if (typeof stop === "function")
      this.#stopListening.push(() => Reflect.apply(stop, undefined, []));
  }

  /** A summary that the user's own extension makes. We send nobody's words anywhere (AS-96). */
  async #improve(prompt: unknown, context: unknown): Promise<void> {
    const { prompts } = this.#state;
    const told = await call(context, "agentStatusSummarize", prompt, context);
    const text = summarizePrompt(told);
    if (text === "") return;
    const { goal } = this.#state;
    attempt(() => this.tell({ type: "summarized", prompt: prompts, text }));
    if (this.#state.goal !== goal) this.#noteGoal();
  }

  /** In the session itself, so that it is there again when the session is. */
  #noteGoal(): void {
    const { goal } = this.#state;
    if (!goal || !this.#open) return;
    const { summary, atMs } = goal;
    const data = { summary, updated_at: printTimestamp(atMs), source: goalSource };
    attempt(() => call(this.#pi, "appendEntry", goalEntry, data));
  }
}

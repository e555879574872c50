/**
 * What an event makes of a session: the table of the contract, 9.2, with what hosts tell beyond it. Reads
 * and answers; the same session, event and time give the same answer.
 *
 * The turn of a session is
 * - absent: idle; since the start, or since the end of the last turn
 * - `working`: from a prompt or a tool on, until the turn ends or somebody is asked
 * - `input-required`: a tool or the last words ask a person; until the call returns or a prompt comes
 * - `submitted`: the turn is over and work goes on in the background
 * - `auth-required`: the turn ended because the provider wants credentials; until the next prompt
 * - `failed`, `canceled`, `rejected`: how the turn ended; `settle` makes it idle
 */
import { type SessionGoal, summarize, type TaskState } from "../status-file/index.ts";
import { type HostEvent, idIn, isFromSubagent, isSynthetic, listIn, textIn } from "./event.ts";
import { limits } from "./limits.ts";
import { askedIn, endsInQuestion, isQuestionTool, lastLineOf } from "./questions.ts";
import type { Asking, Call, Session } from "./session.ts";

/** What comes along with an event, from the one who received it. */
export type Circumstances = {
  /** When it happened. */
  readonly atMs: number;
  readonly nowMs: number;
  /** What was kept of an earlier run of this session. */
  readonly storedGoal?: SessionGoal | undefined;
  /** The event's `cwd` as a path without links. */
  readonly workspace?: string | undefined;
};

type Step = (session: Session, event: HostEvent, atMs: number) => Session;

const steps: ReadonlyMap<string, Step> = new Map<string, Step>([
  ["UserPromptSubmit", prompt],
  ["PreToolUse", beginCall],
  ["PermissionRequest", askPermission],
  ["PermissionDenied", endCall],
  ["PostToolUse", endCall],
  ["PostToolUseFailure", failCall],
  ["Elicitation", (session, event, atMs) => ask(session, event, atMs, anybody("question"))],
  ["ElicitationResult", (session, event, atMs) => goOn(session, event, atMs)],
  ["Notification", hearNotification],
  ["Stop", stop],
  [
    "StopFailure",
    (session, event, atMs) =>
      fail(session, idIn(event.members, "error") ?? "unknown", { event, atMs }),
  ],
  ["Interrupt", (session, _event, atMs) => interrupt(session, atMs)],
]);

/** The session after the event; itself if the event says nothing about it; undefined if it is over. */
export function apply(
  session: Session,
  event: HostEvent,
  circumstances: Circumstances,
): Session | undefined {
  if (event.sessionId !== session.sessionId) return session;
  const { atMs, nowMs } = circumstances;
  if (isFromSubagent(event)) return countSubagents(session, event, nowMs);
  if (event.name === "SessionEnd") return undefined;
  if (event.name === "SessionStart")
    return start(heard(session, event, circumstances), event, circumstances);
  const step = steps.get(event.name);
  if (!step) return session;
  const noted = { ...heard(session, event, circumstances), lastActivityAtMs: atMs };
  return step(noted, event, atMs);
}

/** What every accepted event tells, whatever else it is about. */
function heard(session: Session, { members }: HostEvent, told: Circumstances): Session {
  return {
    ...session,
    workspace: told.workspace ?? textIn(members, "cwd") ?? session.workspace,
    model: idIn(members, "model") ?? session.model,
    permissionMode: idIn(members, "permission_mode") ?? session.permissionMode,
    rests: undefined,
    updatedAtMs: told.nowMs,
    heardAtMs: Math.max(session.heardAtMs, told.atMs),
  };
}

function start(session: Session, { members }: HostEvent, { storedGoal }: Circumstances): Session {
  const started = { ...session, hasStarted: true };
  switch (textIn(members, "source")) {
    case "clear":
      return { ...idle(started), goal: undefined, mayFindGoal: true, lastPrompt: undefined };
    case "resume":
      return { ...started, goal: storedGoal, mayFindGoal: storedGoal !== undefined };
    case "compact":
      return { ...started, goal: session.goal ?? storedGoal };
    default:
      return session.hasStarted ? started : { ...idle(started), goal: undefined };
  }
}

function prompt(session: Session, event: HostEvent, atMs: number): Session {
  const text = isSynthetic(event) ? "" : summarize(textIn(event.members, "prompt") ?? "");
  const isFirst = text !== "" && !session.goal && session.mayFindGoal;
  return turnTo(
    {
      ...session,
      asking: [],
      goal: isFirst ? { summary: text, atMs } : session.goal,
      lastPrompt: text === "" ? session.lastPrompt : text,
      lastError: undefined,
    },
    { state: "working", event, atMs, ...(text === "" ? {} : { summary: text }) },
  );
}

function beginCall(session: Session, event: HostEvent, atMs: number): Session {
  const tool = idIn(event.members, "tool_name") ?? "";
  const id = idIn(event.members, "tool_use_id");
  const calls = id === undefined ? session.calls : [...session.calls, { id, tool }];
  const begun = { ...session, calls: calls.slice(-limits.callsMax) };
  if (isQuestionTool(tool)) return ask(begun, event, atMs, { what: "question", callId: id });
  return goOnUnless(begun, event, atMs, waitingCalls(begun));
}

/** Hosts do not say for which call: the last one of that tool that does not wait already. */
function askPermission(session: Session, event: HostEvent, atMs: number): Session {
  const tool = idIn(event.members, "tool_name");
  const known = idIn(event.members, "tool_use_id");
  const meant = session.calls.filter(({ id, tool: own }) => (known ? id === known : own === tool));
  const isWaiting = ({ id }: Call): boolean => session.asking.some(({ callId }) => callId === id);
  // A question of the host's own asks for permission to be shown: one question, not two.
  if (meant.length > 0 && meant.every(isWaiting)) {
    return turnTo(session, { state: "input-required", event, atMs });
  }
  const callId = known ?? meant.findLast((call) => !isWaiting(call))?.id;
  return ask(session, event, atMs, { what: "permission", callId });
}

function endCall(session: Session, event: HostEvent, atMs: number): Session {
  const id = idIn(event.members, "tool_use_id");
  const isKnown = session.calls.some((call) => call.id === id);
  const ended = { ...session, calls: session.calls.filter((call) => call.id !== id) };
  const others = waitingCalls(session).filter(({ callId }) => callId !== id);
  return goOnUnless(ended, event, atMs, isKnown ? others : []);
}

/** Those that only the end of their own call answers. */
function waitingCalls({ asking }: Session): readonly Asking[] {
  return asking.filter(({ callId }) => callId !== undefined);
}

/** Back to work, unless another call waits for a person still (AS-83). */
function goOnUnless(
  session: Session,
  event: HostEvent,
  atMs: number,
  asking: readonly Asking[],
): Session {
  if (asking.length === 0) return goOn(session, event, atMs);
  return turnTo({ ...session, asking }, { state: "input-required", event, atMs });
}

function failCall(session: Session, event: HostEvent, atMs: number): Session {
  const isInterrupt = event.members.get("is_interrupt") === true;
  return isInterrupt ? interrupt(session, atMs) : endCall(session, event, atMs);
}

const asksPerson = new Set([
  "permission_prompt",
  "worker_permission_prompt",
  "agent_needs_input",
  "elicitation_dialog",
]);
const answered = new Set(["elicitation_complete", "elicitation_response"]);

/** Said late or not at all, so it only adds to what the other events tell. */
function hearNotification(session: Session, event: HostEvent, atMs: number): Session {
  const kind = textIn(event.members, "notification_type") ?? "";
  if (!isOpen(session)) return session;
  if (asksPerson.has(kind)) return ask(session, event, atMs, anybody("permission"));
  if (answered.has(kind)) return goOn(session, event, atMs);
  // The host stands at its prompt: the turn has ended, and nobody said so.
  return kind === "idle_prompt" ? idle(session) : session;
}

function stop(session: Session, event: HostEvent, atMs: number): Session {
  const { members } = event;
  const background = [
    ...listIn(members, "active_background_tasks"),
    ...listIn(members, "background_tasks"),
  ];
  const over = { ...idle(session), turn: session.turn, subagents: subagentsIn(background) };
  const lastWords = textIn(members, "last_assistant_message") ?? "";
  if (endsInQuestion(lastWords)) {
    return turnTo(over, { state: "input-required", event, atMs, asks: lastLineOf(lastWords) });
  }
  if (background.length > 0) return turnTo(over, { state: "submitted", event, atMs });
  return { ...over, turn: undefined };
}

/** Nothing goes on before a person has seen to it. */
const wantsCredentials = new Set([
  "authentication_failed",
  "oauth_org_not_allowed",
  "verification_required",
  "cloud_credential_error",
  "unauthorized",
]);

/** The turn ended because of an error, which is the host's word for it. */
export function fail(session: Session, error: string, towards: Omit<Towards, "state">): Session {
  const over = { ...idle(session), turn: session.turn, lastError: error };
  const state = wantsCredentials.has(error) ? "auth-required" : "failed";
  return turnTo(over, { state, ...towards });
}

/** The turn was broken off by a person: in the middle of work, or instead of an answer. */
export function interrupt(session: Session, atMs: number): Session {
  const { turn } = session;
  if (!turn || !isOpen(session)) return session;
  const isDenied = session.asking.some(({ what }) => what === "permission");
  const over = { ...idle(session), subagents: [], lastActivityAtMs: atMs };
  const state = isDenied ? "rejected" : "canceled";
  return { ...over, turn: { ...turn, state, asks: undefined, sinceMs: atMs } };
}

/** Whether a turn is under way, be it that somebody is asked in the middle of it. */
export function isOpen({ turn, asking }: Session): boolean {
  return turn?.state === "working" || asking.length > 0;
}

/** AS-24: an ending is shown for a while. Answers the session itself while nothing is due. */
export function settle(session: Session, nowMs: number): Session {
  const { turn } = session;
  if (!turn || !isEnding(turn.state) || nowMs < turn.sinceMs + limits.endingMs) return session;
  return { ...session, turn: undefined, updatedAtMs: nowMs };
}

export function isEnding(state: TaskState): boolean {
  return state === "failed" || state === "canceled" || state === "rejected";
}

export function anybody(what: Asking["what"]): Asking {
  return { what, callId: undefined };
}

function ask(session: Session, event: HostEvent, atMs: number, asking: Asking): Session {
  const asked = { ...session, asking: [...session.asking, asking].slice(-limits.callsMax) };
  return turnTo(asked, { state: "input-required", event, atMs, asks: askedIn(event.members) });
}

function goOn(session: Session, event: HostEvent, atMs: number): Session {
  return turnTo({ ...session, asking: [] }, { state: "working", event, atMs });
}

/** The turn is over, and nothing is left of it. */
export function idle(session: Session): Session {
  return { ...session, turn: undefined, asking: [], calls: [], lastError: undefined };
}

export type Towards = {
  readonly state: TaskState;
  readonly asks?: string | undefined;
  readonly atMs: number;
  readonly event?: HostEvent;
  readonly summary?: string;
};

/** AS-92: what the turn is called and about stays until it ends. */
export function turnTo(session: Session, { state, atMs, event, summary, asks }: Towards): Session {
  const { turn: before } = session;
  const named = event && (idIn(event.members, "turn_id") ?? idIn(event.members, "prompt_id"));
  const id = named ?? before?.id;
  const isSame = before?.state === state && before.id === id;
  return {
    ...session,
    turn: {
      id,
      state,
      summary: summary ?? before?.summary ?? session.lastPrompt,
      asks: state === "input-required" ? (asks ?? before?.asks) : undefined,
      sinceMs: isSame ? before.sinceMs : atMs,
    },
  };
}

function countSubagents(session: Session, { name, members }: HostEvent, nowMs: number): Session {
  const id = idIn(members, "agent_id");
  if (id === undefined || (name !== "SubagentStart" && name !== "SubagentStop")) return session;
  const others = session.subagents.filter((each) => each !== id);
  const subagents = name === "SubagentStart" ? [...others, id] : others;
  if (subagents.length === session.subagents.length) return session;
  return { ...session, subagents: subagents.slice(-limits.subagentsMax), updatedAtMs: nowMs };
}

/** Those that the host says go on after the turn. */
function subagentsIn(background: readonly unknown[]): readonly string[] {
  return background.flatMap((task) => {
    if (typeof task !== "object" || task === null) return [];
    const { type, id } = task as { readonly type?: unknown; readonly id?: unknown };
    return type === "subagent" && typeof id === "string" ? [id] : [];
  });
}

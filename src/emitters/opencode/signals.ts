/**
 * What OpenCode tells its plugins, in our words. Every version says it a little differently, and what we
 * cannot make sense of says nothing.
 */
import { limits, summarize } from "../../wire/status-file/index.ts";
import { fieldsOf, listOf, textAt } from "../fields.ts";

/** What the turn ended with. */
export type Outcome = "failed" | "canceled" | "auth-required";

export type Signal =
  | { readonly type: "session.created"; readonly session: string; readonly parent?: string }
  /** Who it belongs to, and what it has used so far. */
  | {
      readonly type: "session.known";
      readonly session: string;
      readonly parent?: string;
      readonly spent?: Spent;
    }
  | { readonly type: "session.deleted"; readonly session: string }
  | { readonly type: "prompted"; readonly session: string; readonly text: string }
  | { readonly type: "busy"; readonly session: string }
  | { readonly type: "tool.started"; readonly session: string; readonly tool: string }
  | { readonly type: "tool.ended"; readonly session: string; readonly tool: string }
  /** Something that only a person can answer. */
  | {
      readonly type: "asked";
      readonly session: string;
      readonly kind: Question;
      readonly id?: string;
      readonly text: string;
    }
  | {
      readonly type: "answered";
      readonly session: string;
      readonly kind: Question;
      readonly id?: string;
    }
  /** The first thing that is left to do. */
  | { readonly type: "todos"; readonly session: string; readonly next?: string }
  | {
      readonly type: "ended";
      readonly session: string;
      readonly outcome: Outcome;
      readonly text: string;
    }
  | { readonly type: "idle"; readonly session: string };

export type Question = "question" | "permission";

export type Spent = { readonly input: number; readonly output: number; readonly costUsd: number };

export const questionTool = "question";
export const waitingForInput = "Waiting for user input";

/** From the hook `event`. */
export function signalOfEvent(event: unknown): Signal | undefined {
  const { type, properties } = fieldsOf(event);
  // Most events are about each word that the model says.
  const translate = typeof type === "string" ? translations.get(type) : undefined;
  const session = translate && sessionOf(properties);
  return session === undefined ? undefined : translate?.(session, properties);
}

type Translate = (session: string, properties: unknown) => Signal | undefined;

const askedQuestion: Translate = (session, properties) => {
  const [first] = listOf(fieldsOf(properties)["questions"]);
  const text = shortIn(first, "question") ?? waitingForInput;
  return { type: "asked", session, kind: "question", ...idOf(properties), text };
};
const askedPermission: Translate = (session, properties) => ({
  type: "asked",
  session,
  kind: "permission",
  ...idOf(properties),
  text: "Waiting for permission",
});
const answered =
  (kind: Question): Translate =>
  (session, properties) => ({ type: "answered", session, kind, ...idOf(properties) });

const translations: ReadonlyMap<string, Translate> = new Map<string, Translate>([
  ["session.created", (session, of) => ({ type: "session.created", session, ...parentOf(of) })],
  [
    "session.updated",
    (session, of) => ({ type: "session.known", session, ...parentOf(of), ...spentOf(of) }),
  ],
  ["session.deleted", (session) => ({ type: "session.deleted", session })],
  [
    "session.status",
    (session, of) => {
      const status = textAt(fieldsOf(of)["status"], "type");
      return status === "busy" || status === "retry" ? { type: "busy", session } : undefined;
    },
  ],
  ["session.idle", (session) => ({ type: "idle", session })],
  [
    "session.error",
    (session, of) => ({ type: "ended", session, ...outcomeOf(fieldsOf(of)["error"]) }),
  ],
  ["question.asked", askedQuestion],
  ["question.v2.asked", askedQuestion],
  ["question.replied", answered("question")],
  ["question.rejected", answered("question")],
  ["question.v2.replied", answered("question")],
  ["question.v2.rejected", answered("question")],
  // The name until 1.1.
  ["permission.updated", askedPermission],
  ["permission.asked", askedPermission],
  ["permission.v2.asked", askedPermission],
  ["permission.replied", answered("permission")],
  ["permission.v2.replied", answered("permission")],
  ["todo.updated", (session, of) => ({ type: "todos", session, ...nextOf(fieldsOf(of)["todos"]) })],
]);

/** From the hook `chat.message`. A prompt without text says nothing. */
export function signalOfMessage(input: unknown, output: unknown): Signal | undefined {
  const { message, parts } = fieldsOf(output);
  const session = textAt(input, "sessionID") ?? textAt(message, "sessionID");
  const text = promptIn(parts);
  if (session === undefined || text === "" || textAt(message, "role") === "assistant") {
    return undefined;
  }
  return { type: "prompted", session, text };
}

/** From the hooks `tool.execute.before` and `tool.execute.after`. */
export function signalOfTool(
  type: "tool.started" | "tool.ended",
  input: unknown,
): Signal | undefined {
  const session = textAt(input, "sessionID");
  if (session === undefined) return undefined;
  return { type, session, tool: shortIn(input, "tool") ?? "a tool" };
}

/** What a session is for: the first thing that a person said in it. */
export function firstPromptIn(messages: unknown): string | undefined {
  for (const message of listOf(messages)) {
    const { info, parts } = fieldsOf(message);
    if (textAt(info, "role") !== "user") continue;
    const text = promptIn(parts);
    if (text !== "") return text;
  }
  return undefined;
}

/** Without what the host added: it flags each such part, not the message. */
function promptIn(parts: unknown): string {
  const texts = listOf(parts)
    .filter((part) => textAt(part, "type") === "text" && fieldsOf(part)["synthetic"] !== true)
    .map((part) => textAt(part, "text") ?? "");
  return short(texts.join("\n"));
}

function short(text: string): string {
  return summarize(text, limits.summaryLengthMax, "…");
}

function shortIn(value: unknown, ...keys: readonly string[]): string | undefined {
  return short(textAt(value, ...keys) ?? "") || undefined;
}

function sessionOf(properties: unknown): string | undefined {
  const { info, part, message } = fieldsOf(properties);
  return (
    textAt(properties, "sessionID") ??
    textAt(info, "id") ??
    textAt(part, "sessionID") ??
    textAt(message, "sessionID")
  );
}

/** A reply names the request; the request is named by itself. */
function idOf(properties: unknown): { readonly id?: string } {
  const id = textAt(properties, "requestID", "permissionID", "id");
  return id === undefined ? {} : { id };
}

function parentOf(properties: unknown): { readonly parent?: string } {
  const parent = textAt(fieldsOf(properties)["info"], "parentID");
  return parent === undefined ? {} : { parent };
}

function spentOf(properties: unknown): { readonly spent?: Spent } {
  const { tokens, cost } = fieldsOf(fieldsOf(properties)["info"]);
  const { input, output } = fieldsOf(tokens);
  if (!isCount(input) || !isCount(output) || input + output === 0) return {};
  return { spent: { input, output, costUsd: isCount(cost) ? cost : 0 } };
}

function outcomeOf(error: unknown): { readonly outcome: Outcome; readonly text: string } {
  const name = textAt(error, "name");
  const said = shortIn(fieldsOf(error)["data"], "message") ?? shortIn(error, "message", "name");
  const text = said ?? "Session failed";
  // What a person did themselves is no failure; and for a key that is missing or wrong somebody is needed.
  if (name === "MessageAbortedError") return { outcome: "canceled", text };
  const { statusCode } = fieldsOf(fieldsOf(error)["data"]);
  const isKeyWrong = name === "ProviderAuthError" || statusCode === 401 || statusCode === 403;
  return { outcome: isKeyWrong ? "auth-required" : "failed", text };
}

const done = new Set(["completed", "cancelled", "canceled"]);

function nextOf(todos: unknown): { readonly next?: string } {
  const left = listOf(todos).find((todo) => !done.has(textAt(todo, "status") ?? ""));
  return left === undefined ? {} : { next: shortIn(left, "content") ?? "Pending work" };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value);
}

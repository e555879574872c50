/** What Pi and other extensions hand over, in our words. */
import {
  type Json,
  type JsonObject,
  limits,
  parseTimestamp,
  printJson,
  type SessionGoal,
  schemaVersion,
  summarize,
  type Task,
  validate,
} from "../../wire/status-file/index.ts";
import { call, fieldsOf, listOf, memberOf, textAt } from "../fields.ts";
import { limits as roomLimits } from "../limits.ts";
import { attempt } from "../snapshot.ts";
import type { Bridge, Ending } from "./state.ts";

/** The kind of session entry that remembers what a session is for. */
export const goalEntry = "agent-status.goal";

export function summarizePrompt(text: unknown): string {
  return typeof text === "string" ? summarize(text, limits.summaryLengthMax, "…") : "";
}

/** The file that the session is kept in, if it is kept. */
export function sessionFileOf(context: unknown): string | undefined {
  const file = call(memberOf(context, "sessionManager"), "getSessionFile");
  return typeof file === "string" && file !== "" ? file : undefined;
}

/** What the session was for, the last time that somebody noted it. */
export function goalIn(context: unknown, nowMs: number): SessionGoal | undefined {
  const entries = listOf(call(memberOf(context, "sessionManager"), "getEntries"));
  const entry = entries.findLast((candidate) => textAt(candidate, "customType") === goalEntry);
  const data = memberOf(entry, "data");
  const goal = memberOf(data, "goal") ?? data;
  const summary = summarizePrompt(typeof goal === "string" ? goal : textAt(goal, "summary"));
  const { atMs = nowMs } = parseTimestamp(textAt(goal, "updated_at") ?? "");
  return summary === "" ? undefined : { summary, atMs };
}

const questionTools = new Set([
  "question",
  "questionnaire",
  "ask_user",
  "ask_user_question",
  "AskUserQuestion",
  "request_user_input",
]);

/** What a tool asks a person; undefined if it asks nobody. */
export function questionOf(event: unknown): string | undefined {
  // `mcp__ui__question` is the tool `question` of the server `ui`.
  const tool = textAt(event, "toolName")?.split("__").at(-1) ?? "";
  if (!questionTools.has(tool)) return undefined;
  const { args } = fieldsOf(event);
  const [first] = listOf(memberOf(args, "questions"));
  const asked = textAt(args, "question", "prompt") ?? textAt(first, "question", "prompt");
  return summarizePrompt(asked) || "Waiting for user input";
}

/** Providers say it in their own words, the status first, and Pi hands that on. */
const refusedKey = /\b(?:401|403|authentication_error|invalid (?:x-)?api[ -]key)\b/i;

/** How the turn ended, by the last that the model said; undefined if well. */
export function endingOf(event: unknown): Ending | undefined {
  const last = listOf(memberOf(event, "messages")).findLast(
    (message) => textAt(message, "role") === "assistant",
  );
  const text = summarizePrompt(memberOf(last, "errorMessage"));
  switch (textAt(last, "stopReason")) {
    case "aborted":
      return { state: "canceled", text: "" };
    case "error":
      return { state: refusedKey.test(text) ? "auth-required" : "failed", text };
    default:
      return undefined;
  }
}

/** What another extension says of the session. Of what no reader would take nothing stays (AS-28). */
export function bridgeOf(payload: unknown): Bridge | undefined {
  const task = bridgeTaskOf(memberOf(payload, "task"));
  const meta = jsonObjectOf(memberOf(payload, "x_meta"));
  if (!task && !meta) return undefined;
  return { ...(task ? { task } : {}), ...(meta ? { meta } : {}) };
}

function bridgeTaskOf(value: unknown): Task | undefined {
  const given = jsonObjectOf(value);
  if (!given) return undefined;
  const task: Task & JsonObject = {
    ...given,
    ...(typeof given["summary"] === "string" ? { summary: summarizePrompt(given["summary"]) } : {}),
  };
  // Without a state it is still something that is under way; without anything it says nothing.
  return isSound(task) && Object.keys(task).length > 0 ? task : undefined;
}

function isSound(task: JsonObject): boolean {
  const record = {
    schema_version: schemaVersion,
    agent_id: "any",
    agent_name: "any",
    runtime: { lifecycle: "running", updated_at: "2000-01-01T00:00:00Z" },
    task,
  };
  return validate(record).length === 0;
}

/** A copy that nobody else changes, as it will be written; undefined if it is none, too large or too deep. */
function jsonObjectOf(value: unknown): JsonObject | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return attempt(() => {
    const text = JSON.stringify(value);
    if (text.length > roomLimits.bridgeCharactersMax) return undefined;
    const copy: Json = JSON.parse(text);
    printJson(copy);
    return isObject(copy) ? copy : undefined;
  });
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

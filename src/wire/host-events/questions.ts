/** Whether a person is asked, and what: by a tool that waits for the answer, or by the last words of a turn. */
import { summarize } from "../status-file/index.ts";
import { limits } from "./limits.ts";
import type { Members } from "./members.ts";

const questionTools = new Set(["request_user_input", "AskUserQuestion", "ExitPlanMode"]);

export function isQuestionTool(tool: string): boolean {
  // `mcp__ui__question` is the tool `question` of the server `ui`.
  const server = tool.lastIndexOf("__");
  const own = server < 0 ? tool : tool.slice(server + 2);
  return questionTools.has(tool) || own === "question";
}

/** What a person is asked, in few words: the question itself, or what a tool would do. */
export function askedIn(members: Members): string | undefined {
  const tool = members.get("tool_name");
  const input = fieldsOf(members.get("tool_input"));
  const [first] = Array.isArray(input["questions"]) ? input["questions"] : [];
  const question = fieldsOf(first)["question"] ?? input["question"];
  if (typeof question === "string") return summarize(question) || undefined;
  if (typeof tool !== "string" || isQuestionTool(tool)) return undefined;
  const what = ["command", "file_path", "path", "url", "query"].map((name) => input[name]);
  const told = what.find((value) => typeof value === "string" || Array.isArray(value));
  const text = Array.isArray(told) ? told.filter(isText).join(" ") : (told ?? "");
  return summarize(text === "" ? tool : `${tool}: ${text}`);
}

/** The last of what was said, which is where the question is. */
export function lastLineOf(text: string): string | undefined {
  const lines = text.trimEnd().slice(-limits.lastLineLengthMax).split("\n");
  return summarize(lines.at(-1) ?? "") || undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** What may close a sentence behind its question mark. */
const closing = new Set(['"', "'", "\u2019", "\u201d", "*", "_", "`", "]", ")", "}"]);

export function endsInQuestion(text: string): boolean {
  let end = text.trimEnd().length;
  while (end > 0 && closing.has(text.charAt(end - 1))) end -= 1;
  return text.charAt(end - 1) === "?";
}

/** Whether a person is asked: by a tool that waits for the answer, or by the last words of a turn. */

const questionTools = new Set(["request_user_input", "AskUserQuestion", "ExitPlanMode"]);

export function isQuestionTool(tool: string): boolean {
  // `mcp__ui__question` is the tool `question` of the server `ui`.
  const server = tool.lastIndexOf("__");
  const own = server < 0 ? tool : tool.slice(server + 2);
  return questionTools.has(tool) || own === "question";
}

/** What may close a sentence behind its question mark. */
const closing = new Set(['"', "'", "\u2019", "\u201d", "*", "_", "`", "]", ")", "}"]);

export function endsInQuestion(text: string): boolean {
  let end = text.trimEnd().length;
  while (end > 0 && closing.has(text.charAt(end - 1))) end -= 1;
  return text.charAt(end - 1) === "?";
}

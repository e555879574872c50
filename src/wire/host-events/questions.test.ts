import assert from "node:assert/strict";
import { test } from "node:test";
import { hookedEvents, hostOf } from "./hosts.ts";
import { endsInQuestion, isQuestionTool } from "./questions.ts";

const words: readonly (readonly [string, boolean])[] = [
  ["Which?", true],
  ["**Which?**", true],
  ["(ok?)", true],
  ["Which?**", true],
  ["Is it `a?`  \n", true],
  ["“Really?”", true],
  ["Do it? (y/n)", false],
  ["Really?!", false],
  ["どれ？", false],
  ["Done.", false],
  ["", false],
  ["**", false],
];

for (const [text, isQuestion] of words) {
  test(`${JSON.stringify(text)} ${isQuestion ? "asks" : "does not ask"}`, () => {
    assert.equal(endsInQuestion(text), isQuestion);
  });
}

test("a tool asks by its name, or by its name at a server", () => {
  const asking = [
    "request_user_input",
    "AskUserQuestion",
    "ExitPlanMode",
    "question",
    "mcp__ui__question",
  ];
  for (const tool of asking) assert.ok(isQuestionTool(tool), tool);
  const others = ["Question", "ask_question", "questions", "mcp__question__ui", "Bash", ""];
  for (const tool of others) assert.ok(!isQuestionTool(tool), tool);
});

test("AS-89, TV-42: Codex, which sets the variables of both, is Codex", () => {
  const claude = { CLAUDE_PLUGIN_ROOT: "/c", CLAUDE_PLUGIN_DATA: "/d" };
  assert.equal(hostOf({ PLUGIN_ROOT: "/p", PLUGIN_DATA: "/q", ...claude }), "codex");
  assert.equal(hostOf({ PLUGIN_DATA: "/q", ...claude }), "codex");
  assert.equal(hostOf(claude), "claude-code");
  assert.equal(hostOf({ CLAUDE_PLUGIN_DATA: "/d" }), "claude-code");
  assert.equal(hostOf({ PLUGIN_ROOT: "", CLAUDE_PLUGIN_ROOT: "/c" }), "claude-code");
  assert.equal(hostOf({}), "codex");
});

test("both hosts have hooks for the seven events of the standard, and no event twice", () => {
  const seven = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "SessionEnd",
  ];
  for (const events of Object.values(hookedEvents)) {
    const names = events.map(({ name }) => name);
    assert.deepEqual(
      seven.filter((name) => !names.includes(name)),
      [],
    );
    assert.equal(new Set(names).size, names.length);
    assert.equal(events.find(({ name }) => name === "SessionEnd")?.timeout, 3);
  }
});

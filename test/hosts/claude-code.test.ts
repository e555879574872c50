/** Claude Code as npm installs it, in a terminal: what its status file says, step by step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Installed, needHost } from "./installation.ts";
import { Stage, tmuxSocket } from "./stage.ts";
import { storyOf } from "./story.ts";
import type { Terminal } from "./terminal.ts";

const key = "sk-ant-scripted-0123456789-0123456789";

const env = {
  ANTHROPIC_API_KEY: key,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
  CLAUDE_CODE_MAX_RETRIES: "0",
  DISABLE_AUTOUPDATER: "1",
};

const question = {
  question: "Which colour?",
  header: "Colour",
  multiSelect: false,
  options: [
    { label: "Red", description: "as a rose" },
    { label: "Blue", description: "as a violet" },
  ],
};

test("Claude Code is told by its status file", async (t) => {
  const host = await needHost(t, "claude-code");
  if (!host) return;
  await using stage = await openStage(host);
  const { model } = stage;
  const tell = storyOf(t);
  const start = (): Terminal => stage.start({ ...env, ANTHROPIC_BASE_URL: model.url });
  const settings = stage.read(".claude/settings.json");
  await stage.install("claude-code");
  const terminal = start();

  await tell("it is there and idle as soon as it has started", async () => {
    const record = await stage.says("idle", "start", await terminal.shows("? for shortcuts"));
    assert.equal(record.agent_name, "claude-code");
    assert.match(record.agent_id, /^claude-code-[0-9a-f]{32}$/);
    assert.equal(record.runtime.pid, terminal.pid);
    assert.equal(record.runtime.workspace, stage.workspace);
    assert.equal(record.x_meta?.["tmux_pane"], "%0");
    assert.equal(record.x_meta?.["tmux_socket"], tmuxSocket);
    assert.equal(record.goal, undefined);
  });

  await tell("a prompt makes it work, and is its goal and its task", async () => {
    await prompt(terminal, "Paint the shed");
    const turn = await model.turn();
    const record = await stage.says("working", "prompt", turn.askedAtMs);
    assert.equal(record.goal?.summary, "Paint the shed");
    assert.equal(record.task?.summary, "Paint the shed");
    turn.answer({ call: "Bash", input: { command: "touch brush; sleep 2", description: "Look" } });
  });

  await tell("it waits for a person while it asks for permission", async () => {
    const shownAtMs = await terminal.shows("Do you want to proceed?");
    await stage.says("input-required", "permission asked", shownAtMs);
  });

  await tell("it works again as soon as permission is granted", async () => {
    const hiddenAtMs = await terminal.dismisses("Do you want to proceed?", "Enter");
    await stage.says("working", "permission granted", hiddenAtMs);
    (await model.turn()).answer({ call: "Bash", input: { command: "cat no-such-file" } });
  });

  await tell("a tool that fails leaves it at work", async () => {
    const turn = await model.turn();
    await stage.says("working", "failed tool", turn.askedAtMs);
    turn.answer({ call: "AskUserQuestion", input: { questions: [question] } });
  });

  await tell("it waits for a person while it asks a question", async () => {
    await stage.says("input-required", "question", await terminal.shows("Enter to select"));
  });

  await tell("it works again when the question is answered", async () => {
    await terminal.dismisses("Enter to select", "Enter");
    const turn = await model.turn();
    await stage.says("working", "question answered", turn.askedAtMs);
    turn.answer({ say: "It is painted." });
  });

  await tell("it is idle when it has said its last word, and keeps its goal", async () => {
    const record = await stage.says("idle", "end of turn", await terminal.shows("It is painted."));
    assert.equal(record.goal?.summary, "Paint the shed");
    assert.equal(record.task, undefined);
  });

  await tell("it waits for a person if its last word is a question", async () => {
    await prompt(terminal, "And the door");
    (await model.turn()).answer({ say: "Shall I paint it too?" });
    const shownAtMs = await terminal.shows("Shall I paint it too?");
    const record = await stage.says("input-required", "trailing question", shownAtMs);
    assert.equal(record.goal?.summary, "Paint the shed");
  });

  await tell("Esc before the model has said a word ends the turn", async () => {
    await prompt(terminal, "Think hard");
    const turn = await model.turn();
    await stage.says("working", "thinking", turn.askedAtMs);
    const hiddenAtMs = await terminal.dismisses("esc to interrupt", "Escape");
    await turn.closed;
    await stage.says("canceled", "Esc while thinking", hiddenAtMs);
    // The words are back where they were typed.
    terminal.press("C-u");
  });

  await tell("Esc while a tool runs ends the turn", async () => {
    await prompt(terminal, "Wait a little");
    (await model.turn()).answer({ call: "Bash", input: { command: "sleep 20" } });
    await stage.runs("sleep 20");
    await stage.says("working", "long tool", performance.now());
    const hiddenAtMs = await terminal.dismisses("esc to interrupt", "Escape");
    await stage.says("canceled", "Esc in a tool", hiddenAtMs);
  });

  await tell("permission denied ends the turn", async () => {
    await prompt(terminal, "Fetch more paint");
    (await model.turn()).answer({ call: "Bash", input: { command: "touch paint" } });
    await stage.says("input-required", "asked", await terminal.shows("Do you want to proceed?"));
    const hiddenAtMs = await terminal.dismisses("Do you want to proceed?", "Escape");
    await stage.says("rejected", "denied", hiddenAtMs);
  });

  await tell("a refused key is a person's business", async () => {
    await prompt(terminal, "Try the other key");
    const refusal = { type: "authentication_error", message: "invalid x-api-key" };
    (await model.turn()).refuse(401, JSON.stringify({ type: "error", error: refusal }));
    await stage.says("auth-required", "refused key", await terminal.shows("Invalid API key"));
  });

  await tell("after /clear it is one agent, idle, without a goal", async () => {
    await prompt(terminal, "/clear");
    const record = await stage.says("idle", "clear", await terminal.hides("Invalid API key"));
    assert.equal(record.goal, undefined);
  });

  await tell("after /exit it is gone", async () => {
    await prompt(terminal, "/exit");
    await stage.isGone("exit", await terminal.ends());
  });

  await tell("killed at work, it is gone all the same", async () => {
    const second = start();
    await stage.says("idle", "second start", await second.shows("? for shortcuts"));
    await prompt(second, "Paint the fence");
    await stage.says("working", "second prompt", (await model.turn()).askedAtMs);
    process.kill(second.pid, "SIGKILL");
    await stage.isGone("kill", performance.now());
  });

  await tell("without its hooks its settings are what they were", async () => {
    await stage.uninstall("claude-code");
    assert.equal(stage.read(".claude/settings.json"), settings);
  });

  await tell("nothing was asked of anyone but the model", async () => {
    assert.deepEqual(model.turnedAway, []);
  });

  stage.reports(t);
});

test("Claude Code is told by its status file while its subagents work", async (t) => {
  const host = await needHost(t, "claude-code");
  if (!host) return;
  await using stage = await openStage(host);
  const { model } = stage;
  const tell = storyOf(t);
  await stage.install("claude-code");
  const terminal = stage.start({ ...env, ANTHROPIC_BASE_URL: model.url });
  await terminal.shows("? for shortcuts");
  await prompt(terminal, "Send somebody");
  const errand = { description: "Look", prompt: "Look around", subagent_type: "general-purpose" };
  (await model.turn()).answer({ call: "Agent", input: errand });
  const turns = [await model.turn(), await model.turn()];
  // Only who talks to a person may ask one.
  const parent = turns.find(({ tools }) => tools.includes("AskUserQuestion"));
  const subagent = turns.find(({ tools }) => !tools.includes("AskUserQuestion"));
  assert(parent && subagent);

  await tell("its work is not over when it has said its last word", async () => {
    parent.answer({ say: "Somebody is on the way." });
    await stage.says("submitted", "sent", await terminal.shows("Somebody is on the way."));
  });

  await tell("it waits for a person while a subagent does", async () => {
    subagent.answer({ call: "Bash", input: { command: "touch ladder", description: "Climb" } });
    const shownAtMs = await terminal.shows("Do you want to proceed?");
    await stage.says("input-required", "subagent asks", shownAtMs);
  });

  await tell("what the host itself tells it is not what it is about", async () => {
    await terminal.dismisses("Do you want to proceed?", "Enter");
    (await model.turn()).answer({ say: "There is a ladder." });
    const told = await model.turn();
    const record = await stage.says("working", "subagent is back", told.askedAtMs);
    assert.equal(record.task?.summary, "Send somebody");
    assert.equal(record.goal?.summary, "Send somebody");
    told.answer({ say: "Somebody was there." });
    await stage.says("idle", "end of errand", await terminal.shows("Somebody was there."));
  });

  stage.reports(t);
});

test("Claude Code installs the plugin from a git repository that nobody has built", async (t) => {
  const host = await needHost(t, "claude-code");
  if (!host) return;
  await using stage = await openStage(host);
  const variables = { ...env, PATH: stage.pathOfUser, ANTHROPIC_BASE_URL: stage.model.url };
  const repository = `https://${stage.serveClone()}.git`;
  await stage.run(variables, "plugin", "marketplace", "add", repository);
  await stage.run(variables, "plugin", "install", "tipstaff@tipstaff");
  const terminal = stage.start(variables);
  await stage.says("idle", "start", await terminal.shows("? for shortcuts"));
});

async function openStage(host: Installed): Promise<Stage> {
  const stage = await Stage.open(host);
  const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
  const about = {
    hasCompletedOnboarding: true,
    hasSeenAutoDefaultNudge: true,
    hasSeenAutoDefaultNotice: true,
    theme: "dark",
    customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
    projects: { [stage.workspace]: trusted },
  };
  // Otherwise it decides about permissions by itself.
  const settings = { disableAutoMode: "disable", permissions: { defaultMode: "default" } };
  stage.write(".claude.json", JSON.stringify(about));
  stage.write(".claude/settings.json", JSON.stringify(settings));
  return stage;
}

/** Types it, and sends it once it stands there. */
async function prompt(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text);
  await terminal.shows(`❯ ${text}`);
  terminal.press("Enter");
}

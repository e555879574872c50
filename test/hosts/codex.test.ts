/** Codex as npm installs it, in a terminal: what its status file says, step by step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Installed, needHost } from "./installation.ts";
import { Stage, tmuxSocket } from "./stage.ts";
import { storyOf } from "./story.ts";
import type { Terminal } from "./terminal.ts";

const env = { SCRIPTED_KEY: "key" };

/** Its daemon is a copy of itself, of 300 MB. */
const startMs = 60_000;

/** It asks for this on the start page, whatever its configuration says. */
const tipOfTheDay = "raw.githubusercontent.com:443";

const questions = [
  {
    id: "colour",
    header: "Colour",
    question: "Which colour?",
    options: [
      { label: "Red", description: "as a rose" },
      { label: "Blue", description: "as a violet" },
    ],
  },
];

test("Codex is told by its status file", async (t) => {
  const host = await needHost(t, "codex");
  if (!host) return;
  await using stage = await openStage(host);
  const { model } = stage;
  const tell = storyOf(t);
  await stage.install("codex");
  // It leaves a daemon behind by default, which is a story of its own: see below.
  const start = (): Terminal => stage.start(env, "--disable", "daemon_auto_start");
  const terminal = start();

  await tell("its hooks run once a person trusts them", async () => {
    await trustHooks(terminal);
    assert.deepEqual(stage.records(), []);
  });

  await tell("a prompt makes it work, and is its goal and its task", async () => {
    await prompt(terminal, "Paint the shed");
    const turn = await model.turn();
    const record = await stage.says("working", "prompt", turn.askedAtMs);
    assert.equal(record.agent_name, "codex");
    assert.match(record.agent_id, /^codex-[0-9a-f]{32}$/);
    assert.equal(record.runtime.pid, terminal.pid);
    assert.equal(record.runtime.workspace, stage.workspace);
    assert.equal(record.x_meta?.["tmux_pane"], "%0");
    assert.equal(record.x_meta?.["tmux_socket"], tmuxSocket);
    assert.equal(record.goal?.summary, "Paint the shed");
    assert.equal(record.task?.summary, "Paint the shed");
    turn.answer(escalated("touch brush; sleep 2"));
  });

  await tell("it waits for a person while it asks for permission", async () => {
    const shownAtMs = await terminal.shows("Would you like to run the following command?");
    await stage.says("input-required", "permission asked", shownAtMs);
  });

  await tell("it works again as soon as permission is granted", async () => {
    const hiddenAtMs = await terminal.dismisses("Would you like to run", "y");
    await stage.says("working", "permission granted", hiddenAtMs);
    (await model.turn()).answer({ call: "exec_command", input: { cmd: "cat no-such-file" } });
  });

  await tell("a tool that fails leaves it at work", async () => {
    const turn = await model.turn();
    await stage.says("working", "failed tool", turn.askedAtMs);
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
    await stage.says("input-required", "trailing question", shownAtMs);
  });

  await tell("Esc while the model thinks ends the turn", async () => {
    await prompt(terminal, "Think hard");
    const turn = await model.turn();
    await stage.says("working", "thinking", turn.askedAtMs);
    const hiddenAtMs = await terminal.dismisses("esc to interrupt", "Escape");
    await turn.closed;
    await stage.says("canceled", "Esc while thinking", hiddenAtMs);
  });

  await tell("Esc while a tool runs ends the turn", async () => {
    await prompt(terminal, "Wait a little");
    (await model.turn()).answer({ call: "exec_command", input: { cmd: "sleep 20" } });
    await stage.runs("sleep 20");
    await stage.says("working", "long tool", performance.now());
    const hiddenAtMs = await terminal.dismisses("esc to interrupt", "Escape");
    await stage.says("canceled", "Esc in a tool", hiddenAtMs);
  });

  await tell("permission denied ends the turn", async () => {
    await prompt(terminal, "Fetch more paint");
    (await model.turn()).answer(escalated("touch paint"));
    await stage.says("input-required", "asked", await terminal.shows("Would you like to run"));
    const hiddenAtMs = await terminal.dismisses("Would you like to run", "Escape");
    await stage.says("rejected", "denied", hiddenAtMs);
  });

  await tell("a turn that the provider refuses has failed", async () => {
    await prompt(terminal, "Ask the provider");
    const refusal = { type: "invalid_request_error", message: "not with this model" };
    (await model.turn()).refuse(400, JSON.stringify({ error: refusal }));
    await stage.says("failed", "refused turn", await terminal.shows("not with this model"));
  });

  await tell("it waits for a person while it asks a question", async () => {
    terminal.press("BTab");
    await terminal.shows("Plan mode");
    await prompt(terminal, "Choose a colour");
    (await model.turn()).answer({ call: "request_user_input", input: { questions } });
    await stage.says("input-required", "question", await terminal.shows("enter to submit answer"));
  });

  await tell("it works again when the question is answered", async () => {
    await terminal.dismisses("enter to submit answer", "Enter");
    const turn = await model.turn();
    await stage.says("working", "question answered", turn.askedAtMs);
    turn.answer({ say: "Red it is." });
    await stage.says("idle", "end of plan", await terminal.shows("Red it is."));
  });

  await tell("after /clear the next prompt is its goal, and there is still one agent", async () => {
    await prompt(terminal, "/clear");
    await terminal.hides("Red it is.");
    await prompt(terminal, "Paint the fence");
    const turn = await model.turn();
    const record = await stage.says("working", "clear", turn.askedAtMs);
    assert.equal(record.goal?.summary, "Paint the fence");
    turn.answer({ say: "Done." });
    await stage.says("idle", "end of the first turn", await terminal.shows("Done."));
  });

  await tell("after /quit it is gone", async () => {
    await prompt(terminal, "/quit");
    await stage.isGone("quit", await terminal.ends());
  });

  await tell("killed at work, it is gone all the same", async () => {
    const second = start();
    await prompt(second, "Paint the gate");
    await stage.says("working", "second prompt", (await model.turn()).askedAtMs);
    process.kill(second.pid, "SIGKILL");
    await stage.isGone("kill", performance.now());
  });

  await tell("without its hooks it is as it was", async () => {
    await stage.uninstall("codex");
    assert.equal(stage.read(".codex/hooks.json"), undefined);
  });

  await tell("nothing was asked of anyone but the model, except a tip of the day", async () => {
    assert.deepEqual(new Set(model.turnedAway).difference(new Set([tipOfTheDay])), new Set());
  });

  stage.reports(t);
});

test("Codex with its daemon works on when its window is gone", async (t) => {
  const host = await needHost(t, "codex");
  if (!host) return;
  await using stage = await openStage(host);
  const { model } = stage;
  const tell = storyOf(t);
  await stage.install("codex");
  const terminal = stage.start(env);

  await tell("the window is where the session is, although the daemon runs its hooks", async () => {
    await trustHooks(terminal);
    await prompt(terminal, "Paint the shed");
    const turn = await model.turn();
    const record = await stage.says("working", "prompt", turn.askedAtMs);
    assert.equal(record.runtime.pid, terminal.pid);
    assert.equal(record.x_meta?.["tmux_pane"], "%0");
    assert.equal(record.x_meta?.["tmux_socket"], tmuxSocket);
    turn.answer({ say: "It is painted." });
    await stage.says("idle", "end of turn", await terminal.shows("It is painted."));
  });

  await tell("killed at work, the window is gone, and the work goes on to its end", async () => {
    await prompt(terminal, "Paint the fence");
    const turn = await model.turn();
    await stage.says("working", "second prompt", turn.askedAtMs);
    process.kill(terminal.pid, "SIGKILL");
    await stage.staysWorking();
    turn.answer({ say: "Nobody reads this." });
    await stage.isGone("end of work", performance.now());
  });

  await tell("after /quit it is gone, although the daemon is not", async () => {
    const second = stage.start(env);
    await prompt(second, "Paint the gate");
    (await model.turn()).answer({ say: "The gate is painted." });
    await stage.says("idle", "end of turn", await second.shows("The gate is painted."));
    await prompt(second, "/quit");
    await stage.isGone("quit", await second.ends());
  });

  stage.reports(t);
});

test("Codex installs the plugin from a git repository that nobody has built", async (t) => {
  const host = await needHost(t, "codex");
  if (!host) return;
  await using stage = await openStage(host);
  const settings = stage.read(".codex/config.toml") ?? "";
  stage.write(".codex/config.toml", settings.replace(/^plugins = false$/m, "plugins = true"));
  const repository = `https://${stage.serveClone()}.git`;
  await stage.run(env, "plugin", "marketplace", "add", repository);
  await stage.run(env, "plugin", "add", "tipstaff@tipstaff");
  const variables = { ...env, PATH: stage.pathOfUser };
  const terminal = stage.start(variables, "--disable", "daemon_auto_start");
  await trustHooks(terminal);
  await prompt(terminal, "Paint the shed");
  await stage.says("working", "prompt", (await stage.model.turn()).askedAtMs);
});

function escalated(cmd: string) {
  const input = { cmd, sandbox_permissions: "require_escalated", justification: "It must be." };
  return { call: "exec_command", input };
}

async function openStage(host: Installed): Promise<Stage> {
  const stage = await Stage.open(host);
  stage.write(
    ".codex/config.toml",
    `model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
disable_paste_burst = true

[model_providers.scripted]
name = "Scripted"
base_url = "${stage.model.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[features]
apps = false
plugins = false
remote_plugin = false

[analytics]
enabled = false

[projects."${stage.workspace}"]
trust_level = "trusted"
`,
  );
  return stage;
}

async function trustHooks(terminal: Terminal): Promise<void> {
  await terminal.shows("Hooks need review", startMs);
  await terminal.dismisses("› 1. Review hooks", "2");
  await terminal.dismisses("Hooks need review", "Enter");
}

/** Types it, and sends it once it stands there. */
async function prompt(terminal: Terminal, text: string): Promise<void> {
  await terminal.shows("Ask Codex to do anything");
  terminal.type(text);
  await terminal.shows(`› ${text}`);
  terminal.press("Enter");
}

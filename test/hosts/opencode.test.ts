/** OpenCode as npm installs it, in a terminal: what its status file says, step by step. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { type Installed, needHost } from "./installation.ts";
import { Stage, tmuxSocket } from "./stage.ts";
import { storyOf } from "./story.ts";
import type { Terminal } from "./terminal.ts";

const env = {
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER: "1",
};

/** It needs both cores for a while before it shows anything. */
const startMs = 60_000;

const question = {
  question: "Which colour?",
  header: "Colour",
  options: [
    { label: "Red", description: "as a rose" },
    { label: "Blue", description: "as a violet" },
  ],
};

// Takes over 20 s: one session of the real host, whose every state is waited for and seen.
test("OpenCode is told by its status file", async (t) => {
  const host = await needHost(t, "opencode");
  if (!host) return;
  await using stage = await openStage(host);
  const { model } = stage;
  const tell = storyOf(t);
  const models = join(stage.home, "models.json");
  const start = (): Terminal => stage.start({ ...env, OPENCODE_MODELS_PATH: models });
  const settings = stage.read(".config/opencode/opencode.json");
  await stage.install("opencode");
  const terminal = start();

  await tell("it is there and idle as soon as it has started", async () => {
    const shownAtMs = await terminal.shows("Ask anything", startMs);
    const record = await stage.says("idle", "start", shownAtMs);
    assert.equal(record.agent_name, "opencode");
    assert.match(record.agent_id, /^opencode-[0-9a-f-]{36}$/);
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
    turn.answer(shell("touch brush; sleep 2"));
  });

  await tell("it waits for a person while it asks for permission", async () => {
    const shownAtMs = await terminal.shows("Permission required");
    await stage.says("input-required", "permission asked", shownAtMs);
  });

  await tell("it works again as soon as permission is granted", async () => {
    const hiddenAtMs = await terminal.dismisses("Permission required", "Enter");
    await stage.says("working", "permission granted", hiddenAtMs);
    (await model.turn()).answer(shell("cat no-such-file"));
    await terminal.dismisses("Permission required", "Enter");
  });

  await tell("a tool that fails leaves it at work", async () => {
    const turn = await model.turn();
    await stage.says("working", "failed tool", turn.askedAtMs);
    turn.answer({ call: "question", input: { questions: [question] } });
  });

  await tell("it waits for a person while it asks a question", async () => {
    await stage.says("input-required", "question", await terminal.shows("enter submit"));
  });

  await tell("it works again when the question is answered", async () => {
    await terminal.dismisses("enter submit", "Enter");
    const turn = await model.turn();
    await stage.says("working", "question answered", turn.askedAtMs);
    turn.answer({ say: "It is painted." });
  });

  await tell("it is idle when it has said its last word, and keeps its goal", async () => {
    await terminal.shows("It is painted.");
    const record = await stage.says("idle", "end of turn", await terminal.hides("esc interrupt"));
    assert.equal(record.goal?.summary, "Paint the shed");
    assert.equal(record.task, undefined);
  });

  await tell("Esc while the model thinks ends its work", async () => {
    await prompt(terminal, "Think hard");
    const turn = await model.turn();
    await stage.says("working", "thinking", turn.askedAtMs);
    await interrupt(terminal);
    await turn.closed;
    await stage.says("idle", "Esc while thinking", await terminal.shows("interrupted"));
  });

  await tell("permission denied makes it idle", async () => {
    await prompt(terminal, "Fetch more paint");
    (await model.turn()).answer(shell("touch paint"));
    const askedAtMs = await terminal.shows("Permission required");
    await stage.says("input-required", "asked", askedAtMs);
    await terminal.dismisses("Permission required", "Escape");
    await stage.says("idle", "denied", await terminal.hides("esc interrupt"));
  });

  await tell("Esc while a tool runs ends its work", async () => {
    await prompt(terminal, "Wait a little");
    (await model.turn()).answer(shell("sleep 20"));
    await terminal.dismisses("Permission required", "Enter");
    await stage.runs("sleep 20");
    await stage.says("working", "long tool", performance.now());
    await interrupt(terminal);
    await stage.says("idle", "Esc in a tool", await terminal.hides("esc interrupt"));
  });

  await tell("a refused key is a person's business", async () => {
    await prompt(terminal, "Try the other key");
    const refusal = { type: "authentication_error", message: "this key is not good" };
    (await model.turn()).refuse(401, JSON.stringify({ error: refusal }));
    await stage.says("auth-required", "refused key", await terminal.shows("this key is not good"));
  });

  await tell("after /new the next prompt is its goal, and there is still one agent", async () => {
    await prompt(terminal, "/new");
    await terminal.shows("Ask anything");
    await prompt(terminal, "Paint the fence");
    const turn = await model.turn();
    const record = await stage.says("working", "new", turn.askedAtMs);
    assert.equal(record.goal?.summary, "Paint the fence");
    turn.answer({ say: "That was quick." });
    await terminal.shows("That was quick.");
    await stage.says("idle", "end of the first turn", await terminal.hides("esc interrupt"));
  });

  await tell("killed at work, it is gone all the same", async () => {
    await prompt(terminal, "Paint the gate");
    await stage.says("working", "last prompt", (await model.turn()).askedAtMs);
    process.kill(terminal.pid, "SIGKILL");
    await stage.isGone("kill", performance.now());
  });

  await tell("after /exit it is gone", async () => {
    const second = start();
    await stage.says("idle", "second start", await second.shows("Ask anything", startMs));
    await prompt(second, "/exit");
    await stage.isGone("exit", await second.ends());
  });

  await tell("without the plugin its settings are what they were", async () => {
    await stage.uninstall("opencode");
    assert.equal(stage.read(".config/opencode/opencode.json"), settings);
  });

  stage.reports(t);
});

// Takes over 20 s: the host installs the packed package and starts anew.
test("OpenCode takes the package by its own means", async (t) => {
  const host = await needHost(t, "opencode");
  if (!host) return;
  await using stage = await openStage(host);
  const settings = JSON.parse(stage.read(".config/opencode/opencode.json") ?? "");
  const plugin = [await stage.unpack()];
  stage.write(".config/opencode/opencode.json", JSON.stringify({ ...settings, plugin }));
  const terminal = stage.start({ ...env, OPENCODE_MODELS_PATH: join(stage.home, "models.json") });
  await stage.says("idle", "start", await terminal.shows("Ask anything", startMs));
  await prompt(terminal, "Paint the shed");
  await stage.says("working", "prompt", (await stage.model.turn()).askedAtMs);
});

test("OpenCode loads the plugin from the folder of a clone that nobody has built", async (t) => {
  const host = await needHost(t, "opencode");
  if (!host) return;
  await using stage = await openStage(host);
  const settings = JSON.parse(stage.read(".config/opencode/opencode.json") ?? "");
  const clone = join(stage.home, "clone");
  const address = `https://${stage.serveClone()}`;
  execFileSync("git", ["clone", "--quiet", address, clone], { env: stage.env });
  const plugin = [join(clone, "plugins/opencode")];
  stage.write(".config/opencode/opencode.json", JSON.stringify({ ...settings, plugin }));
  const terminal = stage.start({ ...env, OPENCODE_MODELS_PATH: join(stage.home, "models.json") });
  await stage.says("idle", "start", await terminal.shows("Ask anything", startMs));
});

function shell(command: string) {
  return { call: "bash", input: { command, description: "Something of ours" } };
}

async function openStage(host: Installed): Promise<Stage> {
  const stage = await Stage.open(host);
  const scripted = {
    npm: "@ai-sdk/openai-compatible",
    name: "Scripted",
    options: { baseURL: `${stage.model.url}/v1`, apiKey: "key" },
    models: { scripted: { name: "Scripted", limit: { context: 100_000, output: 8_000 } } },
  };
  // The list of all the world's models costs it nine seconds of a processor.
  stage.write("models.json", "{}\n");
  const config = {
    // If it were not there, the host would add it.
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    snapshot: false,
    share: "disabled",
    model: "scripted/scripted",
    small_model: "scripted/scripted",
    enabled_providers: ["scripted"],
    provider: { scripted },
    permission: { bash: "ask" },
  };
  stage.write(".config/opencode/opencode.json", `${JSON.stringify(config, null, 2)}\n`);
  return stage;
}

/** It wants to be told twice. */
async function interrupt(terminal: Terminal): Promise<void> {
  await terminal.dismisses("esc interrupt", "Escape");
  await terminal.dismisses("esc again", "Escape");
}

/** Types it, and sends it once it stands there. */
async function prompt(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text);
  await terminal.shows(text);
  terminal.press("Enter");
}

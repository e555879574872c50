/** Pi as npm installs it, in a terminal: what its status file says, step by step. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Installed, needHost } from "./installation.ts";
import { Stage, tmuxSocket } from "./stage.ts";
import { storyOf } from "./story.ts";
import type { Terminal } from "./terminal.ts";

const env = { PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" };

test("Pi is told by its status file", async (t) => {
  const host = await needHost(t, "pi");
  if (!host) return;
  await using stage = await openStage(host);
  const { model } = stage;
  const tell = storyOf(t);
  const start = (): Terminal => stage.start(env);
  await stage.install("pi");
  const terminal = start();

  await tell("it is there and idle as soon as it has started", async () => {
    const record = await stage.says("idle", "start", await terminal.shows("(auto)"));
    assert.equal(record.agent_name, "pi");
    assert.match(record.agent_id, /^pi-[0-9a-f-]{36}$/);
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
    turn.answer({ call: "bash", input: { command: "touch brush" } });
  });

  await tell("it waits for a person while an extension asks for permission", async () => {
    await stage.says("input-required", "permission asked", await terminal.shows("Run it?"));
  });

  await tell("it works again as soon as permission is granted", async () => {
    const hiddenAtMs = await terminal.dismisses("Run it?", "Enter");
    await stage.says("working", "permission granted", hiddenAtMs);
    (await model.turn()).answer({ call: "bash", input: { command: "cat no-such-file" } });
  });

  await tell("a tool that fails leaves it at work", async () => {
    const turn = await model.turn();
    await stage.says("working", "failed tool", turn.askedAtMs);
    turn.answer({ call: "ask", input: { question: "Which colour?" } });
  });

  await tell("it waits for a person while a tool asks a question", async () => {
    await stage.says("input-required", "question", await terminal.shows("→ Red"));
  });

  await tell("it works again when the question is answered", async () => {
    await terminal.dismisses("→ Red", "Enter");
    const turn = await model.turn();
    await stage.says("working", "question answered", turn.askedAtMs);
    turn.answer({ say: "It is painted." });
  });

  await tell("it is idle when it has said its last word, and keeps its goal", async () => {
    const record = await stage.says("idle", "end of turn", await terminal.shows("It is painted."));
    assert.equal(record.goal?.summary, "Paint the shed");
    assert.equal(record.task, undefined);
  });

  await tell("Esc while the model thinks ends its work", async () => {
    await prompt(terminal, "Think hard");
    const turn = await model.turn();
    await stage.says("working", "thinking", turn.askedAtMs);
    const hiddenAtMs = await terminal.dismisses("Working...", "Escape");
    await turn.closed;
    await stage.says("canceled", "Esc while thinking", hiddenAtMs);
  });

  await tell("Esc while a tool runs ends its work", async () => {
    await prompt(terminal, "Wait a little");
    (await model.turn()).answer({ call: "bash", input: { command: "sleep 20" } });
    await stage.runs("sleep 20");
    await stage.says("working", "long tool", performance.now());
    const hiddenAtMs = await terminal.dismisses("Working...", "Escape");
    await stage.says("canceled", "Esc in a tool", hiddenAtMs);
  });

  await tell("a refused key is a person's business", async () => {
    await prompt(terminal, "Try the other key");
    const refusal = { type: "authentication_error", message: "invalid key" };
    (await model.turn()).refuse(401, JSON.stringify({ error: refusal }));
    await stage.says("auth-required", "refused key", await terminal.shows("401 invalid key"));
  });

  await tell("after /new it is one agent, idle, without a goal", async () => {
    await prompt(terminal, "/new");
    const record = await stage.says("idle", "new", await terminal.shows("New session started"));
    assert.equal(record.goal, undefined);
  });

  await tell("after /quit it is gone", async () => {
    await prompt(terminal, "/quit");
    await stage.isGone("quit", await terminal.ends());
  });

  await tell("killed at work, it is gone all the same", async () => {
    const second = start();
    await stage.says("idle", "second start", await second.shows("(auto)"));
    await prompt(second, "Paint the fence");
    await stage.says("working", "second prompt", (await model.turn()).askedAtMs);
    process.kill(second.pid, "SIGKILL");
    await stage.isGone("kill", performance.now());
  });

  await tell("nothing was asked of anyone but the model", async () => {
    assert.deepEqual(model.turnedAway, []);
  });

  stage.reports(t);
});

test("Pi takes the package by its own means", async (t) => {
  const host = await needHost(t, "pi");
  if (!host) return;
  await using stage = await openStage(host);
  const installing = stage.start(env, "install", await stage.unpack());
  await installing.ends();
  const terminal = stage.start(env);
  await stage.says("idle", "start", await terminal.shows("(auto)"));
  await prompt(terminal, "Paint the shed");
  await stage.says("working", "prompt", (await stage.model.turn()).askedAtMs);
});

test("Pi installs the plugin from a git repository that nobody has built", async (t) => {
  const host = await needHost(t, "pi");
  if (!host) return;
  await using stage = await openStage(host);
  // Pi runs npm in the clone. Ours downloads nothing, and runs the script that npm runs then.
  const script = `[ "$*" = "install --omit=dev" ] || exit 1\nPATH=\${PATH#*:} exec npm run --silent prepare`;
  stage.write("bin/npm", `#!/bin/sh\n${script}\n`);
  chmodSync(join(stage.home, "bin/npm"), 0o755);
  const PATH = `${join(stage.home, "bin")}:${stage.env["PATH"]}`;
  await stage.run({ ...env, PATH }, "install", `git:${stage.serveClone()}`);
  const terminal = stage.start(env);
  await stage.says("idle", "start", await terminal.shows("(auto)"));
});

async function openStage(host: Installed): Promise<Stage> {
  const stage = await Stage.open(host);
  const provider = {
    baseUrl: `${stage.model.url}/v1`,
    api: "openai-completions",
    apiKey: "key",
    models: [{ id: "scripted" }],
  };
  const settings = {
    defaultProvider: "scripted",
    defaultModel: "scripted",
    quietStartup: true,
    enableInstallTelemetry: false,
  };
  stage.write(".pi/agent/models.json", JSON.stringify({ providers: { scripted: provider } }));
  stage.write(".pi/agent/settings.json", JSON.stringify(settings));
  const asking = readFileSync(join(import.meta.dirname, "pi-asking.js"), "utf8");
  stage.write(".pi/agent/extensions/asking.js", asking);
  return stage;
}

/** Types it, and sends it once it stands there. */
async function prompt(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text);
  await terminal.shows(text);
  terminal.press("Enter");
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionsProgram, recognise } from "./programs.ts";

type Case = {
  readonly words: readonly string[];
  readonly executable?: string;
  readonly is: string | undefined;
};

const node = "/usr/bin/node";
const home = "/home/u";
const modules = "/usr/lib/node_modules";

const agents: readonly Case[] = [
  { words: ["claude"], is: "claude-code" },
  { words: ["/opt/claude/claude", "--resume", "x"], is: "claude-code" },
  { words: [`${modules}/@anthropic-ai/claude-code/bin/claude.exe`, "-p", "hi"], is: "claude-code" },
  { words: ["node", `${home}/.npm/bin/claude`, "-c"], is: "claude-code" },
  {
    words: [node, "--max-old-space-size=4096", `${modules}/@anthropic-ai/claude-code/cli.js`],
    is: "claude-code",
  },
  { words: ["claude", "explain the mcp protocol"], is: "claude-code" },
  { words: ["node", `${modules}/@openai/codex/bin/codex.js`, "resume"], is: "codex" },
  { words: ["/x/codex-linux-x64/vendor/musl/bin/codex"], is: "codex" },
  { words: ["codex", "exec", "fix it"], is: "codex" },
  { words: ["opencode"], is: "opencode" },
  { words: ["opencode", "run", "update"], is: "opencode" },
  { words: ["claude", "-p", "update"], is: "claude-code" },
  { words: ["claude", "--model", "opus", "--print", "install"], is: "claude-code" },
  { words: ["claude", "fix", "the", "install"], is: "claude-code" },
  { words: ["claude", "--", "doctor"], is: "claude-code" },
  { words: ["codex", "-m", "x", "exec", "plugin"], is: "codex" },
  { words: ["codex", "-p", "work", "app-server-tests"], is: "codex" },
  { words: ["pi", "", "", "", ""], executable: node, is: "pi" },
  { words: [node, "/usr/local/bin/pi"], is: "pi" },
  { words: ["/usr/bin/python3.12", `${home}/.local/bin/aider`, "--model", "x"], is: "aider" },
  { words: ["python3", "-m", "aider"], is: "aider" },
  { words: ["node", "/usr/local/bin/gemini"], is: "gemini" },
  { words: ["bun", "run", `${home}/bin/amp`], is: "amp" },
  { words: ["goose", "session"], is: "goose" },
  {
    words: [`${home}/.local/bin/cursor-agent`],
    executable: `${home}/.local/share/cursor-agent/versions/1/node`,
    is: "cursor-agent",
  },
  {
    words: ["node", `${home}/.local/share/cursor-agent/versions/1/index.js`],
    is: "cursor-agent",
  },
  { words: ["copilot"], executable: `${modules}/@github/copilot/copilot`, is: "copilot" },
];

for (const { words, executable, is } of agents) {
  test(`${words.filter(Boolean).join(" ")} is ${is}`, () => {
    const found = recognise(words, () => executable);
    assert.equal(found?.program, is);
    assert.equal(found?.isServer, false);
    assert.ok(mentionsProgram(words.join("\0")));
  });
}

const others: readonly (Omit<Case, "is"> & { readonly why: string })[] = [
  { words: ["bash", "-c", "claude -p hello"], why: "a shell that runs it" },
  { words: ["/bin/sh", "/usr/local/bin/claude"], why: "a script of a shell by its name" },
  { words: ["tmux", "new-session", "-s", "claude", "claude"], why: "a terminal" },
  { words: ["vim", "claude"], why: "an editor with a file of its name" },
  { words: ["tail", "-f", "/var/log/claude"], why: "something that reads its log" },
  { words: ["sudo", "claude"], why: "what starts it" },
  { words: ["npm", "exec", "claude"], why: "what installs it" },
  { words: ["node", "-e", "run()", "claude"], why: "a program in words" },
  { words: ["python3", "-c", "aider"], why: "a program of one word" },
  { words: ["node", "--require", "/x/claude", "/x/server.js"], why: "another script" },
  { words: ["node", "/x/mcp-server.js", "--client", "claude"], why: "a server of tools" },
  {
    words: ["node", `${modules}/@anthropic-ai/claude-code/mcp-server.js`],
    why: "a helper in its package",
  },
  {
    words: ["node", `${modules}/@anthropic-ai/claude-code/node_modules/x/cli.js`],
    why: "a package in its package",
  },
  { words: ["claude", "mcp", "serve"], why: "it as a server of tools" },
  { words: ["claude", "--version"], why: "it saying its version" },
  { words: ["codex", "login"], why: "it logging in" },
  { words: ["claude", "--model", "opus", "install"], why: "it being installed" },
  { words: ["claude", "--debug", "mcp", "serve"], why: "it as a server of tools, with an option" },
  { words: ["codex-linux-sandbox", "--", "npm", "test"], why: "what it runs commands in" },
  { words: ["/usr/bin/Claude"], why: "the desktop program" },
  { words: ["pi", "1000"], executable: "/usr/bin/pi", why: "a program for digits of pi" },
  { words: ["copilot", "svc", "deploy"], executable: "/usr/bin/copilot", why: "a deployment" },
  { words: ["goose", "postgres", "up"], why: "a migration of tables" },
  { words: [], why: "nothing" },
  { words: [""], why: "a name that is empty" },
];

for (const { words, executable, why } of others) {
  test(`${words.join(" ")} is no agent: ${why}`, () => {
    assert.equal(
      recognise(words, () => executable),
      undefined,
    );
  });
}

test("a server is told from an agent", () => {
  assert.equal(recognise(["codex", "app-server", "--listen", "unix://"])?.isServer, true);
  assert.equal(recognise(["opencode", "serve", "--port", "4096"])?.isServer, true);
  assert.equal(recognise(["codex", "exec", "app-server"])?.isServer, false);
  assert.equal(recognise(["codex", "app-server", "daemon", "pid-update-loop"]), undefined);
  assert.equal(recognise(["codex", "-c", "a=b", "mcp-server"]), undefined);
});

test("what mentions nothing is not looked at twice", () => {
  for (const command of ["/usr/bin/python3\0spider.py", "api-server", "/usr/sbin/sshd", ""]) {
    assert.equal(mentionsProgram(command), false);
  }
});

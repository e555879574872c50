/** `tipstaff install` and `uninstall`, as they are typed. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scratch } from "../e2e/processes.ts";
import { Terminal } from "../hosts/terminal.ts";

const executable = fileURLToPath(new URL("../../bin/tipstaff", import.meta.url));

type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

function tipstaff(home: string, ...words: readonly string[]): Outcome {
  const { status, stdout, stderr } = spawnSync(executable, words, {
    encoding: "utf8",
    env: { HOME: home, PATH: "/usr/bin:/bin", NODE_NO_WARNINGS: "1" },
    input: "",
    timeout: 20_000,
  });
  return { code: status, stdout, stderr };
}

test("a host is shown, installed, shown again and uninstalled", () => {
  using home = scratch();
  const settings = join(home.path, ".claude", "settings.json");
  mkdirSync(join(home.path, ".claude"));
  writeFileSync(settings, '{\n  "model": "opus"\n}');

  const { stdout: before } = tipstaff(home.path, "install");
  assert.match(before, /not installed +claude-code +tipstaff install claude-code/);

  const dry = tipstaff(home.path, "install", "claude-code", "--dry-run");
  assert.equal(dry.code, 0);
  assert.match(dry.stdout, /settings\.json changes: \d+ hooks/);
  const [, shown = ""] =
    /^ {2}SessionStart runs, for 5 s at most:\n {4}(.+)$/m.exec(dry.stdout) ?? [];
  assert.match(shown, /^test -x '.+\/hook' .+ claude-code SessionStart \|\| true # tipstaff$/);
  assert.match(
    dry.stdout,
    /^ {2}and so do, each with its own name: UserPromptSubmit, .*SessionEnd$/m,
  );
  assert.ok(dry.stdout.split("\n").length < 10, "what one reads before saying yes");
  assert.match(dry.stdout, /nothing was changed/);
  assert.equal(readFileSync(settings, "utf8"), '{\n  "model": "opus"\n}');

  const unasked = tipstaff(home.path, "install", "claude-code");
  assert.equal(unasked.code, 2);
  assert.match(unasked.stderr, /add --yes/);
  assert.equal(readFileSync(settings, "utf8"), '{\n  "model": "opus"\n}');

  const done = tipstaff(home.path, "install", "claude-code", "--yes");
  assert.equal(done.code, 0);
  assert.match(done.stdout, /Claude Code now tells what its agents do/);
  assert.match(
    done.stdout,
    /as it was before: ~\/\.claude\/settings\.json\.tipstaff-backup-[0-9a-f]{12}/,
  );

  const again = tipstaff(home.path, "install", "claude-code", "--yes");
  assert.equal(again.stdout, "Claude Code is installed already\n");
  assert.match(tipstaff(home.path, "install").stdout, /^installed +claude-code *$/m);

  const gone = tipstaff(home.path, "uninstall", "claude-code", "--yes");
  assert.equal(gone.code, 0);
  assert.equal(readFileSync(settings, "utf8"), '{\n  "model": "opus"\n}');
  assert.equal(
    tipstaff(home.path, "uninstall", "claude-code").stdout,
    "Claude Code is not installed\n",
  );
});

test("settings that disable all hooks are told of, and left to whoever wrote them", () => {
  using home = scratch();
  mkdirSync(join(home.path, ".claude"));
  const settings = join(home.path, ".claude", "settings.json");
  writeFileSync(settings, '{"disableAllHooks":true}');
  const but =
    "but hooks are disabled in settings: take disableAllHooks out of ~/.claude/settings.json\n";
  const done = tipstaff(home.path, "install", "claude-code", "--yes");
  assert.equal(done.code, 0);
  assert.ok(done.stdout.includes(`Claude Code is installed\n${but}`), done.stdout);
  assert.doesNotMatch(done.stdout, /now tells/);
  assert.equal(JSON.parse(readFileSync(settings, "utf8")).disableAllHooks, true);
  const again = tipstaff(home.path, "install", "claude-code", "--yes");
  assert.equal(again.stdout, `Claude Code is installed already\n${but}`);
  assert.match(
    tipstaff(home.path, "install").stdout,
    /^disabled +claude-code +installed, but hooks/m,
  );
  const { hosts } = JSON.parse(tipstaff(home.path, "install", "--json").stdout);
  assert.equal(hosts[0].state, "disabled");
  tipstaff(home.path, "uninstall", "claude-code", "--yes");
  assert.equal(readFileSync(settings, "utf8"), '{"disableAllHooks":true}');
});

test("every line of a change is shown to who asks for it, a long one cut", () => {
  using home = scratch();
  mkdirSync(join(home.path, ".claude"));
  const settings = join(home.path, ".claude", "settings.json");
  writeFileSync(settings, '{\n  "model": "opus"\n}');
  const whole = tipstaff(home.path, "install", "claude-code", "opencode", "--dry-run", "--diff");
  assert.match(whole.stdout, /^ {2}\+ {3}"hooks": \{$/m);
  const commands = whole.stdout.match(/^ {2}\+ +"command": .* \|\| true # tipstaff",$/gm) ?? [];
  assert.equal(commands.length, 11);
  assert.doesNotMatch(whole.stdout, /more lines?$/m);
  const brief = tipstaff(home.path, "install", "opencode", "pi", "--dry-run").stdout;
  assert.match(brief, /^~\/\.config\/opencode\/plugins\/tipstaff\.js new file: .+, [\d.]+ kB$/m);
  assert.equal(brief.split("\n").length, 5);

  writeFileSync(settings, `{"a":"${"x".repeat(900_000)}"}`);
  const long = tipstaff(home.path, "install", "claude-code", "--dry-run", "--diff");
  assert.match(long.stdout, /^ {2}- \{"a":"x+…$/m);
  assert.ok(long.stdout.length < 2_000);
});

test("what is no file is refused at once, and the others stay as they are", async () => {
  using home = scratch();
  const settings = join(home.path, ".claude", "settings.json");
  const refused = (kind: string): void => {
    for (const command of ["install", "uninstall"]) {
      const { code, stderr } = tipstaff(home.path, command, "codex", "claude-code", "--yes");
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `tipstaff: ~/.claude/settings.json is ${kind}, not a file\n  nothing was changed; move it away, and try again\n`,
      );
    }
    assert.equal(existsSync(join(home.path, ".codex")), false);
    assert.deepEqual(readdirSync(join(home.path, ".claude")), ["settings.json"]);
    rmSync(settings, { recursive: true, force: true });
  };
  mkdirSync(settings, { recursive: true });
  refused("a directory");
  execFileSync("mkfifo", [settings]);
  refused("a named pipe");
  symlinkSync("/dev/zero", settings);
  refused("a device");
  const server = createServer().listen(settings);
  await once(server, "listening");
  refused("a socket or a device");
  server.close();
});

test("one host that cannot be written leaves the others as they were, also in what is only shown", () => {
  using home = scratch();
  for (const [directory, name] of [
    [".claude", "settings.json"],
    [".codex", "hooks.json"],
  ] as const) {
    mkdirSync(join(home.path, directory));
    writeFileSync(join(home.path, directory, name), "{}\n");
  }
  chmodSync(join(home.path, ".codex", "hooks.json"), 0o444);
  for (const flag of ["--yes", "--dry-run"]) {
    const { code, stdout, stderr } = tipstaff(
      home.path,
      "install",
      "claude-code",
      "pi",
      "codex",
      flag,
    );
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /cannot write ~\/\.codex\/hooks\.json: it is read-only\n {2}nothing was changed/,
    );
  }
  assert.equal(readFileSync(join(home.path, ".claude", "settings.json"), "utf8"), "{}\n");
  assert.deepEqual(readdirSync(join(home.path, ".claude")), ["settings.json"]);
  assert.equal(existsSync(join(home.path, ".pi")), false);
});

test("for machines: one document, with the text of each file before and after", () => {
  using home = scratch();
  const { stdout } = tipstaff(home.path, "install", "codex", "--json", "--yes");
  const { hosts, isApplied, backups } = JSON.parse(stdout);
  assert.equal(isApplied, true);
  assert.deepEqual(backups, []);
  const [{ name, changes }] = hosts;
  assert.equal(name, "codex");
  const path = join(home.path, ".codex", "hooks.json");
  assert.equal(changes[0].path, path);
  assert.equal(changes[0].kind, "create");
  assert.equal(changes[0].before, null);
  assert.equal(changes[0].after, readFileSync(path, "utf8"));
  // Codex refuses a file in which anything else stands at the top.
  assert.deepEqual(Object.keys(JSON.parse(changes[0].after)), ["hooks"]);
});

test("what cannot be understood stops everything, before anything is changed", () => {
  using home = scratch();
  mkdirSync(join(home.path, ".codex"));
  writeFileSync(join(home.path, ".codex", "hooks.json"), "{ no");
  const { code, stderr } = tipstaff(home.path, "install", "claude-code", "codex", "--yes");
  assert.equal(code, 1);
  assert.match(stderr, /~\/\.codex\/hooks\.json is not valid JSON: line 1 column 3/);
  assert.equal(existsSync(join(home.path, ".claude")), false);
  assert.match(tipstaff(home.path, "install").stdout, /unreadable +codex/);
});

test("a host that nobody knows, or none at all, is a mistake", () => {
  using home = scratch();
  const unknown = tipstaff(home.path, "install", "claude");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /there is no host claude; did you mean claude-code\?/);
  const none = tipstaff(home.path, "uninstall");
  assert.equal(none.code, 2);
  assert.match(none.stderr, /which host\?/);
});

test("a person is asked, and has the time to answer", async () => {
  for (const [answer, says, isInstalled] of [
    ["y", /now tells what its agents do/, true],
    ["n", /nothing was changed/, false],
  ] as const) {
    using home = scratch();
    using terminal = new Terminal({
      command: [executable, "install", "codex"],
      directory: home.path,
      env: { HOME: home.path, PATH: "/usr/bin:/bin", NODE_NO_WARNINGS: "1", TERM: "screen" },
    });
    await terminal.shows("[y/N]");
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(terminal.hasEnded, false, "nobody answered yet");
    terminal.type(answer);
    terminal.press("Enter");
    await terminal.shows(says);
    assert.equal(existsSync(join(home.path, ".codex", "hooks.json")), isInstalled);
  }
});

/** On a real terminal: colours, widths, and a screen that is given back whatever happens. */
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { until } from "../e2e/processes.ts";
import { Terminal } from "../hosts/terminal.ts";
import { cleanEnv, executable, record, statusDirectory } from "./command.ts";

/** A shell that says how the command ended, and stays. */
function open(
  words: readonly string[],
  {
    env = {},
    columns = 140,
    rows = 30,
    run = '"$0" "$@"',
  }: { env?: Record<string, string>; columns?: number; rows?: number; run?: string } = {},
): Terminal {
  // Interrupting is for the command, not for the shell around it.
  const script = `trap : INT; ${run}; echo "ended with $?"; exec cat`;
  return new Terminal({
    command: ["sh", "-c", script, executable, ...words],
    directory: process.cwd(),
    env: cleanEnv({ TERM: "xterm-256color", LANG: "C.UTF-8", ...env }),
    columns,
    rows,
  });
}

/** The one process that the shell waits for. */
function childOf(terminal: Terminal): number {
  return Number(readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, "utf8"));
}

function put(place: ReturnType<typeof statusDirectory>, id: string, more = {}): void {
  const runtime = { updated_at: new Date().toISOString(), workspace: "/home/user/src/somewhere" };
  place.put(`${id}.json`, record({ agent_id: id, runtime, ...more }));
}

const waiting = { task: { state: "input-required", summary: "delete 3 files?" } };
const longId = `claude-code-${"0123456789abcdef".repeat(2)}`;

describe("on a terminal", { concurrency: 2 }, () => {
  test("[AS-61] [AS-62] a list has colours, unless NO_COLOR or --no-color is said", async () => {
    using place = statusDirectory();
    put(place, "a", waiting);
    const words = ["list", "--status-dir", place.path];
    for (const [more, env, isColoured] of [
      [[], {}, true],
      [[], { NO_COLOR: "" }, true],
      [[], { NO_COLOR: "1" }, false],
      [["--color"], { NO_COLOR: "1" }, true],
      [["--no-color"], {}, false],
    ] as const) {
      using terminal = open([...words, ...more], { env });
      await terminal.shows("ended with 0");
      const screen = terminal.screen();
      assert.equal(terminal.isStyled, isColoured, screen);
      assert.equal(screen.includes("╭"), isColoured, screen);
      assert.match(screen, /\? input-required/);
    }
  });

  test("[AS-63] a narrow terminal still shows state and age, and no line is broken", async () => {
    using place = statusDirectory();
    put(place, longId, waiting);
    for (const columns of [140, 80, 60]) {
      using terminal = open(["list", "--status-dir", place.path], { columns });
      await terminal.shows("ended with 0");
      const lines = terminal.screen().split("\n");
      const row = lines.find((line) => line.includes("? input-required"));
      assert.match(row ?? "", /\ds ago +│$/, terminal.screen());
      assert.equal(lines.filter((line) => /^[╭├╰]/.test(line)).length, 3);
    }
  });

  test("watching takes the other screen, shows changes, follows the size, and gives the terminal back", async () => {
    using place = statusDirectory();
    put(place, "first", waiting);
    using terminal = open(["watch", "--status-dir", place.path, "--interval", "600"]);
    await terminal.shows("? input-required");
    assert(terminal.modes.isOnAlternateScreen);
    assert(!terminal.modes.isCursorVisible);
    put(place, longId, { task: { state: "working" } });
    await terminal.shows("● working");
    terminal.resize(70, 12);
    await until(() => /…[0-9a-f]+f? +│/.test(terminal.screen()), "a shorter id");
    assert(
      terminal
        .screen()
        .split("\n")
        .every((line) => [...line].length <= 70),
    );
    rmSync(join(place.path, "first.json"));
    await until(() => !terminal.screen().includes("input-required"), "the first to go");
    terminal.press("C-c");
    await terminal.shows("ended with 0");
    assert(!terminal.modes.isOnAlternateScreen);
    assert(terminal.modes.isCursorVisible);
  });

  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 0],
  ] as const) {
    test(`the terminal is as it was after ${signal}`, async () => {
      using place = statusDirectory();
      put(place, "a");
      using terminal = open(["watch", "--status-dir", place.path]);
      await terminal.shows("~ idle");
      process.kill(childOf(terminal), signal);
      await terminal.shows(`ended with ${code}`);
      assert(!terminal.modes.isOnAlternateScreen);
      assert(terminal.modes.isCursorVisible);
      assert(!terminal.screen().includes("idle"));
    });
  }

  test("while it is suspended the terminal is the shell's", async () => {
    using place = statusDirectory();
    put(place, "a");
    // A shell that has jobs: nobody is stopped whom no shell could continue.
    const run = 'set -m; "$0" "$@"; echo "stopped with $?"; read _; fg';
    using terminal = open(["watch", "--status-dir", place.path], { run });
    await terminal.shows("~ idle");
    terminal.press("C-z");
    await terminal.shows(/stopped with 1[45]\d/);
    assert(!terminal.modes.isOnAlternateScreen && terminal.modes.isCursorVisible);
    terminal.press("Enter");
    await terminal.shows("~ idle");
    assert(terminal.modes.isOnAlternateScreen);
    terminal.press("C-c");
    await terminal.shows("ended with 0");
  });

  test("what is typed meanwhile does not stay, and what does not fit is said to be there", async () => {
    using place = statusDirectory();
    for (let index = 0; index < 40; index += 1) put(place, `agent-${index}`, waiting);
    place.put("bad.json", "{");
    using terminal = open(["watch", "--status-dir", place.path, "--interval", "0.2"], { rows: 20 });
    await terminal.shows("more than fits here");
    terminal.type("garbage");
    terminal.press("Enter");
    await until(() => {
      const screen = terminal.screen();
      return screen.includes("40 agents") && !screen.includes("garbage");
    }, "a whole frame");
    terminal.press("C-c");
    await terminal.shows("ended with 0");
  });

  test("warnings stand below the table", async () => {
    using place = statusDirectory();
    put(place, "a");
    place.put("bad.json", "[]");
    using terminal = open(["watch", "--status-dir", place.path]);
    await terminal.shows(/╯\s+warning: ignored invalid status .*bad\.json/);
    terminal.press("C-c");
    await terminal.shows("ended with 0");
  });
});

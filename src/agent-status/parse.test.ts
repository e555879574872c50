/** The words of a command line, read as the reference program reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printHelp, printUsage } from "./help.ts";
import { commands } from "./options.ts";
import { type Given, parseCommandLine } from "./parse.ts";

function given(...words: readonly string[]): Given {
  const invocation = parseCommandLine(words);
  assert.equal(invocation.kind, "run", `${words.join(" ")}: ${JSON.stringify(invocation)}`);
  assert(invocation.kind === "run");
  return invocation.given;
}

function mistakeIn(...words: readonly string[]): string {
  const invocation = parseCommandLine(words);
  assert(invocation.kind === "mistake", `${words.join(" ")} is understood`);
  return invocation.message;
}

const least = ["--agent-id", "a", "--agent-name", "n", "--lifecycle", "running"];

test("[AS-74] a value stands behind its option, after a blank or an equals sign, and the last one counts", () => {
  assert.equal(given("list", "--status-dir", "d").text("status-dir"), "d");
  assert.equal(given("list", "--status-dir=d=e").text("status-dir"), "d=e");
  assert.equal(given("list", "--status-dir=").text("status-dir"), "");
  assert.equal(given("list", "--status-dir", "a", "--status-dir", "b").text("status-dir"), "b");
  assert.deepEqual(given("emit", ...least, "--meta", "a=1", "--meta=b=2").texts("meta"), [
    "a=1",
    "b=2",
  ]);
});

test("[AS-74] options and words come in any order, and -- ends the options", () => {
  assert.deepEqual(given("get", "x", "--status-dir", "d").words, ["x"]);
  assert.deepEqual(given("get", "--status-dir", "d", "x").words, ["x"]);
  assert.deepEqual(given("get", "--status-dir", "d", "--", "-x").words, ["-x"]);
  assert.deepEqual(given("get", "--", "--").words, ["--"]);
  assert.match(mistakeIn("get", "--", "x", "--status-dir", "d"), /--status-dir d/);
});

test("[AS-74] a name cut short is the one option that begins so, or ambiguous", () => {
  assert.equal(given("emit", ...least, "--task-su", "s").text("task-summary"), "s");
  assert.equal(given("emit", ...least, "--work=w").text("workspace"), "w");
  assert.equal(given("list", "--no").toggle("color"), false);
  assert.match(mistakeIn("emit", "--agent", "x"), /ambiguous.*--agent-id, --agent-name/);
  assert.match(mistakeIn("list", "--st", "x"), /ambiguous/);
  // The whole name of one option may be the beginning of another.
  assert.equal(given("emit", ...least, "--task-status", "t").text("task-status-timestamp"), "t");
});

test("[AS-75] no option of ours makes a name unclear that was clear before", () => {
  const reference = [
    ["emit", "--c", "x", "context-id"],
    ["emit", "--me", "k=v", "meta"],
    ["list", "--sta", undefined, undefined],
    ["watch", "--i", "3", "interval"],
    ["prune", "--s", undefined, undefined],
    ["prune", "--p", "3", "prune-after"],
  ] as const;
  for (const [command, word, value, name] of reference) {
    const before = command === "emit" ? least : [];
    if (value === undefined) {
      // Ambiguous in the reference, and so still.
      assert.match(mistakeIn(command, word, "x"), /ambiguous/, word);
    } else {
      assert.equal(given(command, ...before, word, value).text(name), value, word);
    }
  }
  // What the reference does not have at all may be ours.
  assert.equal(given("list", "--js").toggle("json"), true);
  assert.equal(given("emit", ...least, "--mer").toggle("merge"), true);
  assert.equal(given("prune", "--dr").toggle("dry-run"), true);
});

test("[AS-74] a number with a dash in front is a value", () => {
  assert.equal(given("emit", ...least, "--pid", "-5").number("pid"), -5);
  assert.equal(given("list", "--stale-after", "-60").number("stale-after"), -60);
  assert.equal(given("emit", ...least, "--task-summary", "-.5").text("task-summary"), "-.5");
});

test("[AS-74] a text with a blank in it is no option, whatever it begins with", () => {
  assert.equal(
    given("emit", ...least, "--task-summary", "- do it").text("task-summary"),
    "- do it",
  );
  assert.match(mistakeIn("emit", ...least, "--task-summary", "-do"), /--task-summary=-do/);
  assert.equal(given("emit", ...least, "--task-summary=-do").text("task-summary"), "-do");
  assert.equal(given("emit", ...least, "--task-summary", "-").text("task-summary"), "-");
  assert.deepEqual(given("get", "-7").words, ["-7"]);
});

test("[AS-76] numbers are decimal, with a sign if need be", () => {
  for (const [text, value] of [
    ["0", 0],
    ["+7", 7],
    ["-7", -7],
    [" 12 ", 12],
    ["1_000", 1_000],
    ["007", 7],
    // Full-width, Arabic-Indic and mathematical ones, as the reference's language has it.
    ["６０", 60],
    ["٦٠", 60],
    ["1\u{1d7df}", 17],
  ] as const) {
    assert.equal(given("list", `--stale-after=${text}`).number("stale-after"), value, text);
  }
  for (const text of ["", "abc", "1.5", "0x10", "1e3", "1__0", "_1", "--"]) {
    assert.match(mistakeIn("list", `--stale-after=${text}`), /whole number/, text);
  }
  for (const text of ["9007199254740993", "-9007199254740993", "1".repeat(30)]) {
    assert.match(mistakeIn("emit", ...least, `--pid=${text}`), /--pid is beyond .*exactly/, text);
  }
  assert.equal(given("emit", ...least, "--pid=9007199254740991").number("pid"), 2 ** 53 - 1);
  for (const [text, value] of [
    ["2", 2],
    [".5", 0.5],
    ["1.", 1],
    ["1e1", 10],
    ["1_0.5", 10.5],
  ] as const) {
    assert.equal(given("watch", `--interval=${text}`).number("interval"), value, text);
  }
  for (const text of ["", "x", "nan", "inf", "-inf", "-1", "1e999", "Infinity"]) {
    assert.match(mistakeIn("watch", `--interval=${text}`), /seconds/, text);
  }
});

test("a switch takes no value, and of two opposites the last counts", () => {
  assert.equal(given("list", "--color", "--no-color").toggle("color"), false);
  assert.equal(given("list", "--no-color", "--color").toggle("color"), true);
  assert.equal(given("list").toggle("color"), undefined);
  assert.match(mistakeIn("list", "--color=x"), /takes no value/);
  assert.match(mistakeIn("list", "--color="), /takes no value/);
});

test("[AS-72] what is missing, unknown or too much is named", () => {
  assert.match(mistakeIn("emit"), /--agent-id, --agent-name, --lifecycle/);
  assert.match(mistakeIn("get"), /agent_id/);
  assert.match(mistakeIn("validate"), /file/);
  assert.match(mistakeIn("get", "a", "b"), /b/);
  assert.match(mistakeIn("list", "--bogus"), /--bogus/);
  assert.match(mistakeIn("list", "-x"), /-x/);
  assert.match(mistakeIn("list", "--status-dir"), /expects a value/);
  assert.match(mistakeIn("list", "--status-dir", "--json"), /expects a value/);
  assert.match(mistakeIn("emit", ...least, "--lifecycle", "Running"), /running, stopped, unknown/);
  assert.match(mistakeIn("emit", ...least, "--task-state", ""), /one of submitted/);
  assert.match(mistakeIn("frobnicate"), /frobnicate.*emit, list/);
  assert.match(mistakeIn("list", "-hx"), /-h/);
});

test("merging asks for nothing but an id", () => {
  assert.equal(given("emit", "--merge", "--agent-id", "a").text("lifecycle"), undefined);
  assert.match(mistakeIn("emit", "--merge"), /given: --agent-id$/);
});

test("[AS-73] help and version are asked for at both levels, and what comes first decides", () => {
  for (const words of [["-h"], ["--help"], ["--he"], ["-h", "list"], ["--help", "nonsense"]]) {
    assert.deepEqual(parseCommandLine(words), { kind: "help" });
  }
  for (const words of [["-h"], ["--help"], ["extra", "-h"], ["--bogus", "--he"], ["-hh"]]) {
    const invocation = parseCommandLine(["emit", ...words]);
    assert(invocation.kind === "help" && invocation.command?.name === "emit", words.join(" "));
  }
  assert.equal(parseCommandLine(["list", "--stale-after", "x", "-h"]).kind, "mistake");
  assert.deepEqual(parseCommandLine(["--version"]), { kind: "version" });
});

test("options before the command are not understood", () => {
  assert.equal(parseCommandLine(["--status-dir", "d", "list"]).kind, "mistake");
  assert.equal(parseCommandLine(["--bogus", "list"]).kind, "mistake");
  assert.equal(parseCommandLine(["--", "list"]).kind, "mistake");
});

test("every help begins with two examples that are understood, names every option, and fits 80 columns", () => {
  const overview = printHelp(undefined);
  for (const command of commands) {
    assert(overview.includes(`  ${command.name} `), command.name);
    const help = printHelp(command);
    const examples = help.split("\n").slice(0, 2);
    for (const example of examples) {
      assert.match(example, /^ {2}agent-status /);
      const [typed = ""] = example.trim().split(" | ");
      assert.equal(parseCommandLine(typed.split(" ").slice(1)).kind, "run", example);
    }
    for (const { name } of command.options) assert(help.includes(`--${name}`), name);
    assert.match(printUsage(command), new RegExp(`^usage: agent-status ${command.name}`));
    for (const line of [...help.split("\n"), ...printUsage(command).split("\n")]) {
      assert(line.length <= 80, line);
    }
  }
});

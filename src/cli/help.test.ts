/** Help says all that there is, because it is made from the table. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printHelp } from "./help.ts";
import { commands, nouns, offered } from "./table.ts";

test("the overview names every command that is offered and every verb, and the exit codes", () => {
  const text = printHelp();
  const words = text.replaceAll(/\n {3,}/g, " ");
  for (const { name, summary } of offered) {
    const [noun, verb] = name.split(" ");
    if (verb === undefined) assert.match(words, new RegExp(`^  ${name} +${quoted(summary)}$`, "m"));
    else assert.match(words, new RegExp(`^  ${noun} .*: .*\\b${verb}\\b`, "m"));
  }
  for (const { name } of commands.filter((row) => row.isHidden)) {
    assert.doesNotMatch(words, new RegExp(`^  ${name} `, "m"));
  }
  assert.match(text, /0 success, 1 failure, 2 usage error, 3 no daemon answers/);
});

test("the help of a noun names its verbs, their arguments and what they do", () => {
  for (const noun of Object.keys(nouns)) {
    const text = printHelp({ noun }).replaceAll(/\n {3,}/g, " ");
    for (const { name, summary } of commands) {
      if (name.startsWith(`${noun} `)) assert(text.includes(summary), name);
    }
  }
});

test("[AK-3.1-1] the help of a command names every flag, its default, and what its exit codes mean", () => {
  for (const command of commands) {
    const text = printHelp({ command });
    const words = text.replaceAll(/\s+/g, " ");
    for (const { name, help, default: standard } of command.flags) {
      assert.match(words, new RegExp(` --${name}\\b.*?${quoted(help)}`));
      if (standard !== undefined) assert(words.includes(`(${standard})`), name);
    }
    for (const { name, help } of command.arguments ?? []) {
      assert(words.includes(name) && words.includes(help), name);
    }
    for (const [code, meaning] of command.exits) assert(words.includes(`${code} ${meaning}`));
    for (const example of command.examples) assert(words.includes(example));
  }
  const agentkeeper = commands.find(({ name }) => name === "agentkeeper");
  assert(agentkeeper);
  const text = printHelp({ command: agentkeeper });
  assert.match(text, /--addr .*\(:7070\)/);
  assert.match(text, /--metrics-addr .*\s.*\(:9090\)/);
  assert.match(text, /--data-dir .*in memory/);
  assert.doesNotMatch(text, /tipstaff agentkeeper/);
});

test("help begins with two examples, and fits into 80 columns", () => {
  const texts = [
    printHelp(),
    ...Object.keys(nouns).map((noun) => printHelp({ noun })),
    ...commands.map((command) => printHelp({ command })),
  ];
  for (const text of texts) {
    assert.match(text, /^ {2}\S.*\n {2}/);
    for (const line of text.split("\n")) assert(line.length <= 80, line);
  }
});

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

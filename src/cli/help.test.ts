/** Help says all that there is, because it is made from the table. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printHelp } from "./help.ts";
import { commands } from "./table.ts";

test("the overview names every command, and the exit codes", () => {
  const text = printHelp();
  for (const { name, summary } of commands) {
    assert.match(text, new RegExp(`^  ${name} +${quoted(summary)}$`, "m"));
  }
  assert.match(text, /0 yes, 1 no, 2 typed wrong, 3 no daemon/);
});

test("[AK-3.1-1] the help of a command names every flag, its default, and what its exit codes mean", () => {
  for (const command of commands) {
    const text = printHelp(command);
    for (const { name, help, default: standard } of command.flags) {
      assert.match(text, new RegExp(`^  --${name}\\b.*${quoted(help)}`, "m"));
      if (standard !== undefined) assert(text.includes(`(${standard})`), name);
    }
    for (const [code, meaning] of command.exits) assert(text.includes(`${code} ${meaning}`));
    for (const example of command.examples) assert(text.includes(example));
  }
  const agentkeeper = commands.find(({ name }) => name === "agentkeeper");
  const text = printHelp(agentkeeper);
  assert.match(text, /--addr .*\(:7070\)/);
  assert.match(text, /--metrics-addr .*\(:9090\)/);
  assert.match(text, /--data-dir .*in memory/);
});

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

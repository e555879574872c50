/** The words of a command line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCommandLine } from "./parse.ts";
import { commands } from "./table.ts";

test("[AK-3.1-2] a flag may have one dash or two, and its value behind = or a space", () => {
  for (const words of [
    ["--addr=:7171", "--data-dir=/d"],
    ["--addr", ":7171", "--data-dir", "/d"],
    ["-addr=:7171", "-data-dir=/d"],
    ["-addr", ":7171", "-data-dir", "/d"],
  ]) {
    assert.deepEqual(valuesOf("agentkeeper", ...words), { addr: ":7171", "data-dir": "/d" });
  }
});

test("[AK-3.1-5] an empty value is a value", () => {
  assert.deepEqual(valuesOf("agentkeeper", "--metrics-addr="), { "metrics-addr": "" });
  assert.deepEqual(valuesOf("agentkeeper", "-metrics-addr="), { "metrics-addr": "" });
  assert.deepEqual(valuesOf("agentkeeper", "--metrics-addr", ""), { "metrics-addr": "" });
});

test("what was not given is not there: whoever runs the command knows what was asked for", () => {
  assert.deepEqual(valuesOf("agentkeeper"), {});
  assert.deepEqual(valuesOf("up", "--memory"), { memory: true });
});

test("[AK-3.1-6] what is not in the table is a mistake, and says what", () => {
  const mistakes: readonly (readonly [RegExp, string[]])[] = [
    [/there is no command start/, ["start"]],
    [/there is no command --addr/, ["--addr=:1"]],
    [/--nope/, ["agentkeeper", "--nope"]],
    [/--nope/, ["agentkeeper", "-nope=1"]],
    [/--grpc/, ["agentkeeper", "--grpc=:1"]],
    [/addr/, ["agentkeeper", "--addr"]],
    [/memory/, ["up", "--memory=yes"]],
    [/extra/, ["up", "extra"]],
    [/-x/, ["up", "-x"]],
  ];
  for (const [what, words] of mistakes) {
    const invocation = parseCommandLine(words);
    assert(invocation.kind === "mistake", words.join(" "));
    assert.match(invocation.message, what);
    assert.doesNotMatch(invocation.message, /\n/);
  }
});

test("[AK-3.1-6] help and version are understood wherever people write them", () => {
  for (const words of [[], ["help"], ["--help"], ["-h"], ["help", "nothing"]]) {
    assert.deepEqual(parseCommandLine(words), { kind: "help" });
  }
  for (const words of [
    ["up", "--help"],
    ["up", "-h"],
    ["up", "-help"],
    ["help", "up"],
  ]) {
    const invocation = parseCommandLine(words);
    assert(invocation.kind === "help");
    assert.equal(invocation.command?.name, "up");
  }
  for (const words of [
    ["--version"],
    ["version"],
    ["agentkeeper", "--version"],
    ["up", "-version"],
  ]) {
    assert.deepEqual(parseCommandLine(words), { kind: "version" });
  }
});

test("every command can be run, and its flags have one name each", () => {
  for (const { name, flags } of commands) {
    const invocation = parseCommandLine([name]);
    assert(invocation.kind === "run");
    assert.equal(invocation.command.name, name);
    assert.equal(new Set(flags.map((flag) => flag.name)).size, flags.length);
  }
});

function valuesOf(...words: string[]): unknown {
  const invocation = parseCommandLine(words);
  assert(invocation.kind === "run", JSON.stringify(invocation));
  return { ...invocation.values };
}

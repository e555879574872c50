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

test("every example of every command is that command, and its flags have one name each", () => {
  for (const { name, flags, examples } of commands) {
    for (const example of examples) {
      const invocation = parseCommandLine(wordsOf(example));
      assert(invocation.kind === "run", `${example}: ${JSON.stringify(invocation)}`);
      assert.equal(invocation.command.name, name, example);
    }
    assert.equal(new Set(flags.map((flag) => flag.name)).size, flags.length);
  }
});

test("a word that may be left out is one at most", () => {
  const writer = (...words: readonly string[]) => parseCommandLine(["writer", ...words]);
  assert.equal(writer().kind, "run");
  const one = writer("/d");
  assert(one.kind === "run");
  assert.deepEqual(one.words, ["/d"]);
  const two = writer("/d", "/e");
  assert(two.kind === "mistake");
  assert.equal(two.message, "writer takes no /e");
});

test("a noun alone lists, also with flags, and verbs go by other names too", () => {
  assert.equal(nameOf("leases"), "leases list");
  assert.equal(nameOf("leases", "--json"), "leases list");
  assert.equal(nameOf("leases", "ls"), "leases list");
  assert.equal(nameOf("policies", "rm", "p1"), "policies delete");
});

test("[ARCP-223] [ARCP-229] the commands of arcp have the flags and defaults that the protocol's table names", () => {
  const client = "url token=ARCP_TOKEN";
  const table = {
    serve:
      "transport=ws host=127.0.0.1 port=7777 path=/arcp token=ARCP_TOKEN principal=cli-user db allowed-host agents heartbeat=30 resume-window=600",
    submit: `${client} agent input=null lease={} expires-at idempotency-key max-runtime trace-id events raw`,
    tail: `${client} job-id from-seq=0 no-history`,
    replay: "db session after-seq=0 job-id type",
    list: `${client} status agent limit=100 cursor`,
    cancel: `${client} job-id reason`,
    manifest: "",
  };
  for (const [name, words] of Object.entries(table)) {
    const row = commands.find((command) => command.name === `arcp ${name}`);
    const flags = row?.flags.map((flag) => {
      const usual = "default" in flag ? flag.default : undefined;
      return usual === undefined || flag.name === "url" ? flag.name : `${flag.name}=${usual}`;
    });
    assert.equal(flags?.join(" "), words, name);
  }
});

test("[ARCP-223] arcp is a program of its own: alone it does nothing, and it has its own version", () => {
  const alone = parseCommandLine(["arcp"]);
  assert(alone.kind === "mistake");
  assert.match(alone.message, /^a command is needed: serve, submit, tail/);
  for (const words of [
    ["arcp", "--help"],
    ["arcp", "-h"],
    ["arcp", "help"],
    ["help", "arcp"],
  ]) {
    assert.deepEqual(parseCommandLine(words), { kind: "help", noun: "arcp" });
  }
  for (const words of [
    ["arcp", "--version"],
    ["arcp", "serve", "--version"],
  ]) {
    assert.deepEqual(parseCommandLine(words), { kind: "version", program: "arcp" });
  }
  const unknown = parseCommandLine(["arcp", "sumbit"]);
  assert(unknown.kind === "mistake");
  assert.equal(unknown.message, "arcp has no sumbit; did you mean submit?");
  assert.equal(unknown.program, "arcp");
});

test("words and flags may be mixed, and a flag may be repeated where that is meant", () => {
  const invocation = parseCommandLine([
    ...[
      "tasks",
      "create",
      "--tool",
      "a",
      "invoice",
      "--tool=b",
      "--priority",
      "-5",
      "--input",
      "-",
    ],
  ]);
  assert(invocation.kind === "run");
  assert.deepEqual(invocation.words, ["invoice"]);
  assert.deepEqual(invocation.values, { tool: ["a", "b"], priority: "-5", input: "-" });
  const apply = parseCommandLine(["policies", "apply", "-f", "dir", "-y"]);
  assert(apply.kind === "run");
  assert.deepEqual(apply.values, { file: ["dir"], yes: true });
});

test("a slip of the finger is told with what may be meant", () => {
  for (const [words, meant] of [
    [["agnets"], /did you mean agents\?/],
    [["leases", "relase"], /did you mean release\?/],
    [["leases", "jump"], /there is list, get, watch, release/],
    [["agents", "--jsn"], /did you mean --json\?/],
    [["up", "--data-dirr=x"], /did you mean --data-dir\?/],
  ] as const) {
    const invocation = parseCommandLine(words);
    assert(invocation.kind === "mistake", words.join(" "));
    assert.match(invocation.message, meant);
  }
});

test("what is missing or too much is named", () => {
  for (const [words, said] of [
    [["leases", "get"], /needs <task>/],
    [["leases", "get", "a", "b"], /takes no b$/],
    [["arcp", "submit", "echo"], /takes no echo; did you mean --agent echo\?/],
    [["arcp", "tail", "job_1"], /takes no job_1; did you mean --job-id job_1\?/],
    [["arcp", "tail", "--job-id", "job_1", "job_2"], /takes no job_2$/],
    [["policies", "check", "a", "b"], /needs <resource>/],
    [["leases", "--limit", "--json"], /--limit needs a value/],
    [["leases", "get", "a", "--json=yes"], /--json takes no value/],
    [["\u001b[31m"], /there is no command \\x1b\[31m/],
  ] as const) {
    const invocation = parseCommandLine(words);
    assert(invocation.kind === "mistake", words.join(" "));
    assert.match(invocation.message, said);
  }
});

function nameOf(...words: string[]): string {
  const invocation = parseCommandLine(words);
  assert(invocation.kind === "run", JSON.stringify(invocation));
  return invocation.command.name;
}

/** What a shell would hand over, of the part that calls us. */
function wordsOf(example: string): readonly string[] {
  const [, program, rest = ""] = /\b(tipstaff|agentkeeper|arcp)\b([^>)|]*)/.exec(example) ?? [];
  const words = [...rest.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? "",
  );
  return program === "tipstaff" || program === undefined ? words : [program, ...words];
}

function valuesOf(...words: string[]): unknown {
  const invocation = parseCommandLine(words);
  assert(invocation.kind === "run", JSON.stringify(invocation));
  return { ...invocation.values };
}

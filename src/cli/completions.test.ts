/** Completions, as a real shell asks for them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { scriptFor } from "./completions.ts";
import { nouns, offered as rows } from "./table.ts";

const hasBash = spawnSync("bash", ["--version"]).status === 0;
const script = scriptFor("bash") ?? "";

/** What bash offers when the last of these words is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const asking = [
    script,
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})`,
    `COMP_CWORD=${words.length - 1}`,
    "_tipstaff",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash fills this in.
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join("\n");
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-eu", "-c", asking]);
  assert.equal(status, 0, String(stderr));
  return String(stdout).split("\n").filter(Boolean).sort();
}

test("bash completes commands, verbs, flags and the few words that a flag takes", {
  skip: !hasBash,
}, () => {
  assert.deepEqual(offered("tipstaff", "le"), ["leases"]);
  assert.deepEqual(offered("tipstaff", "e"), ["elections", "events"]);
  assert.deepEqual(offered("tipstaff", "leases", ""), ["get", "list", "release", "watch"]);
  assert.deepEqual(offered("tipstaff", "leases", "release", "x", "--y"), ["--yes"]);
  assert.deepEqual(offered("tipstaff", "leases", "--so"), ["--sort"]);
  assert.deepEqual(offered("tipstaff", "policies", "set", "p", "--effect", ""), ["allow", "deny"]);
  assert.deepEqual(offered("tipstaff", "completions", "z"), ["zsh"]);
  assert.deepEqual(offered("agentkeeper", "--metr"), ["--metrics-addr"]);
  assert.deepEqual(offered("/usr/bin/agentkeeper", "--add"), ["--addr"]);
  assert.deepEqual(offered("arcp", "su"), ["submit"]);
  assert.deepEqual(offered("/usr/bin/arcp", "serve", "--transport", ""), ["stdio", "ws"]);
  assert.deepEqual(offered("tipstaff", "agents", "get", "--data-dir", "package.js"), [
    "package.json",
  ]);
  assert.deepEqual(offered("tipstaff", "find", "--limit", ""), []);
});

test("every flag of every command is offered by bash", { skip: !hasBash }, () => {
  for (const { name, flags } of rows) {
    const words = name.split(" ");
    const offers = offered("tipstaff", ...words, "--");
    for (const flag of flags) assert(offers.includes(`--${flag.name}`), `${name} --${flag.name}`);
  }
});

test("zsh and fish have every command and flag in them", () => {
  const fish = scriptFor("fish") ?? "";
  const zsh = scriptFor("zsh") ?? "";
  assert.match(zsh, /^#compdef tipstaff/);
  for (const { name, flags } of rows) {
    const word = name.split(" ").at(-1) ?? "";
    assert(zsh.includes(word) && fish.includes(`-a ${word} `), name);
    for (const flag of flags) {
      assert(zsh.includes(`--${flag.name}`) && fish.includes(`-l ${flag.name} `), flag.name);
    }
  }
  for (const noun of Object.keys(nouns)) assert(fish.includes(`-a ${noun} `), noun);
  // A quote inside a quoted text would end it.
  for (const line of fish.split("\n")) {
    assert.equal(line.replaceAll("\\'", "").split("'").length % 2, 1, line);
  }
  for (const script of [fish, zsh]) assert.doesNotMatch(script, /\bwriter\b/);
  assert.equal(scriptFor("tcsh"), undefined);
});

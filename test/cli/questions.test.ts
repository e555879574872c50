/** Open questions come first: `ps`, `watch`, `wait` and `notify` in real processes, in a real terminal, with a real daemon. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { call } from "../../src/cli/daemon.ts";
import { writeStatusFile } from "../../src/status-files/index.ts";
import type { Question } from "../../src/wire/api/index.ts";
import { printTimestamp, schemaVersion } from "../../src/wire/status-file/index.ts";
import { Daemon, type Scratch, scratch, tipstaff } from "../e2e/processes.ts";
import { Terminal } from "../hosts/terminal.ts";

const root = join(import.meta.dirname, "../..");

/** A daemon, an agent that asks, and another that only waits. */
class World implements AsyncDisposable {
  readonly #scratch: Scratch = scratch();
  readonly #daemon: Daemon;
  readonly flags: readonly string[];
  readonly #agentId: string;

  static async open(): Promise<World> {
    const files = scratch();
    const dataDirectory = join(files.path, "data");
    const daemon = await Daemon.start({ dataDirectory });
    const values = { "data-dir": dataDirectory };
    const card = { name: "payer" };
    const { id } = await call(values, "registerAgent", { card, ttlMs: 600_000 });
    return new World(files, daemon, id);
  }

  private constructor(files: Scratch, daemon: Daemon, agentId: string) {
    this.#scratch = files;
    this.#daemon = daemon;
    this.#agentId = agentId;
    const directory = join(files.path, "status");
    this.flags = ["--status-dir", directory, "--data-dir", join(files.path, "data")];
    const atMs = printTimestamp(Date.now() - 600_000);
    writeStatusFile(directory, {
      schema_version: schemaVersion,
      agent_id: "waits",
      agent_name: "migrator",
      runtime: { lifecycle: "running", updated_at: printTimestamp(Date.now()) },
      task: { state: "input-required", summary: "delete the tables?", status_timestamp: atMs },
    });
  }

  ask(prompt: string): Promise<Question> {
    const values = { "data-dir": join(this.#scratch.path, "data") };
    const choices = ["pay now", "wait"];
    return call(values, "askQuestion", { agentId: this.#agentId, prompt, choices });
  }

  /** What a person sees of a command. */
  async sees(command: string, shows: RegExp): Promise<readonly string[]> {
    using terminal = new Terminal({
      command: ["bin/tipstaff", command, ...this.flags],
      directory: root,
      env: { PATH: process.env["PATH"] ?? "", HOME: this.#scratch.path, LANG: "C.UTF-8" },
      columns: 80,
      rows: 24,
    });
    await terminal.shows(shows);
    return terminal.screen().split("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon[Symbol.asyncDispose]();
    this.#scratch[Symbol.dispose]();
  }
}

test("for programs, watch tells when a question is asked and when it is closed", async () => {
  await using world = await World.open();
  const words = ["watch", "--json", ...world.flags];
  const child = spawn(join(root, "bin/tipstaff"), words, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async (...types: readonly string[]) => {
      for (;;) {
        const line = JSON.parse((await lines.next()).value ?? "");
        if (types.includes(line.type)) return line;
      }
    };
    assert.deepEqual((await next("snapshot")).questions, []);
    const { id } = await world.ask("Pay 5 EUR?");
    assert.equal((await next("asked", "closed")).question.id, id);
    const answered = await tipstaff("answer", "payer", "wait", ...world.flags.slice(2));
    assert.equal(answered.code, 0, answered.stderr);
    const closed = await next("asked", "closed");
    assert.deepEqual([closed.type, closed.question.id], ["closed", id]);
  } finally {
    child.kill();
  }
});

test("questions come first in every list, and one command answers them", async () => {
  await using world = await World.open();
  const { id } = await world.ask("Pay 5 EUR to the printer?");
  const short = id.slice(-6);
  const line = `Pay 5 EUR to the printer\\? .*tipstaff answer ${short} <choice>`;

  const listed = await world.sees("ps", /2 wait for you/);
  assert.match(listed[0] ?? "", /^ {2}ASKS YOU +FOR +QUESTION +ANSWER WITH$/);
  assert.match(listed[1] ?? "", new RegExp(`^\\? payer +\\d+ s +${line}$`));
  const rows = listed.filter((row) => row.startsWith("● waiting"));
  assert.match(rows[0] ?? "", /payer +asks: Pay 5 EUR/, "who asks stands before who waits longer");
  assert.match(rows[1] ?? "", /migrator/);

  const watched = await world.sees("watch", /1 question · 2 wait for you/);
  assert.match(watched[0] ?? "", new RegExp(`^ \\? payer +\\d+ s +${line}$`));
  assert.match(watched[2] ?? "", /^›● waiting .*payer/);

  const needs = await tipstaff("needs", "--json", ...world.flags.slice(2));
  const kinds = JSON.parse(needs.stdout).items.map(({ kind }: { kind: string }) => kind);
  assert.deepEqual(kinds, ["question"], "an agent that asks is not printed a second time");

  const waited = await tipstaff("wait", "--until", "waiting", ...world.flags);
  assert.equal(waited.code, 0, waited.stderr);
  const [first, second] = waited.stdout.split("\n");
  assert.equal(
    first,
    `asks  payer  Pay 5 EUR to the printer? (pay now | wait)  tipstaff answer ${short} <choice>`,
  );
  assert.match(second ?? "", /^waiting {2}migrator/);

  const told = await tipstaff("notify", "--once", "--json", "--bell", ...world.flags);
  const [notice, other] = told.stdout.split("\n").map((text) => text && JSON.parse(text));
  assert.deepEqual([notice.question.id, other.name], [id, "migrator"]);

  const again = world.flags.slice(2);
  const answered = await tipstaff("answer", short, "pay", "now", ...again);
  assert.equal(answered.stdout, `answered ${id} of payer: pay now\n`, answered.stderr);
  const late = await tipstaff("answer", short, "wait", ...again);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /^tipstaff: this question was answered by \S+ \d+ s ago\n/);
  const { stdout } = await tipstaff("ps", "--json", ...world.flags);
  assert.deepEqual(JSON.parse(stdout).questions, []);
});

test("agents and agents get show what an agent asks", async () => {
  await using world = await World.open();
  const { id } = await world.ask("Pay 5 EUR?");
  const flags = world.flags.slice(2);
  const list = await tipstaff("agents", ...flags);
  assert.match(list.stdout, /^waiting .* payer .* asks: Pay 5 EUR\?/m);
  assert.match(list.stdout, /1 waits for you/);
  const one = await tipstaff("agents", "get", "payer", ...flags);
  assert.match(one.stdout, new RegExp(`^ *asks +Pay 5 EUR\\? · tipstaff answer ${id}$`, "m"));
  const unanswered = await tipstaff("answer", id, ...flags);
  assert.equal(unanswered.code, 2);
  assert.match(unanswered.stderr, /no answer was given; answer with <pay now \| wait>/);
});

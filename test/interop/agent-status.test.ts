/**
 * The published `agent-status` program beside ours: first the peer's own tests, unchanged, against our
 * executable; then both programs on the same directories, over random records.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { cleanEnv, executable, rowsOf, run, runProgram } from "../agent-status/command.ts";
import { type Peer, preparePeer, Reference } from "./agent-status-peer.ts";

/** All of the peer's tests of its command and its format; what each asserts is in the contract, section 11.1. */
const peerTests = [
  "test_valid_minimal_record",
  "test_valid_full_record",
  "test_missing_required_field_fails",
  "test_invalid_runtime_lifecycle_fails",
  "test_invalid_goal_timestamp_fails",
  "test_partial_goal_rejected",
  "test_full_goal_accepted",
  "test_invalid_task_state_fails",
  "test_unknown_extra_fields_tolerated",
  "test_idle_inference",
  "test_stale_detection",
  "test_atomic_write_output_parseable",
  "test_cli_emit_incomplete_goal_fails",
  "test_cli_get_validate_and_prune",
  "test_print_list_shows_goal_when_task_missing",
  "test_print_list_aligns_columns_without_tabs",
  "test_list_ordering_newest_first",
  "test_invalid_json_file_ignored_with_warning",
  "test_display_sort_key_buckets_and_recency",
  "test_idle_sort_uses_last_activity_at",
  "test_idle_sort_stable_tie_break_by_agent_id",
  "test_prune_removes_old_stale_and_stopped_records",
  "test_human_age",
  "test_state_color_mapping",
];

const prepared = await preparePeer();

if ("unavailable" in prepared) {
  test("the published agent-status program", (context) => {
    // Where everything must be tested, what cannot be tested has failed.
    assert.notEqual(process.env["CI"], "true", prepared.unavailable);
    context.skip(prepared.unavailable);
  });
} else {
  const peer = prepared;

  test("the peer's own tests of its command, unchanged, against bin/agent-status", async (context) => {
    const { output, outcomes, calls } = await pytest(peer);
    assert.equal(outcomes.size, peerTests.length, output);
    // Each of them really asked our program.
    assert(calls.length >= peerTests.length, output);
    for (const name of peerTests) {
      await context.test(name, () => assert.equal(outcomes.get(name), "PASSED", output));
    }
  });

  describe("both programs on one directory", () => {
    let reference: Reference;
    before(async () => {
      reference = await Reference.start(peer);
    });
    after(async () => {
      await reference[Symbol.asyncDispose]();
    });

    test("the same words write the same bytes, and each reads what the other wrote", async () => {
      using place = scratch();
      const [ours, theirs] = ["ours", "theirs"].map((name) => join(place.path, name));
      assert(ours && theirs);
      putWorkspaces(place.path);
      await fc.assert(
        fc.asyncProperty(emitWords(place.path, reference), async ({ id, words }) => {
          const theirAnswer = await reference.call(["emit", ...words, "--status-dir", theirs]);
          const ourAnswer = await run(["emit", ...words, "--status-dir", ours]);
          const facts = ({ code, stderr }: { code: number | null; stderr: string }): unknown => ({
            code,
            stderr,
          });
          assert.deepEqual(facts(ourAnswer), facts(theirAnswer));
          if (ourAnswer.code !== 0) return;
          assert.equal(ourAnswer.stdout, `${ours}/${id}.json\n`);
          const text = readFileSync(join(theirs, `${id}.json`), "utf8");
          assert.equal(readFileSync(join(ours, `${id}.json`), "utf8"), text);
          // Each what the other wrote.
          const got = await run(["get", "--status-dir", theirs, "--", id]);
          assert.deepEqual([got.code, got.stdout], [0, text]);
          const theirGot = await reference.call(["get", "--status-dir", ours, "--", id]);
          assert.deepEqual([theirGot.code, theirGot.stdout], [0, text]);
          const verdict = await reference.call(["validate", join(ours, `${id}.json`)]);
          assert.deepEqual([verdict.code, verdict.stdout], [0, "valid\n"]);
        }),
        { numRuns: 40 },
      );
      assert(readdirSync(ours).length > 15, "hardly any was valid");
    });

    test("what others write, in any order and with anything else in it, both print alike", async () => {
      using place = scratch();
      const records = fc.sample(anyRecord(reference), 150);
      for (const [index, each] of records.entries()) {
        const id = `agent-${index}`;
        const path = join(place.path, `${id}.json`);
        writeFileSync(path, JSON.stringify({ ...each, agent_id: id }));
      }
      const { agents, warnings } = JSON.parse(
        (await run(["list", "--json", "--status-dir", place.path])).stdout,
      );
      assert.deepEqual(warnings, []);
      assert.equal(agents.length, records.length);
      for (const [index] of records.entries()) {
        const words = ["get", `agent-${index}`, "--status-dir", place.path];
        const theirs = await reference.call(words);
        assert.equal(theirs.code, 0, theirs.stderr);
        // Starting ours takes a while; every fifth will do.
        if (index % 5 === 0) assert.equal((await run(words)).stdout, theirs.stdout);
        const found = agents.find((agent: { agent_id: string }) => agent.agent_id === words[1]);
        assert.deepEqual(found.record, JSON.parse(theirs.stdout));
      }
    });

    test("the same rows stand in both tables, in the same order", async () => {
      using place = scratch();
      const count = 120;
      for (const [index, each] of fc.sample(tableRecord(), count).entries()) {
        writeFileSync(join(place.path, `f${index}.json`), JSON.stringify(each));
      }
      // Nobody is stale, some are, all are.
      for (const seconds of ["100000000", "40000", "60"]) {
        const words = ["list", "--status-dir", place.path, "--no-color", "--stale-after", seconds];
        const theirs = await reference.call(words);
        const ours = await run(words);
        assert.equal(theirs.code, 0, theirs.stderr);
        const rows = rowsOf(ours.stdout);
        assert.equal(rows.length, count);
        assert.deepEqual(rows, rowsOf(theirs.stdout));
        const title = (text: string): string => text.split("\n")[0]?.trim() ?? "";
        assert.equal(title(ours.stdout), title(theirs.stdout));
      }
    });

    test("what is wrong with a record is told in the same words", async () => {
      using place = scratch();
      const values = fc.sample(brokenRecord(reference), 500);
      const paths = values.map((value, index) => {
        const path = join(place.path, `${index}.json`);
        writeFileSync(path, JSON.stringify(value));
        return path;
      });
      const { stdout } = await run(["validate", "--json", ...paths]);
      const { files } = JSON.parse(stdout);
      let invalid = 0;
      for (const [index, path] of paths.entries()) {
        const theirs = await reference.call(["validate", path]);
        const { valid, errors } = files[index];
        const text = JSON.stringify(values[index]);
        assert.equal(theirs.died, false, `${text}: ${theirs.stderr}`);
        const lines = errors.map((error: string) => `${error}\n`).join("");
        assert.deepEqual([valid, lines], [theirs.code === 0, theirs.stderr], text);
        if (!valid) invalid += 1;
        // The same through standard error, for some.
        if (index % 25 !== 0) continue;
        const ours = await run(["validate", path]);
        assert.deepEqual(
          [ours.code, ours.stdout, ours.stderr],
          [theirs.code, theirs.stdout, theirs.stderr],
        );
      }
      assert(invalid > 250, `only ${invalid} are not valid`);
      assert(invalid < 500, "none is valid");
    });

    test("[AS-65] [AS-66] [AS-68] both prune the same files, in the same order", async () => {
      await fc.assert(
        fc.asyncProperty(pruneCase(), async ({ records, bounds }) => {
          using place = scratch();
          const theirs = join(place.path, "theirs");
          mkdirSync(theirs);
          for (const [index, each] of records.entries()) {
            writeFileSync(join(theirs, `f${index}.json`), JSON.stringify(each));
          }
          writeFileSync(join(theirs, "broken.json"), "{");
          writeFileSync(join(theirs, ".x.json.abcdefgh.tmp"), "{");
          const ours = join(place.path, "ours");
          cpSync(theirs, ours, { recursive: true });
          const theirAnswer = await reference.call(["prune", "--status-dir", theirs, ...bounds]);
          const ourAnswer = await run(["prune", "--status-dir", ours, ...bounds]);
          assert.equal(theirAnswer.died, false, theirAnswer.stderr);
          assert.deepEqual(
            [ourAnswer.code, ourAnswer.stderr, ourAnswer.stdout.replaceAll(ours, theirs)],
            [theirAnswer.code, theirAnswer.stderr, theirAnswer.stdout],
          );
          assert.deepEqual(readdirSync(ours).sort(), readdirSync(theirs).sort());
        }),
        { numRuns: 25 },
      );
    });

    test("[AS-72] [AS-74] [AS-76] the same words are understood, or are not", async () => {
      using place = scratch();
      const directory = join(place.path, "s");
      const least = ["--agent-id", "a", "--agent-name", "n", "--lifecycle", "running"];
      const at = ["--status-dir", directory];
      const now = ["--updated-at", "2026-06-20T16:45:00Z"];
      const file = join(place.path, "v.json");
      writeFileSync(file, "{}");
      for (const words of [
        [],
        ["--bogus"],
        ["--status-dir", "x", "list"],
        ["frobnicate"],
        ["-x"],
        ["--", "list"],
        ["list", ...at, "extra"],
        ["list", ...at, "--stale-after", "abc"],
        ["list", ...at, "--stale-after", "1.5"],
        ["list", ...at, "--stale-after", ""],
        ["list", ...at, "--stale-after", "-5"],
        ["list", ...at, "--stale-after", "+5"],
        ["list", ...at, "--stale-after", "1_0"],
        ["list", ...at, "--stale-after", " 7 "],
        ["list", ...at, "--stale-after=7", "--stale-after=x"],
        ["list", ...at, "--color", "--no-color"],
        ["list", ...at, "--color=yes"],
        ["list", ...at, "--no"],
        ["list", ...at, "--n"],
        ["list", "--st", "x"],
        ["list", "--status", directory],
        ["list", ...at, "--", "x"],
        ["list", ...at, "-"],
        ["list", ...at, "-1"],
        ["list", "--status-dir"],
        ["list", "--status-dir", "--color"],
        ["list", "-hx"],
        ["get"],
        ["get", "a", "b"],
        ["get", ...at, "none"],
        ["get", ...at, "-5"],
        ["get", ...at, "-x"],
        ["get", ...at, "--", "-x"],
        ["get", ...at, "- x"],
        ["get", ...at, ""],
        ["get", ...at, "a/b"],
        ["get", ...at, "a\\b"],
        ["get", ...at, "none.json"],
        ["validate"],
        ["validate", file],
        ["validate", "--status-dir", "x", file],
        ["prune", ...at, "--prune-after", "x"],
        ["prune", ...at, "--keep-stopped=1"],
        ["prune", ...at, "--keep", "--prune", "1"],
        ["prune", ...at, "--stale-after", "0", "--prune-after", "-1"],
        ["watch", "--interval", "x"],
        ["watch", "--interval", ""],
        ["emit"],
        ["emit", "--agent", "x"],
        ["emit", ...least.slice(2), ...at],
        ["emit", ...least, ...at, ...now],
        ["emit", ...least, ...at, ...now, "--lifecycle", "Running"],
        ["emit", ...least, ...at, ...now, "--lifecycle=stopped"],
        ["emit", ...least, ...at, ...now, "--task-state", "idle"],
        ["emit", ...least, ...at, ...now, "--task-state", ""],
        ["emit", ...least, ...at, ...now, "--task-state", "working", "--task-state", "failed"],
        ["emit", ...least, ...at, ...now, "--pid", "abc"],
        ["emit", ...least, ...at, ...now, "--pid", "-5"],
        ["emit", ...least, ...at, ...now, "--pid", "007"],
        ["emit", ...least, ...at, ...now, "--task-summary", "-x"],
        ["emit", ...least, ...at, ...now, "--task-summary", "-x y"],
        ["emit", ...least, ...at, ...now, "--task-summary", "-1.5"],
        ["emit", ...least, ...at, ...now, "--task-summary", "--pid y"],
        ["emit", ...least, ...at, ...now, "--task-summary=-x"],
        ["emit", ...least, ...at, ...now, "--task-sum", "s", "--task-i=t", "--c", "c"],
        ["emit", ...least, ...at, ...now, "--task-s", "s"],
        ["emit", ...least, ...at, ...now, "--goal-source", "elsewhere"],
        ["emit", ...least, ...at, ...now, "--goal-summary", "g"],
        ["emit", ...least, ...at, ...now, "--goal-summary", ""],
        ["emit", ...least, ...at, ...now, "--meta", "novalue"],
        ["emit", ...least, ...at, ...now, "--meta", "=v"],
        ["emit", ...least, ...at, ...now, "--m", "k=v"],
        ["emit", ...least, ...at, ...now, "--meta"],
        ["emit", ...least, ...at, "--updated-at", "bad"],
        ["emit", ...least, ...at, "--updated-at", "2026-06-20T16:45:00"],
        ["emit", ...least, ...at, ...now, "--agent-id", "a/b"],
        ["emit", ...least, ...at, "--updated-at", "bad", "--agent-id", "a/b"],
        ["emit", ...least, ...at, ...now, "--agent-id", ""],
        ["emit", ...least, ...at, ...now, "--agent-id="],
        ["emit", ...least, ...at, ...now, "--last-activity-at", ""],
        ["emit", ...least, ...at, ...now, "--task-status-timestamp", ""],
        ["emit", ...least, ...at, ...now, "extra"],
        ["emit", ...least, ...at, ...now, "--bogus"],
      ]) {
        const ours = await run(words);
        const theirs = await reference.call(words);
        const text = words.join(" ");
        assert.equal(theirs.died, false, text);
        assert.equal(ours.code, theirs.code, `${text}: ${ours.stderr} / ${theirs.stderr}`);
        assert.equal(ours.stdout === "", theirs.stdout === "", text);
        if (theirs.code === 2) {
          // Only where the error begins is agreed on.
          for (const { stderr } of [ours, theirs]) {
            assert.match(stderr, /^usage: agent-status.*^agent-status(?: \w+)?: error: /ms, text);
          }
        } else if (words[0] === "emit" || words[0] === "get") {
          const { stdout, stderr } = ours;
          assert.deepEqual(
            { stdout, stderr },
            { stdout: theirs.stdout, stderr: theirs.stderr },
            text,
          );
        }
      }
    });

    test("[AS-15] writers of both kinds on one id leave one whole record, whoever reads", async () => {
      using place = scratch();
      const words = ["--agent-id", "one", "--lifecycle", "running", "--status-dir", place.path];
      const write = async ([program = "", ...before]: readonly string[]): Promise<void> => {
        for (let turn = 0; turn < 4; turn += 1) {
          const more = ["--agent-name", "n", "--task-summary", `${program} ${"x".repeat(2_000)}`];
          const all = [...before, "emit", ...words, ...more];
          const { code, stderr } = await runProgram(program, all);
          assert.equal(code, 0, stderr);
        }
      };
      await runProgram(executable, ["emit", ...words, "--agent-name", "first"]);
      const writers = [[executable], peer.command, [executable], peer.command];
      const writing = Promise.all(writers.map(write));
      let isWriting = true;
      const done = writing.finally(() => {
        isWriting = false;
      });
      const get = ["get", "one", "--status-dir", place.path];
      while (isWriting) {
        for (const { code, stderr } of [await run(get), await reference.call(get)]) {
          assert.equal(code, 0, stderr);
        }
      }
      await done;
      assert.deepEqual(readdirSync(place.path), ["one.json"]);
    });
  });
}

type Run = {
  readonly output: string;
  /** By the name of the test. */
  readonly outcomes: ReadonlyMap<string, string>;
  /** The first word of each call of our program. */
  readonly calls: readonly string[];
};

async function pytest({ python, source }: Peer): Promise<Run> {
  using place = scratch();
  const calls = join(place.path, "calls");
  writeFileSync(calls, "");
  const file = join(source, "tests/test_agent_status.py");
  // From a directory of its own: beside the tests lies the module that the stand-in stands in for.
  const words = ["-B", "-m", "pytest", "-v", "--color=no", "-p", "no:cacheprovider", file];
  const running = spawn(python, [...words, "-c", "/dev/null", "--rootdir", place.path], {
    cwd: place.path,
    env: cleanEnv({
      PYTHONPATH: resolve("test/interop/agent-status"),
      AGENT_STATUS_PROGRAM: executable,
      AGENT_STATUS_CALLS: calls,
    }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [running.stdout, running.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  await once(running, "close");
  const verdicts = output.matchAll(/::(test_\w+) (PASSED|FAILED|ERROR|SKIPPED)\b/g);
  const outcomes = new Map([...verdicts].map(([, name = "", verdict = ""]) => [name, verdict]));
  return { output, outcomes, calls: readFileSync(calls, "utf8").split("\n").slice(0, -1) };
}

function scratch(): { readonly path: string } & Disposable {
  const made = mkdtempDisposableSync(join(tmpdir(), "tipstaff-agent-status-"));
  return { path: made.path, [Symbol.dispose]: () => made.remove() };
}

// What follows says which records there can be.

const lifecycles = ["running", "stopped", "unknown"];
const states = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "rejected",
  "failed",
  "unknown",
];

/** Without what no argument and no file name can hold. */
function anyText(constraints: fc.StringConstraints = {}): fc.Arbitrary<string> {
  const units = [
    fc.string({ unit: "grapheme", maxLength: 20, ...constraints }),
    fc.string({ unit: "binary", maxLength: 20, ...constraints }),
    fc.string({
      unit: fc.constantFrom(...'\t\n\x1b\x7f"\\/é😀\ufffd日 -='),
      maxLength: 8,
      ...constraints,
    }),
  ] as const;
  return fc
    .oneof(...units)
    .filter((text) => text.isWellFormed() && !text.includes("\0") && text !== "--");
}

function anyId(): fc.Arbitrary<string> {
  const unit = fc.constantFrom(..."abcXYZ019._- é日😀");
  // Two dashes behind an equals sign are lost in some versions of the reference's language.
  return fc.string({ unit, minLength: 1, maxLength: 30 }).filter((id) => id !== "--");
}

function anyTime(reference: Reference): fc.Arbitrary<string> {
  const everywhere = [
    "2026-06-20T16:45:00Z",
    "2026-06-20T16:45:00+05:30",
    "2026-06-20 16:45:00.123Z",
    "2026-06-20T16:45:00.123456-08:00",
    "2026-06-20T16:45Z",
    "2026-06-20T16Z",
    "2024-02-29T23:59:59+00:00:30",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
  ];
  const newer = [
    "20260620T164500Z",
    "2026-W25-6T16:45:00Z",
    "2026W256T164500Z",
    "2026-06-20T16:45:00,5Z",
    "2026-06-20T16:45:00.1234567Z",
    "2026-06-20T16:45:00+0530",
    "2026-06-20T16:45:00-08",
  ];
  return fc.constantFrom(...everywhere, ...(reference.readsAllTimes ? newer : []));
}

const wrongTimes = [
  "",
  "2026-06-20",
  "2026-06-20Z",
  "2026-06-20T16:45:00",
  "2026-06-20T16:45:00z",
  "2026-06-20T16:45:00ZZ",
  "2026-06-20T24:00:00Z",
  "2026-06-20T16:45:60Z",
  "2026-13-20T16:45:00Z",
  "2026-02-29T16:45:00Z",
  " 2026-06-20T16:45:00Z",
  "0000-06-20T16:45:00Z",
  "12026-06-20T16:45:00Z",
  "2026-6-20T16:45:00Z",
  "2026-06-20T16:45:00+24:00",
  "1781974000",
  "soon",
];

/** Places where workspaces can be: some are links, some do not exist. */
function putWorkspaces(directory: string): void {
  mkdirSync(join(directory, "real/below"), { recursive: true });
  symlinkSync("real", join(directory, "link"));
  symlinkSync(join(directory, "link/below"), join(directory, "far"));
}

type EmitCase = { readonly id: string; readonly words: readonly string[] };

function emitWords(directory: string, reference: Reference): fc.Arbitrary<EmitCase> {
  const time = anyTime(reference);
  const part = fc.constantFrom("real", "link", "far", "none", "..", ".", "below");
  const workspace = fc.oneof(
    fc
      .array(part, { maxLength: 5 })
      .map((parts) => join(directory, "x").slice(0, -1) + parts.join("/")),
    fc.constantFrom("~", "~/x/../y", "", "/", "//tmp//x/"),
  );
  const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
    fc.option(value, { nil: undefined, freq: 2 });
  const values = fc.record({
    "agent-id": anyId(),
    "agent-name": anyText({ minLength: 1 }),
    lifecycle: fc.constantFrom(...lifecycles),
    "updated-at": time,
    workspace: optional(workspace),
    pid: optional(fc.maxSafeInteger().map(String)),
    "last-activity-at": optional(fc.oneof(time, fc.constant(""))),
    "task-id": optional(anyText()),
    "context-id": optional(anyText()),
    "task-state": optional(fc.constantFrom(...states)),
    "task-summary": optional(anyText()),
    "task-status-timestamp": optional(time),
    "agent-card-url": optional(anyText()),
    "service-url": optional(anyText()),
  });
  const goal = fc.record({
    "goal-summary": anyText({ minLength: 1 }),
    "goal-updated-at": time,
    "goal-source": fc.constant("initial-prompt"),
  });
  const goals: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
    fc.constant({}),
    { weight: 3, arbitrary: goal },
    fc.constant({ "goal-summary": "half of one" }),
  );
  const key = fc.oneof(
    anyText({ minLength: 1 }),
    fc.constantFrom("10", "9", "__proto__", "a", "B"),
  );
  const meta = fc.array(
    fc.tuple(
      key.filter((each) => each !== "" && !each.includes("=")),
      anyText(),
    ),
    { maxLength: 5 },
  );
  return fc.tuple(values, goals, meta).map(([options, aim, entries]) => ({
    id: options["agent-id"],
    words: [
      ...Object.entries({ ...options, ...aim }).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}=${value}`],
      ),
      ...entries.map(([name, value]) => `--meta=${name}=${value}`),
    ],
  }));
}

/** Numbers that every language prints alike. */
function anyJson(): fc.Arbitrary<unknown> {
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false, 0.5, -1.25, "\ud800", "\udc00x"),
      fc.maxSafeInteger(),
      anyText(),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(
        fc.oneof(anyKey(), fc.constantFrom("10", "9", "__proto__", "toString")),
        tie("tree"),
        {
          maxKeys: 5,
        },
      ),
    ),
  }));
  return tree;
}

/**
 * No key ends in a backslash: once it has met one, `JSON.parse` of Node 26 may read another key that differs from
 * it only in its last, escaped character as that one.
 */
function anyKey(): fc.Arbitrary<string> {
  return anyText().filter((key) => !key.endsWith("\\"));
}

function anyRecord(reference: Reference): fc.Arbitrary<Record<string, unknown>> {
  const time = anyTime(reference);
  const known = fc.record(
    {
      schema_version: fc.constant("agent-status/v1alpha1"),
      agent_name: anyText({ minLength: 1 }),
      runtime: fc.record(
        {
          lifecycle: fc.constantFrom(...lifecycles),
          updated_at: time,
          last_activity_at: time,
          pid: fc.maxSafeInteger(),
          workspace: anyText(),
          x_more: anyJson(),
        },
        { requiredKeys: ["lifecycle", "updated_at"] },
      ),
      goal: fc.record({
        summary: anyText({ minLength: 1 }),
        updated_at: time,
        source: fc.constant("initial-prompt"),
      }),
      task: fc.record(
        {
          id: anyText(),
          context_id: anyText(),
          state: fc.constantFrom(...states, null),
          summary: anyText(),
          status_timestamp: time,
          x_more: anyJson(),
        },
        { requiredKeys: [] },
      ),
      a2a: fc.record({ agent_card_url: anyText(), service_url: anyText() }, { requiredKeys: [] }),
      x_meta: fc.dictionary(anyKey(), anyJson(), { maxKeys: 6 }),
    },
    { requiredKeys: ["schema_version", "agent_name", "runtime"] },
  );
  const unknown = fc.dictionary(
    anyText().map((key) => `x${key}`),
    anyJson(),
    { maxKeys: 3 },
  );
  return fc.tuple(unknown, known).map(([more, record]) => ({ ...more, ...record }));
}

/** So many seconds ago, cut to the second as writers do it. */
function ago(seconds: number): string {
  return `${new Date(Date.now() - seconds * 1_000).toISOString().slice(0, 19)}Z`;
}

/** Ages that look the same a few seconds later: the two programs are not asked at the same moment. */
function steadyAge(): fc.Arbitrary<number> {
  const minutes = fc.integer({ min: 2, max: 58 }).map((each) => each * 60 + 20);
  const hours = fc.integer({ min: 1, max: 22 }).map((each) => each * 3_600 + 1_800);
  const days = fc.integer({ min: 1, max: 400 }).map((each) => each * 86_400 + 43_200);
  return fc.oneof(minutes, hours, days);
}

/** Nothing in it that we show otherwise on purpose: no markup, no controls, no ages in the future. */
function tableRecord(): fc.Arbitrary<Record<string, unknown>> {
  const unit = fc.constantFrom(..."abc XYZ-é日😀.");
  const text = fc
    .string({ unit, minLength: 1, maxLength: 24 })
    .map((each) => `t${each}t`.replaceAll(/ +/g, " "));
  return fc
    .record({
      id: fc.string({
        unit: fc.constantFrom(..."abcXYZé日😀\ufffd-1"),
        minLength: 1,
        maxLength: 12,
      }),
      name: text,
      lifecycle: fc.constantFrom(...lifecycles),
      seconds: steadyAge(),
      activity: fc.option(steadyAge(), { nil: undefined }),
      workspace: fc.option(text, { nil: undefined }),
      goal: fc.option(text, { nil: undefined }),
      task: fc.option(
        fc.record({ state: fc.constantFrom(...states), summary: text }, { requiredKeys: [] }),
        { nil: undefined },
      ),
    })
    .map(({ id, name, lifecycle, seconds, activity, workspace, goal, task }) => ({
      schema_version: "agent-status/v1alpha1",
      agent_id: id,
      agent_name: name,
      runtime: {
        lifecycle,
        updated_at: ago(seconds),
        ...(activity === undefined ? {} : { last_activity_at: ago(activity) }),
        ...(workspace === undefined ? {} : { workspace }),
      },
      ...(goal === undefined
        ? {}
        : { goal: { summary: goal, updated_at: ago(seconds), source: "initial-prompt" } }),
      ...(task === undefined ? {} : { task }),
    }));
}

type PruneCase = { readonly records: readonly object[]; readonly bounds: readonly string[] };

/** Ages and bounds stay apart by minutes, so that both programs see the same side of them. */
function pruneCase(): fc.Arbitrary<PruneCase> {
  const each = fc.record({
    lifecycle: fc.constantFrom(...lifecycles),
    seconds: fc.integer({ min: 0, max: 60 }).map((many) => many * 3_600 + 1_800),
    hasTask: fc.boolean(),
  });
  const hours = fc.integer({ min: -1, max: 50 }).map((many) => String(many * 3_600));
  const bounds = fc.record({ "stale-after": hours, "prune-after": hours }, { requiredKeys: [] });
  return fc.tuple(fc.array(each, { maxLength: 15 }), bounds).map(([records, options]) => ({
    records: records.map(({ lifecycle, seconds, hasTask }, index) => ({
      schema_version: "agent-status/v1alpha1",
      agent_id: `agent-${index}`,
      agent_name: "n",
      runtime: { lifecycle, updated_at: ago(seconds) },
      ...(hasTask ? { task: { state: "working" } } : {}),
    })),
    bounds: Object.entries(options).flatMap(([name, value]) => [`--${name}=${value}`]),
  }));
}

const paths = [
  ["schema_version"],
  ["agent_id"],
  ["agent_name"],
  ["runtime"],
  ["runtime", "lifecycle"],
  ["runtime", "updated_at"],
  ["runtime", "last_activity_at"],
  ["runtime", "pid"],
  ["runtime", "workspace"],
  ["goal"],
  ["goal", "summary"],
  ["goal", "updated_at"],
  ["goal", "source"],
  ["task"],
  ["task", "state"],
  ["task", "id"],
  ["task", "context_id"],
  ["task", "summary"],
  ["task", "status_timestamp"],
  ["a2a"],
  ["a2a", "agent_card_url"],
  ["a2a", "service_url"],
  ["x_meta"],
] as const;

/** A whole record in which a few things are something else; whatever we judge otherwise on purpose is left out. */
function brokenRecord(reference: Reference): fc.Arbitrary<unknown> {
  const absent = Symbol("absent");
  const value = fc.oneof(
    fc.constantFrom<unknown>(absent, null, 7, 1.5, true, "", "x", "Working", [], {}, [1], { a: 1 }),
    fc.constantFrom<unknown>(...wrongTimes, "cancelled", "idle", "stale", "agent-status/v2"),
    anyTime(reference),
  );
  const changes = fc.array(fc.tuple(fc.constantFrom(...paths), value), { maxLength: 4 });
  const broken = changes.map((made) => {
    const whole = fullRecord();
    for (const [[first, second], put] of made) {
      const part = second === undefined ? whole : whole[first];
      if (typeof part !== "object" || part === null || Array.isArray(part)) continue;
      const fields: Record<string, unknown> = part as Record<string, unknown>;
      if (put === absent) delete fields[second ?? first];
      else fields[second ?? first] = structuredClone(put);
    }
    return whole;
  });
  const isJudgedAlike = ({ runtime }: Record<string, unknown>): boolean => {
    if (typeof runtime !== "object" || runtime === null) return true;
    const isEmpty = !Array.isArray(runtime) && Object.keys(runtime).length === 0;
    return !isEmpty && !("pid" in runtime && typeof runtime.pid === "boolean");
  };
  return fc.oneof(
    { weight: 30, arbitrary: broken.filter(isJudgedAlike) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(null, [], 1, "x", true) },
  );
}

function fullRecord(): Record<string, unknown> {
  const time = "2026-06-20T16:45:00Z";
  return {
    schema_version: "agent-status/v1alpha1",
    agent_id: "a",
    agent_name: "n",
    runtime: {
      lifecycle: "running",
      updated_at: time,
      last_activity_at: time,
      pid: 1,
      workspace: "/w",
    },
    goal: { summary: "g", updated_at: time, source: "initial-prompt" },
    task: { id: "t", context_id: "c", state: "working", summary: "s", status_timestamp: time },
    a2a: { agent_card_url: "http://c", service_url: "http://s" },
    x_meta: { k: "v" },
  };
}

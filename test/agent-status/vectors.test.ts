/** The vectors of the standard, through the executable. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ago, now, output, record, rowsOf, run, statusDirectory } from "./command.ts";

const least = ["--agent-id", "a", "--agent-name", "n", "--lifecycle", "running"];
const atNow = { env: { AGENT_STATUS_NOW: now } };

describe("vectors", { concurrency: 2 }, () => {
  test("[TV-1] [AS-5] [AS-6] emit makes the directories, a file for nobody else, and says its path", async () => {
    using place = statusDirectory();
    const directory = join(place.path, "new/dir");
    const words = ["emit", ...least, "--updated-at", "2026-06-20T16:45:00Z"];
    assert.equal(await output([...words, "--status-dir", directory]), `${directory}/a.json\n`);
    assert.equal(statSync(`${directory}/a.json`).mode & 0o777, 0o600);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.equal(
      readFileSync(`${directory}/a.json`, "utf8"),
      [
        "{",
        '  "agent_id": "a",',
        '  "agent_name": "n",',
        '  "runtime": {',
        '    "lifecycle": "running",',
        '    "updated_at": "2026-06-20T16:45:00Z"',
        "  },",
        '  "schema_version": "agent-status/v1alpha1"',
        "}",
        "",
      ].join("\n"),
    );
  });

  test("[TV-2] [AS-16] emit leaves nothing of what was there", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ goal: goal("g"), task: { state: "working" }, x_future: 1 }));
    await output(["emit", ...least, "--status-dir", place.path]);
    const keys = Object.keys(JSON.parse(place.read("a.json")));
    assert.deepEqual(keys, ["agent_id", "agent_name", "runtime", "schema_version"]);
  });

  test("[TV-3] metadata is split at the first equals sign, and the last of a key counts", async () => {
    using place = statusDirectory();
    const meta = ["a=b", "b=c=d", "a=z", "e="].flatMap((each) => ["--meta", each]);
    await output(["emit", ...least, ...meta, "--status-dir", place.path]);
    const { x_meta: found } = JSON.parse(place.read("a.json"));
    assert.deepEqual(found, { a: "z", b: "c=d", e: "" });
  });

  test("[TV-4] [AS-17] half a goal is told of, and nothing is written", async () => {
    using place = statusDirectory();
    const words = ["emit", ...least, "--goal-summary", "x", "--status-dir", place.path];
    assert.deepEqual(await run(words), {
      code: 1,
      signal: null,
      stdout: "",
      stderr: "missing required field: goal.updated_at\nmissing required field: goal.source\n",
    });
    assert.deepEqual(readdirSync(place.path), []);
  });

  test("[TV-5] [AS-8] an id with a separator is refused", async () => {
    using place = statusDirectory();
    for (const id of ["a/b", "a\\b"]) {
      const words = ["--agent-id", id, "--agent-name", "n", "--lifecycle", "running"];
      const { code, stderr } = await run(["emit", ...words, "--status-dir", place.path]);
      assert.equal(code, 1);
      assert.equal(stderr, "agent_id must be non-empty and filename-safe\n");
    }
    assert.deepEqual(readdirSync(place.path), []);
  });

  test("[TV-6] an id of two dots is a file in the directory", async () => {
    using place = statusDirectory();
    const words = ["--agent-id", "..", "--agent-name", "n", "--lifecycle", "running"];
    await output(["emit", ...words, "--status-dir", place.path]);
    assert.deepEqual(readdirSync(place.path), ["...json"]);
  });

  test("[TV-7] [AS-51] an empty summary is a task without a state", async () => {
    using place = statusDirectory();
    await output(["emit", ...least, "--task-summary", "", "--status-dir", place.path]);
    assert.deepEqual(JSON.parse(place.read("a.json")).task, { summary: "" });
    const [row] = rowsOf(await output(["list", "--status-dir", place.path]));
    assert.equal(row?.state, "? running");
  });

  test("[TV-8] a file has nothing but ASCII in it", async () => {
    using place = statusDirectory();
    await output(["emit", ...least, "--task-summary", "naïve 😀 日本", "--status-dir", place.path]);
    assert.match(place.read("a.json"), /"na\\u00efve \\ud83d\\ude00 \\u65e5\\u672c"/);
  });

  for (const [id, name, value, lines] of [
    ["TV-9", "what is no object", [], ["payload must be object"]],
    [
      "TV-10",
      "an empty object",
      {},
      [
        "missing required field: schema_version",
        "missing required field: agent_id",
        "missing required field: agent_name",
        "missing or invalid object: runtime",
      ],
    ],
    [
      "TV-11",
      "a runtime without anything",
      { ...record(), runtime: {} },
      ["missing required field: runtime.lifecycle", "missing required field: runtime.updated_at"],
    ],
    [
      "TV-12",
      "a task of numbers",
      record({ task: { id: 1, context_id: 2, summary: 3, state: 4, status_timestamp: 5 } }),
      [
        "task.state must be non-empty string",
        "task.id must be string",
        "task.context_id must be string",
        "task.summary must be string",
        "task.status_timestamp: timestamp must be non-empty string",
      ],
    ],
    [
      "TV-13",
      "a time without a zone",
      record({ runtime: { updated_at: "2026-06-20T16:45:00" } }),
      ["timestamp must include timezone: 2026-06-20T16:45:00"],
    ],
    [
      "TV-14",
      "a time that is null",
      record({ runtime: { last_activity_at: null } }),
      ["runtime.last_activity_at: timestamp must be non-empty string"],
    ],
    ...["2026-06-20T16:45:00z", "2026-02-29T00:00:00Z", "2026-06-20T24:00:00Z"].map(
      (text) =>
        [
          "TV-16",
          text,
          record({ runtime: { updated_at: text } }),
          [`invalid timestamp: ${text}`],
        ] as const,
    ),
    [
      "TV-17",
      "a time beyond the last year",
      record({ runtime: { updated_at: "9999-12-31T23:59:59-01:00" } }),
      ["invalid timestamp: 9999-12-31T23:59:59-01:00"],
    ],
  ] as const) {
    test(`[${id}] [AS-29] ${name} is not valid, and it is said why`, async () => {
      using place = statusDirectory();
      const { code, stdout, stderr } = await run(["validate", place.put("a.json", value)]);
      assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
      assert.deepEqual(stderr, lines.map((line) => `${line}\n`).join(""));
    });
  }

  test("[TV-15] basic dates, commas and week dates are times", async () => {
    using place = statusDirectory();
    for (const text of ["20260620T164500Z", "2026-06-20T16:45:00,123Z", "2026-W25-6T16:45:00Z"]) {
      const path = place.put("a.json", record({ runtime: { updated_at: text } }));
      assert.equal(await output(["validate", path]), "valid\n", text);
    }
  });

  test("[TV-18] [AS-49] a task that is null is no task", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ task: null }));
    const [row] = await listed(place.path);
    assert.equal(row?.state, "~ idle");
  });

  test("[TV-19] [AS-48] a record is stale a millisecond after its minute", async () => {
    using place = statusDirectory();
    place.put("on.json", record({ agent_id: "on", runtime: { updated_at: ago(60) } }));
    place.put("over.json", record({ agent_id: "over", runtime: { updated_at: ago(60.001) } }));
    assert.deepEqual(await statesOf(place.path), { on: "~ idle", over: "⏳ stale" });
  });

  test("[TV-20] [AS-50] a stopped agent shows its task, until it is stale", async () => {
    using place = statusDirectory();
    const stopped = { lifecycle: "stopped" };
    const task = { state: "working" };
    place.put("new.json", record({ agent_id: "new", runtime: stopped, task }));
    const runtime = { ...stopped, updated_at: ago(120) };
    place.put("old.json", record({ agent_id: "old", runtime, task }));
    assert.deepEqual(await statesOf(place.path), { new: "● working", old: "⏳ stale" });
  });

  test("[TV-21] [AS-52] [AS-60] what comes from the future is not stale, and its age is no long number", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ runtime: { updated_at: "2999-06-20T16:45:00Z" } }));
    const [row] = await listed(place.path);
    assert.equal(row?.state, "~ idle");
    assert.match(row?.updated ?? "", /^in \d{1,6}d$/);
  });

  test("[TV-22] [AS-37] [AS-38] [AS-39] what is no record is skipped with a warning", async () => {
    using place = statusDirectory();
    place.put("good.json", record({ agent_id: "good" }));
    place.put("bad.json", "{bad");
    place.put("arr.json", []);
    const { code, stdout, stderr } = await run(["list", "--status-dir", place.path], atNow);
    assert.equal(code, 0);
    assert.deepEqual(idsOf(stdout), ["good"]);
    const [first, second, ...rest] = stderr.split("\n");
    const warning = "warning: ignored invalid";
    assert.equal(first, `${warning} status ${place.path}/arr.json: payload must be object`);
    assert(second?.startsWith(`${warning} JSON ${place.path}/bad.json: `), stderr);
    assert.doesNotMatch(second ?? "", /\{bad/);
    assert.deepEqual(rest, [""]);
  });

  test("[TV-23] bytes that are no UTF-8 are told of, and not read", async () => {
    using place = statusDirectory();
    const text = JSON.stringify(record({ goal: goal("X") }));
    place.put("a.json", Buffer.from(text.replace("X", "\xff"), "latin1"));
    const { stdout, stderr } = await run(["list", "--status-dir", place.path]);
    assert.deepEqual(idsOf(stdout), []);
    assert.equal(
      stderr,
      `warning: ignored unreadable file ${place.path}/a.json: not valid UTF-8\n`,
    );
    const got = await run(["get", "a", "--status-dir", place.path]);
    assert.equal(got.code, 1);
    assert.equal(got.stderr, `invalid status file: ${place.path}/a.json\n`);
  });

  test("[TV-24] [AS-41] [AS-44] directories, pipes, dead links and large files hold nobody up", async () => {
    using place = statusDirectory();
    place.put("good.json", record({ agent_id: "good" }));
    mkdirSync(join(place.path, "x.json"));
    symlinkSync("nowhere", join(place.path, "y.json"));
    execFileSync("mkfifo", [join(place.path, "z.json")]);
    place.put("w.json", record({ agent_id: "w" }));
    chmodSync(join(place.path, "w.json"), 0);
    place.put("v.json", record({ x_long: "x".repeat(5_000_000) }));
    const options = { ...atNow, isBoundByPermissions: true };
    const { code, stdout, stderr } = await run(["list", "--status-dir", place.path], options);
    assert.equal(code, 0);
    assert.deepEqual(idsOf(stdout), ["good"]);
    const reasons = stderr
      .trimEnd()
      .split("\n")
      .map((line) => line.split(`${place.path}/`)[1]);
    assert.deepEqual(reasons, [
      "v.json: too large",
      "w.json: permission denied",
      "x.json: not a regular file",
      "y.json: dangling symlink",
      "z.json: not a regular file",
    ]);
  });

  test("[TV-25] [AS-7] only names that end in .json are read", async () => {
    using place = statusDirectory();
    for (const name of [".hid.json", "UP.JSON", "x.json.tmp"]) {
      place.put(name, record({ agent_id: name }));
    }
    mkdirSync(join(place.path, "sub"));
    place.put("sub/s.json", record({ agent_id: "s" }));
    assert.deepEqual(idsOf(await output(["list", "--status-dir", place.path], atNow)), [
      ".hid.json",
    ]);
  });

  test("[TV-26] [AS-14] a link is read through, and replaced when it is written", async () => {
    using place = statusDirectory();
    const elsewhere = join(place.path, "elsewhere");
    writeFileSync(elsewhere, JSON.stringify(record({ agent_id: "sym" })));
    symlinkSync(elsewhere, join(place.path, "sym.json"));
    assert.deepEqual(idsOf(await output(["list", "--status-dir", place.path], atNow)), ["sym"]);
    const words = ["--agent-id", "sym", "--agent-name", "other", "--lifecycle", "running"];
    await output(["emit", ...words, "--status-dir", place.path]);
    assert(lstatSync(join(place.path, "sym.json")).isFile());
    assert.equal(JSON.parse(readFileSync(elsewhere, "utf8")).agent_name, "n");
  });

  test("[TV-27] [AS-64] what looks like markup is shown as it is", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ goal: goal("fix [/foo] [bold]x[/bold] :smile:") }));
    const [row] = await listed(place.path);
    assert.deepEqual(row?.task, ["◎  fix [/foo] [bold]x[/bold] :smile:"]);
  });

  test("[TV-28] [AS-64] no control character of a file reaches the terminal", async () => {
    using place = statusDirectory();
    const evil =
      "\x1b[31mred\x07\nnext\x1b]0;t\x07\u009b2J\u202eback\x7f\u200bhidden\ufeff\u{e0041}";
    place.put(
      "a.json",
      record({
        agent_name: evil,
        agent_id: evil,
        runtime: { workspace: evil },
        goal: goal(evil),
        task: { state: "working", summary: evil },
      }),
    );
    for (const more of [[], ["--json"]]) {
      const text = await output(["list", "--status-dir", place.path, ...more], atNow);
      assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u, more.join());
    }
    const lines = (await output(["list", "--status-dir", place.path], atNow)).split("\n");
    // Title, frame, head, frame, goal, workspace, task, frame, and what is behind the last line end.
    assert.equal(lines.length, 9);
  });

  test("[TV-29] keys are in the order of their characters", async () => {
    using place = statusDirectory();
    const meta = '{"10":1,"9":2,"__proto__":{"z":1},"B":1,"a":[],"A":1}';
    place.put("a.json", JSON.stringify(record()).replace(/\}$/, `,"x_meta":${meta}}`));
    const text = await output(["get", "a", "--status-dir", place.path]);
    const keys = [...text.matchAll(/^ {4}"(10|9|A|B|__proto__|a)": /gm)].map(([, key]) => key);
    assert.deepEqual(keys, ["10", "9", "A", "B", "__proto__", "a"]);
  });

  test("[TV-30] what lies beyond 16 bits comes last", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ "\u{1f600}k": 1, "\ufffdk": 2 }));
    const text = await output(["get", "a", "--status-dir", place.path]);
    assert(text.indexOf("\\ufffdk") < text.indexOf("\\ud83d\\ude00k"));
    assert(text.indexOf("\\ufffdk") > 0);
  });

  for (const [id, words, names] of [
    ["TV-31", [], ["r2", "s2", "r3"]],
    ["TV-32", ["--keep-stopped"], ["r2", "r3"]],
    ["TV-33", ["--stale-after", "10000000"], ["s2"]],
  ] as const) {
    test(`[${id}] [AS-65] [AS-68] prune ${words.join(" ")} removes ${names.join(", ")}`, async () => {
      using place = statusDirectory();
      putPruneSet(place);
      const removed = await output(["prune", "--status-dir", place.path, ...words], atNow);
      assert.equal(removed, names.map((name) => `${place.path}/${name}.json\n`).join(""));
      const left = pruneSet.filter((name) => !names.some((each) => each === name));
      const files = left.map((name) => `${name}.json`).sort();
      assert.deepEqual(readdirSync(place.path).sort(), files);
    });
  }

  test("[TV-34] [AS-55] who is at work comes first, by id; then who was last active", async () => {
    using place = statusDirectory();
    const working = { task: { state: "working" } };
    for (const [id, time, more] of [
      ["idle-newer", "16:49:00", {}],
      ["working-older", "16:48:00", working],
      ["working-newer", "16:49:30", working],
      ["stopped", "16:49:45", { runtime: { lifecycle: "stopped" } }],
      ["stale", "16:47:30", {}],
    ] as const) {
      const { runtime = {}, ...rest } = { runtime: {}, ...more };
      const updatedAt = { updated_at: `2026-06-20T${time}Z` };
      place.put(
        `${id}.json`,
        record({ agent_id: id, ...rest, runtime: { ...updatedAt, ...runtime } }),
      );
    }
    const words = ["list", "--status-dir", place.path, "--stale-after", "120"];
    assert.deepEqual(idsOf(await output(words, atNow)), [
      "working-newer",
      "working-older",
      "stopped",
      "idle-newer",
      "stale",
    ]);
  });

  test("[TV-35] [AS-60] ages are cut off, not rounded", async () => {
    using place = statusDirectory();
    const ages = { a: 10, b: 120, c: 7_200, d: 172_800, e: 59.5, f: 3_599.5 };
    for (const [id, seconds] of Object.entries(ages)) {
      const runtime = { updated_at: ago(seconds) };
      place.put(`${id}.json`, record({ agent_id: id, runtime, task: { state: "working" } }));
    }
    const words = ["list", "--status-dir", place.path, "--stale-after", "999999"];
    const rows = rowsOf(await output(words, atNow));
    assert.deepEqual(
      rows.map(({ updated }) => updated),
      ["10s ago", "2m ago", "2h ago", "2d ago", "59s ago", "59m ago"],
    );
  });

  test("[TV-37] [AS-72] [AS-73] what is typed wrong ends with 2, and says so on standard error alone", async () => {
    for (const words of [
      [],
      ["--bogus"],
      ["list", "extra"],
      ["emit", "--agent-id", "a", "--agent-name", "n"],
      ["emit", ...least, "--task-state", "idle"],
      ["emit", ...least, "--pid", "abc"],
    ]) {
      const { code, stdout, stderr } = await run(words);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, words.join(" "));
      assert.match(stderr, /^usage: agent-status.*^agent-status(?: \w+)?: error: .+$/ms);
    }
  });

  test("[TV-38] [AS-74] names may be cut short while they are clear", async () => {
    using place = statusDirectory();
    const short = ["emit", "--agent-i", "a", "--agent-n", "n", "--life", "running"];
    assert.equal(await output([...short, "--status", place.path]), `${place.path}/a.json\n`);
    const words = ["emit", "--agent", "x", "--lifecycle", "running", "--status-dir", place.path];
    assert.equal((await run(words)).code, 2);
    assert(!existsSync(join(place.path, "x.json")));
  });
});

function goal(summary: string): object {
  return { summary, updated_at: now, source: "initial-prompt" };
}

async function listed(directory: string): Promise<ReturnType<typeof rowsOf>> {
  return rowsOf(await output(["list", "--status-dir", directory], atNow));
}

async function statesOf(directory: string): Promise<Record<string, string>> {
  return Object.fromEntries((await listed(directory)).map(({ id, state }) => [id, state]));
}

function idsOf(table: string): readonly string[] {
  return rowsOf(table).map(({ id }) => id);
}

const pruneSet = ["r2", "s2", "r3", "s1h", "r1h", "fresh", "invalid"];

function putPruneSet(place: { readonly put: (name: string, content: unknown) => string }): void {
  const day = 86_400;
  for (const [id, lifecycle, seconds] of [
    ["r2", "running", 2 * day],
    ["s2", "stopped", 2 * day],
    ["r3", "running", 3 * day],
    ["s1h", "stopped", 3_600],
    ["r1h", "running", 3_600],
    ["fresh", "running", 1],
  ] as const) {
    const runtime = { lifecycle, updated_at: ago(seconds) };
    place.put(`${id}.json`, record({ agent_id: id, runtime }));
  }
  place.put("invalid.json", "{");
}

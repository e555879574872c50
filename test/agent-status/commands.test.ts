/** The commands beyond the vectors: what they print, where, and how they end. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import {
  ago,
  cleanEnv,
  type Ended,
  executable,
  now,
  output,
  record,
  rowsOf,
  run,
  runProgram,
  statusDirectory,
} from "./command.ts";

const least = ["--agent-id", "a", "--agent-name", "n", "--lifecycle", "running"];
const atNow = { env: { AGENT_STATUS_NOW: now } };
const goal = { summary: "ship it", updated_at: now, source: "initial-prompt" };

describe("emit", { concurrency: 2 }, () => {
  test("[AS-19] every option has its place in the record, and what was not given is not there", async () => {
    using place = statusDirectory();
    await output(
      [
        ...["emit", ...least, "--status-dir", place.path, "--pid", "12"],
        ...["--last-activity-at", "2026-06-20T16:44:00Z", "--workspace", "/nowhere/at/all"],
        ...["--goal-summary", "g", "--goal-updated-at", now, "--goal-source", "initial-prompt"],
        ...["--task-id", "t", "--context-id", "c", "--task-state", "working"],
        ...["--task-summary", "s", "--task-status-timestamp", now],
        ...["--agent-card-url", "http://card", "--service-url", "http://service", "--meta", "k=v"],
      ],
      atNow,
    );
    assert.deepEqual(JSON.parse(place.read("a.json")), {
      schema_version: "agent-status/v1alpha1",
      agent_id: "a",
      agent_name: "n",
      runtime: {
        lifecycle: "running",
        updated_at: now,
        last_activity_at: "2026-06-20T16:44:00Z",
        pid: 12,
        workspace: "/nowhere/at/all",
      },
      goal: { summary: "g", updated_at: now, source: "initial-prompt" },
      task: { id: "t", context_id: "c", state: "working", summary: "s", status_timestamp: now },
      a2a: { agent_card_url: "http://card", service_url: "http://service" },
      x_meta: { k: "v" },
    });
  });

  test("[AS-18] a workspace is absolute, without links, and what does not exist is kept", async () => {
    using place = statusDirectory();
    const real = join(realpathSync(place.path), "real");
    mkdirSync(real);
    symlinkSync(real, join(place.path, "link"));
    symlinkSync("loop", join(place.path, "loop"));
    const cases: readonly (readonly [string, string | undefined])[] = [
      ["~/nope/../x", join(homedir(), "x")],
      ["~", homedir()],
      [join(place.path, "link/below/../other"), join(real, "other")],
      [join(place.path, "link/.."), realpathSync(place.path)],
      ["relative/./here", join(realpathSync(place.path), "relative/here")],
      ["/..//x/", "/x"],
      ["/", "/"],
      ["", undefined],
    ];
    for (const [given, kept] of cases) {
      const words = ["emit", ...least, "--workspace", given, "--status-dir", place.path];
      await output(words, { directory: place.path });
      assert.equal(JSON.parse(place.read("a.json")).runtime.workspace, kept, given);
    }
    const loop = ["emit", ...least, "--workspace", join(place.path, "loop/x")];
    await output([...loop, "--status-dir", place.path]);
  });

  test("an empty time is now or not there, and an empty text is a text", async () => {
    using place = statusDirectory();
    const words = ["--updated-at", "", "--last-activity-at", "", "--task-id", ""];
    await output(["emit", ...least, ...words, "--status-dir", place.path], atNow);
    const { runtime, task } = JSON.parse(place.read("a.json"));
    assert.deepEqual(runtime, { lifecycle: "running", updated_at: now });
    assert.deepEqual(task, { id: "" });
    const bad = ["emit", ...least, "--task-status-timestamp", "", "--status-dir", place.path];
    const { code, stderr } = await run(bad);
    assert.equal(code, 1);
    assert.equal(stderr, "task.status_timestamp: timestamp must be non-empty string\n");
  });

  test("metadata is told of before the record, and the record before its id", async () => {
    using place = statusDirectory();
    const bad = ["--updated-at", "bad", "--agent-id", "a/b", "--status-dir", place.path];
    for (const [more, said] of [
      [["--meta", "novalue"], "invalid meta, expected key=value: novalue\n"],
      [["--meta", "=v"], "invalid meta key: =v\n"],
      [[], "invalid timestamp: bad\n"],
      [["--updated-at", now], "agent_id must be non-empty and filename-safe\n"],
      [["--updated-at", now, "--agent-id", ""], "field must be non-empty string: agent_id\n"],
    ] as const) {
      const { code, stdout, stderr } = await run(["emit", ...least, ...bad, ...more]);
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: "", stderr: said });
    }
    assert.deepEqual(readdirSync(place.path), []);
  });

  test("[AS-8] an id with control characters or too long for a file name is refused; 236 bytes are not", async () => {
    using place = statusDirectory();
    const emit = (id: string): ReturnType<typeof run> =>
      run([
        ...["emit", `--agent-id=${id}`, "--agent-name", "n", "--lifecycle", "running"],
        ...["--status-dir", place.path],
      ]);
    for (const id of ["a\nb", "\x1b[31m", "\x7f", "x".repeat(237), "é".repeat(119)]) {
      const { code, stderr } = await emit(id);
      assert.equal(code, 1);
      assert.equal(stderr, "agent_id must be non-empty and filename-safe\n");
    }
    for (const id of ["x".repeat(236), "-x", "a b", ".hidden", "日本"]) {
      assert.equal((await emit(id)).code, 0, id);
    }
    assert.equal(readdirSync(place.path).length, 5);
  });

  test("merging keeps what is there and no option names: unknown fields, goal, task, metadata", async () => {
    using place = statusDirectory();
    const task = { id: "t", state: "working", summary: "s", status_timestamp: ago(90), x_own: 1 };
    place.put(
      "a.json",
      record({
        runtime: { pid: 7, updated_at: ago(90), x_rt: true },
        goal,
        task,
        a2a: { service_url: "http://s" },
        x_meta: { k: 1, deep: { er: [1, 2] } },
        x_future: { kept: null },
      }),
    );
    const words = ["emit", "--merge", "--agent-id", "a", "--status-dir", place.path];
    await output([...words, "--meta", "k=new"], atNow);
    assert.deepEqual(JSON.parse(place.read("a.json")), {
      ...record({
        runtime: { pid: 7, updated_at: now, x_rt: true },
        goal,
        task,
        a2a: { service_url: "http://s" },
        x_meta: { k: "new", deep: { er: [1, 2] } },
        x_future: { kept: null },
      }),
    });
    await output([...words, "--task-state", "input-required", "--clear-goal"], atNow);
    const { goal: gone, task: changed } = JSON.parse(place.read("a.json"));
    assert.equal(gone, undefined);
    // The new state did not begin when the old one did.
    assert.deepEqual(changed, { ...task, state: "input-required", status_timestamp: now });
    await output([...words, "--clear-task", "--lifecycle", "stopped"], atNow);
    const last = JSON.parse(place.read("a.json"));
    assert.equal(last.task, undefined);
    assert.equal(last.runtime.lifecycle, "stopped");
  });

  test("merging into what is null or not valid writes no null and starts anew", async () => {
    using place = statusDirectory();
    const words = ["emit", "--merge", ...least, "--status-dir", place.path];
    place.put("a.json", record({ goal: null, task: { state: null, summary: "s" }, a2a: null }));
    await output(words, atNow);
    assert.deepEqual(JSON.parse(place.read("a.json")), record({ task: { summary: "s" } }));
    place.put("a.json", "{half");
    await output(words, atNow);
    assert.deepEqual(JSON.parse(place.read("a.json")), record());
    const { code, stderr } = await run(["emit", "--merge", "--agent-id", "b", ...words.slice(-2)]);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "missing required field: agent_name\nmissing required field: runtime.lifecycle\n",
    );
  });

  test("a key that means something to JavaScript is a key", async () => {
    using place = statusDirectory();
    const words = ["emit", ...least, "--status-dir", place.path];
    await output([...words, "--meta", "__proto__=x", "--meta", "constructor=y", "--meta", "10=z"]);
    assert.match(place.read("a.json"), /"10": "z",\s+"__proto__": "x",\s+"constructor": "y"/);
    await output([...words, "--merge", "--meta", "1=a"]);
    assert.match(place.read("a.json"), /"1": "a",\s+"10": "z",\s+"__proto__": "x"/);
  });

  test("--json says where and what", async () => {
    using place = statusDirectory();
    const text = await output(["emit", ...least, "--status-dir", place.path, "--json"], atNow);
    assert.deepEqual(JSON.parse(text), {
      schema: "agent-status-emit/v1",
      path: `${place.path}/a.json`,
      record: record(),
    });
  });
});

test("whoever writes or removes a file says its path as it is, where a program reads it", async () => {
  using place = statusDirectory();
  const directory = `${place.path}/odd \x1b[31m\u202ename`;
  const flags = ["--status-dir", directory];
  assert.equal(await output(["emit", ...least, ...flags]), `${directory}/a.json\n`);
  const later = { env: { AGENT_STATUS_NOW: "2100-01-01T00:00:00Z" } };
  assert.equal(await output(["prune", ...flags], later), `${directory}/a.json\n`);
});

describe("list", { concurrency: 2 }, () => {
  test("--json has everything, in the order of the table, and warnings beside it", async () => {
    using place = statusDirectory();
    const working = record({ agent_id: "w", task: { state: "working" }, x_new: 1 });
    place.put("w.json", working);
    place.put("i.json", record({ agent_id: "i", runtime: { updated_at: ago(12.5) } }));
    place.put("other.json", record({ agent_id: "o", runtime: { updated_at: ago(90) } }));
    place.put("bad.json", "{");
    const words = ["list", "--status-dir", place.path, "--json", "--expect", "x", "--expect", "w"];
    const { code, stdout, stderr } = await run(words, atNow);
    assert.equal(code, 0);
    assert.match(stderr, /^warning: ignored invalid JSON .*bad\.json: .*\n$/);
    const { agents, warnings, ...rest } = JSON.parse(stdout);
    assert.deepEqual(rest, {
      schema: "agent-status-list/v1",
      status_dir: place.path,
      generated_at: now,
      stale_after: 60,
    });
    assert.deepEqual(
      agents.map(({ agent_id: id, state, age_seconds: age }: Record<string, unknown>) => [
        id,
        state,
        age,
      ]),
      [
        ["w", "working", 0],
        ["x", "missing", null],
        ["i", "idle", 12.5],
        ["o", "stale", 90],
      ],
    );
    const path = join(place.path, "w.json");
    const [first, missing] = agents;
    const facts = { agent_id: "w", path, state: "working", age_seconds: 0, pid_alive: null };
    assert.deepEqual(first, { ...facts, record: working });
    assert.deepEqual([missing.record, missing.pid_alive], [null, null]);
    assert.deepEqual(
      warnings.map(({ path: at, kind }: Record<string, unknown>) => [at, kind]),
      [
        [join(place.path, "bad.json"), "invalid-json"],
        [join(place.path, "other.json"), "id-mismatch"],
      ],
    );
  });

  test("a process is told to be alive, dead, or neither where nobody can know", async () => {
    using place = statusDirectory();
    const updatedAt = new Date().toISOString();
    const long = "2000-01-01T00:00:00Z";
    const put = (id: string, pid: number, at = updatedAt): void => {
      place.put(`${id}.json`, record({ agent_id: id, runtime: { pid, updated_at: at } }));
    };
    put("alive", process.pid);
    // Number 4194304 is beyond the largest that Linux gives out.
    put("dead", 4_194_304);
    put("younger", process.pid, long);
    const { agents } = JSON.parse(await output(["list", "--status-dir", place.path, "--json"]));
    const found = Object.fromEntries(
      agents.map(({ agent_id: id, pid_alive: alive }: Record<string, unknown>) => [id, alive]),
    );
    const isOutside =
      process.platform === "linux" && readlinkSync("/proc/self/ns/pid") === "pid:[4026531836]";
    const nobodyKnows = { alive: null, dead: null, younger: null };
    const known = { alive: true, dead: false, younger: false };
    assert.deepEqual(found, isOutside ? known : nobodyKnows);
  });

  test("[AS-9] [AS-53] who is expected and has no file is a row, and unsafe names are refused", async () => {
    using place = statusDirectory();
    place.put("a.json", record());
    place.put("broken.json", "{");
    const words = ["list", "--status-dir", place.path, "--expect", "a", "--expect", "b"];
    const { stdout } = await run([...words, "--expect", "broken"], atNow);
    assert.deepEqual(
      rowsOf(stdout).map(({ id, state, updated }) => [id, state, updated]),
      [
        ["b", "? missing", "never"],
        ["a", "~ idle", "0s ago"],
      ],
    );
    // By the name of the file, as get has it: whoever is asked for here is not there.
    place.put("other.json", record({ agent_id: "c" }));
    rmSync(join(place.path, "broken.json"));
    const renamed = await output(["list", "--status-dir", place.path, "--expect", "c"], atNow);
    assert.deepEqual(
      rowsOf(renamed).map(({ id, state }) => [id, state]),
      [
        ["c", "? missing"],
        ["a", "~ idle"],
        ["c", "~ idle"],
      ],
    );
    const { code, stderr } = await run(["list", "--status-dir", place.path, "--expect", "a/b"]);
    assert.equal(code, 1);
    assert.equal(stderr, "agent_id must be non-empty and filename-safe\n");
  });

  test("--state and --name leave only those, and the title counts them", async () => {
    using place = statusDirectory();
    for (const [id, name, state] of [
      ["a", "pi", "working"],
      ["b", "pi", "input-required"],
      ["c", "codex", "auth-required"],
    ] as const) {
      place.put(`${id}.json`, record({ agent_id: id, agent_name: name, task: { state } }));
    }
    const words = ["list", "--status-dir", place.path];
    for (const [more, ids] of [
      [
        ["--state", "input-required,auth-required"],
        ["b", "c"],
      ],
      [
        ["--state", "working", "--state", "auth-required"],
        ["a", "c"],
      ],
      [
        ["--name", "pi"],
        ["a", "b"],
      ],
      [["--name", "pi", "--name", "codex", "--state", "auth-required"], ["c"]],
      [["--state", "failed"], []],
    ] as const) {
      const table = await output([...words, ...more], atNow);
      assert.deepEqual(
        rowsOf(table).map(({ id }) => id),
        ids,
        more.join(" "),
      );
      assert.match(table, new RegExp(` {2}· {2}${ids.length} agents?\n`));
    }
    assert.equal((await run([...words, "--state", "bored"])).code, 2);
  });

  test("[AS-36] [AS-68] no directory, an empty one and a file in its place are nobody", async () => {
    using place = statusDirectory();
    writeFileSync(join(place.path, "file"), "");
    for (const path of [place.path, join(place.path, "none"), join(place.path, "file")]) {
      assert.match(await output(["list", "--status-dir", path]), /· {2}0 agents\n/);
      assert.equal(await output(["prune", "--status-dir", path]), "");
    }
  });

  test("[AS-61] [AS-62] colours are for whoever asks, and nothing else is coloured", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ task: { state: "input-required" } }));
    const words = ["list", "--status-dir", place.path];
    assert.doesNotMatch(await output(words, atNow), /\x1b|╭/);
    const coloured = await output([...words, "--color"], atNow);
    assert.match(coloured, /╭/);
    assert.match(coloured, /\x1b\[33m\? input-required\x1b\[0m/);
    const insisting = { env: { ...atNow.env, NO_COLOR: "1" } };
    assert.equal(await output([...words, "--color"], insisting), coloured);
  });

  test("[AS-63] COLUMNS is the width of a pipe", async () => {
    using place = statusDirectory();
    place.put("a.json", record({ agent_id: "x".repeat(100) }));
    for (const columns of [70, 100]) {
      const env = { ...atNow.env, COLUMNS: String(columns) };
      const [, frame = ""] = (await output(["list", "--status-dir", place.path], { env })).split(
        "\n",
      );
      assert.equal(frame.length, columns);
    }
  });

  test("[AS-1] [AS-2] [AS-3] [AS-4] the directory is found as the standard says, and printed as it was given", async () => {
    using place = statusDirectory();
    const emit = ["emit", ...least];
    const at = { directory: place.path };
    const env = { AGENT_STATUS_DIR: "own", XDG_STATE_HOME: "xdg", HOME: place.path };
    const run1 = (more: Record<string, string>, ...words: string[]): Promise<string> =>
      output([...emit, ...words], { ...at, env: { ...env, ...more } });
    assert.equal(await run1({}, "--status-dir", "./x/./y/"), "x/y/a.json\n");
    assert.equal(await run1({}, "--status-dir", "."), "a.json\n");
    assert.equal(await run1({}), "own/a.json\n");
    assert.equal(await run1({ AGENT_STATUS_DIR: "" }), "xdg/agent-status/a.json\n");
    const home = `${place.path}/.local/state/agent-status/a.json\n`;
    assert.equal(await run1({ AGENT_STATUS_DIR: "", XDG_STATE_HOME: "" }), home);
    assert.equal(await run1({ AGENT_STATUS_DIR: "~/t" }), `${place.path}/t/a.json\n`);
    const nobody = { AGENT_STATUS_DIR: "~nobody-of-that-name/x" };
    assert.equal(await run1(nobody, "--status-dir", "z"), "z/a.json\n");
    const failed = await run(emit, { ...at, env: { ...env, ...nobody } });
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /^[^\n]*~nobody-of-that-name[^\n]*\n$/);
  });
});

describe("get", { concurrency: 2 }, () => {
  test("what is not there and what is not valid is told apart, by the name of the file", async () => {
    using place = statusDirectory();
    const { path } = place;
    place.put("bad.json", "{");
    place.put("odd.json", {});
    mkdirSync(join(path, "dir.json"));
    symlinkSync("nowhere", join(path, "link.json"));
    place.put("named.json", record({ agent_id: "someone-else", x_own: 1 }));
    for (const [id, said] of [
      ["none", `not found: ${path}/none.json\n`],
      ["none.json", `not found: ${path}/none.json.json\n`],
      ["link", `not found: ${path}/link.json\n`],
      ["bad", `invalid status file: ${path}/bad.json\n`],
      ["odd", `invalid status file: ${path}/odd.json\n`],
      ["dir", `invalid status file: ${path}/dir.json\n`],
      ["", "agent_id must be non-empty and filename-safe\n"],
      ["../s/named", "agent_id must be non-empty and filename-safe\n"],
    ] as const) {
      const { code, stdout, stderr } = await run(["get", id, "--status-dir", path]);
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: "", stderr: said });
    }
    const text = await output(["get", "named", "--status-dir", path]);
    assert.equal(JSON.parse(text).x_own, 1);
    assert.equal(await output(["get", "named", "--json", "--status-dir", path]), text);
  });
});

describe("validate", { concurrency: 2 }, () => {
  test("what cannot be read is a line, not a trace", async () => {
    using place = statusDirectory();
    const { path } = place;
    mkdirSync(join(path, "dir"));
    const deep = "[".repeat(100_000);
    for (const [file, said] of [
      [join(path, "none"), `cannot read ${path}/none: no such file\n`],
      [join(path, "dir"), `cannot read ${path}/dir: not a regular file\n`],
      [
        place.put("latin", Buffer.from([0x22, 0xff, 0x22])),
        `cannot read ${path}/latin: not valid UTF-8\n`,
      ],
      [place.put("deep", deep), `cannot read ${path}/deep: too deeply nested\n`],
      [
        place.put("nan", '{"a": NaN}'),
        "invalid JSON: expected a value: line 1 column 7 (char 6)\n",
      ],
    ] as const) {
      const { code, stdout, stderr } = await run(["validate", file]);
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: "", stderr: said });
    }
  });

  test("of several files each is named, and one that is not valid is enough", async () => {
    using place = statusDirectory();
    const good = place.put("a.json", record());
    const bad = place.put("b.json", {});
    const both = await run(["validate", good, bad]);
    assert.equal(both.code, 1);
    assert.equal(both.stdout, `${good}: valid\n`);
    assert.match(both.stderr, new RegExp(`^${bad}: missing required field: schema_version$`, "m"));
    assert.equal(await output(["validate", good, good]), `${good}: valid\n`.repeat(2));
    const { code, stdout, stderr } = await run(["validate", "--json", good, bad]);
    assert.deepEqual({ code, stderr }, { code: 1, stderr: "" });
    const { schema, valid, files } = JSON.parse(stdout);
    assert.deepEqual([schema, valid], ["agent-status-validate/v1", false]);
    assert.deepEqual(files[0], { path: good, valid: true, kind: null, errors: [] });
    assert.deepEqual(
      [files[1].path, files[1].valid, files[1].kind],
      [bad, false, "invalid-status"],
    );
    assert.equal(files[1].errors.length, 4);
  });

  test("a file that is named may be a pipe or a device, up to the length of a record", async () => {
    using place = statusDirectory();
    const good = place.put("a.json", record());
    const shell = (script: string): Promise<Ended> => runProgram("bash", ["-c", script]);
    const program = `'${executable}' validate`;
    for (const script of [
      `cat '${good}' | ${program} /dev/stdin`,
      `${program} <(sleep 0.2; cat '${good}')`,
    ]) {
      const { code, stdout, stderr } = await shell(script);
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 0, stdout: "valid\n", stderr: "" },
        script,
      );
    }
    const nothing = await run(["validate", "/dev/null"]);
    assert.equal(nothing.code, 1);
    assert.match(nothing.stderr, /^invalid JSON: /);
    const endless = await run(["validate", "/dev/zero"]);
    assert.deepEqual([endless.code, endless.stderr], [1, "cannot read /dev/zero: too large\n"]);
  });

  test("--strict wants what a careful writer writes", async () => {
    using place = statusDirectory();
    const fine = record({ x_meta: { tmux_socket: "/s", tmux_pane: "%1" } });
    assert.equal(await output(["validate", "--strict", place.put("a.json", fine)]), "valid\n");
    for (const value of [
      record({ runtime: { updated_at: "20260620T165000Z" } }),
      record({ runtime: { workspace: "relative" } }),
      record({ x_meta: { tmux_pane: "%1" } }),
      record({ x_meta: { tmux_socket: "/s", tmux_pane: "1" } }),
      record({ task: null }),
      record({ agent_id: "b" }),
      record({ agent_id: "a/b" }),
    ]) {
      const path = place.put("a.json", value);
      assert.equal(await output(["validate", path]), "valid\n");
      const { code, stderr } = await run(["validate", "--strict", path]);
      assert.equal(code, 1, JSON.stringify(value));
      assert.notEqual(stderr, "");
    }
  });
});

describe("prune", { concurrency: 2 }, () => {
  test("--dry-run leaves everything, --invalid and --temp-files take what is named, --json says it all", async () => {
    using place = statusDirectory();
    const { path } = place;
    place.put("old.json", record({ agent_id: "old", runtime: { updated_at: ago(200_000) } }));
    place.put("new.json", record({ agent_id: "new" }));
    const old = new Date(Date.parse(now) - 200_000_000);
    for (const name of ["broken.json", ".x.json.abcdefgh.tmp"]) {
      utimesSync(place.put(name, "{"), old, old);
    }
    const all = [".x.json.abcdefgh.tmp", "broken.json", "new.json", "old.json"];
    const words = ["prune", "--status-dir", path];
    assert.equal(await output([...words, "--dry-run"], atNow), `${path}/old.json\n`);
    assert.deepEqual(readdirSync(path).sort(), all);
    const whole = [...words, "--invalid", "--temp-files", "--json"];
    const removed = ["old.json", "broken.json", ".x.json.abcdefgh.tmp"].map(
      (name) => `${path}/${name}`,
    );
    const document = { schema: "agent-status-prune/v1", status_dir: path, dry_run: true, removed };
    assert.deepEqual(JSON.parse(await output([...whole, "--dry-run"], atNow)), document);
    assert.deepEqual(readdirSync(path).sort(), all);
    const { dry_run: isRehearsal } = JSON.parse(await output(whole, atNow));
    assert.equal(isRehearsal, false);
    assert.deepEqual(readdirSync(path), ["new.json"]);
  });
});

describe("in any case", { concurrency: 2 }, () => {
  test("[AS-77] what the system refuses is one line", async () => {
    using place = statusDirectory();
    writeFileSync(join(place.path, "file"), "");
    mkdirSync(join(place.path, "a.json"));
    for (const words of [
      ["emit", ...least, "--status-dir", join(place.path, "file")],
      ["emit", ...least, "--status-dir", join(place.path, "file/below")],
      ["emit", ...least, "--status-dir", place.path],
      ["emit", ...least, "--status-dir", "/proc/nothing/here"],
    ]) {
      const { code, stdout, stderr } = await run(words);
      assert.deepEqual({ code, stdout }, { code: 1, stdout: "" }, words.join(" "));
      assert.match(stderr, /^cannot write [^\n]+: [^\n]+\n$/);
      assert.doesNotMatch(stderr, /\bat .*:\d+/);
    }
    assert.deepEqual(readdirSync(place.path).sort(), ["a.json", "file"]);
    const { code, stderr } = await run(["list"], { env: { AGENT_STATUS_NOW: "soon" } });
    assert.equal(code, 1);
    assert.match(stderr, /^[^\n]*AGENT_STATUS_NOW[^\n]*\n$/);
  });

  test("[AS-36] [AS-41] [AS-77] [TV-24] what is closed to us is told of, and the rest goes on", async () => {
    using place = statusDirectory();
    place.put("closed.json", record({ agent_id: "closed" }));
    chmodSync(join(place.path, "closed.json"), 0);
    place.put("old.json", record({ agent_id: "old", runtime: { updated_at: ago(200_000) } }));
    place.put("older.json", record({ agent_id: "older", runtime: { updated_at: ago(300_000) } }));
    chmodSync(place.path, 0o555);
    const options = { ...atNow, isBoundByPermissions: true };
    const listed = await run(["list", "--status-dir", place.path], options);
    const closed = `warning: ignored unreadable file ${place.path}/closed.json: permission denied\n`;
    assert.deepEqual([listed.code, listed.stderr], [0, closed]);
    assert.deepEqual(
      rowsOf(listed.stdout).map(({ id }) => id),
      ["old", "older"],
    );
    const got = await run(["get", "closed", "--status-dir", place.path], options);
    assert.deepEqual(
      [got.code, got.stderr],
      [1, `invalid status file: ${place.path}/closed.json\n`],
    );
    const pruned = await run(["prune", "--status-dir", place.path], options);
    const refusals = ["old", "older"].map(
      (name) => `cannot remove ${place.path}/${name}.json: permission denied\n`,
    );
    assert.deepEqual([pruned.code, pruned.stdout, pruned.stderr], [1, "", refusals.join("")]);
    const emitted = await run(["emit", ...least, "--status-dir", place.path], options);
    const refusal = `cannot write ${place.path}/a.json: permission denied\n`;
    assert.deepEqual([emitted.code, emitted.stderr], [1, refusal]);
    chmodSync(place.path, 0);
    const shut = await run(["list", "--status-dir", place.path], options);
    const warning = `warning: cannot read status directory ${place.path}: permission denied\n`;
    assert.deepEqual([shut.code, shut.stderr], [0, warning]);
    chmodSync(place.path, 0o700);
  });

  test("[AS-77] a reader that went away is no error", async () => {
    using place = statusDirectory();
    for (let index = 0; index < 3_000; index += 1) {
      place.put(`${index}.json`, record({ agent_id: `agent-${index}`, goal }));
    }
    for (const words of [
      ["list"],
      ["list", "--json"],
      ["prune", "--dry-run"],
      ["watch", "--interval", "0"],
    ]) {
      const child = spawn(executable, [...words, "--status-dir", place.path], {
        env: cleanEnv({ AGENT_STATUS_NOW: "2027-06-20T16:50:00Z" }),
        stdio: ["ignore", "pipe", "pipe"],
      });
      let stderr = "";
      child.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk;
      });
      const ended = once(child, "close");
      child.stdout.once("data", () => child.stdout.destroy());
      const [code] = await ended;
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, words.join(" "));
    }
  });

  test("[AS-77] output that finds no room is one line, and no success", {
    skip: !existsSync("/dev/full"),
  }, () => {
    using place = statusDirectory();
    place.put("a.json", record());
    const full = openSync("/dev/full", "w");
    for (const words of [["list"], ["list", "--json"], ["watch"], ["get", "a"]]) {
      const { status, stderr } = spawnSync(executable, [...words, "--status-dir", place.path], {
        env: cleanEnv({ AGENT_STATUS_NOW: now }),
        stdio: ["ignore", full, "pipe"],
        encoding: "utf8",
      });
      const line = "cannot write the output: no space left on device\n";
      assert.deepEqual([status, stderr], [1, line], words.join(" "));
    }
    closeSync(full);
  });

  test("[AS-73] --version and --help end well, on standard output", async () => {
    assert.equal(await output(["--version"]), `agent-status ${manifest.version}\n`);
    for (const words of [["-h"], ["--help"], ["list", "-h"], ["emit", "--help"]]) {
      const [first, second] = (await output(words)).split("\n");
      for (const example of [first, second]) assert.match(example ?? "", /^ {2}agent-status /);
    }
  });

  test("[AS-44] how long a file may be is a variable's to say, for whoever reads", async () => {
    using place = statusDirectory();
    const long = place.put("a.json", record({ x_more: "x".repeat(1_100_000) }));
    const short = place.put("b.json", record({ agent_id: "b", x_more: "x".repeat(2_000) }));
    const more = { env: { AGENT_STATUS_NOW: now, AGENT_STATUS_MAX_BYTES: "2000000" } };
    const less = { env: { AGENT_STATUS_NOW: now, AGENT_STATUS_MAX_BYTES: "1000" } };
    const flags = ["--status-dir", place.path];
    const ids = (table: string): readonly string[] => rowsOf(table).map(({ id }) => id);
    assert.deepEqual(ids((await run(["list", ...flags], atNow)).stdout), ["b"]);
    assert.deepEqual(ids(await output(["list", ...flags], more)), ["a", "b"]);
    assert.match(
      (await run(["list", ...flags], less)).stderr,
      /a\.json: too large\n.*b\.json: too large/,
    );
    assert.equal((await run(["get", "a", ...flags], more)).code, 0);
    assert.equal(
      await output(["validate", long, short], more),
      `${long}: valid\n${short}: valid\n`,
    );
    const piped = await runProgram(
      "sh",
      ["-c", `cat '${long}' | '${executable}' validate /dev/stdin`],
      more,
    );
    assert.equal(piped.stdout, "valid\n");
    const swept = { env: { ...more.env, AGENT_STATUS_NOW: "2100-01-01T00:00:00Z" } };
    const pruned = await output(["prune", "--dry-run", ...flags], swept);
    assert.equal(pruned, `${long}\n${short}\n`);
    for (const text of ["0", "x", "1e9", "99999999999"]) {
      const { code, stderr } = await run(["list", ...flags], {
        env: { AGENT_STATUS_MAX_BYTES: text },
      });
      assert.equal(code, 1);
      assert.match(stderr, /^AGENT_STATUS_MAX_BYTES is a number of bytes, .*\n$/);
    }
  });

  test("[AS-45] whoever only reads changes nothing", async () => {
    using place = statusDirectory();
    place.put("a.json", record());
    place.put("b.json", "{");
    const before = readdirSync(place.path).map((name) => [name, place.read(name)]);
    await run(["list", "--status-dir", place.path]);
    await run(["list", "--json", "--status-dir", place.path]);
    await run(["get", "a", "--status-dir", place.path]);
    await run(["validate", join(place.path, "a.json")]);
    assert.deepEqual(
      readdirSync(place.path).map((name) => [name, readFileSync(join(place.path, name), "utf8")]),
      before,
    );
  });
});

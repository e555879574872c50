import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { printTimestamp, type StatusRecord } from "../wire/status-file/index.ts";
import { limits } from "./limits.ts";
import { type Found, sight } from "./sight.ts";
import type { FoundProcess, RegisteredAgent, Sighting, StatusFile } from "./types.ts";

const nowMs = Date.UTC(2026, 5, 20, 12, 0, 0);
const second = 1_000;
const minute = 60_000;
const ago = (ms: number): string => printTimestamp(nowMs - ms);

type Written = Partial<Omit<StatusRecord, "runtime" | "task">> & {
  readonly runtime?: Partial<StatusRecord["runtime"]>;
  readonly state?: NonNullable<StatusRecord["task"]>["state"];
  readonly task?: StatusRecord["task"];
};

function file({ runtime, state, task, ...rest }: Written = {}): StatusFile {
  const id = rest.agent_id ?? "a";
  const shown = state === undefined ? task : { ...task, state };
  return {
    path: `/s/${id}.json`,
    record: {
      schema_version: "agent-status/v1alpha1",
      agent_id: id,
      agent_name: "scraper",
      ...rest,
      runtime: { lifecycle: "running", updated_at: ago(5 * second), ...runtime },
      ...(shown === undefined ? {} : { task: shown }),
    },
  };
}

/** As the hooks of Claude Code write it. */
function hook({ session = "s1", ...written }: Written & { readonly session?: string } = {}) {
  return file({
    agent_id: "claude-code-0af3",
    agent_name: "claude-code",
    x_meta: { claude_code: { session_id: session } },
    ...written,
  });
}

function registered(agent: Partial<RegisteredAgent> = {}): RegisteredAgent {
  return { id: "r1", name: "scraper", liveness: "alive", heardAtMs: nowMs - second, ...agent };
}

function found(process: Partial<FoundProcess> = {}): FoundProcess {
  return { pid: 42, startedAtMs: nowMs - 10 * minute, program: "claude-code", ...process };
}

function look(sources: Partial<Found>, silentAfterMs = 5 * minute): readonly Sighting[] {
  const all = { files: [], registered: [], processes: [], ...sources };
  return sight(all, { nowMs, silentAfterMs, hostName: "here" });
}

function only(sources: Partial<Found>): Sighting {
  const seen = look(sources);
  assert.equal(seen.length, 1, JSON.stringify(seen));
  const [sighting] = seen;
  assert.ok(sighting);
  return sighting;
}

const sourcesOf = ({ known }: Sighting): readonly string[] => known.map(({ source }) => source);

describe("what one source says", () => {
  for (const [state, expected] of [
    ["input-required", "waiting"],
    ["auth-required", "waiting"],
    ["submitted", "working"],
    ["working", "working"],
    ["failed", "failed"],
    ["rejected", "idle"],
    ["completed", "idle"],
    ["canceled", "idle"],
    ["unknown", "unknown"],
  ] as const) {
    test(`a file that says ${state} is an agent that is ${expected}`, () => {
      const seen = only({ files: [file({ state })] });
      assert.equal(seen.state, expected);
      assert.equal(seen.known[0]?.word, state);
    });
  }

  test("a file without a task is idle, with a task of no state it works, and not renewed it is lost", () => {
    assert.equal(only({ files: [file()] }).state, "idle");
    assert.equal(only({ files: [file({ task: { summary: "x" } })] }).state, "working");
    const stale = file({ state: "input-required", runtime: { updated_at: ago(61 * second) } });
    const lost = only({ files: [stale] });
    assert.equal(lost.state, "lost");
    assert.equal(lost.sinceMs, nowMs - 61 * second);
  });

  test("a file that says stopped is an agent that has stopped, however long ago", () => {
    const stopped = (ms: number, state?: Written["state"]) =>
      only({
        files: [file({ state, runtime: { lifecycle: "stopped", updated_at: ago(ms) } })],
      });
    assert.equal(stopped(5 * second).state, "stopped");
    assert.equal(stopped(61 * second).state, "stopped");
    assert.equal(stopped(61 * second).known[0]?.word, "stale", "the format's own word is kept");
    assert.equal(stopped(5 * second, "input-required").state, "stopped", "it waits for nobody");
  });

  test("since when is the time of the state, not of the file", () => {
    const waiting = file({
      state: "input-required",
      task: { status_timestamp: ago(4 * minute), summary: "delete 3 files" },
    });
    const seen = only({ files: [waiting] });
    assert.equal(seen.sinceMs, nowMs - 4 * minute);
    assert.equal(seen.known[0]?.heardAtMs, nowMs - 5 * second);
    assert.equal(seen.doing, "delete 3 files");
  });

  test("who waits asks what its host was heard to ask, rather than what it was told to do", () => {
    const task = { status_timestamp: ago(4 * minute), summary: "fix the build" };
    const meta = { x_meta: { codex: { session_id: "s", asks: "Bash: rm -rf build" } } };
    const waiting = only({ files: [file({ state: "input-required", task, ...meta })] });
    assert.deepEqual([waiting.doing, waiting.task], ["Bash: rm -rf build", "fix the build"]);
    assert.equal(
      only({ files: [file({ state: "working", task, ...meta })] }).doing,
      "fix the build",
    );
  });

  test("a record may be long, and what is told of it is not", () => {
    const long = "\u{1f600}".repeat(100_000);
    const task = { status_timestamp: ago(minute), summary: long };
    const seen = only({ files: [file({ state: "input-required", task, agent_name: long })] });
    for (const text of [seen.doing, seen.task, seen.name]) {
      assert.equal(text?.length, limits.textLengthMax);
      assert(text.isWellFormed());
    }
  });

  test("a record of a host's hook is told from one that anybody wrote", () => {
    assert.deepEqual(sourcesOf(only({ files: [hook()] })), ["hook"]);
    assert.deepEqual(sourcesOf(only({ files: [file()] })), ["file"]);
    const pi = file({ agent_name: "pi", agent_id: "pi-1" });
    assert.deepEqual(sourcesOf(only({ files: [pi] })), ["hook"]);
    const ours = file({ x_meta: { tipstaff: { source: "hook" } } });
    assert.deepEqual(sourcesOf(only({ files: [ours] })), ["hook"]);
    const odd = file({ x_meta: { claude_code: ["session_id"], __proto__: null } });
    assert.deepEqual(sourcesOf(only({ files: [odd] })), ["file"]);
  });

  test("the registry tells what an agent does, or that it holds something, or nothing", () => {
    const states = (agent: Partial<RegisteredAgent>) =>
      only({ registered: [registered(agent)] }).state;
    assert.equal(states({ activity: { state: "waiting", sinceMs: nowMs } }), "waiting");
    assert.equal(states({ activity: { state: "idle", sinceMs: nowMs } }), "idle");
    assert.equal(states({ activity: { state: "reading", sinceMs: nowMs } }), "working");
    assert.equal(states({ holds: ["task invoice-42"] }), "working");
    const question = { id: "q_1", prompt: "Pay?", askedAtMs: nowMs };
    const asking = only({
      registered: [registered({ question, activity: { state: "idle", sinceMs: nowMs } })],
    });
    assert.deepEqual([asking.state, asking.doing, asking.questionId], ["waiting", "Pay?", "q_1"]);
    assert.equal(states({ question, liveness: "unreachable" }), "lost");
    assert.equal(states({}), "unknown");
    assert.equal(states({ liveness: "unreachable", holds: ["task invoice-42"] }), "lost");
    assert.equal(states({ liveness: "dead" }), "stopped");
  });

  test("a process alone is unknown, and says which command would show more", () => {
    const seen = only({ processes: [found({ workspace: "/src/x" })] });
    assert.equal(seen.state, "unknown");
    assert.equal(seen.id, "process/42");
    assert.equal(seen.workspace, "/src/x");
    assert.equal(seen.hint, "tipstaff install claude-code");
    assert.equal(only({ processes: [found({ program: "aider" })] }).hint, undefined);
  });
});

describe("a program's own word on its process", () => {
  const told = {
    state: "waiting",
    word: "waiting",
    sinceMs: nowMs - minute,
    session: "s1",
    path: "/c",
  } as const;

  test("it is believed where nobody knows better", () => {
    const seen = only({ processes: [found({ told })] });
    assert.equal(seen.state, "waiting");
    assert.equal(seen.sinceMs, nowMs - minute);
    assert.equal(seen.hint, "tipstaff install claude-code");
    const stale = hook({ runtime: { pid: 42, updated_at: ago(2 * minute) } });
    assert.equal(only({ files: [stale], processes: [found({ told })] }).state, "waiting");
  });

  test("beside a hook that is in touch it is neither heard nor a contradiction", () => {
    const idle = hook({ runtime: { pid: 42 } });
    const seen = only({ files: [idle], processes: [found({ told })] });
    assert.equal(seen.state, "idle");
    assert.equal(seen.isContradicted, false);
  });
});

describe("silence", () => {
  test("who works without progress for longer than five minutes is silent since then", () => {
    const at = (progressMs: number) =>
      only({
        files: [
          file({
            state: "working",
            task: { status_timestamp: ago(30 * minute) },
            runtime: { last_activity_at: ago(progressMs) },
          }),
        ],
      });
    assert.equal(at(5 * minute).state, "working");
    const silent = at(5 * minute + second);
    assert.equal(silent.state, "silent");
    assert.equal(silent.sinceMs, nowMs - 5 * minute - second);
    assert.equal(silent.known[0]?.state, "working");
  });

  test("progress that another source has seen counts", () => {
    const quiet = registered({
      id: "x",
      activity: { state: "writing", sinceMs: nowMs - 60 * minute },
    });
    const busy = hook({
      agent_id: "x",
      state: "working",
      runtime: { last_activity_at: ago(2 * second) },
    });
    assert.equal(only({ registered: [quiet] }).state, "silent");
    assert.equal(only({ registered: [quiet], files: [busy] }).state, "working");
  });

  test("who never tells of progress, waits or is idle is not silent", () => {
    assert.equal(only({ files: [file({ state: "working" })] }).state, "working");
    const old = { status_timestamp: ago(60 * minute) };
    assert.equal(only({ files: [file({ state: "input-required", task: old })] }).state, "waiting");
    const idle = file({ runtime: { last_activity_at: ago(60 * minute) } });
    assert.equal(only({ files: [idle] }).state, "idle");
  });
});

describe("who is one agent", () => {
  test("a record and a registered agent of the same id are one", () => {
    const seen = only({ registered: [registered({ id: "a" })], files: [hook({ agent_id: "a" })] });
    assert.deepEqual(sourcesOf(seen), ["hook", "registry"]);
    assert.equal(seen.id, "a");
  });

  test("a record and the process that it names are one, if the process is the older", () => {
    const named = hook({ state: "working", runtime: { pid: 42 } });
    const seen = only({ files: [named], processes: [found()] });
    assert.deepEqual(sourcesOf(seen), ["hook", "process"]);
    assert.equal(seen.startedAtMs, nowMs - 10 * minute);
    assert.equal(seen.hint, undefined);
  });

  test("a number that was given again is another agent", () => {
    const named = hook({ state: "working", runtime: { pid: 42, updated_at: ago(30 * second) } });
    const later = found({ startedAtMs: nowMs - 10 * second });
    assert.deepEqual(look({ files: [named], processes: [later] }).map(sourcesOf), [
      ["hook"],
      ["process"],
    ]);
  });

  test("a record that names the process that started it is the same agent", () => {
    const startedAtMs = nowMs - 10 * minute;
    const named = file({
      agent_name: "codex",
      x_meta: { codex: { session_id: "s" } },
      runtime: { pid: 41 },
    });
    const native = found({ program: "codex", launchers: [{ pid: 41, startedAtMs }] });
    const seen = only({ files: [named], processes: [native] });
    assert.equal(seen.pid, 42);
  });

  test("a record of another program, or of another pane, is not about this process", () => {
    const codex = file({
      agent_name: "codex",
      x_meta: { codex: { session_id: "s" } },
      runtime: { pid: 42 },
    });
    assert.equal(look({ files: [codex], processes: [found()] }).length, 2);
    const pane = hook({
      runtime: { pid: 42 },
      x_meta: { claude_code: { session_id: "s" }, tmux_socket: "/t", tmux_pane: "%1" },
    });
    const elsewhere = found({ tmux: { socket: "/t", pane: "%2" } });
    assert.equal(look({ files: [pane], processes: [elsewhere] }).length, 2);
    const there = found({ tmux: { socket: "/t", pane: "%1" } });
    assert.equal(look({ files: [pane], processes: [there] }).length, 1);
  });

  test("a session in a server is the one window to it in its directory", () => {
    const server = { pid: 7, startedAtMs: nowMs - 60 * minute };
    const session = (id: string, workspace: string) =>
      file({
        agent_id: id,
        agent_name: "codex",
        x_meta: { codex: { session_id: id }, tmux_socket: "/t", tmux_pane: "%1" },
        runtime: { pid: 7, workspace },
      });
    const window = (pid: number, workspace: string) =>
      found({ pid, program: "codex", server, workspace, tmux: { socket: "/t", pane: `%${pid}` } });
    const files = [session("a", "/x"), session("b", "/y")];
    const seen = look({ files, processes: [window(42, "/x"), window(43, "/y")] });
    assert.deepEqual(
      seen.map(({ id, pid, tmux }) => [id, pid, tmux?.pane]),
      [
        ["a", 42, "%42"],
        ["b", 43, "%43"],
      ],
    );
    const many = look({ files, processes: [window(42, "/x"), window(43, "/x")] });
    assert.equal(many.length, 4, "which is whose cannot be told");
    const later = { pid: 7, startedAtMs: nowMs + minute };
    const other = { ...window(42, "/x"), server: later };
    assert.equal(look({ files: files.slice(0, 1), processes: [other] }).length, 2);
  });

  test("a registered agent is a process of this machine only by number, start and machine", () => {
    const startedAtMs = nowMs - 10 * minute;
    const agent = registered({ host: "here", pid: 42, startedAtMs: startedAtMs + 400 });
    assert.equal(look({ registered: [agent], processes: [found()] }).length, 1);
    const others: readonly Partial<RegisteredAgent>[] = [
      { host: "there", pid: 42, startedAtMs },
      { host: "here", pid: 42 },
      { host: "here", pid: 42, startedAtMs: startedAtMs - minute },
      { pid: 42, startedAtMs },
    ];
    for (const other of others) {
      assert.equal(look({ registered: [registered(other)], processes: [found()] }).length, 2);
    }
  });

  test("two records of one process are one agent, unless they tell of two sessions", () => {
    const runtime = { pid: 42 };
    const one = hook({ agent_id: "one", runtime });
    const again = hook({ agent_id: "two", runtime });
    assert.equal(look({ files: [one, again], processes: [found()] }).length, 1);
    const other = hook({ agent_id: "two", runtime, session: "s2", state: "input-required" });
    const both = look({ files: [one, other], processes: [found()] });
    assert.deepEqual(
      both.map(({ id, state }) => [id, state]),
      [
        ["two", "waiting"],
        ["one", "idle"],
      ],
    );
    assert.deepEqual(both.map(sourcesOf), [
      ["hook", "process"],
      ["hook", "process"],
    ]);
  });

  test("a session that the process has left is not a second agent", () => {
    const left = hook({ agent_id: "old", runtime: { pid: 42, updated_at: ago(5 * minute) } });
    const now = hook({ agent_id: "new", session: "s2", runtime: { pid: 42 } });
    const seen = only({ files: [left, now], processes: [found()] });
    assert.equal(seen.state, "idle");
    assert.equal(seen.id, "new");
    assert.equal(seen.isContradicted, false);
  });

  test("a process and a record that is named after one have two ids", () => {
    const named = file({ agent_id: "codex-42", agent_name: "codex" });
    const seen = look({ files: [named], processes: [found({ program: "codex" })] });
    assert.deepEqual(
      seen.map(({ id }) => id),
      ["codex-42", "process/42"],
    );
  });

  test("two records of a process that nobody has found are two", () => {
    const files = ["one", "two"].map((id) => hook({ agent_id: id, runtime: { pid: 42 } }));
    assert.equal(look({ files }).length, 2);
  });

  test("of a process that thousands of records name, the rest are rows of their own, and nobody waits", () => {
    const records = (count: number, session: (index: number) => string) =>
      Array.from({ length: count }, (_, index) =>
        hook({ agent_id: `a${index}`, session: session(index), runtime: { pid: 42 } }),
      );
    const max = limits.recordsPerProcessMax;
    const same = look({ files: records(max + 5, () => "s1"), processes: [found()] });
    assert.equal(same.length, 1 + 5);
    const started = performance.now();
    const differing = records(5_000, (index) => `s${index}`);
    assert.equal(look({ files: differing, processes: [found()] }).length, 5_000);
    const startedAtMs = nowMs - 10 * minute;
    const crowd = Array.from({ length: 2_000 }, (_, index) =>
      registered({ id: `r${index}`, host: "here", pid: 42, startedAtMs }),
    );
    const seen = look({ files: differing, registered: crowd, processes: [found()] });
    assert.equal(seen.length, 7_000);
    // To compare each with each took a minute and more.
    assert.ok(performance.now() - started < 5_000);
  });

  test("several agents that one process registers stay several", () => {
    const startedAtMs = nowMs - 10 * minute;
    const agents = ["r1", "r2"].map((id) =>
      registered({ id, name: id, host: "here", pid: 42, startedAtMs }),
    );
    assert.equal(look({ registered: agents, processes: [found()] }).length, 2);
  });
});

describe("what the sources do not agree on", () => {
  test("the better source decides, and the contradiction shows", () => {
    const agent = registered({ id: "x", activity: { state: "writing", sinceMs: nowMs - second } });
    const seen = only({ registered: [agent], files: [hook({ agent_id: "x", state: "failed" })] });
    assert.equal(seen.state, "working");
    assert.equal(seen.isContradicted, true);
    assert.deepEqual(
      seen.known.map(({ word }) => word),
      ["writing", "failed"],
    );
  });

  test("who has lost touch neither decides nor contradicts", () => {
    const agent = registered({ id: "x", liveness: "unreachable" });
    const seen = only({ registered: [agent], files: [hook({ agent_id: "x", state: "working" })] });
    assert.equal(seen.state, "working");
    assert.equal(seen.isContradicted, false);
    assert.deepEqual(sourcesOf(seen), ["hook", "registry"]);
  });

  test("who is seen to be there is not lost because a file is not renewed, which a hook should be", () => {
    const stale = { pid: 42, updated_at: ago(5 * minute) };
    const once = file({ agent_id: "x", state: "working", runtime: stale });
    const beside = only({ files: [once], processes: [found()] });
    assert.deepEqual([beside.id, beside.state], ["x", "unknown"]);
    assert.deepEqual(sourcesOf(beside), ["process", "file"]);
    assert.equal(beside.known[1]?.word, "stale");
    const alive = registered({ id: "x" });
    assert.equal(only({ files: [once], registered: [alive] }).state, "unknown");
    const unreachable = registered({ id: "x", liveness: "unreachable" });
    assert.equal(only({ files: [once], registered: [unreachable] }).state, "lost");
    assert.equal(only({ files: [once] }).state, "lost");
    const silenced = hook({ state: "working", runtime: stale });
    assert.equal(only({ files: [silenced], processes: [found()] }).state, "lost");
  });

  test("a question that was asked since then is not hidden behind a better source", () => {
    const agent = registered({ id: "x", activity: { state: "writing", sinceMs: nowMs - minute } });
    const asks = (ms: number) =>
      hook({ agent_id: "x", state: "input-required", task: { status_timestamp: ago(ms) } });
    const asked = only({ registered: [agent], files: [asks(10 * second)] });
    assert.equal(asked.state, "waiting");
    assert.deepEqual(sourcesOf(asked), ["hook", "registry"]);
    assert.equal(only({ registered: [agent], files: [asks(2 * minute)] }).state, "working");
  });

  test("a question without a time is as old as the last word on it", () => {
    const asks = (ms: number) =>
      file({ agent_id: "x", state: "input-required", runtime: { updated_at: ago(ms) } });
    const thinking = (ms: number) =>
      registered({ id: "x", activity: { state: "thinking", sinceMs: nowMs - ms } });
    const seen = (asked: number, since: number) =>
      only({ registered: [thinking(since)], files: [asks(asked)] }).state;
    assert.equal(seen(5 * second, minute), "waiting");
    assert.equal(seen(30 * second, 5 * second), "working");
    const holds = registered({ id: "x", holds: ["task invoice-42"] });
    assert.equal(only({ registered: [holds], files: [asks(5 * second)] }).state, "waiting");
  });
});

describe("the order", () => {
  test("who asks comes first, then who waits, then what went wrong, then work, idleness and the rest", () => {
    const made = (id: string, state: Written["state"], more: Written = {}) =>
      file({ agent_id: id, state, task: { status_timestamp: ago(minute) }, ...more });
    const files = [
      made("idle", "completed"),
      made("gone", undefined, { runtime: { lifecycle: "stopped" }, task: undefined }),
      made("works", "working"),
      made("failed", "failed"),
      made("lost", "working", { runtime: { updated_at: ago(2 * minute) } }),
      made("silent", "working", { task: { status_timestamp: ago(9 * minute) } }),
      made("waits", "input-required"),
      made("waits longer", "auth-required", { task: { status_timestamp: ago(2 * minute) } }),
    ];
    const question = { id: "q_1", prompt: "Pay?", askedAtMs: nowMs };
    const asks = registered({ id: "asks", name: "payer", question });
    const processes = [found({ program: "aider" })];
    const seen = look({ files, processes, registered: [asks] });
    assert.deepEqual(
      seen.map(({ id }) => id),
      [
        "asks",
        "waits longer",
        "waits",
        "failed",
        "lost",
        "silent",
        "works",
        "idle",
        "gone",
        "process/42",
      ],
    );
  });

  test("it is the same however the sources come", () => {
    const files = Array.from({ length: 50 }, (_, index) => file({ agent_id: `a${index}` }));
    const ids = (list: readonly StatusFile[]) => look({ files: list }).map(({ id }) => id);
    assert.deepEqual(ids(files), ids(files.toReversed()));
  });
});

import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, test } from "node:test";
import type { Known, Sighting } from "../wire/api/index.ts";
import { joined } from "./look-around.ts";
import { desktopWords, Episodes, variablesOf } from "./notify.ts";
import { describeAround } from "./ps.ts";
import { doingOf, knownFrom, spentBy, summaryOf, whereOf } from "./sighting-words.ts";
import { Judge } from "./wait.ts";

const nowMs = 10_000_000_000;
const minute = 60_000;

function seen(change: Partial<Sighting> = {}): Sighting {
  const state = change.state ?? "working";
  const told = state === "silent" ? "working" : state;
  const known: Known = { source: "hook", state: told, word: told, heardAtMs: nowMs - 4_000 };
  return {
    id: "a",
    name: "codex",
    host: hostname(),
    state,
    known: [known],
    isContradicted: false,
    ...change,
  };
}

describe("what is said of an agent", () => {
  test("where it is: its directory and branch, and its machine if that is another", () => {
    assert.equal(whereOf(seen({ workspace: "/src/x" })), "/src/x");
    assert.equal(whereOf(seen({ workspace: "/src/x", branch: "main" })), "/src/x (main)");
    assert.equal(whereOf(seen({ host: "b" })), "host b");
    assert.equal(whereOf(seen({ host: "b", workspace: "/src/x" })), "b: /src/x");
    assert.equal(whereOf(seen({ host: "" })), "");
  });

  test("what it does, asks, or was at", () => {
    const doing = "delete 3 files?";
    assert.equal(doingOf(seen({ doing })), doing);
    assert.equal(doingOf(seen({ doing, state: "waiting" })), `asks: ${doing}`);
    assert.equal(doingOf(seen({ doing, state: "silent" })), `last: ${doing}`);
    assert.equal(doingOf(seen({ state: "idle", goal: "weekly summary" })), "goal: weekly summary");
    const hint = "tipstaff install pi";
    assert.equal(doingOf(seen({ state: "unknown", hint })), `${hint}, then restart it`);
    const known = { source: "process", state: "waiting", word: "waiting for permission prompt" };
    const asking = seen({ state: "waiting", known: [{ ...known, heardAtMs: 0 } as Known] });
    assert.equal(doingOf(asking), "permission prompt");
    const locked = {
      ...asking,
      known: [{ ...known, word: "auth-required", heardAtMs: 0 } as Known],
    };
    assert.equal(doingOf(locked), "wants to be signed in");
    assert.equal(doingOf({ ...locked, doing }), `wants to be signed in: ${doing}`);
  });

  test("how it is known, with what makes one look twice", () => {
    assert.equal(knownFrom(seen(), nowMs), "hook · 4 s ago");
    assert.equal(knownFrom(seen({ state: "silent" }), nowMs), "hook · 4 s ago, no progress since");
    const other: Known = { source: "file", state: "idle", word: "idle", heardAtMs: nowMs };
    const contradicted = seen({ known: [...seen().known, other], isContradicted: true });
    assert.equal(knownFrom(contradicted, nowMs), "hook · 4 s ago; file says idle");
  });

  test("what it spent, as far as that is known", () => {
    assert.equal(spentBy(seen()), "");
    const tokens = { input: 1_234_567, output: 45_400 };
    assert.equal(spentBy(seen({ tokens, costUsd: 3.1 })), "1.2M tokens in · 45k out · $3.10");
    assert.equal(
      spentBy(seen({ tokens: { input: 999_900, output: 999 } })),
      "1.0M tokens in · 999 out",
    );
    assert.equal(spentBy(seen({ costUsd: 0.001 })), "<$0.01");
  });

  test("a summary begins with what needs a person", () => {
    const states = ["waiting", "silent", "working", "working", "idle"] as const;
    const agents = states.map((state) => seen({ state }));
    assert.equal(summaryOf(agents), "1 waits for you · 1 silent · 5 agents");
    assert.equal(summaryOf([seen({ state: "failed" })]), "1 failed · 1 agent");
    assert.equal(
      summaryOf([seen({ state: "waiting" }), seen({ state: "waiting" })]),
      "2 wait for you · 2 agents",
    );
  });
});

test("a list of nobody offers the one command that makes them appear", () => {
  const none = describeAround([], { agents: [], warnings: [], nowMs });
  assert.match(none, /^no agents; tipstaff install claude-code .*\n$/);
  const hidden = describeAround([], { agents: [seen()], warnings: [], nowMs });
  assert.match(hidden, /1 that ended or were lost: --all shows them\n$/);
});

describe("what a daemon tells and what is seen here", () => {
  const file = (path: string): Known => ({ ...(seen().known[0] as Known), path });

  test("whom it tells of is not told again, and whom it does not see is added in order", () => {
    const registered = seen({ id: "r", known: [file("/s/a.json")] });
    const process = seen({ id: "p", pid: 7, startedAtMs: 5, known: [] });
    const told = [registered, process];
    assert.deepEqual(joined(told, [seen({ id: "a", known: [file("/s/a.json")] })]), told);
    assert.deepEqual(joined(told, [seen({ id: "q", pid: 7, startedAtMs: 5, known: [] })]), told);
    const waiting = seen({ id: "w", state: "waiting", known: [file("/s/w.json")] });
    assert.deepEqual(
      joined(told, [waiting]).map(({ id }) => id),
      ["w", "p", "r"],
    );
    assert.deepEqual(joined([], [waiting]), [waiting]);
  });

  test("the same process number on another machine is another agent", () => {
    const there = seen({ id: "x", host: "b", pid: 7, startedAtMs: 5, known: [file("/s/a.json")] });
    const here = seen({ id: "y", pid: 7, startedAtMs: 5, known: [file("/s/a.json")] });
    assert.equal(joined([there], [here]).length, 2);
  });
});

describe("waiting for agents", () => {
  test("until one waits for a person: any of those that are meant", () => {
    const judge = new Judge("waiting", undefined);
    assert.equal(judge.look([seen(), seen({ id: "b", state: "idle" })]), undefined);
    const waiting = seen({ id: "b", state: "waiting" });
    assert.deepEqual(judge.look([seen(), waiting]), [waiting]);
    assert.equal(new Judge("waiting", "c").look([waiting]), undefined);
    assert.deepEqual(new Judge("waiting", "b").look([waiting]), [waiting]);
    assert.deepEqual(new Judge("waiting", "codex").look([waiting]), [waiting]);
  });

  test("until all are idle: who works, waits, is silent or failed is not", () => {
    const idle = seen({ id: "i", state: "idle" });
    for (const state of ["working", "waiting", "silent", "failed", "lost"] as const) {
      assert.equal(new Judge("idle", undefined).look([idle, seen({ state })]), undefined, state);
    }
    assert.deepEqual(new Judge("idle", undefined).look([idle]), [idle]);
    const unknown = seen({ state: "unknown" });
    assert.deepEqual(new Judge("idle", undefined).look([idle, unknown]), [idle]);
  });

  test("until all are done: idle, failed, lost, ended or gone, once they were there", () => {
    const judge = new Judge("done", "codex");
    assert.equal(judge.look([]), undefined);
    const working = seen();
    assert.equal(judge.look([working]), undefined);
    assert.deepEqual(judge.look([]), [working]);
    assert.equal(new Judge("done", "codex").look([seen({ state: "unknown" })]), undefined);
    const failed = seen({ state: "failed" });
    assert.deepEqual(new Judge("done", undefined).look([failed]), [failed]);
    assert.deepEqual(new Judge("done", undefined).look([]), []);
  });

  test("where nobody is there to wait for, that is said once", () => {
    const told = (
      until: "waiting" | "idle" | "done",
      agents: readonly Sighting[],
      name?: string,
    ) => {
      const lines: string[] = [];
      const judge = new Judge(until, name, (text) => lines.push(text));
      judge.look(agents);
      judge.look(agents);
      return lines.join("");
    };
    assert.equal(told("waiting", []), "there are no agents yet; waiting for one that waits\n");
    for (const until of ["idle", "done"] as const) {
      assert.equal(told(until, []), "there are no agents; there is nothing to wait for\n");
      const unknown = [seen({ state: "unknown" })];
      assert.match(told(until, unknown), /^no agent says what it does; /);
      assert.equal(told(until, [], "pi"), "there is no agent pi yet; waiting for it\n");
      assert.equal(told(until, [seen()]), "");
    }
  });

  test("what has not come about is said", () => {
    assert.equal(new Judge("waiting", undefined).missing, "no agent waited for you");
    const judge = new Judge("idle", "codex");
    assert.equal(judge.missing, "no agent codex was seen");
    judge.look([seen()]);
    assert.equal(judge.missing, "codex was not idle");
  });
});

describe("telling of those that wait", () => {
  const waiting = seen({ state: "waiting" });

  test("each time an agent waits is told once", () => {
    const episodes = new Episodes();
    assert.deepEqual(episodes.begun([waiting], 0), [waiting]);
    assert.deepEqual(episodes.begun([{ ...waiting, sinceMs: 5 }], 1_000), []);
    assert.deepEqual(episodes.begun([seen()], 2_000), []);
    assert.deepEqual(episodes.begun([waiting], 3_000), [waiting]);
  });

  test("under another id it is the same, and gone for a moment it is not new", () => {
    const episodes = new Episodes();
    const process = { pid: 7, startedAtMs: 5 };
    assert.equal(episodes.begun([{ ...waiting, ...process }], 0).length, 1);
    assert.equal(episodes.begun([{ ...waiting, ...process, id: "registered" }], 1_000).length, 0);
    assert.equal(episodes.begun([], 2_000).length, 0);
    assert.equal(episodes.begun([waiting], 3_000).length, 0);
    assert.equal(episodes.begun([], 5 * minute).length, 0);
    assert.equal(episodes.begun([waiting], 5 * minute + 1).length, 1);
  });

  test("what an agent says is never part of a script, of markup or of a variable's end", () => {
    const evil = `"; do shell script "id" <b>&`;
    const mac = desktopWords("t", evil, "darwin");
    assert.equal(mac.at(-1), evil);
    assert.ok(!mac.slice(0, -1).some((word) => word.includes(evil)));
    assert.equal(
      desktopWords("-t", evil, "linux").at(-1),
      `"; do shell script "id" &lt;b&gt;&amp;`,
    );
    assert.equal(desktopWords("-t", evil, "linux").indexOf("--"), 2);
    const variables = variablesOf(seen({ doing: "a\0b" }));
    assert.equal(variables["TIPSTAFF_DOING"], "ab");
    assert.equal(variables["TIPSTAFF_BRANCH"], "");
  });
});

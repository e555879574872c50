import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question, Sighting } from "../wire/api/index.ts";
import type { Around } from "./feed.ts";
import { limits } from "./limits.ts";
import { asked, seen } from "./testing.ts";
import { describeReached, Judge } from "./wait.ts";

function at(agents: readonly Sighting[], parts: Partial<Around> = {}): Around {
  const read = { questionsError: undefined, agentsError: undefined };
  const daemon = { isDaemonLost: false, isDaemonMissing: false };
  return { questions: [], agents, nowMs: 0, ...read, ...daemon, ...parts };
}

test("until one waits for a person: any of those that are meant", () => {
  const judge = new Judge("waiting", undefined);
  assert.equal(judge.look(at([seen(), seen({ id: "b", state: "idle" })])), undefined);
  const waiting = seen({ id: "b", state: "waiting" });
  assert.deepEqual(judge.look(at([seen(), waiting]))?.agents, [waiting]);
  assert.equal(new Judge("waiting", "c").look(at([waiting])), undefined);
  assert.deepEqual(new Judge("waiting", "b").look(at([waiting]))?.agents, [waiting]);
  assert.deepEqual(new Judge("waiting", "codex").look(at([waiting]))?.agents, [waiting]);
});

test("--until waiting ends with an open question, also of a job, and prints it before agents that wait", () => {
  const question = asked();
  const ofJob = asked({ id: "q_9", asker: { kind: "job", id: "job_1" }, askerName: "planner" });
  const waiting = seen({ id: "b", state: "waiting" });
  const around = at([waiting], { questions: [question, ofJob] });
  const look = (name?: string) => new Judge("waiting", name).look(around);
  assert.deepEqual(look(), { questions: [question, ofJob], agents: [waiting] });
  for (const name of ["planner", "job_1"]) {
    assert.deepEqual(look(name), { questions: [ofJob], agents: [] });
  }
  assert.equal(look("nobody"), undefined);
  assert.equal(new Judge("idle", "planner").look(around), undefined);
});

test("an agent that asks is printed as its question, or as an agent if the question is not known", () => {
  const question = asked();
  const asking = seen({ id: "p", name: "payer", state: "waiting", questionId: question.id });
  const lines = (questions: readonly Question[]) =>
    describeReached({ questions, agents: [asking] }, questions);
  assert.equal(lines([question]), "asks  payer  Pay 5 EUR?  tipstaff answer 6789ab <text>\n");
  assert.match(lines([]), /^waiting {2}payer {2}p.*\n$/);
});

test("until all are idle: who works, waits, is silent or failed is not", () => {
  const idle = seen({ id: "i", state: "idle" });
  for (const state of ["working", "waiting", "silent", "failed", "lost"] as const) {
    assert.equal(new Judge("idle", undefined).look(at([idle, seen({ state })])), undefined, state);
  }
  assert.deepEqual(new Judge("idle", undefined).look(at([idle]))?.agents, [idle]);
  const unknown = seen({ state: "unknown" });
  assert.deepEqual(new Judge("idle", undefined).look(at([idle, unknown]))?.agents, [idle]);
});

test("until all are done: idle, failed, lost, ended or gone, once they were there", () => {
  const judge = new Judge("done", "codex");
  assert.equal(judge.look(at([])), undefined);
  const working = seen();
  assert.equal(judge.look(at([working])), undefined);
  assert.equal(judge.look(at([], { nowMs: limits.goneMs })), undefined, "it may come back");
  const [gone] = judge.look(at([], { nowMs: limits.goneMs + 1 }))?.agents ?? [];
  assert.deepEqual([gone?.id, gone?.state], [working.id, "stopped"]);
  assert.equal(new Judge("done", "codex").look(at([seen({ state: "unknown" })])), undefined);
  const failed = seen({ state: "failed" });
  assert.deepEqual(new Judge("done", undefined).look(at([failed]))?.agents, [failed]);
  assert.deepEqual(new Judge("done", undefined).look(at([]))?.agents, []);
});

test("a daemon that does not answer any more makes nobody done or idle", () => {
  const registered = seen({
    known: [{ source: "registry", state: "working", word: "thinking", heardAtMs: 0 }],
  });
  const idle = seen({ id: "i", name: "i", state: "idle" });
  const away = { nowMs: 60_000, isDaemonLost: true };
  for (const [until, name] of [
    ["done", undefined],
    ["done", registered.name],
    ["idle", undefined],
    ["idle", registered.name],
  ] as const) {
    const judge = new Judge(until, name);
    assert.equal(judge.look(at([registered, idle])), undefined);
    assert.equal(judge.look(at([idle], away)), undefined, `${until} ${name}`);
    const back = { ...registered, state: "idle" } as const;
    assert.notEqual(judge.look(at([back, idle], { nowMs: 61_000 })), undefined);
  }
});

test("where nobody is there to wait for, that is said once", () => {
  const told = (until: "waiting" | "idle" | "done", agents: readonly Sighting[], name?: string) => {
    const lines: string[] = [];
    const judge = new Judge(until, name, (text) => lines.push(text));
    judge.look(at(agents));
    judge.look(at(agents));
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
  judge.look(at([seen()]));
  assert.equal(judge.missing, "codex was not idle");
});

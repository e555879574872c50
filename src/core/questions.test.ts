import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BareLoop, types } from "../testing/bare-loop.ts";
import {
  answerQuestion,
  askAsAgent,
  askAsJob,
  cancelJob,
  deregister,
  endJob,
  heartbeat,
  openSession,
  register,
  startJob,
  submitJob,
  withdrawQuestion,
} from "../testing/commands.ts";
import type { Event } from "./events.ts";
import { agentId, jobId, questionId } from "./ids.ts";
import { limits } from "./limits.ts";
import { type Command, type State, stateOfJob } from "./machine.ts";
import { type Expected, openOf, type Question } from "./questions.ts";
import { capture, describe, printRow, Restoring } from "./snapshot.ts";

/** A running job `work` of ada's, and the agent `scraper`. */
function given(parts: Parameters<typeof submitJob>[2] = {}): BareLoop {
  const loop = new BareLoop();
  loop.accept(openSession("ada"));
  loop.accept(submitJob("work", "ada", parts));
  loop.accept(startJob("work"));
  loop.accept(register("scraper"));
  return loop;
}

function find({ state }: BareLoop, key: string): Question | undefined {
  return state.questions.byId.get(questionId(`q_${key}`));
}

function stateOf({ state }: BareLoop, job = "work"): string | undefined {
  const found = state.jobs.byId.get(jobId(job));
  return found && stateOfJob(state, found);
}

/** What the job's followers are told: kind and payload. */
function said(events: readonly Event[]): readonly (readonly [string, unknown])[] {
  return events.flatMap((event) =>
    event.type === "job.emitted" ? [[event.kind, JSON.parse(event.body)] as const] : [],
  );
}

const ofWork = { of: "job", jobId: jobId("work"), attempt: 1 } as const;

test("a job with an open question waits, and runs on when it has its answer", () => {
  const loop = given();
  assert.equal(stateOf(loop), "running");
  loop.accept(askAsJob("work", "name"));
  loop.accept(askAsJob("work", "age"));
  assert.equal(stateOf(loop), "waiting");
  loop.accept(answerQuestion("name", "Ada"));
  assert.equal(stateOf(loop), "waiting");
  loop.accept(answerQuestion("age", "36"));
  assert.equal(stateOf(loop), "running");
});

test("followers of the job are told its question, that it waits, and that it goes on", () => {
  const loop = given();
  const expects = { of: "choice", choices: ["red", "blue"] } as const;
  const asked = loop.accept(askAsJob("work", "colour", { expects, timeoutMs: 90_000 }));
  assert.deepEqual(said(asked), [
    [
      "question",
      {
        question_id: "q_colour",
        prompt: "colour?",
        choices: ["red", "blue"],
        timeout_seconds: 90,
      },
    ],
    ["status", { phase: "input_required", message: "colour?" }],
  ]);
  const own = asked.flatMap((event) => ("ownSequence" in event ? event.ownSequence : []));
  assert.deepEqual(own, [1, 2], "each under a number of its own");
  assert.deepEqual(said(loop.accept(answerQuestion("colour", "red"))), [
    ["question_closed", { question_id: "q_colour", outcome: "answered", by: "ada" }],
    ["status", { phase: "running" }],
  ]);
});

test("a scope request is told as such, and is granted or denied", () => {
  const loop = given();
  const scope = { read: ["src/**"], mode: "read_only", ttlMs: 60_000 } as const;
  const asked = loop.accept(askAsJob("work", "more", { expects: { of: "scope", scope } }));
  assert.deepEqual(said(asked), [
    [
      "scope_request",
      {
        request_id: "q_more",
        reason: "more?",
        read_patterns: ["src/**"],
        write_prefix: null,
        ttl_seconds: 60,
        mode: "read_only",
      },
    ],
    ["status", { phase: "auth_required", message: "more?" }],
  ]);
  for (const answer of [true, "yes", {}, { granted: 1 }, { granted: true, more: 1 }]) {
    assert.equal(loop.refusal(answerQuestion("more", answer)), "answer_invalid");
  }
  loop.accept(answerQuestion("more", { granted: false, reason: "too much" }));
});

test("an answer must be what was asked for, and a refused one leaves the question open", () => {
  const loop = given();
  const wanted: readonly (readonly [Expected, unknown, unknown])[] = [
    [{ of: "text" }, 1, ""],
    [{ of: "choice", choices: ["a", "b"] }, "c", "b"],
    [{ of: "json", schema: "{}" }, "x".repeat(limits.answerLengthMax), { any: ["thing"] }],
  ];
  for (const [expects, wrong, right] of wanted) {
    loop.accept(askAsJob("work", expects.of, { expects }));
    assert.equal(loop.refusal(answerQuestion(expects.of, wrong)), "answer_invalid");
    assert.equal(find(loop, expects.of)?.state, "open");
    assert.deepEqual(types(loop.accept(answerQuestion(expects.of, right))).slice(0, 1), [
      "question.answered",
    ]);
  }
  loop.accept(askAsJob("work", "broken"));
  const broken = answerQuestion("broken", null, { answer: "{" });
  assert.equal(loop.refusal(broken), "answer_invalid");
});

test("who answers too late is told who was first, and when", () => {
  const loop = given();
  loop.accept(askAsJob("work", "name"));
  loop.at(5_000);
  loop.accept(answerQuestion("name", "Ada", { by: { name: "bob" } }));
  const late = loop.decide(answerQuestion("name", "Eve"));
  assert.equal(late.refusal?.code, "question_closed");
  assert.match(late.refusal?.message ?? "", /answered by bob at 1970-01-01T00:00:05.000Z/);
  assert.equal(late.refusal?.question?.state, "answered");
});

test("whoever repeats its answer under the same key is not refused", () => {
  const loop = given();
  loop.accept(askAsJob("work", "name"));
  loop.accept(answerQuestion("name", "Ada", { key: "k" }));
  assert.deepEqual(loop.accept(answerQuestion("name", "Ada", { key: "k" })), []);
  assert.equal(loop.refusal(answerQuestion("name", "Eve", { key: "k" })), "question_closed");
  assert.equal(loop.refusal(answerQuestion("name", "Ada", { key: "l" })), "question_closed");
  assert.equal(loop.refusal(answerQuestion("name", "Ada")), "question_closed");
});

test("another principal sees no question of a job, unless it may see all", () => {
  const loop = given();
  loop.accept(askAsJob("work", "name"));
  const by = { name: "eve", principal: "eve" };
  assert.equal(loop.refusal(answerQuestion("name", "x", { by })), "question_not_found");
  assert.equal(find(loop, "name")?.state, "open");
  loop.accept(answerQuestion("name", "x", { by: { ...by, maySee: true } }));
  loop.accept(askAsJob("work", "more"));
  loop.accept(answerQuestion("more", "x", { by: { name: "ada", principal: "ada" } }));
});

test("a deadline closes the question at its time, and asking again tells that it did", () => {
  const loop = given();
  loop.accept(askAsJob("work", "name", { timeoutMs: 1_000 }));
  assert.deepEqual(loop.at(999), []);
  assert.deepEqual(types(loop.at(1_000)), ["question.closed", "job.emitted", "job.emitted"]);
  assert.equal(loop.refusal(answerQuestion("name", "Ada")), "question_closed");
  assert.deepEqual(loop.accept(askAsJob("work", "name", { timeoutMs: 1_000 })), []);
  assert.equal(stateOf(loop), "running");
});

test("a question that was closed long after its deadline is refused with the deadline", () => {
  const loop = given();
  loop.accept(askAsAgent("scraper", "name", { timeoutMs: 1_000 }));
  loop.at(7_000);
  const late = loop.decide(answerQuestion("name", "Ada"));
  assert.match(late.refusal?.message ?? "", /its deadline was 1970-01-01T00:00:01.000Z/);
});

test("open questions stay in the order in which they were asked when a later attempt asks again", () => {
  const loop = given({ isRepeatable: true });
  loop.accept(askAsJob("work", "first"));
  loop.accept(askAsJob("work", "second"));
  loop.accept({ type: "job.orphan", jobId: jobId("work"), graceMs: 0 });
  loop.at(loop.nowMs);
  loop.accept(startJob("work"));
  loop.accept(askAsJob("work", "first", { attempt: 2 }));
  for (const state of [loop.state, restore(loop.state)]) {
    assert.deepEqual([...state.questions.open], ["q_first", "q_second"]);
    const open = openOf(state.questions, { of: "job", jobId: jobId("work") });
    assert.deepEqual(
      open.map(({ key }) => key),
      ["first", "second"],
    );
  }
});

test("the same key for another question is refused", () => {
  const loop = given();
  loop.accept(askAsJob("work", "name"));
  for (const parts of [
    { prompt: "another?" },
    { expects: { of: "choice", choices: ["a"] } },
    { expects: { of: "json", schema: "{}" } },
  ] as const) {
    assert.equal(loop.refusal(askAsJob("work", "name", parts)), "key_reused");
  }
  assert.deepEqual(loop.accept(askAsJob("work", "name")), [], "another deadline changes nothing");
  const other = askAsAgent("scraper", "name", { questionId: questionId("q_other") });
  assert.equal(loop.refusal(other), undefined, "another asker has its own keys");
  const taken = askAsAgent("scraper", "second", { questionId: questionId("q_other") });
  assert.equal(loop.refusal(taken), "key_reused", "an id names one question");
});

test("only the attempt that runs may ask, and a job that is cancelled may not", () => {
  const loop = given({ isRepeatable: true });
  assert.equal(loop.refusal(askAsJob("none", "a")), "job_not_found");
  assert.equal(loop.refusal(askAsJob("work", "a", { attempt: 2 })), "attempt_over");
  loop.accept(cancelJob("work"));
  assert.equal(loop.refusal(askAsJob("work", "a")), "attempt_over");
  loop.accept(endJob("work"));
  assert.equal(loop.refusal(askAsJob("work", "a")), "attempt_over");
});

test("a later attempt takes over what the first one waits for, and the first cannot withdraw it", () => {
  const loop = given({ isRepeatable: true });
  loop.accept(askAsJob("work", "name"));
  loop.accept({ type: "job.orphan", jobId: jobId("work"), graceMs: 0 });
  assert.deepEqual(types(loop.at(loop.nowMs)), ["job.offered"]);
  assert.equal(stateOf(loop), "waiting", "one that waits for a worker still waits for its answer");
  loop.accept(startJob("work"));
  const again = loop.accept(askAsJob("work", "name", { attempt: 2 }));
  assert.deepEqual(types(again), ["question.asked", "job.emitted"]);
  assert.deepEqual(loop.accept(withdrawQuestion(ofWork, "name")), []);
  assert.deepEqual(types(loop.accept(withdrawQuestion({ ...ofWork, attempt: 2 }, "name"))), [
    "question.closed",
    "job.emitted",
    "job.emitted",
  ]);
});

test("an answer that comes while the job waits for a worker does not say that it runs", () => {
  const loop = given({ isRepeatable: true });
  loop.accept(askAsJob("work", "name"));
  loop.accept({ type: "job.orphan", jobId: jobId("work"), graceMs: 0 });
  loop.at(loop.nowMs);
  assert.deepEqual(
    said(loop.accept(answerQuestion("name", "Ada"))).map(([kind]) => kind),
    ["question_closed"],
  );
});

test("however a job ends, its open questions close in the same decision", () => {
  const failure = { code: "OOPS", message: "", isRetryable: false };
  const ends: readonly (readonly [Command, string])[] = [
    [endJob("work"), "asker_ended"],
    [endJob("work", { outcome: { status: "error", failure } }), "asker_ended"],
    [cancelJob("work"), "asker_ended"],
    [cancelJob("work", { isInterruption: true }), "cannot_run_again"],
    [{ type: "plane.open", wallMicros: 1, isKept: true }, "cannot_run_again"],
  ];
  for (const [command, reason] of ends) {
    const loop = given();
    loop.accept(askAsJob("work", "name"));
    loop.accept(askAsJob("work", "age"));
    const events = loop.accept(command);
    const closed = events.filter(({ type }) => type === "question.closed");
    assert.equal(closed.length, 2, command.type);
    assert.equal(loop.state.questions.open.size, 0);
    const question = find(loop, "name");
    assert.equal(question?.state === "closed" && question.reason, reason);
    assert.deepEqual(said(events), [], "the end of the job says it all");
  }
});

test("one that runs out of time or loses its worker closes its questions too", () => {
  const late = given({ runMsMax: 1_000 });
  late.accept(askAsJob("work", "name"));
  assert.deepEqual(types(late.at(1_000)), ["job.ended", "question.closed"]);
  const lost = given();
  lost.accept(askAsJob("work", "name"));
  lost.accept({ type: "job.orphan", jobId: jobId("work"), graceMs: 500 });
  assert.equal(find(lost, "name")?.state, "open");
  lost.at(500);
  const question = find(lost, "name");
  assert.equal(question?.state === "closed" && question.reason, "cannot_run_again");
});

test("an agent that dies or leaves leaves no open question behind", () => {
  for (const end of ["silent", "leaves"]) {
    const loop = given();
    loop.accept(askAsAgent("scraper", "captcha"));
    if (end === "leaves") loop.accept(deregister("scraper"));
    else loop.pass(100_000);
    const question = find(loop, "captcha");
    assert.equal(question?.state === "closed" && question.reason, "asker_ended", end);
    assert.equal(loop.refusal(askAsAgent("scraper", "captcha")), "agent_dead");
  }
});

test("the questions of a job are forgotten with it, those of an agent after a day", () => {
  const loop = given();
  loop.accept(askAsJob("work", "name"));
  loop.accept(answerQuestion("name", "Ada"));
  loop.accept(askAsAgent("scraper", "captcha"));
  loop.accept(answerQuestion("captcha", "x7"));
  loop.accept(endJob("work"));
  for (let atMs = 20_000; atMs < limits.endedJobKeptMs; atMs += 20_000) {
    loop.at(atMs);
    loop.accept(heartbeat("scraper"));
  }
  assert.equal(loop.state.questions.byId.size, 2);
  loop.at(limits.closedQuestionKeptMs);
  assert.equal(loop.state.questions.byId.size, 0);
  assert.equal(loop.state.questions.length, 0);
  assert.equal(loop.state.questions.byKey.size, 0);
});

test("what is malformed or too large is refused, and says which part", () => {
  const loop = given();
  const scope = { read: [], mode: "read_only", ttlMs: 1 } as const;
  const long = (length: number): string => "x".repeat(length + 1);
  const bad: readonly (readonly [Parameters<typeof askAsJob>[2] & object, string])[] = [
    [{ key: "" }, "key"],
    [{ key: long(limits.questionKeyLengthMax) }, "key"],
    [{ prompt: " \n" }, "prompt"],
    [{ prompt: long(limits.promptLengthMax) }, "prompt"],
    [{ timeoutMs: 0 }, "timeoutMs"],
    [{ timeoutMs: Number.NaN }, "timeoutMs"],
    [{ timeoutMs: limits.questionTimeoutMsMax + 1 }, "timeoutMs"],
    [{ expects: { of: "choice", choices: [] } }, "choices"],
    [{ expects: { of: "choice", choices: ["a", "a"] } }, "choices"],
    [{ expects: { of: "choice", choices: [""] } }, "choices"],
    [{ expects: { of: "choice", choices: [long(limits.choiceLengthMax)] } }, "choices"],
    [
      { expects: { of: "choice", choices: Array.from({ length: 51 }, (_, at) => `${at}`) } },
      "choices",
    ],
    [{ expects: { of: "json", schema: "{" } }, "schema"],
    [{ expects: { of: "json", schema: long(limits.answerSchemaLengthMax) } }, "schema"],
    [{ expects: { of: "scope", scope: { ...scope, ttlMs: 0 } } }, "scope.ttlMs"],
    [
      { expects: { of: "scope", scope: { ...scope, writePrefix: long(limits.patternLengthMax) } } },
      "scope",
    ],
    [{ expects: { of: "scope", scope: { ...scope, read: Array(101).fill("a") } } }, "scope.read"],
  ];
  for (const [parts, path] of bad) {
    const { refusal } = loop.decide(askAsJob("work", "k", parts));
    assert.equal(refusal?.code, "invalid_argument", path);
    assert.equal(refusal?.path, path);
  }
  assert.equal(loop.state.questions.byId.size, 0);
});

test("an asker, a principal and a job each have their bound", () => {
  const loop = given();
  for (let at = 0; at < limits.openQuestionsOfAskerMax; at += 1) {
    loop.accept(askAsJob("work", `${at}`));
  }
  assert.equal(loop.refusal(askAsJob("work", "more")), "limit_reached");
  loop.accept(answerQuestion("0", "x"));
  loop.accept(askAsJob("work", "more"));
  assert.equal(loop.state.questions.openByPrincipal.get("ada"), limits.openQuestionsOfAskerMax);

  const busy = given();
  for (let at = 0; at < limits.questionsOfJobMax; at += 1) {
    busy.accept(askAsJob("work", `${at}`));
    busy.accept(answerQuestion(`${at}`, "x"));
  }
  assert.equal(busy.refusal(askAsJob("work", "more")), "limit_reached");
});

/** As long as a question may be. */
const long = {
  prompt: "x".repeat(limits.promptLengthMax),
  expects: {
    of: "choice",
    choices: Array.from({ length: limits.choicesMax }, (_, at) =>
      `${at}`.padEnd(limits.choiceLengthMax, "."),
    ),
  },
} as const;
const longAnswer = long.expects.choices[0];

/** Asks long questions as a job, each of which is answered at once, until one is refused. Answers how many were not. */
function askMany(loop: BareLoop, job: string): number {
  for (let at = 0; ; at += 1) {
    const key = `${job}-${at}`;
    if (loop.refusal(askAsJob(job, key, long)) !== undefined) return at;
    loop.accept(answerQuestion(key, longAnswer));
    // The loop remembers every event, and these are long.
    loop.events.length = 0;
  }
}

test("the stored questions of one principal leave room for those of another", () => {
  const loop = new BareLoop();
  loop.accept(openSession("ada"));
  loop.accept(openSession("bob"));
  for (const [name, principal] of [
    ["one", "ada"],
    ["two", "ada"],
    ["three", "ada"],
    ["four", "ada"],
    ["other", "bob"],
  ] as const) {
    loop.accept(submitJob(name, principal));
    loop.accept(startJob(name));
  }
  assert.equal(askMany(loop, "one"), limits.questionsOfJobMax);
  const second = askMany(loop, "two");
  assert(second < limits.questionsOfJobMax);
  assert.equal(askMany(loop, "three") + askMany(loop, "four"), 0);
  const refused = loop.decide(askAsJob("three", "again", long)).refusal;
  assert.equal(refused?.code, "limit_reached");
  assert.match(refused?.message ?? "", /^the stored questions of principal ada have reached/);
  assert.equal(askMany(loop, "other"), limits.questionsOfJobMax);
});

test("closed questions of jobs that have ended are deleted when room is needed, and no others", () => {
  const loop = given();
  loop.accept(askAsJob("work", "kept", long));
  loop.accept(answerQuestion("kept", longAnswer));
  for (let at = 0; at < 5; at += 1) {
    const job = `job-${at}`;
    loop.accept(submitJob(job, "ada"));
    loop.accept(startJob(job));
    assert.equal(askMany(loop, job), limits.questionsOfJobMax);
    loop.accept(endJob(job));
  }
  const { questions } = loop.state;
  assert(questions.length <= limits.questionsLengthOfOwnerMax);
  assert.equal(find(loop, "kept")?.state, "answered");
  assert.equal(find(loop, "job-0-0"), undefined, "the oldest");
  assert.equal(find(loop, "job-4-999")?.state, "answered");
  const restored = restore(loop.state);
  assert.deepEqual(restored.questions, questions);
  // The same ones are deleted next.
  const [next, same] = [loop, new BareLoop(restored)].map((one) => {
    const asked = one.accept(askAsJob("work", "next", long));
    return asked.filter(({ type }) => type === "question.forgotten");
  });
  assert.equal(next?.length, 1);
  assert.deepEqual(same, next);
});

test("when all is full, answers that agents may not have fetched yet are kept, and older ones make room", () => {
  const loop = given();
  const agents = ["one", "two", "three", "four"];
  for (const name of agents) loop.accept(register(name));
  const answer = JSON.stringify("x".repeat(limits.answerLengthMax - 2));
  let count = 0;
  for (const name of agents) {
    for (let at = 0; at < limits.closedQuestionsOfAgentMax; at += 1) {
      const key = `${name}-${at}`;
      const expects = { of: "text" } as const;
      if (loop.refusal(askAsAgent(name, key, { ...long, expects })) !== undefined) break;
      loop.accept(answerQuestion(key, undefined, { answer }));
      count += 1;
    }
  }
  assert.equal(loop.state.questions.byId.size, count, "nothing is deleted");
  assert.match(
    loop.decide(askAsJob("work", "name", long)).refusal?.message ?? "",
    /^the stored questions have reached the limit/,
  );
  for (let atMs = 20_000; atMs <= limits.closedQuestionKeptMsMin; atMs += 20_000) {
    loop.at(atMs);
    for (const name of agents) loop.accept(heartbeat(name));
  }
  loop.accept(askAsJob("work", "name", long));
  assert.equal(find(loop, "one-0"), undefined);
  assert.equal(find(loop, "two-0")?.state, "answered");
});

test("answers to many agents are all kept until the agents fetch them", () => {
  const loop = given();
  const keys: string[] = [];
  for (let agent = 0; agent < 40; agent += 1) {
    loop.accept(register(`agent-${agent}`));
    for (let at = 0; at < limits.openQuestionsOfAskerMax; at += 1) {
      keys.push(`${agent}-${at}`);
      loop.accept(askAsAgent(`agent-${agent}`, `${agent}-${at}`));
    }
  }
  for (const key of keys) loop.accept(answerQuestion(key, "x"));
  assert.deepEqual(
    keys.filter((key) => find(loop, key)?.state !== "answered"),
    [],
  );
});

test("of the closed questions of an agent only the most recent are remembered", () => {
  const loop = given();
  for (let at = 0; at < limits.closedQuestionsOfAgentMax + 5; at += 1) {
    loop.accept(askAsAgent("scraper", `${at}`));
    loop.accept(answerQuestion(`${at}`, "x"));
  }
  for (let at = 0; at < 10; at += 1) loop.accept(askAsAgent("scraper", `open ${at}`));
  const closed = (): number =>
    [...loop.state.questions.byId.values()].filter(({ state }) => state !== "open").length;
  assert.equal(closed(), limits.closedQuestionsOfAgentMax);
  assert.equal(find(loop, "4"), undefined);
  assert.equal(find(loop, "5")?.state, "answered");
  loop.accept(deregister("scraper"));
  assert.equal(closed(), limits.closedQuestionsOfAgentMax);
});

test("whatever happens, exactly one answer wins and a snapshot gives the same state", () => {
  const keys = ["a", "b", "c"] as const;
  const key = fc.constantFrom(...keys);
  const step: fc.Arbitrary<(loop: BareLoop) => void> = fc.oneof(
    key.map(
      (name) => (loop: BareLoop) => void loop.refusal(askAsJob("work", name, { timeoutMs: 50 })),
    ),
    key.map((name) => (loop: BareLoop) => {
      const id = questionId(`q_agent_${name}`);
      loop.refusal(askAsAgent("scraper", name, { questionId: id }));
    }),
    fc.tuple(key, fc.constantFrom("ada", "bob")).map(([name, by]) => (loop: BareLoop) => {
      loop.refusal(answerQuestion(name, by, { by: { name: by } }));
    }),
    key.map((name) => (loop: BareLoop) => void loop.refusal(withdrawQuestion(ofWork, name))),
    fc.nat(60).map((ms) => (loop: BareLoop) => void loop.at(loop.nowMs + ms)),
    fc.constant((loop: BareLoop) => void loop.refusal(heartbeat("scraper"))),
    fc.constant((loop: BareLoop) => void loop.refusal(cancelJob("work"))),
    fc.constant((loop: BareLoop) => void loop.refusal(deregister("scraper"))),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const loop = given();
      for (const take of steps) take(loop);
      const ends = loop.events.filter(
        ({ type }) => type === "question.answered" || type === "question.closed",
      );
      const ids = ends.map((event) => ("question" in event ? event.question.id : ""));
      assert.equal(new Set(ids).size, ids.length, "each question ends once");
      const open = openOf(loop.state.questions, { of: "job", jobId: jobId("work") });
      const agents = openOf(loop.state.questions, { of: "agent", agentId: agentId("scraper") });
      assert.equal(open.length + agents.length, loop.state.questions.open.size);
      const restored = restore(loop.state);
      assert.equal(describe(restored), describe(loop.state));
      assert.deepEqual(restored.questions, loop.state.questions);
    }),
    { numRuns: 300 },
  );
});

function restore(state: State): Restoring["state"] {
  const restoring = new Restoring();
  for (const section of capture(state)) {
    for (let index = 0; index < section.rows.length; index += 1) {
      restoring.add(section.name, printRow(section, index));
    }
  }
  return restoring.state;
}

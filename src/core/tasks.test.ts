import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cancel,
  complete,
  createTask,
  extend,
  fail,
  requeue,
  unclaim,
} from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import { type AgentId, agentId, type TaskId, taskId } from "./ids.ts";
import { limits } from "./limits.ts";
import {
  type Claiming,
  claim,
  claimByKey,
  decide,
  emptyTasks,
  endAllClaimsOf,
  endClaim,
  evolve,
  makeReady,
  type OwnTasks,
  type Task,
  type TaskCommand,
  type TaskEvent,
  type Tasks,
} from "./tasks.ts";

const ada = agentId("ada");
const bob = agentId("bob");

test("a new task waits at the end of the queue, with its input kept beside", () => {
  const tasks = emptyTasks();
  const made = createTask("t", { input: "AP8=", requiredTools: ["sql"], maxRetries: 2 });
  const [event] = carryOut(tasks, made, 5_000);
  const task: Task = {
    id: taskId("t"),
    type: "work",
    requiredTools: ["sql"],
    maxRetries: 2,
    retryCount: 0,
    deliveries: 0,
    deliveriesForgiven: 0,
    deliveriesMax: 0,
    priority: 0,
    claimMs: 60_000,
    createdAtMs: 5_000,
    failureReason: "",
    place: 1,
    state: "pending",
    pendingSinceMs: 5_000,
  };
  assert.deepEqual(event, { type: "task.created", task, input: "AP8=" });
  assert.equal(tasks.inputs.get(taskId("t")), "AP8=");
  assert.equal(tasks.bytes, 4);
});

test("the oldest task goes first, and each task to one claimant", () => {
  const tasks = given(createTask("second"), createTask("first"));
  assert.equal(claims(tasks, ada)?.id, "second");
  assert.equal(claims(tasks, bob)?.id, "first");
  assert.equal(claims(tasks, ada), undefined);
});

test("a claimant gets only what its tools suffice for, the oldest of all queues first", () => {
  const tasks = given(
    createTask("both", { requiredTools: ["sql", "http"] }),
    createTask("sql", { requiredTools: ["sql"] }),
    createTask("any"),
    createTask("http", { requiredTools: ["http", "http"] }),
  );
  assert.equal(claims(tasks, ada, ["http"])?.id, "any");
  assert.equal(claims(tasks, ada, ["http"])?.id, "http");
  assert.equal(claims(tasks, ada, ["http"]), undefined);
  assert.equal(claims(tasks, ada, ["SQL"]), undefined, "tools are compared letter by letter");
  assert.equal(claims(tasks, bob, ["http", "other", "sql"])?.id, "both");
  assert.equal(claims(tasks, bob, ["sql"])?.id, "sql");
});

test("the order and repetition of required tools make no difference", () => {
  const tasks = given(
    createTask("one", { requiredTools: ["a", "b"] }),
    createTask("two", { requiredTools: ["b", "a", "b"] }),
  );
  assert.equal(tasks.queues.size, 1);
  assert.equal(claims(tasks, ada, ["b", "a"])?.id, "one");
  assert.equal(claims(tasks, ada, ["b", "a"])?.id, "two");
});

test("tools whose names contain commas and quotes are not confused", () => {
  const tasks = given(
    createTask("one", { requiredTools: ['a","b'] }),
    createTask("two", { requiredTools: ["a", "b"] }),
  );
  assert.equal(tasks.queues.size, 2);
  assert.equal(claims(tasks, ada, ["a", "b"])?.id, "two");
});

test("a claim lasts as long as the task says", () => {
  const tasks = given(createTask("t", { claimMs: 7_000 }));
  const task = claims(tasks, ada, [], 1_000);
  assert(task?.state === "claimed");
  assert.deepEqual([task.claimant, task.claimedAtMs, task.expiresAtMs], ["ada", 1_000, 8_000]);
  assert.equal(task.deliveries, 1);
  assert.deepEqual({ ...tasks.due.first }.at, 8_000);
});

test("completing keeps the output and the claimant, and is final", () => {
  const tasks = given(createTask("t"));
  claims(tasks, ada, [], 1_000);
  carryOut(tasks, complete("t", "ada", "b3V0"), 2_000);
  const task = tasks.byId.get(taskId("t"));
  assert(task?.state === "completed");
  assert.deepEqual([task.claimant, task.completedAtMs], ["ada", 2_000]);
  assert.equal(tasks.outputs.get(taskId("t")), "b3V0");
  assert.equal(code(tasks, fail("t", "ada")), "task_not_claimed");
  assert.equal(claims(tasks, bob), undefined);
  assert.equal(tasks.byClaimant.size, 0);
});

test("completing twice with the same output is a lost reply, with another it is refused", () => {
  const tasks = given(createTask("t"));
  claims(tasks, ada);
  carryOut(tasks, complete("t", "ada", "b3V0"));
  assert.deepEqual(carryOut(tasks, complete("t", "ada", "b3V0")), []);
  assert.equal(code(tasks, complete("t", "ada", "other")), "task_not_claimed");
  assert.equal(code(tasks, complete("t", "bob", "b3V0")), "task_not_claimed");
});

test("completing twice without an output is a lost reply too", () => {
  const tasks = given(createTask("t"));
  claims(tasks, ada);
  carryOut(tasks, complete("t", "ada"));
  assert.equal(code(tasks, complete("t", "ada")), undefined);
});

test("only the claimant completes or fails, and only while it has the claim", () => {
  const tasks = given(createTask("t"));
  for (const say of [complete, fail]) {
    assert.equal(code(tasks, say("nothing", "ada")), "task_not_found");
    assert.equal(code(tasks, say("t", "ada")), "task_not_claimed");
  }
  claims(tasks, ada);
  for (const say of [complete, fail]) {
    assert.equal(code(tasks, say("t", "bob")), "task_claimed_by_another");
  }
});

test("a task fails as often as it may be retried and once more, then it is dead", () => {
  const tasks = given(createTask("t", { maxRetries: 2 }));
  for (const attempt of [1, 2]) {
    claims(tasks, ada);
    const [event] = carryOut(tasks, fail("t", "ada", `boom ${attempt}`));
    assert.equal(event?.type, "task.failed");
    const task = tasks.byId.get(taskId("t"));
    assert.equal(task?.state, "pending");
    assert.equal(task?.retryCount, attempt);
    assert.equal(task?.failureReason, `boom ${attempt}`);
    assert(task && !("claimant" in task), "who had it does not matter any more");
  }
  claims(tasks, ada, [], 5_000);
  const [event] = carryOut(tasks, fail("t", "ada", "boom 3"), 6_000);
  assert(event?.type === "task.dead" && event.task.state === "dead");
  assert.deepEqual([event.task.claimant, event.task.diedAtMs], ["ada", 6_000]);
  assert.equal(event.task.failureReason, "boom 3");
  assert.equal(event.task.retryCount, 2);
  assert.equal(claims(tasks, bob), undefined);
});

test("by default the first failure is final", () => {
  const tasks = given(createTask("t"));
  claims(tasks, ada);
  assert.equal(carryOut(tasks, fail("t", "ada"))[0]?.type, "task.dead");
});

test("a failed task goes to the end of the queue", () => {
  const tasks = given(createTask("a", { maxRetries: 1 }), createTask("b"));
  claims(tasks, ada);
  carryOut(tasks, fail("a", "ada"));
  assert.equal(claims(tasks, ada)?.id, "b");
  assert.equal(claims(tasks, ada)?.id, "a");
});

test("a claim that ran out gives the task back to the end, without counting as a retry", () => {
  const tasks = given(createTask("a"), createTask("b"));
  expire(tasks, claims(tasks, ada));
  const task = tasks.byId.get(taskId("a"));
  assert.equal(task?.state, "pending");
  assert.equal(task?.retryCount, 0);
  assert.equal(task?.deliveries, 1);
  assert.equal(tasks.due.size, 0);
  assert.equal(claims(tasks, bob)?.id, "b");
  assert.equal(claims(tasks, bob)?.id, "a");
});

test("a claim whose claimant could not be told returns to its old place", () => {
  const tasks = given(createTask("a"), createTask("b"));
  claims(tasks, ada);
  assert.deepEqual(carryOut(tasks, unclaim("a", "bob", 1)), [], "only its claimant gives it back");
  assert.equal(carryOut(tasks, unclaim("a", "ada", 1))[0]?.type, "task.requeued");
  assert.equal(claims(tasks, bob)?.id, "a");
  assert.deepEqual(carryOut(tasks, unclaim("b", "ada", 0)), [], "it has no claim on that");
  assert.deepEqual(carryOut(tasks, unclaim("nothing", "ada", 1)), []);
});

test("a death gives back all claims, oldest first, at the end of the queue", () => {
  const tasks = given(createTask("a"), createTask("b"), createTask("c"), createTask("d"));
  claims(tasks, ada);
  claims(tasks, bob);
  claims(tasks, ada);
  const events = endAllClaimsOf(tasks, ada, 0);
  assert.deepEqual(
    events.map((event) => event.type === "task.requeued" && [event.task.id, event.task.place]),
    [
      ["a", 5],
      ["c", 6],
    ],
  );
  for (const event of events) evolve(tasks, event);
  assert.deepEqual(
    [claims(tasks, bob)?.id, claims(tasks, bob)?.id, claims(tasks, bob)?.id],
    ["d", "a", "c"],
  );
  assert.deepEqual([...tasks.byClaimant.keys()], ["bob"]);
});

test("ended tasks are forgotten after a day, bytes and all", () => {
  const tasks = given(createTask("t", { input: "aW4=" }));
  claims(tasks, ada);
  carryOut(tasks, complete("t", "ada", "b3V0"), 2_000);
  assert.deepEqual({ ...tasks.due.first }.at, 2_000 + 86_400_000);
  evolve(tasks, { type: "task.forgotten", taskId: taskId("t") });
  const left = [tasks.byId, tasks.inputs, tasks.outputs, tasks.ended, tasks.due, tasks.queues];
  assert.deepEqual(
    left.map(({ size }) => size),
    [0, 0, 0, 0, 0, 0],
  );
  assert.equal(tasks.bytes, 0);
});

test("when too many have ended, the one that ended first is forgotten", () => {
  const tasks = emptyTasks();
  for (let index = 0; index <= limits.endedTasksMax; index++) {
    carryOut(tasks, createTask(`t${index}`));
    claims(tasks, ada);
    // They end in another way and another order than they came.
    if (index > 0) carryOut(tasks, complete(`t${index}`, "ada"));
  }
  assert.equal(tasks.ended.size, limits.endedTasksMax);
  const events = carryOut(tasks, fail("t0", "ada"));
  assert.deepEqual(
    events.map((event) => event.type),
    ["task.dead", "task.forgotten"],
  );
  assert.equal(tasks.ended.size, limits.endedTasksMax);
  assert(!tasks.byId.has(taskId("t1")) && tasks.byId.has(taskId("t0")));
});

test("there are bounds on tasks and on what they hold", () => {
  const many = { ...emptyTasks(), byId: new Crowd<TaskId, Task>(limits.tasksMax) };
  assert.equal(code(many, createTask("t")), "limit_reached");

  const heavy = given(createTask("t"));
  claims(heavy, ada);
  heavy.bytes = limits.taskBytesMax - 3;
  assert.equal(code(heavy, createTask("u", { input: "AAAA" })), "limit_reached");
  assert.equal(code(heavy, createTask("u", { input: "AAA" })), undefined);
  assert.equal(code(heavy, complete("t", "ada", "AAAA")), "limit_reached");
  assert.equal(code(heavy, complete("t", "ada", "AAA")), undefined);
});

test("the higher priority goes first, and of one priority the older", () => {
  const tasks = given(
    createTask("low", { priority: -100 }),
    createTask("usual"),
    createTask("sql", { priority: 5, requiredTools: ["sql"] }),
    createTask("high", { priority: 100 }),
    createTask("high-too", { priority: 100, taskType: "other" }),
  );
  assert.equal(claims(tasks, ada)?.id, "high");
  assert.equal(claims(tasks, ada)?.id, "high-too");
  assert.equal(claims(tasks, ada, ["sql"])?.id, "sql");
  assert.equal(claims(tasks, ada)?.id, "usual");
  assert.equal(claims(tasks, ada)?.id, "low");
});

test("a priority beyond a hundred, or between two, is refused", () => {
  for (const priority of [101, -101, 0.5, Number.NaN]) {
    assert.equal(code(emptyTasks(), createTask("t", { priority })), "invalid_argument");
  }
});

test("who asks for some types gets the first in line of those", () => {
  const tasks = given(
    createTask("a", { taskType: "mail" }),
    createTask("b", { taskType: "print" }),
    createTask("c", { taskType: "print", priority: 1 }),
    createTask("d", { taskType: "fax", requiredTools: ["fax"] }),
  );
  assert.equal(claims(tasks, ada, [], 0, { types: ["fax", "none"] }), undefined);
  assert.equal(claims(tasks, ada, [], 0, { types: [] }), undefined);
  assert.equal(claims(tasks, ada, ["fax"], 0, { types: ["fax", "print"] })?.id, "c");
  assert.equal(claims(tasks, ada, ["fax"], 0, { types: ["fax", "print", "x", "y"] })?.id, "b");
  assert.equal(claims(tasks, ada, ["fax"], 0, { types: ["fax", "print"] })?.id, "d");
  assert.equal(claims(tasks, ada)?.id, "a");
});

test("nobody gets a delayed task before its time, and then it stands at the end of the queue", () => {
  const tasks = emptyTasks();
  carryOut(tasks, createTask("later", { delayMs: 5_000 }), 1_000);
  carryOut(tasks, createTask("now"), 2_000);
  const delayed = tasks.byId.get(taskId("later"));
  assert(delayed?.state === "delayed");
  assert.equal(delayed.readyAtMs, 6_000);
  assert.deepEqual({ ...tasks.due.first }.at, 6_000);
  evolve(tasks, makeReady(tasks, delayed, 6_000));
  assert.partialDeepStrictEqual(tasks.byId.get(taskId("later")), { pendingSinceMs: 6_000 });
  assert.equal(tasks.due.size, 0);
  assert.equal(claims(tasks, ada)?.id, "now");
  assert.equal(claims(tasks, ada)?.id, "later");
});

test("a failed task waits as long as whoever failed it says, if it is retried at all", () => {
  const tasks = given(createTask("t", { maxRetries: 1 }));
  claims(tasks, ada);
  const [event] = carryOut(tasks, fail("t", "ada", "busy", { retryAfterMs: 3_000 }), 1_000);
  assert(event?.type === "task.failed" && event.task.state === "delayed");
  assert.deepEqual([event.task.readyAtMs, event.task.retryCount], [4_000, 1]);
  assert.equal(claims(tasks, ada), undefined);
  evolve(tasks, makeReady(tasks, event.task, 4_000));
  claims(tasks, ada);
  const [last] = carryOut(tasks, fail("t", "ada", "busy", { retryAfterMs: 3_000 }), 5_000);
  assert.equal(last?.type, "task.dead");
});

test("the token of a claim grows with each claim, and the older one counts for nothing", () => {
  const tasks = given(createTask("t", { maxRetries: 5 }));
  const first = claims(tasks, ada);
  assert.equal(first?.deliveries, 1);
  expire(tasks, first);
  const old = { claimToken: 1 };
  for (const command of [
    extend("t", "ada", old),
    complete("t", "ada", "", old),
    fail("t", "ada", "", old),
  ]) {
    assert.equal(code(tasks, command), "task_not_claimed", "nobody has it now");
  }
  const second = claims(tasks, ada);
  assert.equal(second?.deliveries, 2);
  for (const command of [
    extend("t", "ada", old),
    complete("t", "ada", "", old),
    fail("t", "ada", "", old),
    complete("t", "bob", "", old),
    complete("t", "ada", "", { claimToken: 3 }),
  ]) {
    assert.equal(code(tasks, command), "claim_lost");
  }
  assert.equal(code(tasks, complete("t", "bob", "", { claimToken: 2 })), "task_claimed_by_another");
  assert.equal(code(tasks, complete("t", "ada", "", { claimToken: 2 })), undefined);
  assert.equal(code(tasks, complete("t", "ada")), undefined, "who names none is believed");
});

test("a claim is extended from now on, by its claimant, as long as it lasts", () => {
  const tasks = given(createTask("t", { claimMs: 7_000 }));
  assert.equal(code(tasks, extend("t", "ada")), "task_not_claimed");
  assert.equal(code(tasks, extend("nothing", "ada")), "task_not_found");
  claims(tasks, ada, [], 1_000, { key: "k" });
  assert.equal(code(tasks, extend("t", "bob")), "task_claimed_by_another");
  const [event] = carryOut(tasks, extend("t", "ada"), 5_000);
  assert(event?.type === "task.extended" && event.task.state === "claimed");
  assert.deepEqual([event.task.expiresAtMs, event.task.claimedAtMs], [12_000, 1_000]);
  assert.deepEqual({ ...tasks.due.first }.at, 12_000);
  carryOut(tasks, extend("t", "ada", { claimMs: 1_000, claimToken: 1 }), 6_000);
  assert.deepEqual({ ...tasks.due.first }.at, 7_000, "also a shorter time");
  assert.equal(claimByKey(tasks, ada, "k")?.id, "t");
});

test("a failure that is told twice counts once, until someone claims again", () => {
  for (const maxRetries of [0, 1]) {
    const tasks = given(createTask("t", { maxRetries }));
    claims(tasks, ada);
    const told = fail("t", "ada", "boom", { claimToken: 1 });
    carryOut(tasks, told);
    assert.deepEqual(carryOut(tasks, told), []);
    assert.equal(code(tasks, fail("t", "ada", "boom")), "task_not_claimed", "it names no claim");
    assert.equal(code(tasks, fail("t", "bob", "boom", { claimToken: 1 })), "task_not_claimed");
    assert.equal(code(tasks, fail("t", "ada", "else", { claimToken: 1 })), "task_not_claimed");
    if (maxRetries === 0) continue;
    claims(tasks, ada);
    assert.equal(code(tasks, told), "claim_lost");
  }
});

test("a claim that ran out did not fail: who says so later is refused", () => {
  const tasks = given(createTask("t", { maxRetries: 1 }));
  expire(tasks, claims(tasks, ada));
  assert.equal(code(tasks, fail("t", "ada", "", { claimToken: 1 })), "task_not_claimed");
});

test("a completion that is told twice with its token is a lost reply", () => {
  const tasks = given(createTask("t"));
  claims(tasks, ada);
  carryOut(tasks, complete("t", "ada", "b3V0", { claimToken: 1 }));
  assert.deepEqual(carryOut(tasks, complete("t", "ada", "b3V0", { claimToken: 1 })), []);
  assert.equal(code(tasks, complete("t", "ada", "b3V0", { claimToken: 2 })), "task_not_claimed");
});

test("a task that is delivered as often as it may be and never ended is a dead letter", () => {
  const tasks = given(createTask("poison", { deliveriesMax: 3 }));
  for (const _ of [1, 2]) {
    assert.equal(expire(tasks, claims(tasks, ada))[0]?.type, "task.requeued");
  }
  const [event] = expire(tasks, claims(tasks, ada), 9_000);
  assert(event?.type === "task.dead" && event.task.state === "dead");
  assert.equal(event.task.failureReason, "delivered 3 times and never ended");
  assert.deepEqual([event.task.claimant, event.task.diedAtMs], ["ada", 9_000]);
  assert.equal(claims(tasks, bob), undefined);
});

test("the limit counts for who dies as for who lets the claim run out", () => {
  const tasks = given(
    createTask("poison", { deliveriesMax: 1 }),
    createTask("sound"),
    createTask("poison-too", { deliveriesMax: 1 }),
  );
  for (const _ of [1, 2, 3]) claims(tasks, ada);
  const events = endAllClaimsOf(tasks, ada, 0);
  assert.deepEqual(
    events.map((event) => "task" in event && [event.type, event.task.id, event.task.place]),
    [
      ["task.dead", "poison", 1],
      ["task.requeued", "sound", 4],
      ["task.dead", "poison-too", 3],
    ],
  );
  const [dead] = events;
  assert(dead && "task" in dead);
  assert.equal(dead.task.failureReason, "delivered once and never ended");
});

test("a delivery of which nobody was told does not count", () => {
  const tasks = given(createTask("t", { deliveriesMax: 2 }));
  for (const token of [1, 2, 3]) {
    assert.equal(claims(tasks, ada)?.deliveries, token, "but the token still grows");
    carryOut(tasks, unclaim("t", "ada", token));
  }
  assert.equal(expire(tasks, claims(tasks, ada))[0]?.type, "task.requeued");
  assert.equal(expire(tasks, claims(tasks, ada))[0]?.type, "task.dead");
});

test("an older claim cannot be given back in place of a newer one", () => {
  const tasks = given(createTask("t"));
  expire(tasks, claims(tasks, ada));
  claims(tasks, ada);
  assert.deepEqual(carryOut(tasks, unclaim("t", "ada", 1)), []);
  assert.equal(carryOut(tasks, unclaim("t", "ada", 2)).length, 1);
});

test("a task is cancelled in any state but an ended one, and cancelling twice is no mistake", () => {
  const tasks = emptyTasks();
  carryOut(tasks, createTask("claimed"));
  claims(tasks, ada);
  carryOut(tasks, createTask("completed"));
  claims(tasks, ada);
  carryOut(tasks, complete("completed", "ada"));
  carryOut(tasks, createTask("dead"));
  claims(tasks, ada);
  carryOut(tasks, fail("dead", "ada"));
  carryOut(tasks, createTask("pending"));
  carryOut(tasks, createTask("delayed", { delayMs: 1 }));
  for (const name of ["claimed", "pending", "delayed"]) {
    const [event] = carryOut(tasks, cancel(name), 4_000);
    assert(event?.type === "task.cancelled" && event.task.state === "cancelled", name);
    assert.equal(event.task.cancelledAtMs, 4_000);
    assert.deepEqual(carryOut(tasks, cancel(name)), []);
  }
  assert.equal(code(tasks, cancel("completed")), "task_ended");
  assert.equal(code(tasks, cancel("dead")), "task_ended");
  assert.equal(code(tasks, cancel("nothing")), "task_not_found");
  assert.equal(code(tasks, complete("claimed", "ada")), "task_not_claimed");
  assert.equal(code(tasks, complete("claimed", "ada", "", { claimToken: 1 })), "task_not_claimed");
  assert.equal(claims(tasks, bob), undefined);
  assert.equal(tasks.byClaimant.size, 0);
  assert.equal(tasks.ended.size, 5);
  assert.deepEqual({ ...tasks.due.first }.at, 86_400_000, "and forgotten in time");
});

test("a dead or cancelled task begins anew at the end of the queue, with a larger token", () => {
  const tasks = given(
    createTask("dead", { maxRetries: 1, deliveriesMax: 2 }),
    createTask("cancelled"),
    createTask("other", { priority: -1 }),
  );
  for (const _ of [1, 2]) {
    claims(tasks, ada, [], 0, { types: ["work"] });
    carryOut(tasks, fail("dead", "ada", "boom"));
    if (tasks.byId.get(taskId("cancelled"))?.state === "pending")
      carryOut(tasks, cancel("cancelled"));
  }
  assert.equal(code(tasks, requeue("other")), "task_not_dead");
  assert.equal(code(tasks, requeue("nothing")), "task_not_found");
  const [event] = carryOut(tasks, requeue("dead"));
  assert(event?.type === "task.requeued" && event.task.state === "pending");
  assert.deepEqual([event.task.retryCount, event.task.failureReason], [0, "boom"]);
  assert.equal(code(tasks, requeue("dead")), "task_not_dead", "it is pending now");
  carryOut(tasks, requeue("cancelled"));
  assert.equal(claims(tasks, ada)?.id, "dead");
  assert.equal(claims(tasks, ada)?.id, "cancelled");
  const again = tasks.byId.get(taskId("dead"));
  assert.equal(again?.deliveries, 3);
  assert.equal(expire(tasks, again)[0]?.type, "task.requeued", "deliveries are counted anew");
  claims(tasks, ada);
  const last = tasks.byId.get(taskId("dead"));
  assert.equal(expire(tasks, last)[0]?.type, "task.dead");
});

test("a claim is found again by its key, by its claimant, as long as it lasts", () => {
  const tasks = given(createTask("t"), createTask("u"));
  claims(tasks, ada, [], 0, { key: "k" });
  claims(tasks, bob, [], 0, { key: "k" });
  assert.equal(claimByKey(tasks, ada, "k")?.id, "t");
  assert.equal(claimByKey(tasks, bob, "k")?.id, "u");
  assert.equal(claimByKey(tasks, ada, "other"), undefined);
  carryOut(tasks, complete("t", "ada"));
  expire(tasks, tasks.byId.get(taskId("u")));
  assert.equal(claimByKey(tasks, ada, "k"), undefined);
  assert.equal(tasks.byClaimKey.size, 0);
  claims(tasks, bob);
  assert.equal(tasks.byClaimKey.size, 0, "this one has none");
});

test("creating the same task twice makes one, and something else under its id is refused", () => {
  const made = createTask("t", { input: "aW4=", requiredTools: ["a", "b"], priority: 3 });
  const tasks = given(made);
  assert.deepEqual(carryOut(tasks, made), []);
  assert.deepEqual(carryOut(tasks, { ...made, deliveriesMax: 0, delayMs: 9 }), []);
  for (const other of [
    { taskType: "else" },
    { input: "" },
    { requiredTools: ["a"] },
    { requiredTools: ["a", "c"] },
    { maxRetries: 1 },
    { claimMs: 1 },
    { priority: 0 },
    { deliveriesMax: 1 },
  ]) {
    assert.equal(code(tasks, { ...made, ...other }), "key_reused");
  }
  claims(tasks, ada, ["a", "b"]);
  carryOut(tasks, complete("t", "ada"));
  assert.deepEqual(carryOut(tasks, made), [], "also when it has long ended");
  assert.equal(tasks.byId.size, 1);
});

test("several dead letters at once make room for all of them", () => {
  const tasks = emptyTasks();
  for (let index = 0; index < limits.endedTasksMax; index++) {
    carryOut(tasks, createTask(`t${index}`));
    carryOut(tasks, cancel(`t${index}`));
  }
  for (const name of ["x", "y"]) {
    carryOut(tasks, createTask(name, { deliveriesMax: 1 }));
    claims(tasks, ada);
  }
  const events = endAllClaimsOf(tasks, ada, 0);
  assert.deepEqual(
    events.map((event) =>
      "task" in event ? event.task.id : event.type === "task.forgotten" && event.taskId,
    ),
    ["x", "y", "t0", "t1"],
  );
  for (const event of events) evolve(tasks, event);
  assert.equal(tasks.ended.size, limits.endedTasksMax);
});

test("a requeued task may not ask for one set of tools too many", () => {
  const tasks = given(createTask("t", { requiredTools: ["rare"] }));
  carryOut(tasks, cancel("t"));
  const full = { ...tasks, queues: new Crowd<string, never>(limits.queuesMax) };
  assert.equal(code(full, requeue("t")), "limit_reached");
});

test("whatever happens, a claimant gets the first in line that its tools suffice for", () => {
  const names = ["a", "b", "c", "d"] as const;
  const tool = fc.constantFrom<string[]>("x", "y");
  const type = fc.constantFrom<string[]>("p", "q", "r");
  const types = fc.option(fc.uniqueArray(type), { nil: undefined });
  const step = fc.oneof(
    fc.record({ do: fc.constant("claim"), tools: fc.uniqueArray(tool), types }),
    fc.record({
      do: fc.constantFrom("fail", "unclaim", "expire", "cancel", "requeue", "ready"),
      task: fc.nat({ max: 20 }),
    }),
    fc.record({
      do: fc.constant("create"),
      tools: fc.uniqueArray(tool),
      type,
      priority: fc.integer({ min: -2, max: 2 }),
      delayMs: fc.constantFrom(0, 0, 5),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const tasks = emptyTasks();
      let made = 0;
      for (const step of steps) {
        if ("task" in step) {
          change(tasks, step.do, tasks.byId.get(taskId(`t${step.task}`)));
        } else if ("priority" in step) {
          const { tools: requiredTools, type: taskType, priority, delayMs } = step;
          const options = { requiredTools, taskType, priority, delayMs, maxRetries: 3 };
          carryOut(tasks, createTask(`t${made++}`, { ...options, deliveriesMax: 2 }));
        } else {
          const { tools, types } = step;
          const fitting = [...tasks.byId.values()]
            .filter((task) => task.state === "pending")
            .filter((task) => task.requiredTools.every((tool) => tools.includes(tool)))
            .filter((task) => types === undefined || types.includes(task.type))
            .sort((one, other) => other.priority - one.priority || one.place - other.place);
          const name = agentId(names[made % names.length] ?? "a");
          assert.equal(claims(tasks, name, tools, 0, { types })?.id, fitting[0]?.id);
        }
      }
      const counts = { delayed: 0, pending: 0, claimed: 0, completed: 0, dead: 0, cancelled: 0 };
      for (const { state } of tasks.byId.values()) counts[state] += 1;
      assert.deepEqual(tasks.counts, counts);
      assert.equal(queuedIn(tasks), counts.pending);
      assert.equal(tasks.ended.size, counts.dead + counts.cancelled + counts.completed);
    }),
    { numRuns: 500 },
  );
});

/** Does something to a task, if its state allows it. */
function change(tasks: OwnTasks, what: string, task: Task | undefined): void {
  if (task?.state === "claimed" && what === "expire") expire(tasks, task);
  if (task?.state === "claimed" && what === "fail") carryOut(tasks, fail(task.id, task.claimant));
  if (task?.state === "claimed" && what === "unclaim") {
    carryOut(tasks, unclaim(task.id, task.claimant, task.deliveries));
  }
  if (task?.state === "delayed" && what === "ready") evolve(tasks, makeReady(tasks, task, 0));
  if (task && task.state !== "dead" && what === "cancel") carryOut(tasks, cancel(task.id));
  const isGone = task?.state === "dead" || task?.state === "cancelled";
  if (isGone && what === "requeue") carryOut(tasks, requeue(task.id));
}

function carryOut(tasks: OwnTasks, command: TaskCommand, nowMs = 0): readonly TaskEvent[] {
  const decision = decide(tasks, command, nowMs);
  assert(!decision.refusal, `refused: ${decision.refusal?.message}`);
  for (const event of decision.events) evolve(tasks, event);
  return decision.events;
}

/** The claim on it runs out. */
function expire(tasks: OwnTasks, task: Task | undefined, nowMs = 0): readonly TaskEvent[] {
  assert(task?.state === "claimed");
  const events = endClaim(tasks, task, nowMs);
  for (const event of events) evolve(tasks, event);
  return events;
}

/** How many tasks are in line. */
function queuedIn({ queues }: Tasks): number {
  const lanes = [...queues.values()].flatMap((queue) => [...queue.lanes.values()]);
  return lanes.reduce((sum, { size }) => sum + size, 0);
}

function code(tasks: Tasks, command: TaskCommand): string | undefined {
  return decide(tasks, command, 0).refusal?.code;
}

function claims(
  tasks: OwnTasks,
  agentId: AgentId,
  tools: readonly string[] = [],
  nowMs = 0,
  wish: Pick<Claiming, "types" | "key"> = {},
): Task | undefined {
  const decision = claim(tasks, { agentId, tools, ...wish }, nowMs);
  if (decision.refusal) return undefined;
  for (const event of decision.events) evolve(tasks, event);
  const [event] = decision.events;
  return event && "task" in event ? event.task : undefined;
}

function given(...commands: TaskCommand[]): OwnTasks {
  const tasks = emptyTasks();
  for (const command of commands) carryOut(tasks, command);
  return tasks;
}

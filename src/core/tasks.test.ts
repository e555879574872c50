import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { complete, createTask, fail, unclaim } from "../testing/commands.ts";
import { Crowd } from "../testing/crowd.ts";
import { type AgentId, agentId, type TaskId, taskId } from "./ids.ts";
import { limits } from "./limits.ts";
import {
  claim,
  decide,
  emptyTasks,
  endAllClaimsOf,
  endClaim,
  evolve,
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
  assert.deepEqual(carryOut(tasks, unclaim("a", "bob")), [], "only its claimant gives it back");
  assert.equal(carryOut(tasks, unclaim("a", "ada"))[0]?.type, "task.requeued");
  assert.equal(claims(tasks, bob)?.id, "a");
  assert.deepEqual(carryOut(tasks, unclaim("b", "ada")), [], "it has no claim on that");
  assert.deepEqual(carryOut(tasks, unclaim("nothing", "ada")), []);
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

test("whatever happens, a claimant gets the oldest pending task that its tools suffice for", () => {
  const names = ["a", "b", "c", "d"] as const;
  const tool = fc.constantFrom<string[]>("x", "y");
  const step = fc.oneof(
    fc.record({ do: fc.constant("claim"), tools: fc.uniqueArray(tool) }),
    fc.record({ do: fc.constantFrom("fail", "unclaim", "expire"), task: fc.nat({ max: 20 }) }),
    fc.record({ do: fc.constant("create"), tools: fc.uniqueArray(tool) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const tasks = emptyTasks();
      let made = 0;
      for (const step of steps) {
        if ("task" in step) {
          const task = tasks.byId.get(taskId(`t${step.task}`));
          if (task?.state !== "claimed") continue;
          const say = step.do === "fail" ? fail : unclaim;
          if (step.do === "expire") expire(tasks, task);
          else carryOut(tasks, say(task.id, task.claimant));
        } else if (step.do === "create") {
          const options = { requiredTools: step.tools, maxRetries: 3 };
          carryOut(tasks, createTask(`t${made++}`, options));
        } else {
          const fitting = [...tasks.byId.values()]
            .filter((task) => task.state === "pending")
            .filter((task) => task.requiredTools.every((tool) => step.tools.includes(tool)))
            .sort((one, other) => one.place - other.place);
          const name = agentId(names[made % names.length] ?? "a");
          assert.equal(claims(tasks, name, step.tools)?.id, fitting[0]?.id);
        }
      }
      const pending = [...tasks.byId.values()].filter((task) => task.state === "pending");
      assert.equal(queuedIn(tasks), pending.length);
    }),
    { numRuns: 500 },
  );
});

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
): Task | undefined {
  const decision = claim(tasks, { agentId, tools }, nowMs);
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

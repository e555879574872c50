import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog } from "../../log/index.ts";
import { HeldLog } from "../../testing/held-log.ts";
import { openTestDoor, type TestDoor } from "../../testing/http-door.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import {
  type Agent,
  type Answer,
  type ErrorBody,
  type ErrorCode,
  isOpen,
  type OperationName,
  type Question,
  request,
  routes,
  type TaskDetail,
} from "../../wire/api/index.ts";
import { operations, statusOf } from "../../wire/openapi/index.ts";
import { limits } from "./limits.ts";
import { lookInSlices } from "./slices.ts";

type Refusal = ErrorBody["error"];

const names = Object.keys(routes) as OperationName[];

/** One way in which each operation is carried out. Leave one out and this does not compile. */
const carriedOut: { readonly [Name in OperationName]: (to: TestDoor) => Promise<Answer<Name>> } = {
  getOverview: (to) => to.done("getOverview", {}),
  getAttention: (to) => to.done("getAttention", {}),
  dismissNeed: (to) => to.done("dismissNeed", { kind: "task_dead", id: "t", sinceMs: 0 }),
  restoreNeed: (to) => to.done("restoreNeed", { kind: "task_dead", id: "t" }),
  getTimeline: (to) => to.done("getTimeline", {}),
  getStatus: (to) => to.done("getStatus", {}),
  listEntries: (to) => to.done("listEntries", {}),
  listAgents: (to) => to.done("listAgents", {}),
  registerAgent: (to) => register(to, "scraper"),
  getAgent: async (to) => to.done("getAgent", { agentId: (await register(to)).id }),
  heartbeat: async (to) => {
    const { id: agentId } = await register(to);
    return to.done("heartbeat", { agentId, activity: { state: "waiting", note: "delete?" } });
  },
  deregisterAgent: async (to) => to.done("deregisterAgent", { agentId: (await register(to)).id }),
  withdraw: async (to) => to.done("withdraw", { agentId: (await register(to)).id, key: "k" }),
  findAgents: async (to) => {
    await register(to);
    return to.done("findAgents", { query: "scraping", tool: ["browser"], limit: 5 });
  },
  listLeases: (to) => to.done("listLeases", {}),
  getLease: async (to) => {
    await acquire(to, "t");
    return to.done("getLease", { taskId: "t" });
  },
  acquireLease: (to) => acquire(to, "t"),
  renewLease: async (to) => {
    const { taskId, holder: agentId, token } = await acquire(to, "t");
    return to.done("renewLease", { taskId, agentId, token, ttlMs: 5_000 });
  },
  releaseLease: async (to) => {
    const { taskId, holder: agentId, token } = await acquire(to, "t");
    return to.done("releaseLease", { taskId, agentId, token });
  },
  checkToken: async (to) => {
    const { taskId, token } = await acquire(to, "t");
    return to.done("checkToken", { taskId, token });
  },
  listElections: (to) => to.done("listElections", {}),
  getElection: async (to) => {
    await carriedOut.campaign(to);
    return to.done("getElection", { group: "planners" });
  },
  campaign: async (to) =>
    to.done("campaign", { group: "planners", agentId: (await register(to)).id }),
  resign: async (to) => {
    const { group, leader = "" } = await carriedOut.campaign(to);
    return to.done("resign", { group, agentId: leader });
  },
  listPolicies: (to) => to.done("listPolicies", {}),
  getPolicy: async (to) => {
    await carriedOut.setPolicy(to);
    return to.done("getPolicy", { policyId: "p" });
  },
  setPolicy: (to) => to.done("setPolicy", { policyId: "p", ...rule }),
  deletePolicy: (to) => to.done("deletePolicy", { policyId: "p" }),
  checkPolicy: async (to) => {
    await carriedOut.setPolicy(to);
    const question = { subject: "agent:a", action: "call", resource: "tool:x" };
    return to.done("checkPolicy", { ...question, explain: true });
  },
  whoMay: async (to) => {
    await register(to);
    await carriedOut.setPolicy(to);
    return to.done("whoMay", { action: "call", resource: "tool:x" });
  },
  listTasks: (to) => to.done("listTasks", {}),
  createTask: (to) => to.done("createTask", { type: "index", input: "aGk=" }),
  getTask: async (to) => to.done("getTask", { taskId: (await carriedOut.createTask(to)).id }),
  claimTask: async (to) => {
    await carriedOut.createTask(to);
    return to.done("claimTask", { agentId: (await register(to)).id });
  },
  extendClaim: async (to) => to.done("extendClaim", { ...(await claim(to)), claimMs: 5_000 }),
  completeTask: async (to) => to.done("completeTask", { ...(await claim(to)), output: "aGk=" }),
  failTask: async (to) => to.done("failTask", { ...(await claim(to)), reason: "no" }),
  cancelTask: async (to) => to.done("cancelTask", { taskId: (await carriedOut.createTask(to)).id }),
  requeueTask: async (to) =>
    to.done("requeueTask", { taskId: (await carriedOut.cancelTask(to)).id }),
  listJobs: async (to) => {
    await carriedOut.submitJob(to);
    return to.done("listJobs", { state: ["pending"], query: "echo" });
  },
  submitJob: (to) =>
    to.done("submitJob", {
      agent: "echo",
      input: { a: 1 },
      capabilities: { "cost.budget": ["USD:1"] },
    }),
  getJob: async (to) => to.done("getJob", { jobId: (await carriedOut.submitJob(to)).id }),
  listJobEvents: async (to) =>
    to.done("listJobEvents", { jobId: (await carriedOut.submitJob(to)).id }),
  cancelJob: async (to) =>
    to.done("cancelJob", { jobId: (await carriedOut.submitJob(to)).id, reason: "enough" }),
  listQuestions: async (to) => {
    await ask(to);
    return to.done("listQuestions", { state: ["open"], sort: "oldest" });
  },
  getQuestion: async (to) => to.done("getQuestion", { questionId: (await ask(to)).id, waitMs: 1 }),
  answerQuestion: async (to) =>
    to.done("answerQuestion", { questionId: (await ask(to)).id, answer: "x7", by: "ada" }),
  askQuestion: (to) => ask(to),
  withdrawQuestion: async (to) => {
    const { asker, key } = await ask(to);
    return to.done("withdrawQuestion", { agentId: asker.id, key });
  },
  openSession: async (to) => to.done("openSession", { key: await linkKey(to) }, { token: null }),
  getSession: (to) => to.done("getSession", {}),
  createLink: (to) => to.done("createLink", {}),
};

type Refusals = Readonly<Partial<Record<ErrorCode, (to: TestDoor) => Promise<Refusal>>>>;

const nobody = "0".repeat(32);
const claimRefusals = (name: "extendClaim" | "completeTask" | "failTask"): Refusals => ({
  task_not_found: (to) => to.refused(name, { taskId: "none", agentId: nobody }),
  task_not_claimed: async (to) => {
    const { id: taskId } = await carriedOut.createTask(to);
    return to.refused(name, { taskId, agentId: nobody });
  },
  task_claimed_by_another: async (to) => {
    const { taskId } = await claim(to);
    return to.refused(name, { taskId, agentId: nobody });
  },
  claim_lost: async (to) => to.refused(name, { ...(await claim(to)), claimToken: "7" }),
});
const livingRefusals = (call: (to: TestDoor, agentId: string) => Promise<Refusal>): Refusals => ({
  agent_not_found: (to) => call(to, nobody),
  agent_dead: async (to) => call(to, (await dead(to)).id),
});

/** For what looks for long: so many others do. */
const crowdRefusals = (call: (to: TestDoor) => Promise<Refusal>): Refusals => ({
  limit_reached: async (to) => {
    const leaving = new AbortController();
    const looks = Array.from({ length: limits.longLooksMax }, () =>
      lookInSlices(to.plane, leaving.signal, function* () {
        for (;;) yield;
      }),
    );
    const error = await call(to);
    leaving.abort();
    await Promise.all(looks);
    return error;
  },
});

/** One way into each refusal that an operation names as its own. */
const refusedFor: Readonly<Partial<Record<OperationName, Refusals>>> = {
  getAttention: crowdRefusals((to) => to.refused("getAttention", {})),
  getStatus: crowdRefusals((to) => to.refused("getStatus", {})),
  listEntries: crowdRefusals((to) => to.refused("listEntries", {})),
  listAgents: crowdRefusals((to) => to.refused("listAgents", {})),
  listLeases: crowdRefusals((to) => to.refused("listLeases", {})),
  listElections: crowdRefusals((to) => to.refused("listElections", {})),
  listPolicies: crowdRefusals((to) => to.refused("listPolicies", {})),
  whoMay: crowdRefusals((to) => to.refused("whoMay", { action: "read", resource: "x" })),
  listTasks: crowdRefusals((to) => to.refused("listTasks", {})),
  registerAgent: {
    key_reused: async (to) => {
      await to.done("registerAgent", { card: { name: "a" } }, { key: "k" });
      return to.refused("registerAgent", { card: { name: "b" } }, { key: "k" });
    },
    agent_dead: async (to) => {
      const card = { name: "a" };
      const { id: agentId } = await to.done("registerAgent", { card }, { key: "k" });
      await to.done("deregisterAgent", { agentId });
      return to.refused("registerAgent", { card }, { key: "k" });
    },
  },
  getAgent: { agent_not_found: (to) => to.refused("getAgent", { agentId: nobody }) },
  heartbeat: livingRefusals((to, agentId) => to.refused("heartbeat", { agentId })),
  deregisterAgent: { agent_not_found: (to) => to.refused("deregisterAgent", { agentId: nobody }) },
  getLease: { lease_not_found: (to) => to.refused("getLease", { taskId: "t" }) },
  acquireLease: {
    ...livingRefusals((to, agentId) => to.refused("acquireLease", { taskId: "t", agentId })),
    lease_held: async (to) => {
      const lease = await acquire(to, "t");
      const error = await to.refused("acquireLease", {
        taskId: "t",
        agentId: (await register(to)).id,
      });
      assert.deepEqual(error.lease, lease, "shows what is in the way");
      return error;
    },
  },
  renewLease: {
    lease_not_found: (to) => to.refused("renewLease", { taskId: "t", agentId: nobody, token: "1" }),
    token_mismatch: async (to) => {
      const { taskId, holder: agentId } = await acquire(to, "t");
      return to.refused("renewLease", { taskId, agentId, token: "1" });
    },
  },
  releaseLease: {
    lease_not_found: (to) =>
      to.refused("releaseLease", { taskId: "t", agentId: nobody, token: "1" }),
    token_mismatch: async (to) => {
      const { taskId, token } = await acquire(to, "t");
      return to.refused("releaseLease", { taskId, agentId: nobody, token });
    },
  },
  getElection: { election_not_found: (to) => to.refused("getElection", { group: "g" }) },
  campaign: livingRefusals((to, agentId) => to.refused("campaign", { group: "g", agentId })),
  resign: {
    election_not_found: (to) => to.refused("resign", { group: "g", agentId: nobody }),
  },
  getPolicy: { policy_not_found: (to) => to.refused("getPolicy", { policyId: "p" }) },
  createTask: {
    key_reused: async (to) => {
      await to.done("createTask", { type: "a" }, { key: "k" });
      return to.refused("createTask", { type: "b" }, { key: "k" });
    },
  },
  getTask: { task_not_found: (to) => to.refused("getTask", { taskId: "none" }) },
  claimTask: livingRefusals((to, agentId) => to.refused("claimTask", { agentId })),
  extendClaim: claimRefusals("extendClaim"),
  completeTask: claimRefusals("completeTask"),
  failTask: claimRefusals("failTask"),
  cancelTask: {
    task_not_found: (to) => to.refused("cancelTask", { taskId: "none" }),
    task_ended: async (to) => {
      const { id: taskId } = await carriedOut.completeTask(to);
      return to.refused("cancelTask", { taskId });
    },
  },
  requeueTask: {
    task_not_found: (to) => to.refused("requeueTask", { taskId: "none" }),
    task_not_dead: async (to) => {
      const { id: taskId } = await carriedOut.createTask(to);
      return to.refused("requeueTask", { taskId });
    },
  },
  listJobs: crowdRefusals((to) => to.refused("listJobs", {})),
  submitJob: {
    skill_not_found: (to) => to.refused("submitJob", { agent: "nobody" }),
    skill_version_not_found: (to) => to.refused("submitJob", { agent: "echo@2" }),
    key_reused: async (to) => {
      await to.done("submitJob", { agent: "echo" }, { key: "k" });
      return to.refused("submitJob", { agent: "echo", input: 1 }, { key: "k" });
    },
  },
  getJob: {
    job_not_found: (to) => to.refused("getJob", { jobId: "none" }),
    ...crowdRefusals((to) => to.refused("getJob", { jobId: "none" })),
  },
  listJobEvents: {
    job_not_found: (to) => to.refused("listJobEvents", { jobId: "none" }),
    ...crowdRefusals(async (to) => {
      const jobId = (await carriedOut.submitJob(to)).id;
      return to.refused("listJobEvents", { jobId });
    }),
  },
  cancelJob: { job_not_found: (to) => to.refused("cancelJob", { jobId: "none" }) },
  listQuestions: crowdRefusals((to) => to.refused("listQuestions", {})),
  getQuestion: { question_not_found: (to) => to.refused("getQuestion", { questionId: "none" }) },
  answerQuestion: {
    question_not_found: (to) => to.refused("answerQuestion", { questionId: "none", answer: "" }),
    question_closed: async (to) => {
      const { id: questionId } = await ask(to);
      await to.done("answerQuestion", { questionId, answer: "x7" });
      return to.refused("answerQuestion", { questionId, answer: "x8" });
    },
    answer_invalid: async (to) => {
      const { id: questionId } = await ask(to);
      return to.refused("answerQuestion", { questionId, answer: 7 });
    },
  },
  askQuestion: {
    agent_not_found: (to) => to.refused("askQuestion", { agentId: "none", prompt: "?" }),
    agent_dead: async (to) => {
      const { id: agentId } = await register(to);
      await to.done("deregisterAgent", { agentId });
      return to.refused("askQuestion", { agentId, prompt: "?" });
    },
    key_reused: async (to) => {
      const { asker, key } = await ask(to);
      return to.refused("askQuestion", { agentId: asker.id, prompt: "another?" }, { key });
    },
  },
  withdrawQuestion: {
    question_not_found: async (to) => {
      const { id: agentId } = await register(to);
      return to.refused("withdrawQuestion", { agentId, key: "none" });
    },
  },
  openSession: { link_used: (to) => to.refused("openSession", { key: "x" }) },
};

for (const name of names) {
  test(`${name} answers as the document says`, async () => {
    await using to = await openTestDoor();
    await carriedOut[name](to);
    assert.deepEqual(to.faults, []);
  });

  const ways = Object.entries(refusedFor[name] ?? {});
  if (ways.length > 0) {
    test(`${name} is refused as the document says`, async () => {
      for (const [code, refuse] of ways) {
        await using to = await openTestDoor();
        assert.equal((await refuse(to)).code, code);
        assert.deepEqual(to.faults, []);
      }
    });
  }
}

test("each refusal that an operation names can be met", () => {
  for (const name of names) {
    const met = Object.keys(refusedFor[name] ?? {});
    assert.deepEqual(met.sort(), [...operations[name].refusals].sort(), name);
  }
});

test("to look at what agents told takes no token, all else does", async () => {
  await using to = await openTestDoor();
  for (const name of names) {
    const { method, path } = request(name, {
      agentId: "a",
      taskId: "t",
      group: "g",
      policyId: "p",
      jobId: "j",
    });
    for (const Authorization of ["", "Bearer", "Bearer wrong", "secret", "Basic c2VjcmV0"]) {
      const bare = path.split("?")[0] ?? "";
      const { status, headers, text } = await to.ask(method, bare, { headers: { Authorization } });
      const about = `${name} with ${Authorization}: ${text}`;
      assert.equal(status === statusOf.token_required, !isOpen(name), about);
      if (status === 401) assert.equal(headers["www-authenticate"], "Bearer");
    }
  }
  const { counts } = await to.done("getOverview", {});
  assert.equal(counts.agents.alive + counts.policies + counts.tasks.pending, 0);
});

test("HEAD answers as GET would, and on what only changes things is told so", async () => {
  await using to = await openTestDoor();
  for (const name of names) {
    const { method, path } = routes[name];
    const at = `/api/v1${path.replaceAll(/\{\w+\}/g, "x")}`;
    const others = names.filter((other) => routes[other].path === path);
    const allowed = others.map((other) => routes[other].method);
    const { status, text, headers } = await to.ask("HEAD", at);
    assert.equal(text, "");
    if (allowed.includes("GET")) {
      assert.equal(status, (await to.ask("GET", at)).status, at);
    } else {
      assert.equal(status, 405, at);
      assert.deepEqual(headers.allow, allowed.join(", "));
    }
    const patched = await to.ask("PATCH", at);
    assert.equal(patched.status, 405, `${method} ${at}`);
    const named = allowed.flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : [one]));
    assert.deepEqual(patched.headers.allow?.split(", ").sort(), named.sort());
  }
});

test("asked again with the same key, the answer is about the same thing, also after a restart", async () => {
  const log = new MemoryLog();
  const answers: unknown[] = [];
  for (let round = 0; round < 2; round++) {
    await using to = await openTestDoor({ log });
    for (let again = 0; again < 2; again++) {
      const agent = await to.done("registerAgent", { card: { name: "a" } }, { key: "agent" });
      const task = await to.done("createTask", { type: "t" }, { key: "task" });
      const holder = { taskId: "x", agentId: agent.id };
      const lease = await to.done("acquireLease", holder, { key: "lease" });
      const { task: claimed } = await to.done("claimTask", { agentId: agent.id }, { key: "claim" });
      const job = await to.done("submitJob", { agent: "echo", input: 1 }, { key: "job" });
      answers.push([agent.id, task.id, job.id, lease.token, claimed?.id, claimed?.claimToken]);
    }
    const { counts } = await to.done("getOverview", {});
    assert.deepEqual([counts.agents.alive, counts.leases, counts.tasks.claimed], [1, 1, 1]);
  }
  assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
});

test("without a key, or with another one, it is another thing", async () => {
  await using to = await openTestDoor();
  const agents = [
    await to.done("registerAgent", { card: { name: "a" } }),
    await to.done("registerAgent", { card: { name: "a" } }),
    await to.done("registerAgent", { card: { name: "a" } }, { key: "k" }),
    await to.done("registerAgent", { card: { name: "a" } }, { key: "l" }),
  ];
  assert.equal(new Set(agents.map(({ id }) => id)).size, 4);
  const task = await to.done("createTask", { type: "a" }, { key: "k" });
  assert.notEqual(task.id, agents[2]?.id, "a task and an agent may share a key");
  const holder = { taskId: "x", agentId: agents[0]?.id ?? "" };
  const first = await to.done("acquireLease", holder, { key: "one" });
  const second = await to.done("acquireLease", holder, { key: "two" });
  assert(BigInt(second.token) > BigInt(first.token), "the holder acquired again");
});

test("a key that is no key is refused", async () => {
  await using to = await openTestDoor();
  for (const key of ["with space", "ü", "x".repeat(256), ""]) {
    const { code, message } = await to.refused("createTask", { type: "t" }, { key });
    assert.equal(code, "invalid_argument");
    assert.match(message, /^Idempotency-Key: /);
  }
  await to.done("createTask", { type: "t" }, { key: "x".repeat(255) });
});

test("who waits for a lease gets it in order", async () => {
  await using to = await openTestDoor();
  const held = await acquire(to, "t");
  const second = await register(to, "second");
  const third = await register(to, "third");
  const waiting = to.done("acquireLease", { taskId: "t", agentId: second.id, waitMs: 60_000 });
  await to.waiting(1);
  const alsoWaiting = to.done("acquireLease", { taskId: "t", agentId: third.id, waitMs: 60_000 });
  await to.waiting(2);
  await to.done("releaseLease", { taskId: "t", agentId: held.holder, token: held.token });
  const next = await waiting;
  assert.equal(next.holder, second.id);
  await to.done("releaseLease", { taskId: "t", agentId: second.id, token: next.token });
  assert.equal((await alsoWaiting).holder, third.id);
});

test("who has waited long enough is told what is in the way", async () => {
  await using to = await openTestDoor();
  const lease = await acquire(to, "t");
  const { id: agentId } = await register(to);
  const error = await to.refused("acquireLease", { taskId: "t", agentId, waitMs: 20 });
  assert.equal(error.code, "lease_held");
  assert.deepEqual(error.lease, lease);
  assert.deepEqual(await to.done("claimTask", { agentId, waitMs: 20 }), {});
});

test("who waits for a task gets the next one that is made", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to);
  const waiting = to.done("claimTask", { agentId, types: ["b"], waitMs: 60_000 });
  await to.waiting(1);
  await to.done("createTask", { type: "a" });
  const { id, state } = await to.done("createTask", { type: "b", input: "aGk=" });
  assert.equal(state, "pending", "as it was made");
  const { task } = await waiting;
  assert.deepEqual([task?.id, task?.input, task?.claimant], [id, "aGk=", agentId]);
});

test("who leaves the line without a key has left it, with a key keeps its place", async () => {
  await using to = await openTestDoor();
  const held = await acquire(to, "t");
  const left = await register(to, "left");
  const kept = await register(to, "kept");
  const last = await register(to, "last");
  await leaveLine(to, { agentId: left.id });
  await leaveLine(to, { agentId: kept.id, key: "k" });
  const waitMs = 60_000;
  const waiting = [
    to.done("acquireLease", { taskId: "t", agentId: last.id, waitMs }),
    to.done("acquireLease", { taskId: "t", agentId: left.id, waitMs }),
    to.done("acquireLease", { taskId: "t", agentId: kept.id, waitMs }, { key: "k" }),
  ];
  await to.waiting(3);
  await to.done("releaseLease", { taskId: "t", agentId: held.holder, token: held.token });
  const lease = await Promise.race(waiting);
  assert.equal(lease.holder, kept.id);
  const again = await to.done("acquireLease", { taskId: "t", agentId: kept.id }, { key: "k" });
  assert.deepEqual(again, lease, "whoever comes back is told");
});

test("what is granted to a caller that is gone is given back, unless it has a key to ask again", async () => {
  const log = new HeldLog();
  await using to = await openTestDoor({ log, places: [] });
  const post = (path: string, body: object, more: RequestInit & { key?: string } = {}) => {
    const { key, ...init } = more;
    const named = key === undefined ? {} : { "Idempotency-Key": key };
    const headers = {
      Authorization: "Bearer secret",
      "Content-Type": "application/json",
      ...named,
    };
    const options = { method: "POST", headers, body: JSON.stringify(body), ...init };
    return to.door.fetch(new Request(`http://localhost/api/v1${path}`, options));
  };
  const agent: Agent = JSON.parse(await (await post("/agents", { card: { name: "a" } })).text());
  await post("/tasks", { type: "index" });
  const agentId = agent.id;
  /** Decided, not yet durable, and the caller leaves. */
  const leave = async (path: string, key?: string): Promise<void> => {
    const leaving = new AbortController();
    const { signal } = leaving;
    log.hold();
    const asked = post(path, { agentId }, { signal, ...(key === undefined ? {} : { key }) });
    while (log.held.length === 0) await new Promise(setImmediate);
    leaving.abort();
    await log.letAllThrough();
    await asked;
  };
  const held = (): Promise<readonly [leases: number, claims: number]> =>
    to.plane.read(({ leases, tasks }) => [leases.held.size, tasks.counts.claimed]);
  await leave("/leases/t/acquire");
  await leave("/claims");
  assert.deepEqual(await held(), [0, 0]);
  await leave("/leases/t/acquire", "k");
  await leave("/claims", "k");
  assert.deepEqual(await held(), [1, 1]);
  assert.deepEqual(to.faults, []);
});

test("what is withdrawn while it waits is given up, and afterwards it is given back", async () => {
  await using to = await openTestDoor();
  const held = await acquire(to, "t");
  const { id: agentId } = await register(to);
  const waiting = to.refused(
    "acquireLease",
    { taskId: "t", agentId, waitMs: 60_000 },
    { key: "k" },
  );
  await to.waiting(1);
  await to.done("withdraw", { agentId, key: "k" });
  assert.equal((await waiting).code, "lease_held");

  await to.done("acquireLease", { taskId: "u", agentId }, { key: "k" });
  await to.done("acquireLease", { taskId: "v", agentId }, { key: "k" });
  await to.done("acquireLease", { taskId: "w", agentId }, { key: "other" });
  await to.done("createTask", { type: "a" });
  const { task } = await to.done("claimTask", { agentId }, { key: "k" });
  await to.done("withdraw", { agentId, key: "k" });
  const { rows } = await to.done("listLeases", { sort: "task" });
  assert.deepEqual(
    rows.map(({ taskId }) => taskId),
    [held.taskId, "w"],
  );
  const given = await to.done("getTask", { taskId: task?.id ?? "" });
  assert.equal(given.state, "pending");
});

test("a door that closes answers who waits", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to);
  const waiting = to.refused("claimTask", { agentId, waitMs: 60_000 });
  await to.waiting(1);
  const startedMs = performance.now();
  const closing = to.door[Symbol.asyncDispose]();
  assert.equal((await waiting).code, "unavailable");
  await closing;
  assert(performance.now() - startedMs < 400, "nobody had to be cut off");
});

test("a plane that is closed is unavailable", async () => {
  await using to = await openTestDoor();
  await to.plane[Symbol.asyncDispose]();
  const { code } = await to.refused("createTask", { type: "a" });
  assert.equal(code, "unavailable");
  const headers = { Authorization: "Bearer secret" };
  const answered = await to.ask("POST", "/api/v1/links", { headers });
  assert.equal(answered.status, 200, "what asks nothing of the plane goes on");
});

test("a token is current as long as its holder holds", async () => {
  await using to = await openTestDoor();
  const first = await acquire(to, "t");
  const { taskId, holder: agentId, token } = first;
  const current = await to.done("checkToken", { taskId, token });
  assert.deepEqual(current, { isCurrent: true, lease: first });
  const second = await to.done("acquireLease", { taskId, agentId });
  assert.deepEqual(await to.done("checkToken", { taskId, token }), {
    isCurrent: false,
    lease: second,
  });
  await to.done("releaseLease", { taskId, agentId, token: second.token });
  assert.deepEqual(await to.done("checkToken", { taskId, token: second.token }), {
    isCurrent: false,
  });
  const huge = "9".repeat(20);
  assert.equal((await to.done("checkToken", { taskId, token: huge })).isCurrent, false);
});

test("who may do something is asked of every agent that is here", async () => {
  await using to = await openTestDoor();
  const allowed = await register(to, "scraper");
  const denied = await register(to, "intern");
  const unknown = await register(to, "visitor");
  await dead(to);
  const tool = { action: "call", resource: "tool:*" };
  await to.done("setPolicy", { policyId: "a", subject: "agent:s*", effect: "allow", ...tool });
  await to.done("setPolicy", { policyId: "b", subject: "agent:intern", effect: "deny", ...tool });
  const { agents, total } = await to.done("whoMay", { action: "call", resource: "tool:x" });
  assert.equal(total, 3);
  assert.deepEqual(
    agents.map(({ agentId, allowed, decidedBy }) => [agentId, allowed, decidedBy]),
    [
      [allowed.id, true, "a"],
      [denied.id, false, "b"],
      [unknown.id, false, undefined],
    ],
  );
});

test("a check names the policy that decided, or says that there is none", async () => {
  await using to = await openTestDoor();
  const question = { subject: "agent:a", action: "call", resource: "tool:x" };
  const none = await to.done("checkPolicy", question);
  assert.equal(none.allowed, false);
  assert.match(none.reason, /no matching/);
  await carriedOut.setPolicy(to);
  const { allowed, reason, decidedBy } = await to.done("checkPolicy", question);
  assert.equal(allowed, true);
  assert.match(reason, /"p"/);
  assert.equal(decidedBy?.id, "p");
});

test("an agent's page shows what it holds, works on and leads", async () => {
  await using to = await openTestDoor();
  const { id: agentId } = await register(to);
  await to.done("heartbeat", { agentId, activity: { state: "writing" } });
  for (let task = 0; task < 4; task++) {
    await to.done("acquireLease", { taskId: `t${task}`, agentId });
  }
  await to.done("createTask", { type: "index" });
  await to.done("claimTask", { agentId });
  await to.done("campaign", { group: "planners", agentId });
  const shown = await to.done("getAgent", { agentId });
  assert.deepEqual(shown.holds, {
    leases: ["t0", "t1", "t2"],
    leaseCount: 4,
    claimCount: 1,
    leads: ["planners"],
  });
  assert.deepEqual([shown.leases.length, shown.claims.length], [4, 1]);
  assert.deepEqual(shown.groups, [{ group: "planners", isLeader: true }]);
  assert.deepEqual([shown.activity?.state, shown.activity?.source], ["writing", "protocol"]);
});

test("a heartbeat is told when what follows", async () => {
  await using to = await openTestDoor();
  const { id: agentId, ttlMs } = await register(to);
  const nowMs = to.clock.nowMs();
  const { liveness, unreachableAtMs, deadAtMs } = await to.done("heartbeat", { agentId });
  assert.equal(liveness, "alive");
  assert.deepEqual([unreachableAtMs - nowMs, deadAtMs - nowMs], [ttlMs + 500, 2 * ttlMs + 500]);
});

test("what an agent says of itself is shown as it was said", async () => {
  await using to = await openTestDoor();
  const card = {
    name: "<b>\u0000\u2028</b>",
    description: "ü 🚂",
    version: "1.0.0",
    capabilities: [{ name: "c", description: "d" }],
    tools: ["browser", "browser"],
    metadata: { constructor: "a", toString: "b", "": "", "1": "2" },
  };
  const agent = await to.done("registerAgent", { card });
  assert.deepEqual(agent.card, card);
  assert.deepEqual((await to.done("getAgent", { agentId: agent.id })).card, card);
  const bare = await to.done("registerAgent", { card: { name: "bare" } });
  const none = { description: "", version: "", capabilities: [], tools: [], metadata: {} };
  assert.deepEqual(bare.card, { name: "bare", ...none });
  assert.equal(bare.ttlMs, 30_000);
});

test("a report says when it was made, also if only its note is new", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  const beganMs = clock.nowMs();
  const noted = async (to: TestDoor, agentId: string): Promise<readonly (number | undefined)[]> => {
    const { activity } = await to.done("getAgent", { agentId });
    return [activity?.sinceMs, activity?.reportedAtMs];
  };
  let agentId = "";
  let changedAtMs = 0;
  {
    await using to = await openTestDoor({ log, clock });
    agentId = (await to.done("registerAgent", { card: { name: "ada" } })).id;
    const say = (note: string) =>
      to.done("heartbeat", { agentId, activity: { state: "reading", note } });
    await say("page 1");
    clock.leap(3_000);
    await say("page 2");
    changedAtMs = clock.nowMs();
    clock.leap(2_000);
    await say("page 2");
    assert.deepEqual(await noted(to, agentId), [beganMs, clock.nowMs()]);
    const { rows } = await to.done("listEntries", { type: ["agent.active"] });
    const told = rows.map((entry) => "activity" in entry && entry.activity.reportedAtMs);
    assert.deepEqual(told, [changedAtMs, beganMs]);
  }
  clock.leap(60_000);
  await using to = await openTestDoor({ log, clock });
  assert.deepEqual(await noted(to, agentId), [beganMs, changedAtMs], "repetitions are not kept");
});

test("a card and the tools of a task may not be endless", async () => {
  await using to = await openTestDoor();
  const tools = Array.from({ length: 300 }, (_, number) => `${number}${"x".repeat(1_000)}`);
  const card = await to.refused("registerAgent", { card: { name: "a", tools } });
  assert.deepEqual(
    [card.code, card.message],
    ["invalid_argument", "card: is longer than 262144 bytes"],
  );
  const task = await to.refused("createTask", { type: "t", requiredTools: tools.slice(0, 70) });
  assert.match(task.message, /^requiredTools: /);
});

test("what a task brings along and leaves behind is bounded as the daemon was told", async () => {
  await using to = await openTestDoor({ taskLimits: { inputBytesMax: 4, outputBytesMax: 3 } });
  const { id: agentId } = await register(to);
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const long = await to.refused("createTask", { type: "t", input: base64("12345") });
  assert.equal(long.message, "input: is longer than 4 bytes");
  const { id: taskId } = await to.done("createTask", { type: "t", input: base64("1234") });
  await to.done("claimTask", { agentId });
  const late = await to.refused("completeTask", { taskId, agentId, output: base64("1234") });
  assert.equal(late.message, "output: is longer than 3 bytes");
  await to.done("completeTask", { taskId, agentId, output: base64("123") });
});

test("who asks why is told all policies that apply, the deciding one first", async () => {
  await using to = await openTestDoor();
  const set = (policyId: string, effect: "allow" | "deny", action: string): Promise<unknown> =>
    to.done("setPolicy", { ...rule, policyId, effect, action });
  await set("a", "allow", "*");
  await set("z", "deny", "ca*");
  await set("b", "deny", "call");
  await set("c", "allow", "read");
  const question = { subject: "agent:x", action: "call", resource: "tool:y" };
  const told = await to.done("checkPolicy", { ...question, explain: true });
  assert.deepEqual([told.allowed, told.decidedBy?.id], [false, "b"]);
  assert.deepEqual(
    told.matches?.map(({ id }) => id),
    ["b", "z", "a"],
  );
  assert.equal(told.moreMatches, 0);
  assert.equal((await to.done("checkPolicy", question)).matches, undefined);
});

/** Asks and goes away before its turn comes. */
async function leaveLine(
  to: TestDoor,
  { agentId, key }: { readonly agentId: string; readonly key?: string },
): Promise<void> {
  const leaving = new AbortController();
  const options = { signal: leaving.signal, ...(key === undefined ? {} : { key }) };
  const waiting = to.call("acquireLease", { taskId: "t", agentId, waitMs: 60_000 }, options);
  await to.waiting(1);
  leaving.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  await to.waiting(0);
}

const rule = {
  subject: "agent:*",
  action: "call",
  resource: "tool:*",
  effect: "allow",
} as const;

function register(to: TestDoor, name = "scraper"): Promise<Agent> {
  const card = { name, description: "Fetches pages", tools: ["browser"] };
  return to.done("registerAgent", { card, ttlMs: 60_000 });
}

async function dead(to: TestDoor): Promise<Agent> {
  const agent = await register(to);
  await to.done("deregisterAgent", { agentId: agent.id });
  return agent;
}

async function acquire(to: TestDoor, taskId: string): Promise<Answer<"acquireLease">> {
  return to.done("acquireLease", { taskId, agentId: (await register(to)).id });
}

async function ask(to: TestDoor): Promise<Question> {
  const { id: agentId } = await register(to);
  return to.done("askQuestion", { agentId, prompt: "What does the picture say?" });
}

async function claim(
  to: TestDoor,
): Promise<{ readonly taskId: string; readonly agentId: string; readonly claimToken: string }> {
  const task: TaskDetail | undefined = (await carriedOut.claimTask(to)).task;
  assert(task);
  return { taskId: task.id, agentId: task.claimant ?? "", claimToken: task.claimToken ?? "" };
}

async function linkKey(to: TestDoor): Promise<string> {
  const { path } = await to.done("createLink", {});
  const [, key] = /^\/#key=([\w-]{32})$/.exec(path) ?? [];
  assert(key);
  return key;
}

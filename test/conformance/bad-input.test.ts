/**
 * What a caller can send wrong. Whatever it is, the answer is a documented status, never INTERNAL or
 * UNKNOWN; what is refused has changed nothing; and the door still serves. A failure names its seed:
 * `BAD_INPUT_SEED=7 node --test test/conformance/bad-input.test.ts` repeats it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { extensionPaths, methodPaths } from "../../src/doors/grpc/index.ts";
import {
  type BareConnection,
  type BareReply,
  openTestDoor,
  statusOf,
  type TestDoor,
} from "../../src/testing/grpc-client.ts";
import { Random } from "../../src/testing/random.ts";
import {
  type AgentCard,
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  LeaseServiceDefinition,
  type MessageType,
  PolicyEffect,
  RegistryServiceDefinition,
  TaskServiceDefinition,
} from "../../src/wire/agentkeeper/index.ts";
import { PlaneServiceDefinition } from "../../src/wire/agentkeeper-ext/index.ts";
import { frame, type StatusName } from "../../src/wire/grpc/index.ts";
import { badBytes } from "./bad-bytes.ts";

/** AgentKeeper's methods, and ours. */
const paths = [...methodPaths, ...extensionPaths];

const seed = Number(process.env["BAD_INPUT_SEED"] ?? 1);
const roundsEach = 130;

/** The statuses of `docs/errors.md`. */
const documented: ReadonlySet<StatusName> = new Set([
  "OK",
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "OUT_OF_RANGE",
  "PERMISSION_DENIED",
  "FAILED_PRECONDITION",
  "RESOURCE_EXHAUSTED",
  "UNIMPLEMENTED",
  "DEADLINE_EXCEEDED",
]);

/** Claims and watches that are in order would wait for ever. */
const patience = { "grpc-timeout": "15m" };

test("[AK-2.0-6c] [AK-2.0-8d] thousands of broken messages get a documented answer, and change nothing when refused", async (context) => {
  await using scene = await open();
  const { door, bare, examples } = scene;
  const random = new Random(seed);
  const answers = new Map<StatusName | undefined, number>();
  let hash = await door.hashState();
  for (let round = 0; round < roundsEach; round++) {
    for (const path of paths) {
      const bytes = badBytes(random, examples.get(path) ?? []);
      const where = `seed ${seed}, round ${round}: ${path} ${bytes.toString("hex").slice(0, 400)}`;
      const { status, message } = await bare.send(path, frame(bytes), patience);
      assert(status !== undefined && documented.has(status), `${status} (${message}) at ${where}`);
      const after = await door.hashState();
      if (status !== "OK" && status !== "DEADLINE_EXCEEDED") {
        assert.equal(after, hash, `${status}, and yet something changed, at ${where}`);
      }
      hash = after;
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
  }
  context.diagnostic(JSON.stringify(Object.fromEntries(answers)));
  assert((answers.get("INVALID_ARGUMENT") ?? 0) > 500, "most of it should be broken");
  assert((answers.get("OK") ?? 0) > 100, "and some of it should not");
  await assertServing(scene);
});

test("broken frames get a documented answer", async () => {
  await using scene = await open();
  const { door, bare, examples } = scene;
  const random = new Random(seed);
  const hash = await door.hashState();
  for (let round = 0; round < 200; round++) {
    const path = random.pickAny(paths) ?? "";
    const good = frame(examples.get(path)?.[0] ?? Buffer.alloc(0));
    const body = Buffer.from(good);
    // The flag, or the length, or the end is wrong.
    const at = random.below(5);
    body[at] = ((body[at] ?? 0) + random.between(1, 255)) % 256;
    const sent = random.chance(30) ? good.subarray(0, random.below(good.length)) : body;
    const { status, message } = await bare.send(path, sent, patience);
    const where = `seed ${seed}, round ${round}: ${path} ${sent.toString("hex").slice(0, 200)}`;
    assert(status !== undefined && documented.has(status), `${status} (${message}) at ${where}`);
    assert.notEqual(status, "OK", where);
  }
  assert.equal(await door.hashState(), hash);
  await assertServing(scene);
});

test("messages of more than 4 MiB are refused on every method", async () => {
  await using scene = await open();
  const { door, bare } = scene;
  const hash = await door.hashState();
  const body = frame(Buffer.alloc(4_194_305));
  for (const path of paths) {
    assert.equal((await bare.send(path, body)).status, "RESOURCE_EXHAUSTED", path);
  }
  assert.equal(await door.hashState(), hash);
  await assertServing(scene);
});

test("[AK-2.0-6b] [AK-2.0-6c] texts of 100,000 characters, or that are no text, are INVALID_ARGUMENT wherever they stand", async () => {
  await using scene = await open();
  const { door, bare } = scene;
  const hash = await door.hashState();
  const long = Buffer.alloc(100_000, "n");
  const broken = Buffer.from("ff", "hex");
  for (const path of paths) {
    // These have no text as their first field; ListPolicies has a prefix that is only compared.
    if (/\/(ListTasks|ListAgents|ListLeases|ListElections|GetServerInfo)$/.test(path)) continue;
    const isNested = path.endsWith("/Register") || path.endsWith("/SetPolicy");
    for (const text of [long, broken]) {
      if (text === long && path.endsWith("/ListPolicies")) continue;
      const field = Buffer.concat([Buffer.from([10]), length(text.length), text]);
      const bytes = isNested
        ? Buffer.concat([Buffer.from([10]), length(field.length), field])
        : field;
      const { status } = await bare.send(path, frame(bytes), patience);
      assert.equal(status, "INVALID_ARGUMENT", path);
    }
  }
  assert.equal(await door.hashState(), hash);
  await assertServing(scene);
});

test("[AK-2.0-3] unknown agents, tasks and tokens are refused with their own status, and change nothing", async () => {
  await using scene = await open();
  const { door } = scene;
  const client = await door.connectWarm();
  const hash = await door.hashState();
  const nobody = "f".repeat(32);
  const expected: readonly (readonly [StatusName, Promise<unknown>])[] = [
    ["NOT_FOUND", client.heartbeat({ agentId: nobody })],
    ["NOT_FOUND", client.deregister({ agentId: nobody })],
    ["NOT_FOUND", client.getAgent({ agentId: nobody })],
    ["NOT_FOUND", client.acquireLease({ taskId: "t", agentId: nobody })],
    ["NOT_FOUND", client.renewLease({ taskId: "u", agentId: nobody, token: { value: 1n } })],
    ["NOT_FOUND", client.releaseLease({ taskId: "u", agentId: nobody, token: { value: 1n } })],
    ["PERMISSION_DENIED", client.renewLease({ taskId: "t", agentId: scene.agentId })],
    ["PERMISSION_DENIED", client.releaseLease({ taskId: "t", agentId: scene.agentId })],
    ["NOT_FOUND", client.campaign({ group: "g", agentId: nobody })],
    ["NOT_FOUND", client.claimTask({ agentId: nobody })],
    ["NOT_FOUND", client.completeTask({ taskId: nobody, agentId: scene.agentId })],
    ["NOT_FOUND", client.failTask({ taskId: nobody, agentId: scene.agentId })],
    ["NOT_FOUND", client.getTask({ taskId: nobody })],
    ["FAILED_PRECONDITION", client.completeTask({ taskId: scene.taskId, agentId: scene.agentId })],
    ["FAILED_PRECONDITION", client.failTask({ taskId: scene.taskId, agentId: scene.agentId })],
  ];
  for (const [status, call] of expected) assert.equal(await statusOf(call), status);
  assert.equal(await door.hashState(), hash);
  await assertServing(scene);
});

test("[AK-2.0-7a] [AK-1-3] the smallest and the largest numbers are taken as they are", async () => {
  await using scene = await open();
  const { door, agentId } = scene;
  const client = await door.connectWarm();
  for (const ttlSeconds of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
    await client.register({ card: card("x"), ttlSeconds });
    const { lease } = await client.acquireLease({ taskId: "n", agentId, ttlSeconds });
    await client.renewLease({ taskId: "n", agentId, token: lease?.token, ttlSeconds });
    await client.createTask({ type: "t", ttlSeconds, maxRetries: ttlSeconds });
    await client.find({ limit: ttlSeconds });
  }
  await assertServing(scene);
});

type Scene = AsyncDisposable & {
  readonly door: TestDoor;
  /** No longer new, so that nothing is held back. */
  readonly bare: BareConnection;
  /** Registered, and holds the lease on `t`. */
  readonly agentId: string;
  /** A task that nobody has claimed. */
  readonly taskId: string;
  /** Messages that are in order, by path. */
  readonly examples: ReadonlyMap<string, readonly Uint8Array[]>;
};

async function open(): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const door = opened.use(await openTestDoor());
  const client = await door.connectWarm();
  const { agentId } = await client.register({ card: card("one"), ttlSeconds: 3_600 });
  const { lease } = await client.acquireLease({ taskId: "t", agentId, ttlSeconds: 3_600 });
  const { task } = await client.createTask({ type: "work", requiredTools: ["rare"] });
  const taskId = task?.id ?? "";
  const token = lease?.token;
  const bare = await door.bare();
  await bare.call(methodPaths[0] ?? "", Buffer.alloc(0));
  await new Promise((resolve) => setTimeout(resolve, 30));

  const examples = new Map<string, readonly Uint8Array[]>();
  const add = <Request>(
    { fullName }: { readonly fullName: string },
    { name, requestType }: { readonly name: string; readonly requestType: MessageType<Request> },
    ...requests: Request[]
  ): void => {
    const bytes = requests.map((request) => requestType.encode(request).finish());
    examples.set(`/${fullName}/${name}`, bytes);
  };
  const registry = RegistryServiceDefinition;
  const named = { agentId };
  add(registry, registry.methods.register, { card: card("two"), ttlSeconds: 30 });
  add(registry, registry.methods.heartbeat, named);
  add(registry, registry.methods.deregister, { agentId: "f".repeat(32) });
  add(registry, registry.methods.getAgent, named);
  add(registry, registry.methods.find, { query: "fetch pages", tools: ["browser"], limit: 5 });
  add(registry, registry.methods.watch, { topics: ["agent.", "lease."] });
  const leases = LeaseServiceDefinition;
  add(leases, leases.methods.acquireLease, { taskId: "u", agentId, ttlSeconds: 9 });
  add(leases, leases.methods.renewLease, { taskId: "t", agentId, token, ttlSeconds: 9 });
  add(leases, leases.methods.releaseLease, { taskId: "u", agentId, token });
  const elections = ElectionServiceDefinition;
  add(elections, elections.methods.campaign, { group: "g", agentId });
  add(elections, elections.methods.resign, { group: "g", agentId });
  add(elections, elections.methods.watchElection, { group: "g" });
  const entitlements = EntitlementsServiceDefinition;
  const rule = { subject: "agent:*", action: "call", resource: "tool:*" };
  const policy = { id: "p", ...rule, effect: PolicyEffect.DENY };
  add(entitlements, entitlements.methods.setPolicy, { policy });
  add(entitlements, entitlements.methods.deletePolicy, { id: "p" });
  add(entitlements, entitlements.methods.listPolicies, { subjectPrefix: "agent:" });
  add(entitlements, entitlements.methods.checkPolicy, rule);
  const tasks = TaskServiceDefinition;
  const input = Buffer.from("input");
  const work = { type: "work", input, requiredTools: ["rare"], maxRetries: 1, ttlSeconds: 9 };
  add(tasks, tasks.methods.createTask, work);
  add(tasks, tasks.methods.claimTask, named);
  add(tasks, tasks.methods.completeTask, { taskId, agentId, output: input });
  add(tasks, tasks.methods.failTask, { taskId, agentId, reason: "why" });
  add(tasks, tasks.methods.getTask, { taskId });
  add(tasks, tasks.methods.listTasks, { status: 1 });
  addExtension(add, { agentId, taskId, token: token?.value ?? 0n });
  assert.equal(examples.size, paths.length);
  const closing = opened.move();
  return {
    door,
    bare,
    agentId,
    taskId,
    examples,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

type Add = <Request>(
  service: { readonly fullName: string },
  method: { readonly name: string; readonly requestType: MessageType<Request> },
  ...requests: Request[]
) => void;

function addExtension(
  add: Add,
  known: { readonly agentId: string; readonly taskId: string; readonly token: bigint },
): void {
  const service = PlaneServiceDefinition;
  const { methods } = service;
  const { agentId, taskId, token } = known;
  const paged = { pageSize: 2, pageToken: "" };
  const claim = { taskId, agentId, claimToken: 1n };
  const key = { idempotencyKey: "k" };
  const work = { type: "work", input: Buffer.from("in"), requiredTools: ["rare"], maxRetries: 1 };
  add(service, methods.getServerInfo, {});
  add(service, methods.heartbeat, { agentId });
  add(service, methods.listAgents, { ...paged, status: 1 });
  add(
    service,
    methods.watch,
    { topics: ["agent."], afterSequence: 0n },
    { topics: ["lease."], afterSequence: undefined },
  );
  const acquire = { agentId, ttlMs: 9_000n, waitMs: 5, ...key };
  add(service, methods.acquireLease, { taskId: "u", ...acquire }, { taskId: "t", ...acquire });
  add(service, methods.checkToken, { taskId: "t", token });
  add(service, methods.listLeases, { ...paged, holderAgentId: agentId });
  add(service, methods.listElections, paged);
  const times = { claimMs: 9_000n, delayMs: 5n, maxDeliveries: 2 };
  add(service, methods.createTask, { ...work, ...times, priority: -3, ...key });
  add(service, methods.claimTask, { agentId, types: ["work"], waitMs: 5, ...key });
  add(service, methods.extendClaim, { ...claim, claimMs: 5_000n });
  add(service, methods.completeTask, { ...claim, output: Buffer.from("out") });
  add(service, methods.failTask, { ...claim, reason: "why", retryAfterMs: 5n });
  add(service, methods.cancelTask, { taskId });
  add(service, methods.requeueTask, { taskId });
  add(service, methods.listTasks, { ...paged, state: 2 });
  add(service, methods.withdraw, { agentId, ...key });
}

async function assertServing({ door, bare, agentId }: Scene): Promise<void> {
  const { agent } = await door.connect().getAgent({ agentId });
  assert.equal(agent?.card?.name, "one");
  const reply: BareReply = await bare.call(
    "/agentkeeper.v1.RegistryService/GetAgent",
    Buffer.from(`\x0a\x20${agentId}`),
  );
  assert.equal(reply.status, "OK");
}

function card(name: string): AgentCard {
  return {
    name,
    description: "fetches pages",
    version: "1.0.0",
    capabilities: [{ name: "browse", description: "opens pages" }],
    tools: ["browser", "http"],
    metadata: new Map([["team", "data"]]),
  };
}

/** As a varint. */
function length(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left >>= 7) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left & 127) | 128);
  }
}

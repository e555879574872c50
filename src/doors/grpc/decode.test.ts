/** Limits, through the door: what is just allowed passes, one more is refused, and nothing is kept of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type GrpcClient, openTestDoor, refusalOf, statusOf } from "../../testing/grpc-client.ts";
import { type AgentCard, PolicyEffect } from "../../wire/agentkeeper/index.ts";

const name = "n".repeat(1_024);
const longName = "n".repeat(1_025);
/** 1,024 bytes in 512 characters, and one more. */
const wideName = "é".repeat(512);
const longWideName = `${"é".repeat(512)}n`;
const text = "t".repeat(65_536);

test("[AK-2.0-6b] names and ids have at most 1,024 bytes of UTF-8", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const { agentId } = await client.register({ card: card({ name, tools: [wideName] }) });
  await accepted(client.acquireLease({ taskId: wideName, agentId }));
  await accepted(client.campaign({ group: name, agentId }));
  await accepted(client.setPolicy({ policy: policy(name) }));
  await accepted(client.createTask({ type: name, requiredTools: [name] }));
  await accepted(client.find({ tools: [name] }));
  const before = await door.hashState();
  for (const long of [longName, longWideName, "n".repeat(100_000)]) {
    await refused(client.register({ card: card({ name: long }) }), /card\.name/);
    await refused(client.register({ card: card({ version: long }) }), /card\.version/);
    await refused(client.register({ card: card({ tools: ["a", long] }) }), /card\.tools/);
    await refused(client.heartbeat({ agentId: long }), /agent_id/);
    await refused(client.getAgent({ agentId: long }), /agent_id/);
    await refused(client.find({ tools: [long] }), /tools/);
    await refused(client.acquireLease({ taskId: long, agentId }), /task_id/);
    await refused(client.renewLease({ taskId: long, agentId }), /task_id/);
    await refused(client.releaseLease({ taskId: "t", agentId: long }), /agent_id/);
    await refused(client.campaign({ group: long, agentId }), /group/);
    await refused(client.resign({ group: long, agentId }), /group/);
    await refused(client.setPolicy({ policy: policy(long) }), /policy\.id/);
    await refused(client.setPolicy({ policy: { ...policy("p"), subject: long } }), /subject/);
    await refused(client.setPolicy({ policy: { ...policy("p"), action: long } }), /action/);
    await refused(client.setPolicy({ policy: { ...policy("p"), resource: long } }), /resource/);
    await refused(client.deletePolicy({ id: long }), /id/);
    await refused(client.createTask({ type: long }), /type/);
    await refused(client.createTask({ type: "t", requiredTools: [long] }), /required_tools/);
    await refused(client.claimTask({ agentId: long }), /agent_id/);
    await refused(client.completeTask({ taskId: long, agentId }), /task_id/);
    await refused(client.failTask({ taskId: long, agentId }), /task_id/);
    await refused(client.getTask({ taskId: long }), /task_id/);
    for (const stream of [
      client.watch({ topics: [long] }),
      client.watchElection({ group: long }),
    ]) {
      assert.equal((await stream.ended).status, "INVALID_ARGUMENT");
    }
  }
  assert.equal(await door.hashState(), before);
});

test("a tool without a name is a name like any other: lists are only compared", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  await accepted(client.register({ card: card({ tools: [""] }) }));
  await accepted(client.createTask({ type: "t", requiredTools: ["a", ""] }));
  await accepted(client.find({ tools: [""] }));
});

test("texts have at most 65,536 bytes, lists 1,000 items, and a card 262,144 bytes", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const items = Array.from({ length: 1_000 }, (_, index) => `i${index}`);
  const tooMany = [...items, "one more"];
  await accepted(client.register({ card: card({ description: text, tools: items }) }));
  await accepted(client.find({ query: text, tools: items }));
  const before = await door.hashState();

  await refused(client.register({ card: card({ description: `${text}t` }) }), /description/);
  await refused(client.register({ card: card({ tools: tooMany }) }), /card\.tools/);
  const capabilities = tooMany.map((each) => ({ name: each, description: "" }));
  await refused(client.register({ card: card({ capabilities }) }), /card\.capabilities/);
  const metadata = new Map(tooMany.map((each) => [each, ""]));
  await refused(client.register({ card: card({ metadata }) }), /card\.metadata/);
  const value = new Map([["key", `${text}t`]]);
  await refused(client.register({ card: card({ metadata: value }) }), /metadata value/);
  const key = new Map([[longName, ""]]);
  await refused(client.register({ card: card({ metadata: key }) }), /metadata key/);
  const heavy = ["a", "b", "c", "d"].map((each) => ({ name: each, description: text }));
  await refused(client.register({ card: card({ capabilities: heavy }) }), /card is longer/);
  await refused(client.find({ query: `${text}t` }), /query/);
  await refused(client.find({ tools: tooMany }), /tools/);
  await refused(client.createTask({ type: "t", requiredTools: tooMany }), /required_tools/);
  await refused(client.failTask({ taskId: "t", agentId: "a", reason: `${text}t` }), /reason/);
  await refused(client.checkPolicy({ subject: `${text}t` }), /subject/);
  using stream = client.watch({ topics: tooMany });
  assert.equal((await stream.ended).status, "INVALID_ARGUMENT");
  assert.equal(await door.hashState(), before);
});

test("[AK-2.5-5] [AK-2.5-13] inputs and outputs have at most 2,000,000 bytes", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const full = Buffer.alloc(2_000_000, 0xff);
  const over = Buffer.alloc(2_000_001, 0xff);
  const { agentId } = await client.register({ card: card({ name: "worker" }) });
  await refused(client.createTask({ type: "t", input: over }), /input/);
  const { task } = await client.createTask({ type: "t", input: full });
  const taskId = task?.id ?? "";
  assert.deepEqual((await client.claimTask({ agentId })).task?.input, full);
  await refused(client.completeTask({ taskId, agentId, output: over }), /output/);
  await accepted(client.completeTask({ taskId, agentId, output: full }));
  // The contract knows no error of GetTask but NOT_FOUND: what was accepted can be read.
  assert.equal((await refusalOf(client.getTask({ taskId })))?.message, undefined);
  assert.deepEqual((await client.getTask({ taskId })).task?.output, full);
});

test("[AK-2.5-16] [AK-1.4-8] whatever task is accepted, with the longest list of tools, can be read", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const full = Buffer.alloc(2_000_000);
  const tools = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(1_024, "x"));
  const { agentId } = await client.register({ card: card({ tools }) });
  const refusal = await refusalOf(
    client.createTask({ type: "t", input: full, requiredTools: tools }),
  );
  // Refusing the list is as good as being able to show it.
  if (refusal) return assert.equal(refusal.status, "INVALID_ARGUMENT");
  const { task } = await client.claimTask({ agentId });
  const taskId = task?.id ?? "";
  await client.completeTask({ taskId, agentId, output: full });
  assert.equal((await refusalOf(client.getTask({ taskId })))?.message, undefined);
});

test("[AK-2.5-18] [AK-1.4-8] ListTasks over 4,000,000 bytes is RESOURCE_EXHAUSTED, and says so", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const input = Buffer.alloc(1_300_000);
  for (let count = 0; count < 3; count++) await client.createTask({ type: "t", input });
  assert.equal((await client.listTasks({})).tasks.length, 3);
  await client.createTask({ type: "t", input: Buffer.alloc(100_000) });
  const refusal = await refusalOf(client.listTasks({}));
  assert.equal(refusal?.status, "RESOURCE_EXHAUSTED");
  assert.match(refusal.message, /4000000 bytes/);
});

test("[AK-2.5-18] [AK-1.4-8] many small tasks do not slip past the bound on a reply", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const requiredTools = Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(60, "x"));
  for (let count = 0; count < 70; count++) await client.createTask({ type: "t", requiredTools });
  assert.equal(await statusOf(client.listTasks({})), "RESOURCE_EXHAUSTED");
});

test("[AK-1.4-8] Find and ListPolicies never answer more than a client can take", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const heavy = card({ description: text, metadata: new Map([["k", text]]) });
  await Promise.all(Array.from({ length: 33 }, () => client.register({ card: heavy })));
  assert.equal((await client.find({ limit: 10 })).agents.length, 10);
  assert.equal(await statusOf(client.find({ limit: 33 })), "RESOURCE_EXHAUSTED");
  const ids = Array.from({ length: 1_400 }, (_, index) => `${index}`.padEnd(1_024, "x"));
  await Promise.all(
    ids.map((id) => client.setPolicy({ policy: { ...policy(id), subject: name, action: name } })),
  );
  assert.equal(await statusOf(client.listPolicies({})), "RESOURCE_EXHAUSTED");
  assert.equal(await statusOf(client.listPolicies({ subjectPrefix: "other" })), "OK");
});

test("NUL, quotes and line ends in names are kept, and break no message", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const odd = 'a\0b"c\r\nd\u2028% grpc-status: 0';
  const { agentId } = await client.register({ card: card({ name: odd }) });
  assert.equal((await client.getAgent({ agentId })).agent?.card?.name, odd);
  const { lease } = await client.acquireLease({ taskId: odd, agentId });
  assert.equal(lease?.taskId, odd);
  const refusal = await refusalOf(client.getAgent({ agentId: odd }));
  assert.equal(refusal?.status, "NOT_FOUND");
  assert.equal(refusal.message, `agent not found: ${odd}`);
});

async function accepted(call: Promise<unknown>): Promise<void> {
  assert.equal(await statusOf(call), "OK");
}

async function refused(call: Promise<unknown>, named: RegExp): Promise<void> {
  const refusal = await refusalOf(call);
  assert.equal(refusal?.status, "INVALID_ARGUMENT");
  assert.match(refusal.message, named);
}

function card(given: Partial<AgentCard>): AgentCard {
  const empty = { name: "x", description: "", version: "", capabilities: [], tools: [] };
  return { ...empty, metadata: new Map(), ...given };
}

function policy(id: string): NonNullable<Parameters<GrpcClient["setPolicy"]>[0]["policy"]> {
  return { id, subject: "s", action: "a", resource: "r", effect: PolicyEffect.ALLOW };
}

/**
 * Rules of the AgentKeeper contract that we do not meet yet. Each test says what is instead, and fails
 * the day that changes: then the manifest must change too. Others that are not met have their test
 * where they belong: search for NOT MET.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { openTestDoor } from "../../src/testing/grpc-client.ts";

test("[AK-2.5-21] NOT MET: how often a task was handed out is not told", async () => {
  await using door = await openTestDoor();
  const client = await door.connectWarm();
  const { task } = await client.createTask({ type: "work" });
  for (const name of ["first", "second"]) {
    const { agentId } = await client.register({ card: { ...emptyCard, name } });
    await client.claimTask({ agentId });
    await client.deregister({ agentId });
  }
  const bare = await door.bare();
  const { messages } = await bare.call(
    "/agentkeeper.v1.TaskService/GetTask",
    Buffer.from(`\x0a\x20${task?.id}`),
  );
  assert(messages[0]);
  // GetTaskResponse has one field, the task.
  const reader = new BinaryReader(messages[0]);
  reader.tag();
  const numbers = fieldNumbers(reader.bytes());
  assert.deepEqual(
    numbers.filter((number) => number > 13),
    [],
  );
});

const emptyCard = {
  name: "",
  description: "",
  version: "",
  capabilities: [],
  tools: [],
  metadata: new Map<string, string>(),
};

function fieldNumbers(message: Uint8Array): readonly number[] {
  const reader = new BinaryReader(message);
  const numbers: number[] = [];
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    numbers.push(number);
    reader.skip(wireType);
  }
  return numbers;
}

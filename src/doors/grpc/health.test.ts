/** The standard health service, as load balancers ask it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { collect, openTestDoor } from "../../testing/grpc-client.ts";
import {
  frame,
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../wire/grpc/index.ts";

const known = ["", "agentkeeper.v1.RegistryService", "agentkeeper.v1.TaskService"];

test("[AK-6-5] the server and each of its services are serving", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  for (const service of known) {
    const { status, messages } = await bare.call("/grpc.health.v1.Health/Check", asking(service));
    assert.equal(status, "OK");
    assert(messages[0]);
    assert.equal(HealthCheckResponse.decode(messages[0]).status, Serving.SERVING);
  }
});

test("the health of an unknown service is NOT_FOUND", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const { status } = await bare.call("/grpc.health.v1.Health/Check", asking("nothing"));
  assert.equal(status, "NOT_FOUND");
});

test("who watches health is told at once, and that it is over when the door closes", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const watches = ["", "nothing"].map((service) => {
    const stream = bare.begin("/grpc.health.v1.Health/Watch");
    stream.end(frame(asking(service)));
    return {
      reply: collect(stream),
      begun: once(stream, "data", { signal: AbortSignal.timeout(20_000) }),
    };
  });
  await Promise.all(watches.map(({ begun }) => begun));
  await door.closeDoor();
  const replies = await Promise.all(watches.map(({ reply }) => reply));
  const said = replies.map(({ messages: [first] }) => first && HealthCheckResponse.decode(first));
  assert.deepEqual(
    said.map((response) => response?.status),
    [Serving.SERVING, Serving.SERVICE_UNKNOWN],
  );
  assert.deepEqual(
    replies.map(({ status }) => status),
    ["UNAVAILABLE", "UNAVAILABLE"],
  );
});

function asking(service: string): Uint8Array {
  return HealthCheckRequest.encode({ service }).finish();
}

/** Reflection, as grpcurl and its kind use it: list, then ask for the file that declares a thing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type BareConnection, openTestDoor } from "../../testing/grpc-client.ts";
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from "../../wire/gen/grpc/reflection/v1/reflection.ts";
import { frame } from "../../wire/grpc/index.ts";

type Question = NonNullable<ServerReflectionRequest["messageRequest"]>;
type Answer = NonNullable<ServerReflectionResponse["messageResponse"]>;

const versions = ["v1", "v1alpha"] as const;
const services = [
  "agentkeeper.ext.v1.PlaneService",
  "agentkeeper.v1.ElectionService",
  "agentkeeper.v1.EntitlementsService",
  "agentkeeper.v1.LeaseService",
  "agentkeeper.v1.RegistryService",
  "agentkeeper.v1.TaskService",
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];

test("[AK-6-5] reflection lists every service, in both versions", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  for (const version of versions) {
    const [answer] = await ask(bare, version, [{ $case: "listServices", value: "" }]);
    assert(answer?.$case === "listServicesResponse");
    assert.deepEqual(answer.value.service.map(({ name }) => name).sort(), services);
  }
});

test("a service, a method, a message, a nested one and an enum lead to their file and what it rests on", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const symbols = [
    "agentkeeper.v1.LeaseService",
    "agentkeeper.v1.LeaseService.AcquireLease",
    "agentkeeper.v1.AgentCard",
    "agentkeeper.v1.AgentCard.MetadataEntry",
    "agentkeeper.v1.TaskStatus",
  ];
  for (const version of versions) {
    for (const symbol of symbols) {
      const [answer] = await ask(bare, version, [{ $case: "fileContainingSymbol", value: symbol }]);
      assert.deepEqual(
        fileNames(answer).sort(),
        [
          "agentkeeper/v1/agentkeeper.proto",
          "google/protobuf/any.proto",
          "google/protobuf/timestamp.proto",
        ],
        symbol,
      );
    }
  }
});

test("every service that is listed can be asked for, and declares itself", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  for (const service of services) {
    const [answer] = await ask(bare, "v1", [{ $case: "fileContainingSymbol", value: service }]);
    const declared = filesIn(answer).flatMap((file) =>
      file.service.map(({ name }) => `${file.package}.${name}`),
    );
    assert(declared.includes(service), service);
  }
});

test("a file can be asked for by its name", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const name = "google/protobuf/timestamp.proto";
  const [answer] = await ask(bare, "v1", [{ $case: "fileByFilename", value: name }]);
  assert.deepEqual(fileNames(answer), [name]);
});

test("what is not there is answered with NOT_FOUND, and the exchange goes on", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const answers = await ask(bare, "v1", [
    { $case: "fileContainingSymbol", value: "agentkeeper.v1.Nothing" },
    { $case: "fileByFilename", value: "nothing.proto" },
    {
      $case: "fileContainingExtension",
      value: { containingType: "agentkeeper.v1.AgentCard", extensionNumber: 1_000 },
    },
    { $case: "allExtensionNumbersOfType", value: "agentkeeper.v1.AgentCard" },
    { $case: "listServices", value: "*" },
  ]);
  const codes = answers
    .slice(0, 3)
    .map((answer) => (answer?.$case === "errorResponse" ? answer.value.errorCode : undefined));
  assert.deepEqual(codes, [5, 5, 5]);
  assert(answers[3]?.$case === "allExtensionNumbersResponse");
  assert.deepEqual(answers[3].value.extensionNumber, []);
  assert.equal(answers[4]?.$case, "listServicesResponse");
});

test("an empty question is an error in the answer, not of the call", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const [answer] = await ask(bare, "v1", [undefined]);
  assert(answer?.$case === "errorResponse");
  assert.equal(answer.value.errorCode, 3);
});

test("bytes that are no question are INVALID_ARGUMENT", async () => {
  await using door = await openTestDoor();
  const bare = await door.bare();
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const { status } = await bare.call(path, Buffer.from("ffff", "hex"));
  assert.equal(status, "INVALID_ARGUMENT");
});

/** Asks all in one exchange, and expects it to end well. */
async function ask(
  bare: BareConnection,
  version: (typeof versions)[number],
  questions: readonly (Question | undefined)[],
): Promise<readonly (Answer | undefined)[]> {
  const frames = questions.map((messageRequest) =>
    frame(ServerReflectionRequest.encode({ host: "here", messageRequest }).finish()),
  );
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const { status, messages } = await bare.send(path, Buffer.concat(frames));
  assert.equal(status, "OK");
  const responses = messages.map((bytes) => ServerReflectionResponse.decode(bytes));
  for (const [index, { validHost, originalRequest }] of responses.entries()) {
    assert.equal(validHost, "here");
    assert.deepEqual(originalRequest?.messageRequest, questions[index]);
  }
  return responses.map(({ messageResponse }) => messageResponse);
}

function filesIn(answer: Answer | undefined): readonly FileDescriptorProto[] {
  assert(answer?.$case === "fileDescriptorResponse");
  return answer.value.fileDescriptorProto.map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
}

function fileNames(answer: Answer | undefined): string[] {
  return filesIn(answer).map(({ name }) => name);
}

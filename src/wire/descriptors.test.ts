/**
 * The surface that reflection shows, against the tables of the AgentKeeper contract: whoever adds a
 * field, a value or a method here by accident is told.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { describeFiles } from "./descriptors.ts";

/** `Message: number name type, …` as in section 1.3, and what is ours, from 1000 on. */
const messages = `
  Capability: 1 name string, 2 description string
  AgentCard: 1 name string, 2 description string, 3 version string,
    4 capabilities repeated Capability, 5 tools repeated string, 6 metadata map<string string>
  AgentInfo: 1 agent_id string, 2 card AgentCard, 3 status AgentStatus, 4 registered_at Timestamp,
    5 last_heartbeat_at Timestamp
  FencingToken: 1 value uint64
  Lease: 1 task_id string, 2 holder_agent_id string, 3 token FencingToken, 4 acquired_at Timestamp,
    5 expires_at Timestamp
  ElectionState: 1 group string, 2 leader_agent_id string, 3 term uint64, 4 elected_at Timestamp
  Event: 1 topic string, 2 payload Any, 3 sequence_number uint64, 4 occurred_at Timestamp
  Policy: 1 id string, 2 subject string, 3 action string, 4 resource string, 5 effect PolicyEffect
  Task: 1 id string, 2 type string, 3 input bytes, 4 output bytes, 5 status TaskStatus,
    6 required_tools repeated string, 7 max_retries uint32, 8 retry_count uint32,
    9 claimed_by_agent_id string, 10 failure_reason string, 11 created_at Timestamp,
    12 claimed_at Timestamp, 13 completed_at Timestamp,
    1000 claim_token uint64, 1001 claim_expires_at Timestamp, 1002 delivery_count uint32
  RegisterRequest: 1 card AgentCard, 2 ttl_seconds uint32
  RegisterResponse: 1 agent_id string
  HeartbeatRequest: 1 agent_id string
  HeartbeatResponse:
  DeregisterRequest: 1 agent_id string
  DeregisterResponse:
  GetAgentRequest: 1 agent_id string
  GetAgentResponse: 1 agent AgentInfo
  FindRequest: 1 query string, 2 tools repeated string, 3 limit uint32
  FindResponse: 1 agents repeated AgentInfo
  WatchRequest: 1 topics repeated string
  AcquireLeaseRequest: 1 task_id string, 2 agent_id string, 3 ttl_seconds uint32
  AcquireLeaseResponse: 1 lease Lease, 2 acquired bool
  RenewLeaseRequest: 1 task_id string, 2 agent_id string, 3 token FencingToken, 4 ttl_seconds uint32
  RenewLeaseResponse: 1 lease Lease
  ReleaseLeaseRequest: 1 task_id string, 2 agent_id string, 3 token FencingToken
  ReleaseLeaseResponse:
  CampaignRequest: 1 group string, 2 agent_id string
  CampaignResponse: 1 state ElectionState
  ResignRequest: 1 group string, 2 agent_id string
  ResignResponse:
  WatchElectionRequest: 1 group string
  SetPolicyRequest: 1 policy Policy
  SetPolicyResponse: 1 policy Policy
  DeletePolicyRequest: 1 id string
  DeletePolicyResponse:
  ListPoliciesRequest: 1 subject_prefix string
  ListPoliciesResponse: 1 policies repeated Policy
  CheckPolicyRequest: 1 subject string, 2 action string, 3 resource string
  CheckPolicyResponse: 1 allowed bool, 2 reason string
  CreateTaskRequest: 1 type string, 2 input bytes, 3 required_tools repeated string,
    4 max_retries uint32, 5 ttl_seconds uint32
  CreateTaskResponse: 1 task Task
  ClaimTaskRequest: 1 agent_id string
  ClaimTaskResponse: 1 task Task
  CompleteTaskRequest: 1 task_id string, 2 agent_id string, 3 output bytes
  CompleteTaskResponse:
  FailTaskRequest: 1 task_id string, 2 agent_id string, 3 reason string
  FailTaskResponse:
  GetTaskRequest: 1 task_id string
  GetTaskResponse: 1 task Task
  ListTasksRequest: 1 status TaskStatus
  ListTasksResponse: 1 tasks repeated Task
`;

/** `Enum: number value, …` as in section 1.2. */
const enums = `
  AgentStatus: 0 AGENT_STATUS_UNSPECIFIED, 1 AGENT_STATUS_ALIVE, 2 AGENT_STATUS_UNREACHABLE,
    3 AGENT_STATUS_DEAD
  TaskStatus: 0 TASK_STATUS_UNSPECIFIED, 1 TASK_STATUS_PENDING, 2 TASK_STATUS_CLAIMED,
    3 TASK_STATUS_COMPLETED, 4 TASK_STATUS_FAILED, 5 TASK_STATUS_DEAD
  PolicyEffect: 0 POLICY_EFFECT_UNSPECIFIED, 1 POLICY_EFFECT_ALLOW, 2 POLICY_EFFECT_DENY
`;

/** `Service: methods` as in section 1.1. The two watches stream `Event`; all else is named alike. */
const services = `
  RegistryService: Register, Heartbeat, Deregister, GetAgent, Find, Watch
  LeaseService: AcquireLease, RenewLease, ReleaseLease
  ElectionService: Campaign, Resign, WatchElection
  EntitlementsService: SetPolicy, DeletePolicy, ListPolicies, CheckPolicy
  TaskService: CreateTask, ClaimTask, CompleteTask, FailTask, GetTask, ListTasks
`;
const watches = ["Watch", "WatchElection"];

const file = agentkeeperFile();

test("[AK-1-1] the file is agentkeeper.v1 in proto3, under its known name", () => {
  assert.equal(file.name, "agentkeeper/v1/agentkeeper.proto");
  assert.equal(file.package, "agentkeeper.v1");
  assert.equal(file.syntax, "proto3");
  assert.deepEqual([...file.dependency].sort(), [
    "google/protobuf/any.proto",
    "google/protobuf/timestamp.proto",
  ]);
  assert.equal(
    file.options?.goPackage,
    "github.com/agentkeeper/daemon/gen/agentkeeper/v1;agentkeeperpb",
  );
});

test("[AK-1-2] there are 51 messages, 3 enums, 5 services and 22 methods", () => {
  assert.equal(file.messageType.length, 51);
  assert.equal(file.enumType.length, 3);
  assert.equal(file.service.length, 5);
  assert.equal(file.service.flatMap(({ method }) => method).length, 22);
});

test("[AK-1-2] nothing is optional, one of several, reserved, extended or has options", () => {
  for (const message of file.messageType) {
    assert.deepEqual(message.oneofDecl, [], message.name);
    assert.deepEqual(message.reservedRange, [], message.name);
    assert.deepEqual(message.extension, [], message.name);
    assert.deepEqual(message.extensionRange, [], message.name);
    assert.equal(message.options, undefined, message.name);
    for (const field of message.field) {
      assert.equal(field.proto3Optional, false, field.name);
      assert.equal(field.options, undefined, field.name);
    }
  }
  for (const { options, method } of file.service) {
    assert.equal(options, undefined);
    for (const { options } of method) assert.equal(options, undefined);
  }
});

test("[AK-1.3-1] [AK-6-1] every message has the fields of the contract, and below 1000 no others", () => {
  assert.deepEqual(file.messageType.map(printMessage).sort(), rows(messages));
});

test("[AK-1.2-1] [AK-6-2] every enum has the values of the contract and no others", () => {
  const printed = file.enumType.map(({ name, value }) => {
    const values = value.map(({ number, name }) => `${number} ${name}`);
    return `${name}: ${values.join(", ")}`;
  });
  assert.deepEqual(printed.sort(), rows(enums));
});

test("[AK-1.1-2] every service has the methods of the contract, and only the watches stream", () => {
  const printed = file.service.map(
    ({ name, method }) => `${name}: ${method.map(({ name }) => name).join(", ")}`,
  );
  assert.deepEqual(printed.sort(), rows(services));
  for (const method of file.service.flatMap(({ method }) => method)) {
    const { name, inputType, outputType, clientStreaming, serverStreaming } = method;
    const isWatch = watches.includes(name);
    assert.equal(inputType, `.agentkeeper.v1.${name}Request`);
    assert.equal(outputType, `.agentkeeper.v1.${isWatch ? "Event" : `${name}Response`}`);
    assert.equal(serverStreaming, isWatch, name);
    assert.equal(clientStreaming, false, name);
  }
});

test("symbols are the full names of messages, nested messages, enums, services and methods", () => {
  const described = describeFiles().find(({ name }) => name === file.name);
  for (const symbol of [
    "agentkeeper.v1.AgentCard",
    "agentkeeper.v1.AgentCard.MetadataEntry",
    "agentkeeper.v1.TaskStatus",
    "agentkeeper.v1.LeaseService",
    "agentkeeper.v1.LeaseService.AcquireLease",
  ]) {
    assert(described?.symbols.includes(symbol), symbol);
  }
});

test("every file that another one rests on is there", () => {
  const files = describeFiles();
  const names = new Set(files.map(({ name }) => name));
  for (const { dependencies } of files) {
    for (const name of dependencies) assert(names.has(name), name);
  }
});

function agentkeeperFile(): FileDescriptorProto {
  const described = describeFiles().find(({ name }) => name.startsWith("agentkeeper/v1/"));
  assert(described);
  return fromBinary(FileDescriptorProtoSchema, described.bytes);
}

function printMessage(message: DescriptorProto): string {
  const fields = message.field.map(
    (field) => `${field.number} ${field.name} ${printType(message, field)}`,
  );
  return `${message.name}: ${fields.join(", ")}`.trimEnd();
}

function printType(message: DescriptorProto, field: FieldDescriptorProto): string {
  const full = field.typeName.split(".").at(-1) ?? "";
  const entry = message.nestedType.find(({ name }) => name === full);
  if (entry?.options?.mapEntry) {
    return `map<${entry.field.map((part) => printType(entry, part)).join(" ")}>`;
  }
  const name = full === "" ? FieldDescriptorProto_Type[field.type].toLowerCase() : full;
  return field.label === FieldDescriptorProto_Label.REPEATED ? `repeated ${name}` : name;
}

/** One row a line; a line that is indented further continues the last. */
function rows(text: string): string[] {
  const joined = text.replace(/\n {4}/g, " ").trim();
  return joined
    .split("\n")
    .map((row) => row.trim())
    .sort();
}

/**
 * Messages as bytes, both ways. The vectors come from the AgentKeeper contract, appendix A: fields in
 * number order, as every other implementation writes them.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import {
  AcquireLeaseResponse,
  CheckPolicyResponse,
  ElectionState,
  Event,
  FindRequest,
  ListTasksRequest,
  PolicyEffect,
  RegisterRequest,
  RenewLeaseRequest,
  SetPolicyRequest,
  Task,
  TaskStatus,
} from "../gen/agentkeeper/v1/agentkeeper.ts";
import { decodeStrictly, type MessageType } from "./strict.ts";

type Vector<Message> = {
  readonly id: string;
  readonly type: MessageType<Message>;
  readonly message: Message;
  readonly hex: string;
};

const noLease = {
  holderAgentId: "",
  token: undefined,
  acquiredAt: undefined,
  expiresAt: undefined,
};

const noTask = {
  claimToken: 0n,
  claimExpiresAt: undefined,
  deliveryCount: 0,
  output: Buffer.alloc(0),
  claimedByAgentId: "",
  claimedAt: undefined,
  completedAt: undefined,
};

const leaderless: ElectionState = {
  group: "g",
  leaderAgentId: "",
  term: 3n,
  electedAt: undefined,
};

bothWays({
  id: "[AK-A-V1] RegisterRequest",
  type: RegisterRequest,
  message: {
    card: {
      name: "scraper-1",
      description: "Fetches pages",
      version: "1.0.0",
      capabilities: [],
      tools: ["browser", "http"],
      metadata: new Map([["team", "data"]]),
    },
    ttlSeconds: 30,
  },
  hex: "0a3e0a09736372617065722d31120d466574636865732070616765731a05312e302e302a0762726f777365722a0468747470320c0a047465616d120464617461101e",
});

bothWays({
  id: "[AK-A-V2] FindRequest",
  type: FindRequest,
  message: { query: "q", tools: ["a", "b"], limit: 10 },
  hex: "0a0171120161120162180a",
});

bothWays({
  id: "[AK-A-V3] [AK-1.4-1] AcquireLeaseResponse with a token above 2^63",
  type: AcquireLeaseResponse,
  message: {
    acquired: true,
    lease: {
      taskId: "t",
      holderAgentId: "00112233445566778899aabbccddeeff",
      token: { value: 9_223_372_036_854_775_809n },
      acquiredAt: { seconds: 1_700_000_000n, nanos: 5_000_000 },
      expiresAt: { seconds: 1_700_000_060n, nanos: 5_000_000 },
    },
  },
  hex: "0a4c0a0174122030303131323233333434353536363737383839396161626263636464656566661a0b0881808080808080808001220b0880e2cfaa0610c096b1022a0b08bce2cfaa0610c096b1021001",
});

bothWays({
  id: "[AK-A-V4] AcquireLeaseResponse that says no",
  type: AcquireLeaseResponse,
  message: { acquired: false, lease: { taskId: "t", ...noLease } },
  hex: "0a030a0174",
});

bothWays({
  id: "[AK-A-V5] Event with a payload",
  type: Event,
  message: {
    topic: "leader.changed",
    payload: {
      typeUrl: "type.googleapis.com/agentkeeper.v1.ElectionState",
      value: Buffer.from(ElectionState.encode(leaderless).finish()),
    },
    sequenceNumber: 300n,
    occurredAt: { seconds: 1_700_000_000n, nanos: 0 },
  },
  hex: "0a0e6c65616465722e6368616e67656412390a30747970652e676f6f676c65617069732e636f6d2f6167656e746b65657065722e76312e456c656374696f6e537461746512050a0167180318ac0222060880e2cfaa06",
});

bothWays({
  id: "[AK-A-V6] Task that is dead",
  type: Task,
  message: {
    id: "t",
    type: "x",
    input: Buffer.from([0, 0xff]),
    status: TaskStatus.DEAD,
    requiredTools: ["a"],
    maxRetries: 1,
    retryCount: 1,
    failureReason: "boom",
    createdAt: { seconds: 1_700_000_000n, nanos: 0 },
    ...noTask,
  },
  hex: "0a01741201781a0200ff2805320161380140015204626f6f6d5a060880e2cfaa06",
});

bothWays({
  id: "[AK-A-V7] SetPolicyRequest",
  type: SetPolicyRequest,
  message: {
    policy: {
      id: "p",
      subject: "agent:*",
      action: "call",
      resource: "tool:*",
      effect: PolicyEffect.DENY,
    },
  },
  hex: "0a1c0a017012076167656e743a2a1a0463616c6c2206746f6f6c3a2a2802",
});

bothWays({
  id: "[AK-A-V8] CheckPolicyResponse that says no",
  type: CheckPolicyResponse,
  message: { allowed: false, reason: "no matching policy" },
  hex: "12126e6f206d61746368696e6720706f6c696379",
});

bothWays({
  id: "[AK-A-V9] ListTasksRequest without a status",
  type: ListTasksRequest,
  message: { status: TaskStatus.UNSPECIFIED },
  hex: "",
});

bothWays({
  id: "[AK-A-V10] RenewLeaseRequest without a ttl",
  type: RenewLeaseRequest,
  message: { taskId: "t", agentId: "a", token: { value: 7n }, ttlSeconds: 0 },
  hex: "0a01741201611a020807",
});

test("[AK-A-1] fields may come in any order", () => {
  const forwards = Buffer.from("0a0171120161120162180a", "hex");
  const backwards = Buffer.from("180a120161120162" + "0a0171", "hex");
  assert.deepEqual(read(FindRequest, backwards), read(FindRequest, forwards));
});

test("[AK-1.4-5] fields that we do not know are skipped, whatever their wire type", () => {
  const unknown = new BinaryWriter();
  unknown.uint32((1_000 << 3) | 0).uint64(2n ** 64n - 1n);
  unknown.uint32((1_001 << 3) | 1).fixed64(1n);
  unknown.uint32((1_002 << 3) | 2).bytes(Buffer.from([0xff, 0xfe]));
  unknown.uint32((1_003 << 3) | 5).fixed32(1);
  const known = Buffer.from("0a0171120161120162180a", "hex");
  const read1 = read(FindRequest, Buffer.concat([unknown.finish(), known]));
  const read2 = read(FindRequest, Buffer.concat([known, unknown.finish()]));
  assert.deepEqual(read1, { query: "q", tools: ["a", "b"], limit: 10 });
  assert.deepEqual(read2, read1);
});

test("[AK-2.0-6d] metadata keys such as __proto__ are keys like any other", () => {
  const metadata = new Map([
    ["__proto__", "1"],
    ["constructor", "2"],
    ["toString", "3"],
    ["", "4"],
  ]);
  const card = { name: "a", description: "", version: "", capabilities: [], tools: [], metadata };
  const bytes = RegisterRequest.encode({ card, ttlSeconds: 0 }).finish();
  assert.deepEqual(read(RegisterRequest, bytes).card?.metadata, metadata);
});

test("of a metadata key that comes twice, the last value counts", () => {
  // card { name "a", metadata { k: "1" }, metadata { k: "2" } }
  const bytes = Buffer.from("0a13" + "0a0161" + "32060a016b120131" + "32060a016b120132", "hex");
  assert.deepEqual(read(RegisterRequest, bytes).card?.metadata, new Map([["k", "2"]]));
});

function bothWays<Message>({ id, type, message, hex }: Vector<Message>): void {
  test(`${id} is written as others write it`, () => {
    assert.equal(Buffer.from(type.encode(message).finish()).toString("hex"), hex);
  });
  test(`${id} is read as others write it`, () => {
    assert.deepEqual(read(type, Buffer.from(hex, "hex")), message);
  });
}

function read<Message>(type: MessageType<Message>, bytes: Uint8Array): Message {
  const { message, problem } = decodeStrictly(type, bytes);
  assert(message !== undefined, problem ?? "no message");
  return message;
}

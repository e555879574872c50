/** Whether bytes are a message is no matter of opinion: we and the peer's protobuf library must agree. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { Random } from "../../src/testing/random.ts";
import {
  decodeStrictly,
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  LeaseServiceDefinition,
  type MessageType,
  RegistryServiceDefinition,
  TaskServiceDefinition,
} from "../../src/wire/agentkeeper/index.ts";
import { badBytes } from "../conformance/bad-bytes.ts";
import { type Peer, preparePeer } from "./peer.ts";

const seed = Number(process.env["BAD_INPUT_SEED"] ?? 1);
const casesEach = 500;

const services = [
  RegistryServiceDefinition,
  LeaseServiceDefinition,
  ElectionServiceDefinition,
  EntitlementsServiceDefinition,
  TaskServiceDefinition,
];

/** One message a line, its name and its bytes; answers y or n. */
const judge = `
import sys
from agentkeeper.v1 import agentkeeper_pb2
for line in sys.stdin:
    name, _, digits = line.strip().partition(" ")
    try:
        getattr(agentkeeper_pb2, name)().ParseFromString(bytes.fromhex(digits))
        print("y")
    except Exception:
        print("n")
`;

test("[AK-2.0-6c] [AK-A-1] we accept and refuse the same bytes as the peer's protobuf library", async (context) => {
  const peer = await preparePeer();
  if ("unavailable" in peer) {
    assert.notEqual(process.env["CI"], "true", peer.unavailable);
    return context.skip(peer.unavailable);
  }
  const random = new Random(seed);
  const cases = services.flatMap(({ methods }) =>
    Object.values(methods).flatMap(({ name, requestType }) => {
      const examples = examplesOf(requestType, random);
      return Array.from({ length: casesEach }, () => {
        const bytes = badBytes(random, examples);
        return { name: `${name}Request`, bytes, isOurs: isMessage(requestType, bytes) };
      });
    }),
  );
  const verdicts = await ask(
    peer,
    cases.map(({ name, bytes }) => `${name} ${bytes.toString("hex")}`),
  );
  assert.equal(verdicts.length, cases.length);
  const disagreements = cases
    .filter(({ isOurs }, index) => isOurs !== (verdicts[index] === "y"))
    .filter(({ isOurs, bytes }) => !(isOurs && mayHaveWideTag(bytes)))
    .map(({ name, bytes, isOurs }) => {
      return `${name} ${bytes.toString("hex")}: we say ${isOurs ? "yes" : "no"}`;
    });
  assert.deepEqual(disagreements.slice(0, 10), [], `seed ${seed}, ${disagreements.length} in all`);
  const accepted = cases.filter(({ isOurs }) => isOurs).length;
  assert(accepted > cases.length / 20 && accepted < (cases.length * 19) / 20, `${accepted}`);
});

/** Messages of the type with something in them: what a lenient decoder makes of noise, written anew. */
function examplesOf(type: MessageType<unknown>, random: Random): readonly Uint8Array[] {
  const examples: Uint8Array[] = [new Uint8Array()];
  while (examples.length < 20) {
    const bytes = badBytes(random, examples);
    if (isMessage(type, bytes)) examples.push(bytes);
  }
  return examples;
}

/**
 * A tag of more than 32 bits is refused there, and is a field we do not know here. It needs four bytes
 * in a row that say that another follows.
 */
function mayHaveWideTag(bytes: Uint8Array): boolean {
  let run = 0;
  for (const byte of bytes) {
    run = byte >= 0x80 ? run + 1 : 0;
    if (run === 4) return true;
  }
  return false;
}

function isMessage(type: MessageType<unknown>, bytes: Uint8Array): boolean {
  return decodeStrictly(type, bytes).problem === undefined;
}

async function ask({ python }: Peer, lines: readonly string[]): Promise<readonly string[]> {
  const asking = spawn(python, ["-B", "-c", judge], { stdio: ["pipe", "pipe", "inherit"] });
  asking.stdin.end(`${lines.join("\n")}\n`);
  return (await text(asking.stdout)).trim().split("\n");
}

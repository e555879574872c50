/** Bytes that are no message are refused, not repaired. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  FindRequest,
  RegisterRequest,
  RenewLeaseRequest,
} from "../gen/agentkeeper/v1/agentkeeper.ts";
import { decodeStrictly, type MessageType } from "./strict.ts";

const noMessage = "the message does not decode";
const noText = "a text is not valid UTF-8";

test("[AK-2.0-6c] text that is not UTF-8 is refused, wherever it stands", () => {
  refused(FindRequest, "0a02c328", noText);
  // A lone surrogate, an overlong slash, a number above U+10FFFF.
  refused(FindRequest, "0a03eda080", noText);
  refused(FindRequest, "0a02c0af", noText);
  refused(FindRequest, "0a04f4908080", noText);
  // In a list, in a nested message, and as key and value of a map.
  refused(FindRequest, "1201ff", noText);
  refused(RegisterRequest, "0a030a01ff", noText);
  refused(RegisterRequest, "0a07" + "32050a01ff1200", noText);
  refused(RegisterRequest, "0a07" + "32050a001201ff", noText);
});

test("text is kept as it is: a byte order mark, a NUL, what lies beyond 16 bits", () => {
  const query = "\uFEFFa\0b😀\u202E";
  const bytes = FindRequest.encode({ query, tools: [], limit: 0 }).finish();
  assert.equal(decodeStrictly(FindRequest, bytes).message?.query, query);
});

test("[AK-2.0-6c] bytes that end too soon are no message", () => {
  refused(FindRequest, "0a", noMessage);
  refused(FindRequest, "0a05", noMessage);
  refused(FindRequest, "0a0561", noMessage);
  refused(FindRequest, "18ff", noMessage);
  refused(RegisterRequest, "0a05", noMessage);
});

test("[AK-2.0-6c] a tag of zero, and the end of a group that never began, are no message", () => {
  refused(FindRequest, "00", noMessage);
  refused(FindRequest, "0a016100", noMessage);
  refused(FindRequest, "0a01610c", noMessage);
  refused(FindRequest, "000a0161", noMessage);
});

test("[AK-2.0-6c] a field number of zero, and a group that ends as another, are no message", () => {
  refused(FindRequest, "0200", noMessage);
  refused(FindRequest, "0500000000", noMessage);
  refused(FindRequest, "1b0c", noMessage);
});

test("a group, which nobody uses any more, is skipped", () => {
  const { message } = decodeStrictly(FindRequest, Buffer.from("630801640a0171", "hex"));
  assert.deepEqual(message, { query: "q", tools: [], limit: 0 });
});

test("[AK-2.0-6c] a number of more than ten bytes is no message", () => {
  refused(FindRequest, "18ffffffffffffffffffff01", noMessage);
});

test("[AK-2.0-6c] wire types that do not exist are no message", () => {
  refused(FindRequest, "0e00", noMessage);
  refused(FindRequest, "0f00", noMessage);
});

test("[AK-2.0-6c] a nested message must end where its length says", () => {
  // card has a length of 3, but the name in it has 5 characters.
  refused(RegisterRequest, "0a03" + "0a056162636465", noMessage);
  // token has a length of 1, but its number has two bytes.
  refused(RenewLeaseRequest, "0a01741201611a01" + "08ac02", noMessage);
});

test("[AK-2.0-6c] a zero tag in a nested message is no message", () => {
  // card { name "a", tag 0, ...}: what follows must not be read as fields of the request.
  refused(RegisterRequest, "0a06" + "0a016100" + "101e", noMessage);
  refused(RegisterRequest, "0a04" + "0a016100", noMessage);
});

test("a known field with another wire type is skipped like an unknown one", () => {
  // limit as text, query as a number.
  const { message } = decodeStrictly(FindRequest, Buffer.from("0805" + "1a0161" + "0a0171", "hex"));
  assert.deepEqual(message, { query: "q", tools: [], limit: 0 });
});

test("numbers of 32 bits keep their low bits, as other implementations do", () => {
  const { message } = decodeStrictly(FindRequest, Buffer.from("18ffffffffffffffffff01", "hex"));
  assert.equal(message?.limit, 2 ** 32 - 1);
});

function refused<Message>(type: MessageType<Message>, hex: string, problem: string): void {
  assert.deepEqual(decodeStrictly(type, Buffer.from(hex, "hex")), { problem });
}

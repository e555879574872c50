import assert from "node:assert/strict";
import { test } from "node:test";
import { ListTasksResponse, Task } from "../gen/agentkeeper/v1/agentkeeper.ts";
import { joinPieces, type Pieces, piecesOfBase64, piecesOfBytes, piecesOfField } from "./pieces.ts";

const blank = Task.decode(new Uint8Array(0));
const lengths = [0, 1, 2, 3, 24_575, 24_576, 24_577, 200_000];

test("a message in pieces is the message, and as long as it says", () => {
  const inputs = lengths.map((length) => Buffer.alloc(length, "input"));
  const tasks = inputs.map((input, index) => {
    const head = Task.encode({ ...blank, id: `task-${index}` }).finish();
    const bytes = piecesOfField(3, piecesOfBase64(input.toString("base64")));
    return piecesOfField(1, joinPieces([piecesOfBytes(head), bytes]));
  });
  const whole = joinPieces(tasks);
  const printed = printAll(whole);
  assert.equal(printed.length, whole.length);
  const decoded = ListTasksResponse.decode(printed);
  assert.deepEqual(
    decoded.tasks.map(({ id, input }) => ({ id, input })),
    inputs.map((input, index) => ({ id: `task-${index}`, input })),
  );
});

test("no piece is as long as a long field, and it can be printed again", () => {
  const bytes = Buffer.alloc(1_000_000, "0123456789");
  const pieces = piecesOfBase64(bytes.toString("base64"));
  for (const piece of pieces.print()) assert(piece.length <= 24_576);
  assert.deepEqual(printAll(pieces), bytes);
});

function printAll({ print }: Pieces): Buffer {
  return Buffer.concat([...print()]);
}

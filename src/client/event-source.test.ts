import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MessageParser } from "./event-source.ts";
import { limits } from "./limits.ts";

test("messages have a name, an id and data; comments and unknown fields say nothing", () => {
  const parser = new MessageParser();
  const text =
    ': hello\nretry: 1000\nevent: hello\nid: 7\ndata: {"a":1}\n\nid: 8\ndata:x\ndata: y\n\nfoo\n\n';
  assert.deepEqual(parser.push(text), [
    { event: "hello", id: "7", data: '{"a":1}' },
    { event: "", id: "8", data: "x\ny" },
  ]);
});

test("the same messages come out however the text is cut, with either end of line", () => {
  const messages = fc.array(
    fc.record(
      {
        event: fc.stringMatching(/^[a-z]{0,5}$/),
        id: fc.stringMatching(/^\d{1,4}$/),
        data: fc.stringMatching(/^[ -~]{0,20}$/),
      },
      { noNullPrototype: true },
    ),
    { maxLength: 5 },
  );
  const cuts = fc.array(fc.nat(400), { maxLength: 8 });
  fc.assert(
    fc.property(messages, cuts, fc.constantFrom("\n", "\r\n"), (messages, cuts, end) => {
      const text = messages
        .map(
          ({ event, id, data }) => `event: ${event}${end}id: ${id}${end}data: ${data}${end}${end}`,
        )
        .join("");
      const parser = new MessageParser();
      const places = [0, ...cuts.toSorted((one, other) => one - other), text.length];
      const pieces = places.map((start, index) => text.slice(start, places[index + 1] ?? start));
      assert.deepEqual(
        pieces.flatMap((piece) => parser.push(piece)),
        messages,
      );
    }),
  );
});

test("what was begun and not ended is no message", () => {
  const parser = new MessageParser();
  assert.deepEqual(parser.push("data: half"), []);
  assert.deepEqual(parser.push(" of it\n"), []);
  assert.deepEqual(parser.push("\n"), [{ event: "", id: "", data: "half of it" }]);
});

test("a line without end is refused at the bound, and so are many lines without a message", () => {
  const piece = "x".repeat(1_000_000);
  const one = new MessageParser();
  assert.throws(
    () => {
      for (let sent = 0; sent <= limits.messageLengthMax; sent += piece.length) one.push(piece);
    },
    { code: "bad_answer" },
  );
  const many = new MessageParser();
  assert.throws(
    () => {
      for (let sent = 0; sent <= limits.messageLengthMax; sent += piece.length) {
        many.push(`data: ${piece}\n`);
      }
    },
    { code: "bad_answer" },
  );
});

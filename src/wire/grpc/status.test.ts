/** What gRPC puts into headers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTimeoutMs, printStatusMessage } from "./status.ts";

test("a message stays as it is where it is printable ASCII", () => {
  assert.equal(printStatusMessage("agent not found: a-1_~!"), "agent not found: a-1_~!");
});

test("what is not printable ASCII is percent-encoded UTF-8, and so is the percent sign", () => {
  assert.equal(printStatusMessage("50% naïve"), "50%25 na%C3%AFve");
  assert.equal(printStatusMessage("a\r\nb\0c\x7f"), "a%0D%0Ab%00c%7F");
  assert.equal(printStatusMessage("😀"), "%F0%9F%98%80");
});

test("what is printed can be read again", () => {
  const text = `%41 "quoted" ${String.fromCodePoint(...Array(300).keys())}`;
  assert.equal(decodeURIComponent(printStatusMessage(text)), text);
  assert.match(printStatusMessage(text), /^[ -~]*$/);
});

test("timeouts have at most eight digits and a unit", () => {
  assert.equal(parseTimeoutMs("2H"), 7_200_000);
  assert.equal(parseTimeoutMs("3M"), 180_000);
  assert.equal(parseTimeoutMs("4S"), 4_000);
  assert.equal(parseTimeoutMs("5m"), 5);
  assert.equal(parseTimeoutMs("6000u"), 6);
  assert.equal(parseTimeoutMs("99999999n"), 99.999_999);
  for (const text of ["", "1", "S", "123456789S", "-1S", "1.5S", "1s", "1 S", "1SS"]) {
    assert.equal(parseTimeoutMs(text), undefined, text);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Cursors, own } from "./cursors.ts";

test("[ARCP-120] what was seen is a duplicate, what is left out is a gap", () => {
  const cursors = new Cursors(4, { areApart: false });
  assert.equal(cursors.judge(4, own), "duplicate");
  assert.equal(cursors.judge(1, "job"), "duplicate");
  assert.equal(cursors.judge(5, "job"), "next");
  assert.equal(cursors.judge(6, own), "gap");
  // Judging moves nothing.
  assert.equal(cursors.resumeFrom, 4);
  cursors.move(5, "job");
  assert.equal(cursors.judge(6, own), "next");
  assert.equal(cursors.resumeFrom, 5);
});

test("[PYC-11] [PY-60] a runtime that counts subscriptions apart has a count for each, and one to resume from", () => {
  const cursors = new Cursors(0, { areApart: true });
  const stream = "B1 A1 A2 A3 A4 A5 B2 A6 B3 A7 B4 A8 A9";
  for (const frame of stream.split(" ")) {
    const series = frame.startsWith("B") ? own : "A";
    const eventSeq = Number(frame.slice(1));
    assert.equal(cursors.judge(eventSeq, series), "next", frame);
    cursors.move(eventSeq, series);
  }
  assert.equal(cursors.resumeFrom, 4);
  assert.equal(cursors.lastOf("A"), 9);
  // A subscription begins anywhere; a gap there is nothing that a resume could fill.
  assert.equal(cursors.judge(20, "A"), "next");
  assert.equal(cursors.judge(20, own), "gap");
  cursors.begin("A");
  assert.equal(cursors.judge(1, "A"), "next");
});

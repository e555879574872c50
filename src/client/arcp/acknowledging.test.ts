import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualTime } from "../../testing/manual-time.ts";
import { Acknowledging, usualPace } from "./acknowledging.ts";

function start(time: ManualTime) {
  const state = { received: 0, unread: undefined as number | undefined, looks: 0 };
  const sent: number[] = [];
  const acknowledging = new Acknowledging(usualPace, time, {
    deliveredSeq: () => {
      state.looks += 1;
      return state.unread === undefined ? state.received : state.unread - 1;
    },
    send: (seq) => sent.push(seq),
  });
  const receive = (count: number): void => {
    for (let index = 0; index < count; index += 1) {
      state.received += 1;
      acknowledging.note();
    }
  };
  return { acknowledging, state, sent, receive };
}

test("[ARCP-78] what was delivered is acknowledged every 250 ms", async () => {
  const time = new ManualTime();
  const { sent, receive } = start(time);
  receive(3);
  await time.pass(249);
  assert.deepEqual(sent, []);
  receive(1);
  await time.pass(1);
  assert.deepEqual(sent, [4]);
  await time.pass(10_000, 250);
  assert.deepEqual(sent, [4]);
  assert.equal(time.timers, 0);
});

test("[ARCP-78] or after 32 events, if that is sooner", () => {
  const { sent, receive } = start(new ManualTime());
  receive(31);
  assert.deepEqual(sent, []);
  receive(33);
  assert.deepEqual(sent, [32, 64]);
});

test("[ARCP-78] only what a reader has come to is acknowledged", async () => {
  const time = new ManualTime();
  const { sent, state, receive } = start(time);
  state.unread = 3;
  receive(40);
  assert.deepEqual(sent, [2]);
  await time.pass(1_000, 250);
  assert.deepEqual(sent, [2]);
  state.unread = undefined;
  await time.pass(250);
  assert.deepEqual(sent, [2, 40]);
});

test("a reader that is far behind costs no look at all jobs for each event", () => {
  const { state, receive } = start(new ManualTime());
  state.unread = 1;
  state.looks = 0;
  receive(3_200);
  assert.equal(state.looks, 100);
});

test("[ARCP-73] nothing is sent once it has stopped", async () => {
  const time = new ManualTime();
  const { acknowledging, sent, receive } = start(time);
  receive(3);
  acknowledging.stop();
  await time.pass(1_000);
  assert.deepEqual([sent, time.timers], [[], 0]);
});

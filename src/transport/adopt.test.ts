/** Transports that have only what the protocol's authors agreed on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { adopt, type BareTransport } from "./adopt.ts";
import { collect, endOf, settled } from "./contract.ts";
import { pairMemoryTransports } from "./memory.ts";
import type { Frame, Transport } from "./transport.ts";

const link = { kind: "memory", isPrivate: true } as const;

test("[ARCP-25] a transport of someone else's carries frames both ways and closes as ours do", async () => {
  const { near, far } = pair();
  const [there, back] = [collect(far, 2), collect(near, 2)];
  for (const end of [near, far]) {
    await end.send({ n: 1 });
    await end.sendText('{"n":2}');
  }
  for (const frames of [await there, await back]) assert.deepEqual(frames, [{ n: 1 }, { n: 2 }]);
  await assert.rejects(near.sendText("[]"), { code: "not_sendable" });
  const [here, other] = [endOf(near), endOf(far)];
  await near.close();
  assert.deepEqual([(await here).error, (await other).error], [undefined, undefined]);
  await assert.rejects(near.send({}), { code: "closed" });
});

test("a transport of someone else's is made to wait, and loses nothing", async () => {
  const { near, far } = pair();
  const go = Promise.withResolvers<void>();
  const frames = collect(near, 2_000, go.promise);
  for (let n = 0; n < 2_000; n += 1) await far.send({ n, text: "x".repeat(1_000) });
  await settled(() => far.queuedBytes);
  assert(far.queuedBytes > 1_000_000, `only ${far.queuedBytes} bytes wait at the sender`);
  go.resolve();
  assert((await frames).every(({ n }, index) => n === index));
  await far.close();
  assert.equal((await endOf(near)).error, undefined);
});

test("what happens to a transport of someone else's is an error of ours", async () => {
  let lose = (_error: Error): void => {};
  let isClosed = false;
  const bare: BareTransport = {
    get closed() {
      return isClosed;
    },
    send: () => new Promise(() => {}),
    onFrame: () => {},
    onClose: (handler) => {
      lose = handler;
    },
    close: async () => {},
  };
  const near = adopt(bare, link);
  const ended = endOf(near);
  await near.sendText(JSON.stringify({ text: "x".repeat(100_000) }));
  assert(near.queuedBytes > 100_000);
  const drained = near.drained();
  isClosed = true;
  lose(new Error("the cable is cut"));
  await drained;
  const { error } = await ended;
  assert.deepEqual([error?.code, error?.message], ["lost", "the cable is cut"]);
});

test("a transport of someone else's that closes within the handler of a frame is told to have ended", async () => {
  const { near, receive } = abrupt();
  const ended = endOf(near);
  near.onFrame(() => void near.close("done"));
  await new Promise(setImmediate);
  receive({ n: 1 });
  assert.equal((await ended).error, undefined);
});

test("what a transport of someone else's will not take was never queued", async () => {
  const { near } = pair({
    send: () => {
      throw new Error("not now");
    },
  });
  await assert.rejects(near.send({ n: 1 }), { code: "not_sendable" });
  assert.equal(near.queuedBytes, 0);
});

function pair(more: Partial<BareTransport> = {}): {
  readonly near: Transport;
  readonly far: Transport;
} {
  const [one, far] = pairMemoryTransports();
  const bare: BareTransport = {
    get closed() {
      return one.closed;
    },
    send: (frame) => one.send(frame),
    onFrame: (handler) => one.onFrame(handler),
    onClose: (handler) => one.onClose(handler),
    close: (reason) => one.close(reason),
    ...more,
  };
  return { near: adopt(bare, link), far };
}

/** As memory transports of others are: what one side does, the other hears within the same call. */
function abrupt(): {
  readonly near: Transport;
  receive(frame: Frame): void;
} {
  let [isClosed, hear, hearEnd] = [false, (_frame: Frame): unknown => undefined, (): void => {}];
  const bare: BareTransport = {
    get closed() {
      return isClosed;
    },
    send: async () => {},
    onFrame: (handler) => {
      hear = handler;
    },
    onClose: (handler) => {
      hearEnd = handler;
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      hearEnd();
    },
  };
  return { near: adopt(bare, link), receive: (frame) => void hear(frame) };
}

/**
 * What every transport must do, as one suite: memory, pipes and sockets pass it unchanged. What is special
 * to one of them is tested beside it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Closing, Frame, Malformed, Transport, TransportError } from "./transport.ts";

/** The other side, which may be in another process. */
export type Far = Pick<Transport, "send" | "sendText" | "onFrame" | "onClose" | "close">;

export interface Pair extends AsyncDisposable {
  readonly near: Transport;
  readonly far: Far;
  /** The far side dies, or the link breaks, without a word. */
  lose(): void;
}

export type Kit = {
  readonly makePair: () => Promise<Pair>;
  /** Whether the far side can make us wait: a WebSocket of browsers cannot stop reading. */
  readonly farCanWait: boolean;
};

/** Texts that have been the end of many a format. */
const hardTexts = [
  "\0",
  "\n",
  "\r\n",
  "\u2028\u2029",
  "𝄞 ü é",
  "\ud800",
  "\udc00x",
  '"\\',
  "\u00a0",
];

export function transportContract(kind: string, { makePair, farCanWait }: Kit): void {
  const claim = (name: string, run: (pair: Pair) => Promise<void>): void => {
    test(`${kind}: ${name}`, { timeout: 30_000 }, async () => {
      await using pair = await makePair();
      await run(pair);
    });
  };

  claim(
    "[ARCP-25] [ARCP-43] 10,000 frames arrive once and in order, both ways at a time",
    async ({ near, far }) => {
      const count = 10_000;
      const [there, back] = [collect(far, count), collect(near, count)];
      for (let n = 0; n < count; n += 1) {
        if (n % 2 === 0) await near.send({ n });
        else await near.sendText(`{"n":${n}}`);
        await far.send({ n, text: "ü".repeat(n % 100) });
      }
      const isInOrder = ({ n }: Frame, index: number): boolean => n === index;
      assert((await there).every(isInOrder));
      assert((await back).every(isInOrder));
    },
  );

  claim("frames of 5 MB arrive whole, with small ones between them", async ({ near, far }) => {
    const [there, back] = [collect(far, 3), collect(near, 3)];
    const large = { text: "0123456789".repeat(500_000), "€": "€".repeat(10) };
    for (const end of [near, far]) {
      await end.send({ n: 1 });
      await end.send(large);
      await end.send({ n: 2 });
    }
    assert.deepEqual(await there, [{ n: 1 }, large, { n: 2 }]);
    assert.deepEqual(await back, [{ n: 1 }, large, { n: 2 }]);
  });

  claim("whatever JSON can say arrives as it was said", async ({ near, far }) => {
    const frames: readonly Frame[] = [
      {},
      ...hardTexts.map((text) => ({ text, [text]: [text, { text }] })),
      { numbers: [0, 1e300, 0.1, -1], nothing: null, yes: true, deep: [[[[{ a: [] }]]]] },
    ];
    const [there, back] = [collect(far, frames.length), collect(near, frames.length)];
    for (const frame of frames) {
      await near.send(frame);
      await far.send(frame);
    }
    assert.deepEqual(await there, frames);
    assert.deepEqual(await back, frames);
  });

  claim("a key named __proto__ is a key, and nobody's prototype", async ({ near, far }) => {
    const back = collect(near, 1);
    await far.sendText('{"__proto__":{"isAdmin":true},"constructor":1}');
    const [frame] = await back;
    assert(frame);
    assert.deepEqual(Object.keys(frame), ["__proto__", "constructor"]);
    assert.equal(Object.getPrototypeOf(frame), Object.prototype);
    assert.equal(frame["isAdmin"], undefined);
  });

  claim("[ARCP-43] what is changed after it was sent arrives as it was", async ({ near, far }) => {
    const there = collect(far, 1);
    const inner = { n: 1 };
    const sending = near.send({ inner });
    inner.n = 2;
    await sending;
    assert.deepEqual(await there, [{ inner: { n: 1 } }]);
  });

  claim(
    "[ARCP-26] frames that come before there is a handler wait for it, in order",
    async ({ near, far }) => {
      for (let n = 0; n < 1_000; n += 1) await far.send({ n });
      await echo(far, near);
      const frames = await collect(near, 1_000);
      assert.deepEqual(
        frames.map(({ n }) => n),
        Array.from({ length: 1_000 }, (_, n) => n),
      );
    },
  );

  claim(
    "[ARCP-25] a frame waits until the one before it has been handled",
    async ({ near, far }) => {
      const all = Promise.withResolvers<void>();
      let handling = 0;
      let handled = 0;
      near.onFrame(async () => {
        handling += 1;
        assert.equal(handling, 1);
        await new Promise(setImmediate);
        handling -= 1;
        handled += 1;
        if (handled === 100) all.resolve();
      });
      near.onFault((fault) => all.reject(fault));
      for (let n = 0; n < 100; n += 1) await far.send({ n });
      await all.promise;
    },
  );

  claim(
    "[ARCP-26] a handler that throws or rejects is told of, and hears what follows",
    async (pair) => {
      const { near, far } = pair;
      const all = Promise.withResolvers<void>();
      const seen: unknown[] = [];
      const faults: unknown[] = [];
      near.onFault((fault) => {
        faults.push(fault);
        throw new Error("and this one fails as well");
      });
      near.onFrame(({ n }) => {
        seen.push(n);
        if (n === 3) all.resolve();
        if (n === 1) throw new Error("thrown");
        return n === 2 ? Promise.reject(new Error("rejected")) : undefined;
      });
      for (const n of [1, 2, 3]) await far.send({ n });
      await all.promise;
      assert.deepEqual(seen, [1, 2, 3]);
      assert.deepEqual(faults, [new Error("thrown"), new Error("rejected")]);
    },
  );

  claim(
    "[ARCP-12] what is no frame is told in its place, and the link goes on",
    async ({ near, far }) => {
      const seen: unknown[] = [];
      const all = Promise.withResolvers<void>();
      near.onMalformed(({ code, message }: Malformed) => {
        assert(message.length < 100);
        seen.push(code);
      });
      near.onFrame(({ n }) => {
        seen.push(n);
        if (n === 3) all.resolve();
      });
      const texts = ['{"n":1}', "{", "[]", '{"n":2}', "null", '"text"', "nonsense", '{"n":3}'];
      for (const text of texts) await far.sendText(text);
      await all.promise;
      const [no, other] = ["not_json", "not_an_object"];
      assert.deepEqual(seen, [1, no, other, 2, other, other, no, 3]);
    },
  );

  claim("what JSON cannot say is refused, and the link goes on", async ({ near, far }) => {
    const there = collect(far, 1);
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    await assert.rejects(near.send(circle), { code: "not_sendable" });
    await assert.rejects(near.send({ n: 1n }), { code: "not_sendable" });
    await near.send({ n: 1 });
    assert.deepEqual(await there, [{ n: 1 }]);
  });

  claim(
    "[ARCP-25] [ARCP-26] a close here reaches both sides once, after all that was sent",
    async ({ near, far }) => {
      const there = collect(far, 1_000);
      const [nearEnd, farEnd] = [endOf(near), endOf(far)];
      for (let n = 0; n < 1_000; n += 1) await near.send({ n });
      const closing = near.close("enough");
      assert.equal(near.closed, true);
      await assert.rejects(near.send({}), { code: "closed" });
      await assert.rejects(near.sendText("{}"), { code: "closed" });
      await Promise.all([closing, near.close(), near.close("again", 1011)]);
      await near.close();
      assert.equal((await there).length, 1_000);
      assert.equal((await nearEnd).error, undefined);
      assert.equal((await farEnd).error, undefined);
      await near.drained();
      assert.deepEqual([(await nearEnd).calls(), (await farEnd).calls()], [1, 1]);
    },
  );

  claim("a close there is heard here, after all that came before it", async ({ near, far }) => {
    const seen: unknown[] = [];
    const ended = Promise.withResolvers<TransportError | undefined>();
    near.onFrame(async ({ n }) => {
      await new Promise(setImmediate);
      seen.push(n);
    });
    near.onClose((error) => {
      seen.push("closed");
      ended.resolve(error);
    });
    for (let n = 0; n < 500; n += 1) await far.send({ n });
    await far.close();
    assert.equal(await ended.promise, undefined);
    assert.deepEqual(seen, [...Array.from({ length: 500 }, (_, n) => n), "closed"]);
    assert.equal(near.closed, true);
    await assert.rejects(near.send({}), { code: "closed" });
    await near.close();
  });

  claim("whoever asks late is still told of the end, once", async ({ near, far }) => {
    await far.close();
    await endOf(far);
    await until(() => near.closed);
    await near.close();
    const { error, calls } = await endOf(near);
    assert.equal(error, undefined);
    near.onClose(() => assert.fail("told twice"));
    await new Promise(setImmediate);
    assert.equal(calls(), 1);
  });

  claim("both sides may close at once", async ({ near, far }) => {
    const ends = [endOf(near), endOf(far)];
    await Promise.all([near.close(), far.close()]);
    for (const { error } of await Promise.all(ends)) assert.equal(error, undefined);
  });

  claim("a handler may close, and hears nothing more", async ({ near, far }) => {
    const seen: unknown[] = [];
    const ended = endOf(near);
    near.onFrame(async ({ n }) => {
      seen.push(n);
      // Meanwhile others arrive and wait.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await near.close();
      seen.push("closed");
    });
    for (let n = 0; n < 10; n += 1) await far.send({ n });
    assert.equal((await ended).error, undefined);
    assert.deepEqual(seen, [0, "closed"]);
  });

  claim("a link that breaks is an error, told once", async (pair) => {
    const { near, far } = pair;
    const back = collect(near, 1);
    const ended = endOf(near);
    await far.send({ n: 1 });
    await back;
    pair.lose();
    const { error, calls } = await ended;
    assert(error instanceof Error);
    assert.equal(error.code, "lost");
    assert.equal(near.closed, true);
    await assert.rejects(near.send({}), { code: "closed" });
    await near.drained();
    await near.close();
    assert.equal(calls(), 1);
  });

  if (!farCanWait) return;

  claim(
    "[ARCP-27] [ARCP-41] a slow reader makes the sender's queue grow, and loses nothing",
    async ({ near, far }) => {
      const go = Promise.withResolvers<void>();
      const seen = collect(far, 512, go.promise);
      const text = "x".repeat(65_000);
      for (let n = 0; n < 512; n += 1) await near.send({ n, text });
      await settled(() => near.queuedBytes);
      // 33 MB were sent. What the far side and the system between us took is a fraction of that.
      assert(near.queuedBytes > 16_777_216, `only ${near.queuedBytes} bytes are queued`);
      let isDrained = false;
      const drained = near.drained().then(() => {
        isDrained = true;
      });
      await new Promise(setImmediate);
      assert.equal(isDrained, false);
      go.resolve();
      await drained;
      assert(near.queuedBytes <= 65_536, `${near.queuedBytes} bytes are queued`);
      const frames = await seen;
      assert(frames.every(({ n }, index) => n === index));
    },
  );

  claim("whoever waits for a peer that dies is released", async (pair) => {
    const { near, far } = pair;
    far.onFrame(() => new Promise(() => {}));
    const ended = endOf(near);
    const text = "x".repeat(1_000_000);
    for (let n = 0; n < 32; n += 1) await near.send({ n, text });
    assert(near.queuedBytes > 65_536);
    const drained = near.drained();
    pair.lose();
    await drained;
    assert.equal((await ended).error?.code, "lost");
  });

  claim("a peer that takes nothing at all is given up before memory is full", async (pair) => {
    const { near, far } = pair;
    far.onFrame(() => new Promise(() => {}));
    const ended = endOf(near);
    const text = "x".repeat(1_000_000);
    let refused: unknown;
    for (let n = 0; n < 100 && refused === undefined; n += 1) {
      await near.send({ n, text }).catch((error: unknown) => {
        refused = error;
      });
    }
    assert(refused instanceof Error && "code" in refused);
    assert.equal(refused.code, "peer_too_slow");
    assert.equal((await ended).error, refused);
  });
}

/** The first frames that arrive; `go` holds the handler of the first one back. */
export function collect(end: Far, count: number, go?: Promise<void>): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  return new Promise((resolve) => {
    end.onFrame((frame) => {
      frames.push(frame);
      if (frames.length === count) resolve(frames);
      return go;
    });
  });
}

type Ending = {
  readonly error: TransportError | undefined;
  readonly closing: Closing | undefined;
  readonly calls: () => number;
};

export function endOf(end: Far): Promise<Ending> {
  let calls = 0;
  return new Promise((resolve) => {
    end.onClose((error, closing) => {
      calls += 1;
      resolve({ error, closing, calls: () => calls });
    });
  });
}

/** Resolves when what was sent before, in both directions, has surely arrived. */
async function echo(far: Far, near: Transport): Promise<void> {
  const there = collect(far, 1);
  await near.send({ echo: true });
  await there;
}

/** Resolves when a figure has stopped changing. */
export async function settled(figure: () => number): Promise<void> {
  for (let before = Number.NaN; before !== figure(); ) {
    before = figure();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Frames as lines, over pipes: of one process, and of two. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Order, Report } from "../../test/fixtures/far-end.ts";
import { collect, endOf, type Far, type Pair, transportContract, until } from "./contract.ts";
import { Lines } from "./lines.ts";
import { fromChild, fromProcess, fromStreams } from "./stdio.ts";
import { type CloseHandler, type FrameHandler, TransportError } from "./transport.ts";

transportContract("streams", {
  farCanWait: true,
  makePair: async (): Promise<Pair> => {
    const { one, other } = pipes();
    const [near, far] = [
      fromStreams(one),
      fromProcess({ stdin: other.input, stdout: other.output }),
    ];
    return {
      near,
      far,
      lose: () => {
        one.input.destroy(new Error("broken"));
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all([near.close(), far.close()]);
      },
    };
  },
});

transportContract("child process", {
  farCanWait: true,
  makePair: async (): Promise<Pair> => {
    const child = start();
    const far = new FarEnd(child);
    const near = fromChild(child);
    await far.ready;
    return {
      near,
      far,
      lose: () => child.kill("SIGKILL"),
      [Symbol.asyncDispose]: async () => {
        await near.close();
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGKILL");
        await once(child, "exit");
      },
    };
  },
});

test("[ARCP-40] a child exits by itself when its input ends, and closing does not kill it", async () => {
  const child = start();
  const far = new FarEnd(child);
  const near = fromChild(child);
  await far.ready;
  await near.close();
  const [code, signal] = await once(child, "exit");
  assert.deepEqual([code, signal], [0, null]);
});

test("[ARCP-40] a parent that dies is a close to its child, which ends and does not crash", async () => {
  const child = start();
  const far = new FarEnd(child);
  await far.ready;
  const ended = endOf(far);
  child.stdout?.destroy();
  // It writes into a pipe that nobody holds.
  await far.send({ n: 1 });
  assert.equal((await ended).error?.code, "lost");
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
});

test("a child that exits with a failure is an abnormal end, and its last words are heard", async () => {
  const program = `process.stdout.write('{"n":1}\\n{"n":2}\\n', () => process.exit(3))`;
  const near = fromChild(spawn(process.execPath, ["--eval", program], { stdio: "pipe" }));
  const frames = collect(near, 2);
  const { error } = await endOf(near);
  assert.deepEqual(await frames, [{ n: 1 }, { n: 2 }]);
  assert.equal(error?.code, "lost");
  assert.match(error?.message ?? "", /exited with 3/);
});

test("[ARCP-40] a peer that takes nothing more is lost, but what it still says is heard", async () => {
  const { one, other } = pipes();
  const near = fromStreams(one);
  const frames = collect(near, 2);
  const ended = endOf(near);
  one.output.destroy(new Error("write EPIPE"));
  await until(() => near.closed);
  await assert.rejects(near.send({}), { code: "closed" });
  await near.drained();
  other.output.write('{"n":1}\n');
  await new Promise(setImmediate);
  other.output.end('{"n":2}\n');
  assert.deepEqual(await frames, [{ n: 1 }, { n: 2 }]);
  assert.equal((await ended).error?.code, "lost");
});

test("a child that cannot be started is an abnormal end", async () => {
  const near = fromChild(spawn("/nonexistent/program", { stdio: "pipe" }));
  assert.equal((await endOf(near)).error?.code, "lost");
});

test("a child without pipes is refused", () => {
  const child = spawn(process.execPath, ["--eval", ""], { stdio: "ignore" });
  assert.throws(() => fromChild(child), TransportError);
});

test("[ARCP-39] [ARCP-41] lines come split, several at once, with CRLF and with blank ones between", async () => {
  const { one, other } = pipes();
  const near = fromStreams(one);
  const seen: unknown[] = [];
  near.onMalformed(({ code }) => seen.push(code));
  near.onFrame(({ n }) => seen.push(n));
  const ended = endOf(near);
  const bytes = Buffer.from(
    '{"n":"ü1"}\r\n\n  \r\n{"n":2}\n{"n":\t3}\nnonsense\n\ufeff{"n":0}\n{"n":4,"t":"\u2028"}\n{"n":5}',
  );
  for (const byte of bytes) other.output.write(Buffer.from([byte]));
  other.output.end();
  assert.equal((await ended).error, undefined);
  assert.deepEqual(seen, ["ü1", 2, 3, "not_json", "not_json", 4, 5]);
});

test("[ARCP-41] a line that is too long is skipped and told", async () => {
  const { one, other } = pipes();
  const near = fromStreams(one, { frameBytesMax: 100 });
  const seen: unknown[] = [];
  near.onMalformed(({ code }) => seen.push(code));
  near.onFrame(({ n }) => seen.push(n));
  const ended = endOf(near);
  const fitting = `{"n":"${"x".repeat(92)}"}`;
  assert.equal(fitting.length, 100);
  other.output.write(`${fitting}\n${fitting} \n{"n":1}\n`);
  for (let n = 0; n < 100; n += 1) other.output.write("y".repeat(1_000));
  other.output.write('\n{"n":2}\n');
  other.output.write(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
  other.output.end('{"n":3}\n');
  await ended;
  assert.deepEqual(seen, ["x".repeat(92), "too_big", 1, "too_big", 2, "not_utf8", 3]);
});

test("a line's beginning is kept in one piece, however small the pieces are that it comes in", () => {
  const lines: (string | undefined)[] = [];
  const cutter = new Lines(1_000_000, (line) => lines.push(line?.toString()));
  const text = "0123456789".repeat(50_000);
  const started = performance.now();
  for (const character of text) cutter.add(Buffer.from(character));
  cutter.add(Buffer.from("\n"));
  cutter.end();
  assert.deepEqual(lines, [text]);
  // Copying all of it for each piece would take minutes.
  assert(performance.now() - started < 10_000);
});

test("a line without an end takes no more memory than a line may", () => {
  const lines: (string | undefined)[] = [];
  const cutter = new Lines(1_000, (line) => lines.push(line?.toString()));
  const chunk = Buffer.alloc(1_000_000, "x");
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < 100; n += 1) cutter.add(chunk);
  assert(process.memoryUsage().arrayBuffers - before < 10_000_000);
  cutter.add(Buffer.from("\nshort\n"));
  assert.deepEqual(lines, [undefined, "short"]);
});

test("[PYR-21] a frame is one line, however it was printed, and nothing else is written", async () => {
  const written: string[] = [];
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString());
      done();
    },
  });
  const near = fromStreams({ input: new PassThrough(), output });
  await near.send({ text: "a\nb" });
  await near.sendText(JSON.stringify({ a: [1, { b: "c" }] }, undefined, 2));
  await near.close("a reason that has no place here", 1011);
  const lines = written.join("").split("\n");
  assert.equal(lines.pop(), "");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [{ text: "a\nb" }, { a: [1, { b: "c" }] }],
  );
});

test("frames of one turn go out in one write", async () => {
  const writes: number[] = [];
  const output = new Writable({
    writev: (chunks, done) => {
      writes.push(chunks.length);
      done();
    },
  });
  const near = fromStreams({ input: new PassThrough(), output });
  for (let n = 0; n < 10; n += 1) await near.send({ n });
  await near.close();
  assert.deepEqual(writes, [10]);
});

test("closing waits for what is queued, but not for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const output = new Writable({ write: () => {} });
  const near = fromStreams({ input: new PassThrough(), output });
  const ended = endOf(near);
  await near.send({});
  const closing = near.close();
  t.mock.timers.tick(4_999);
  let isClosed = false;
  const closed = closing.then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  assert.equal(isClosed, false);
  t.mock.timers.tick(1);
  await closed;
  assert.equal((await ended).error?.code, "peer_too_slow");
});

function pipes() {
  const [there, back] = [new PassThrough(), new PassThrough()];
  return { one: { input: back, output: there }, other: { input: there, output: back } };
}

function start(): ChildProcess {
  const program = fileURLToPath(new URL("../../test/fixtures/far-end.ts", import.meta.url));
  return spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit", "ipc"] });
}

/** What the child does, as if it were here. */
class FarEnd implements Far {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  #handleFrame: FrameHandler = () => {};
  #end: { readonly error: TransportError | undefined } | undefined;
  #handleClose: CloseHandler | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (report: Report) => this.#hear(report));
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  send(frame: Readonly<Record<string, unknown>>): Promise<void> {
    return this.sendText(JSON.stringify(frame));
  }

  async sendText(text: string): Promise<void> {
    this.#order({ do: "send", text });
  }

  onFrame(handler: FrameHandler): void {
    this.#handleFrame = handler;
    this.#order({ do: "listen" });
  }

  onClose(handler: CloseHandler): void {
    this.#handleClose = handler;
    if (this.#end) handler(this.#end.error);
  }

  async close(reason = ""): Promise<void> {
    this.#order({ do: "close", reason });
  }

  #order(order: Order): void {
    if (this.#child.connected) this.#child.send(order);
  }

  #hear(report: Report): void {
    switch (report.said) {
      case "ready":
        this.#ready.resolve();
        return;
      case "frame":
        Promise.try(this.#handleFrame, JSON.parse(report.text)).then(
          () => this.#order({ do: "next" }),
          (fault: unknown) => this.#ready.reject(fault),
        );
        return;
      case "closed": {
        const isLost = report.code !== undefined;
        this.#end = { error: isLost ? new TransportError("lost", "the child lost us") : undefined };
        this.#handleClose?.(this.#end.error);
        return;
      }
    }
  }
}

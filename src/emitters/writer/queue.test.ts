import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { limits } from "./limits.ts";
import { drain, isEmpty, type Queued, sweep } from "./queue.ts";

class Queue implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "tipstaff-test-"));

  put(
    name: string,
    event: unknown,
    options: { readonly atS?: number; readonly head?: readonly string[] } = {},
  ): void {
    const {
      atS = 1000,
      head = ["1", "codex", "77", "/t,1,2", "%3", "/own", "/w", "", "", "", "", "."],
    } = options;
    writeFileSync(
      join(this.path, `${name}.body`),
      typeof event === "string" ? event : JSON.stringify(event),
    );
    writeFileSync(join(this.path, `${name}.head`), head.map((field) => `${field}\0`).join(""));
    utimesSync(join(this.path, `${name}.head`), atS, atS);
  }

  drain(): readonly Queued[] {
    const heard: Queued[] = [];
    drain(this.path, (queued) => heard.push(queued));
    return heard;
  }

  get names(): readonly string[] {
    return readdirSync(this.path);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const stop = (session: string): object => ({ hook_event_name: "Stop", session_id: session });

test("an event comes with what the hook knew", () => {
  using queue = new Queue();
  queue.put("12", stop("s"));
  assert.equal(isEmpty(queue.path), false);
  const [queued, ...rest] = queue.drain();
  assert.ok(queued);
  assert.deepEqual(rest, []);
  const { event, ...circumstances } = queued;
  assert.deepEqual([event.name, event.sessionId], ["Stop", "s"]);
  assert.deepEqual(circumstances, {
    host: "codex",
    atMs: 1_000_000,
    pid: 77,
    env: { TMUX: "/t,1,2", TMUX_PANE: "%3", AGENT_STATUS_DIR: "/own" },
    workingDirectory: "/w",
  });
  assert.deepEqual(queue.names, [], "what was taken is gone");
  assert.ok(isEmpty(queue.path));
});

test("events come in the order in which hooks were done, and then in that of their processes", () => {
  using queue = new Queue();
  queue.put("9", stop("third"), { atS: 1002 });
  queue.put("100", stop("second"), { atS: 1001 });
  queue.put("20", stop("first"), { atS: 1001 });
  queue.put("20.1", stop("zeroth"), { atS: 1000 });
  const order = queue.drain().map(({ event }) => event.sessionId);
  assert.deepEqual(order, ["zeroth", "first", "second", "third"]);
});

test("a plugin does not say who its host is: the variables do", () => {
  using queue = new Queue();
  const head = (...plugin: readonly string[]): readonly string[] => [
    "1",
    "plugin",
    "7",
    "",
    "",
    "",
    "/",
    ...plugin,
    ".",
  ];
  queue.put("1", stop("a"), { head: head("/p", "/d", "/c", "/e") });
  queue.put("2", stop("b"), { head: head("", "", "/c", "/e") });
  queue.put("3", stop("c"), { head: head("", "", "", "") });
  assert.deepEqual(
    queue.drain().map(({ host }) => host),
    ["codex", "claude-code", "codex"],
  );
});

test("what is no event is thrown away, and nobody hears of it", () => {
  using queue = new Queue();
  const bodies = [
    "",
    "{",
    "[]",
    "null",
    "7",
    '"x"',
    "{}",
    '{"session_id":"s"}',
    '{"session_id":"","hook_event_name":"Stop"}',
    "\u0000\ufffd",
  ];
  for (const [index, body] of bodies.entries()) queue.put(String(index + 1), body);
  queue.put("90", stop("s"), { head: ["2", "codex", "7", "", "", "", "", "."] });
  writeFileSync(join(queue.path, "91.head"), "1\0codex\x007\0.\0");
  assert.deepEqual(queue.drain(), []);
  assert.deepEqual(queue.names, []);
});

test("a head that is not whole yet is left for the next time", () => {
  using queue = new Queue();
  queue.put("1", stop("s"), { head: [] });
  queue.put("2", stop("s"), { head: ["1", "codex", "7"] });
  writeFileSync(join(queue.path, "3.body"), "half");
  assert.deepEqual(queue.drain(), []);
  assert.equal(queue.names.length, 5);
  queue.put("1", stop("s"));
  assert.equal(queue.drain().length, 1);
});

test("an event that is too long is thrown away unread", () => {
  using queue = new Queue();
  queue.put("1", "{");
  truncateSync(join(queue.path, "1.body"), limits.eventBytesMax + 1);
  queue.put("2", stop("s"));
  assert.equal(queue.drain().length, 1);
  assert.deepEqual(queue.names, []);
});

test("an event that brings its hearer down is gone, and the others are not", () => {
  using queue = new Queue();
  queue.put("1", stop("bad"), { atS: 1 });
  queue.put("2", stop("good"), { atS: 2 });
  assert.throws(() =>
    drain(queue.path, () => {
      throw new Error("a mistake of ours");
    }),
  );
  assert.deepEqual(
    queue.drain().map(({ event }) => event.sessionId),
    ["good"],
  );
});

test("of more events than are heard in one go, the oldest are", () => {
  using queue = new Queue();
  // Not done yet, so that looking at them is all that they cost.
  for (let index = 0; index <= limits.queueFilesMax; index += 1) {
    writeFileSync(join(queue.path, `${index}.head`), "");
  }
  const last = queue.names.at(-1)?.replace(".head", "") ?? "";
  queue.put(last, stop("oldest"), { atS: 1 });
  assert.deepEqual(
    queue.drain().map(({ event }) => event.sessionId),
    ["oldest"],
  );
});

test("AS-95: what a hook left that never came back is swept away", () => {
  using queue = new Queue();
  const nowMs = Date.now();
  writeFileSync(join(queue.path, "1.body"), "half");
  sweep(queue.path, nowMs + limits.unfinishedMs - 1000);
  assert.deepEqual(queue.names, ["1.body"]);
  sweep(queue.path, nowMs + limits.unfinishedMs + 1000);
  assert.deepEqual(queue.names, []);
});

test("a queue that is not there is empty", () => {
  using queue = new Queue();
  rmSync(queue.path, { recursive: true });
  assert.deepEqual(queue.drain(), []);
  assert.ok(isEmpty(queue.path));
  sweep(queue.path, 0);
});

test("a head that is too long is taken away with its event", () => {
  using queue = new Queue();
  queue.put("12", stop("s"), { head: ["1", "codex", "77", "x".repeat(limits.headBytesMax), "."] });
  assert.deepEqual(queue.drain(), []);
  assert.deepEqual(queue.names, []);
});

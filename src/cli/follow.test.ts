/** Following a log through a real door: what comes, what is gone, and what took its place. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { agentId } from "../core/index.ts";
import { Credentials, Metrics, openHttpDoor, Timeline } from "../doors/http/index.ts";
import { MemoryLog } from "../log/index.ts";
import type { Plane } from "../plane/index.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { openPlane } from "../testing/test-plane.ts";
import { socketIn } from "../transport/index.ts";
import { WorkView } from "../views/index.ts";
import { decodeMessage, type Followed, type FollowOptions, follow } from "./follow.ts";

class CutLog extends MemoryLog {
  isCut = false;

  override get oldestSequence(): number {
    return this.isCut ? 3 : super.oldestSequence;
  }
}

test("what is not kept any more is told, and what is still kept comes all the same", async () => {
  await using directory = await temporaryDirectory();
  const log = new CutLog();
  await using served = await serveIn(directory.path, log);
  for (const name of ["one", "two", "three"]) await register(served.plane, name);
  log.isCut = true;
  const followed = await take(5, { after: 1 }, directory.path);
  assert.deepEqual(followed, [
    "connected",
    "gap: entries 2 to 2 are not kept any more",
    "connected",
    "3",
    "4",
  ]);
});

test("who is ahead of the log is told, and goes on from its end", async () => {
  await using directory = await temporaryDirectory();
  await using served = await serveIn(directory.path, new MemoryLog());
  const taking = take(3, { after: 1_000 }, directory.path);
  await waitForWatcher(served.plane);
  await register(served.plane, "one");
  const told = "gap: the log ends before entry 1001; going on from its end";
  assert.deepEqual(await taking, ["connected", told, "2"]);
});

test("another log in the same place is told, and read from its beginning", async () => {
  await using directory = await temporaryDirectory();
  const first = await serveIn(directory.path, new MemoryLog());
  await register(first.plane, "one");
  const taking = take(7, { after: 0 }, directory.path);
  await waitForWatcher(first.plane);
  await first[Symbol.asyncDispose]();
  await using second = await serveIn(directory.path, new MemoryLog());
  await register(second.plane, "other");
  const followed = await taking;
  assert.deepEqual(followed.slice(0, 3), ["connected", "1", "2"]);
  assert.match(followed[3] ?? "", /^lost: /);
  const rest = followed.filter((line, index) => index > 2 && !line.startsWith("lost: "));
  assert.match(rest[0] ?? "", /^gap: another log is served here now/);
  assert.deepEqual(rest.slice(1, 3), ["connected", "1"]);
});

test("a daemon that was never there is not waited for", async () => {
  await using directory = await temporaryDirectory();
  await assert.rejects(take(1, { after: 0 }, directory.path), { code: "not_running" });
});

test("messages are read as they are written, comments are not", () => {
  const hello = 'retry: 1000\nevent: hello\nid: 7\ndata: {"a":1}';
  assert.deepEqual(decodeMessage(hello), { event: "hello", id: "7", data: '{"a":1}' });
  assert.deepEqual(decodeMessage("data: one\ndata: two"), {
    event: "message",
    id: "",
    data: "one\ntwo",
  });
  assert.equal(decodeMessage(": keep-alive"), undefined);
});

/** The first so many that are followed, as short words. */
async function take(
  count: number,
  options: Pick<FollowOptions, "after">,
  directory: string,
): Promise<readonly string[]> {
  const taken: string[] = [];
  const stream = follow({ "data-dir": directory }, { topics: [], isPatient: true, ...options });
  for await (const followed of stream) {
    taken.push(wordFor(followed));
    if (taken.length === count) break;
  }
  return taken;
}

function wordFor(followed: Followed): string {
  switch (followed.kind) {
    case "entry":
      return String(followed.entry.sequence);
    case "connected":
      return "connected";
    case "lost":
    case "gap":
      return `${followed.kind}: ${followed.message}`;
  }
}

async function serveIn(
  directory: string,
  log: MemoryLog,
): Promise<AsyncDisposable & { readonly plane: Plane }> {
  await using opened = new AsyncDisposableStack();
  const work = new WorkView();
  const { plane } = opened.use(await openPlane({ log, views: [work] }));
  const about = { version: "1", planeId: log.id, startedAtMs: 0, pid: 1, isKept: false };
  opened.use(
    await openHttpDoor(plane, {
      places: [{ path: socketIn(directory) }],
      about: () => about,
      metrics: new Metrics({ methods: [] }),
      timeline: new Timeline(),
      credentials: new Credentials("secret"),
      find: async () => ({ hits: [], ranking: "table" }),
      ranking: () => ({ ranking: "table" }),
      lookAround: async () => [],
      lookClosely: (seen) => seen,
      work,
      isReady: () => true,
      onFault: (fault) => assert.fail(String(fault)),
    }),
  );
  const closing = opened.move();
  return { plane, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

async function waitForWatcher(plane: Plane): Promise<void> {
  while (plane.watchers === 0) await new Promise(setImmediate);
}

async function register(plane: Plane, name: string): Promise<void> {
  const card = { name, description: "", version: "", capabilities: [], tools: [], metadata: [] };
  const id = agentId(randomBytes(16).toString("hex"));
  await plane.submit(
    { type: "agent.register", agentId: id, card, ttlMs: 60_000 },
    { actor: "test" },
    () => undefined,
  );
}

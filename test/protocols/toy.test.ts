import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Log, MemoryLog, SqliteLog } from "../../src/log/index.ts";
import { waitUntil } from "../../src/testing/puppet.ts";
import { temporaryDirectory } from "../../src/testing/temporary.ts";
import { openPlane } from "../../src/testing/test-plane.ts";
import { openWork, type Work } from "../../src/work.ts";
import { ToyConnection } from "./toy.ts";

/** One life of the process: a plane on a log, its work, and one agent that writes until it is let go. */
async function live(log: Log, release: Promise<unknown>) {
  const opened = await openPlane({ log });
  const { plane, clock } = opened;
  const onFault = (fault: unknown): void => assert.fail(String(fault));
  const work: Work = openWork(plane, { clock, onFault });
  work.runtime.registerAgent(
    "writer",
    async (input, context) => {
      await context.textDelta(`about ${input}`);
      const { promise: gone, reject } = Promise.withResolvers<never>();
      context.signal.addEventListener("abort", () => reject(context.signal.reason));
      await Promise.race([release, gone]);
      await context.artifact({ uri: "memory://story", mimeType: "text/plain" });
      return { by: context.principal, in: context.contextId };
    },
    { isIdempotent: true },
  );
  work.runtime.registerAgent("asker", (input, context) =>
    context.ask(String(input), { choices: ["ship it", "wait"] }),
  );
  work.runtime.registerAgent("counter", (input, context) =>
    context.ask(String(input), { schema: { type: "integer" } }),
  );
  const stop = async (): Promise<void> => {
    await work.close({ graceMs: 0 });
    await opened[Symbol.asyncDispose]();
  };
  return { work, stop };
}

function connect(work: Work, principal = "ada") {
  const lines: string[] = [];
  const connection = new ToyConnection(work, principal, (line) => lines.push(line));
  return { lines, connection };
}

const withoutNumbers = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.replace(/^\d+ /, ""));

test("a further job protocol needs no words of another's, and less than 150 lines", () => {
  const source = readFileSync(new URL("toy.ts", import.meta.url), "utf8");
  assert(source.split("\n").length < 150);
  const imported = [...source.matchAll(/from "([^"]+)"/g)].map(([, path]) => path);
  assert.deepEqual(imported, ["../../src/core/index.ts", "../../src/work.ts"]);
});

test("a job is submitted, followed to its end and cancelled over a protocol without sessions", async () => {
  const release = Promise.withResolvers<void>();
  const { work, stop } = await live(new MemoryLog(), release.promise);
  const { lines, connection } = connect(work);
  await connection.receive('submit trip writer "cats"');
  const [, id] = lines.splice(0)[0]?.split(" ") ?? [];
  const following = connection.receive(`follow ${id} 0`);
  await waitUntil(() => lines.length === 2);
  release.resolve();
  await following;
  assert.deepEqual(withoutNumbers(lines.splice(0)), [
    'status {"phase":"running"}',
    'text_delta {"text":"about cats"}',
    'artifact {"uri":"memory://story","mime_type":"text/plain"}',
    'end success {"by":"ada","in":"trip"}',
  ]);
  const eve = connect(work, "eve");
  await eve.connection.receive(`follow ${id} 0`);
  await eve.connection.receive(`cancel ${id}`);
  await eve.connection.receive("submit trip nobody 1");
  await eve.connection.receive("dance");
  assert.deepEqual(
    eve.lines.map((line) => line.split(" ").slice(0, 2).join(" ")),
    [
      "refused job_not_found",
      "refused job_not_found",
      "refused skill_not_found",
      "refused invalid_argument",
    ],
  );
  await stop();
});

test("a job that runs is cancelled by its principal, and the follower is told how it ended", async () => {
  const { work, stop } = await live(new MemoryLog(), new Promise(() => undefined));
  const { lines, connection } = connect(work);
  await connection.receive("submit trip writer 7");
  const [, id] = lines.splice(0)[0]?.split(" ") ?? [];
  const following = connection.receive(`follow ${id} 0`);
  await waitUntil(() => lines.length === 2);
  await connection.receive(`cancel ${id}`);
  await following;
  assert.deepEqual(withoutNumbers(lines.slice(2)), [
    `cancelling ${id}`,
    "end cancelled job_cancelled",
  ]);
  await stop();
});

test("a question of a job is among its events, and the first answer wins", async () => {
  const { work, stop } = await live(new MemoryLog(), Promise.resolve());
  const ada = connect(work);
  await ada.connection.receive('submit trip asker "Ready?"');
  const [, id] = ada.lines.splice(0)[0]?.split(" ") ?? [];
  const following = ada.connection.receive(`follow ${id} 0`);
  await waitUntil(() => ada.lines.length === 3);
  const [, question] = /"question_id":"([^"]+)"/.exec(ada.lines[1] ?? "") ?? [];
  const [eve, other] = [connect(work, "eve"), connect(work)];
  await eve.connection.receive(`answer ${question} "ship it"`);
  await other.connection.receive(`answer ${question} "maybe"`);
  await other.connection.receive(`answer ${question} "ship it"`);
  await other.connection.receive(`answer ${question} "wait"`);
  await following;
  const firstWords = ({ lines }: typeof ada): readonly string[] =>
    lines.map((line) => line.split(" ").slice(0, 2).join(" "));
  assert.deepEqual(firstWords(eve), ["refused question_not_found"]);
  assert.deepEqual(firstWords(other), [
    "refused answer_invalid",
    `answered ${question}`,
    "refused question_closed",
  ]);
  assert.match(other.lines[2] ?? "", /was answered by ada at \d{4}-/);
  const asked = { question_id: question, prompt: "Ready?", choices: ["ship it", "wait"] };
  assert.deepEqual(withoutNumbers(ada.lines), [
    'status {"phase":"running"}',
    `question ${JSON.stringify({ ...asked, timeout_seconds: 180 })}`,
    'status {"phase":"input_required","message":"Ready?"}',
    `question_closed {"question_id":"${question}","outcome":"answered","by":"ada"}`,
    'status {"phase":"running"}',
    'end success "ship it"',
  ]);
  await stop();
});

test("an answer that the schema of the question does not allow is refused, and another one wins", async () => {
  const { work, stop } = await live(new MemoryLog(), Promise.resolve());
  const { lines, connection } = connect(work);
  await connection.receive('submit trip counter "How many?"');
  const [, id] = lines.splice(0)[0]?.split(" ") ?? [];
  const following = connection.receive(`follow ${id} 0`);
  await waitUntil(() => lines.length === 3);
  const [, question] = /"question_id":"([^"]+)"/.exec(lines[1] ?? "") ?? [];
  const other = connect(work);
  await other.connection.receive(`answer ${question} "abc"`);
  await other.connection.receive(`answer ${question} 7`);
  await following;
  assert.match(other.lines[0] ?? "", /^refused answer_invalid .*must be a whole number$/);
  assert.equal(other.lines[1], `answered ${question}`);
  assert.match(lines.at(-1) ?? "", /^\d+ end success 7$/);
  await stop();
});

test("a follower that comes back after a restart is told the rest, nothing twice and nothing left out", async () => {
  await using directory = await temporaryDirectory();
  const release = Promise.withResolvers<void>();
  const log = SqliteLog.open(directory.path);
  const first = await live(log, release.promise);
  const before = connect(first.work);
  await before.connection.receive('submit trip writer "dogs"');
  const [, id] = before.lines.splice(0)[0]?.split(" ") ?? [];
  const dropped = before.connection.receive(`follow ${id} 0`);
  await waitUntil(() => before.lines.length === 2);
  before.connection[Symbol.dispose]();
  await dropped;
  const seen = Number(before.lines.at(-1)?.split(" ")[0]);
  await first.stop();
  await log[Symbol.asyncDispose]();
  await using again = SqliteLog.open(directory.path);
  const second = await live(again, release.promise);
  const after = connect(second.work);
  const following = after.connection.receive(`follow ${id} ${seen}`);
  release.resolve();
  await following;
  assert.deepEqual(withoutNumbers(after.lines), [
    'status {"phase":"running"}',
    'text_delta {"text":"about dogs"}',
    'artifact {"uri":"memory://story","mime_type":"text/plain"}',
    'end success {"by":"ada","in":"trip"}',
  ]);
  const numbers = [...before.lines, ...after.lines].map((line) => Number(line.split(" ")[0]));
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((one, other) => one - other),
  );
  await second.stop();
});

/**
 * Three workers share a queue. One of the tasks fails the first time, one is cancelled while it is worked
 * on, and one is given up by a worker that is stopped: each is done once, or not at all.
 */
import assert from "node:assert/strict";
import { type Agent, connect } from "tipstaff/client";

await using client = await connect();
const type = `resize-${process.pid}`;
const stopping = new AbortController();
const done: number[] = [];

async function work(agent: Agent): Promise<void> {
  for await (const task of client.tasks.claim(agent, { types: [type], signal: stopping.signal })) {
    const { picture } = task.input.json<{ picture: number }>();
    if (picture === 3 && task.deliveries === 1) {
      await task.fail("out of memory", { retryAfterMs: 100 });
    } else if (picture === 5) {
      // Whoever cancels a task stops the work on it.
      const cancelled = new Promise((resolve) => task.signal.addEventListener("abort", resolve));
      await client.tasks.cancel(task.id);
      await cancelled;
      await assert.rejects(task.complete(), { code: "claim_lost" });
    } else {
      await task.complete({ thumbnail: `${picture}.png` });
      done.push(picture);
    }
  }
}

await using first = await client.register({ name: "resizer-1" });
await using second = await client.register({ name: "resizer-2" });
await using third = await client.register({ name: "resizer-3" });
const workers = [first, second, third].map((agent) => work(agent));
const ids: string[] = [];
for (let picture = 0; picture < 10; picture++) {
  const { id } = await client.tasks.create({ type, input: { picture }, maxRetries: 1 });
  ids.push(id);
}

const expected = [0, 1, 2, 3, 4, 6, 7, 8, 9];
const ended = new Set<string>();
for await (const entry of client.watch({ afterSequence: 0, topics: ["task."] })) {
  if (entry.type !== "task.completed" && entry.type !== "task.cancelled") continue;
  if (ids.includes(entry.task.id)) ended.add(entry.task.id);
  if (ended.size === ids.length) break;
}
stopping.abort();
const ends = await Promise.allSettled(workers);
assert(ends.every((end) => end.status === "rejected" && end.reason === stopping.signal.reason));

assert.deepEqual(
  done.toSorted((one, other) => one - other),
  expected,
);
const retried = await client.tasks.get(ids[3] ?? "");
assert.deepEqual([retried.state, retried.deliveries], ["completed", 2]);
console.log(`${done.length} pictures resized by three workers, 1 cancelled, 1 retried`);

/**
 * Storms by the hundred. `SIMULATION_SEEDS=20000` (or `--long`) lets more of them loose;
 * `SIMULATION_SEED=4117` replays one.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isEventType, topics } from "../../src/core/index.ts";
import { Storm } from "./storm.ts";

const stepsPerStorm = 300;
const one = process.env["SIMULATION_SEED"];
const isLong = process.argv.includes("--long");
const count = Number(process.env["SIMULATION_SEEDS"] ?? (isLong ? 20_000 : 400));

test("nothing is lost, doubled or shown too soon, whatever happens", async (context) => {
  const seen = new Map<string, number>();
  const seeds =
    one === undefined ? Array.from({ length: count }, (_, at) => at + 1) : [Number(one)];
  for (const seed of seeds) {
    const storm = new Storm(seed);
    await storm.run(stepsPerStorm);
    for (const [what, often] of storm.seen) seen.set(what, (seen.get(what) ?? 0) + often);
  }
  if (one !== undefined) return;
  for (const [what, often] of [...seen].sort()) context.diagnostic(`${what}: ${often}`);
  const happening = Object.keys(topics).filter((type) => isEventType(type));
  const wanting = [...happening, ...mustHappen].filter((what) => !seen.has(what));
  assert.deepEqual(wanting, [], "a storm in which this never happens proves little");
});

test("the same seed gives the same storm", async () => {
  const [first, second] = [new Storm(7), new Storm(7)];
  await first.run(stepsPerStorm);
  await second.run(stepsPerStorm);
  assert.deepEqual(second.trace, first.trace);
  assert.deepEqual(second.seen, first.seen);
});

const mustHappen = [
  "agent_not_found",
  "agent_dead",
  "lease_held",
  "lease_not_found",
  "token_mismatch",
  "task_not_found",
  "task_not_claimed",
  "task_claimed_by_another",
  "claim_lost",
  "task_ended",
  "task_not_dead",
  "key_reused",
  "no_task",
  "claim: waited",
  "claim: agent_dead",
  "claim: unavailable",
  "claim: no_task",
  "lease: waited",
  "lease: agent_dead",
  "lease: unavailable",
  "lease: lease_held",
  "came back",
  "listens too",
  "had it when it was back",
  "passed over",
  "withdrew",
  "gave back",
  "hung up",
  "policy: allow",
  "policy: deny",
  "crashed with work under way",
  "torn tail dropped",
  "durable, though nobody was told",
  "stopped because the disk failed",
  "damaged snapshot passed over",
  "snapshot made",
  "cut by age",
  "cut by size",
  "opened after a cut",
  "watch told of the cut",
  "a snapshot of a cut log damaged",
  "housekeeping failed",
  "suspended",
  "away: back",
  "away: day",
  "watch resumed",
  "closed",
  "job_not_found",
  "attempt_over",
  "session_gone",
  "question_not_found",
  "question_closed",
  "answer_invalid",
  "job asked: answered",
  "job asked: ask_timeout",
  "job asked: question_closed",
  "job asked: attempt_over",
  "job asked: unavailable",
  "agent asked: answered",
  "agent asked: closed",
  "agent asked: open",
  "asker hung up",
  "asked by a later attempt",
  "closed: withdrawn",
  "closed: timed_out",
  "closed: asker_ended",
  "closed: cannot_run_again",
  "answered over HTTP: first",
  "answered over HTTP: question_closed",
  "answered over ARCP: first",
  "answered over ARCP: question_closed",
  "answered over ARCP: question_not_found",
  "permission_denied",
  "budget_exhausted",
  "grant_too_wide",
  "invalid_argument",
  "skill_not_found",
  "journals: as they were told",
  "resume: was away",
  "resume: took over",
  "resume: after a cut",
  "resume: what it wants was cut",
  "told again",
  "told again: cut in between",
  "told again: nothing was missed",
  "cut by size, though it was needed",
];

/** A list that is longer than one page of the daemon. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { openTestDoor, testToken } from "../testing/http-door.ts";
import { temporaryDirectory } from "../testing/temporary.ts";
import { answer } from "./answer.ts";
import { followAgents } from "./feed.ts";
import { lookAround } from "./look-around.ts";
import { lookingFrom } from "./looking.ts";
import { tokenPath } from "./token.ts";

test("open questions behind the first page are listed and can be answered", async () => {
  await using to = await openTestDoor();
  await using directory = await temporaryDirectory();
  await writeFile(tokenPath(directory.path), testToken);
  const { path } = directory;
  const http = `127.0.0.1:${to.port}`;
  const values = { "data-dir": path, "status-dir": path, http, json: true };
  // A page ends at 4 MB: these are two pages.
  const prompt = "x".repeat(16_000);
  const ids: string[] = [];
  for (let number = 0; number < 9; number += 1) {
    const { id: agentId } = await to.done("registerAgent", { card: { name: `payer-${number}` } });
    const asking = Array.from({ length: 32 }, () => to.done("askQuestion", { agentId, prompt }));
    for (const { id } of await Promise.all(asking)) ids.push(id);
  }
  const { rows, total } = await to.done("listQuestions", { state: ["open"], limit: 1_000 });
  assert.equal(total, ids.length);
  assert.ok(rows.length < total, "a page has fewer");

  const idsOf = (questions: readonly { readonly id: string }[]) => questions.map(({ id }) => id);
  assert.deepEqual(idsOf((await lookAround(values)).questions).sort(), ids.toSorted());
  const stopped = new AbortController();
  for await (const { questions } of followAgents(values, lookingFrom(values), stopped.signal)) {
    assert.deepEqual(idsOf(questions).sort(), ids.toSorted());
    break;
  }

  const last = ids.at(-1) ?? "";
  assert.equal(await answer(values, [last.slice(-10), "yes"]), 0);
  await assert.rejects(answer(values, [last, "no"]), /^Failure: this question was answered by/);
  await assert.rejects(answer(values, ["payer-8", "no"]), /^Failure: 31 questions match payer-8/);
});

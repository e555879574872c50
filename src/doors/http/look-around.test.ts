import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog } from "../../log/index.ts";
import { heartbeat, register } from "../../testing/commands.ts";
import { openTestDoor } from "../../testing/http-door.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { test as me, openPlane, type TestPlane } from "../../testing/test-plane.ts";
import type { Sighting } from "../../wire/api/index.ts";
import { printTimestamp, type StatusRecord, schemaVersion } from "../../wire/status-file/index.ts";
import { type LookAround, makeLookAround } from "./look-around.ts";

const silentAfterMs = 300_000;

test("a registered agent and its file are one, and the file says more", async () => {
  await using opened = await openPlane();
  await opened.plane.submit(register("ada"), me, () => ({}));
  const { lookAround } = watching(opened, ["ada"]);
  const seen = await lookAround({ silentAfterMs });
  assert.deepEqual(
    seen.map(({ id, known }) => [id, ...known.map(({ source }) => source)]),
    [["ada", "file", "registry"]],
  );
});

test("a card may say which process its agent is, and what else stands there is somebody's own", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  const startedAtMs = 1_000_000;
  const place = { host: "here", pid: "42", startedAtMs: `${startedAtMs}`, workspace: "/src/x" };
  const odd = { host: "h".repeat(256), pid: "4e1", startedAtMs: "-1", workspace: "" };
  for (const [name, metadata] of Object.entries({ ada: place, eve: odd })) {
    const command = register(name);
    const card = { ...command.card, metadata: Object.entries(metadata) };
    await plane.submit({ ...command, card }, me, () => ({}));
  }
  const { lookAround } = makeLookAround({
    plane,
    files: () => [],
    findProcesses: () => [{ pid: 42, startedAtMs, program: "codex" }],
    hostName: "here",
  });
  const seen = await lookAround({ silentAfterMs });
  assert.deepEqual(
    seen.map(({ id, pid, host, workspace }) => [id, pid, host, workspace]),
    [
      ["ada", 42, "here", "/src/x"],
      ["eve", undefined, "", undefined],
    ],
  );
});

test("one look serves all who ask at once, unless something has happened", async () => {
  await using opened = await openPlane();
  const { lookAround, looks } = watching(opened, ["codex-1"]);
  const ask = () => lookAround({ silentAfterMs });
  await Promise.all([ask(), ask(), ask()]);
  assert.equal(looks(), 1);
  await opened.plane.submit(register("ada"), me, () => ({}));
  const [seen] = await Promise.all([ask(), ask()]);
  assert.equal(looks(), 2);
  assert.equal(seen.length, 2);
  await lookAround({ silentAfterMs: 1_000 });
  assert.equal(looks(), 3, "others mean something else by silence");
});

test("after a restart nobody is silent for what could not be heard", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  {
    await using before = await openPlane({ log, clock });
    await before.plane.submit(register("ada", { ttlMs: 86_400_000 }), me, () => ({}));
    await before.plane.submit(heartbeat("ada", "writing main.tf"), me, () => ({}));
  }
  clock.leap(silentAfterMs * 2);
  await using after = await openPlane({ log, clock });
  const state = async (): Promise<unknown> => {
    const [ada] = await watching(after, []).lookAround({ silentAfterMs });
    return ada?.state;
  };
  assert.equal(await state(), "working");
  const restartedAtMs = clock.nowMs();
  // In steps that are too short for the plane to think that it was suspended.
  for (let passedMs = 0; passedMs <= silentAfterMs; passedMs += 4_000) {
    clock.leap(4_000);
    await after.plane.submit(heartbeat("ada"), me, () => ({}));
  }
  assert.equal(await state(), "silent");
  const [ada] = await watching(after, []).lookAround({ silentAfterMs });
  assert.equal(ada?.sinceMs, restartedAtMs, "what was heard before the restart is not known");
});

test("after a restart the time of the last heartbeat and of the last report are not made up", async () => {
  const log = new MemoryLog();
  const clock = new ManualClock();
  const waitsSinceMs = clock.nowMs();
  {
    await using before = await openPlane({ log, clock });
    await before.plane.submit(register("ada", { ttlMs: 10_000 }), me, () => ({}));
    const waits = { ...heartbeat("ada"), activity: { state: "waiting", note: "pay?" } } as const;
    await before.plane.submit(waits, me, () => ({}));
    clock.leap(4_000);
    await before.plane.submit(heartbeat("ada"), me, () => ({}));
  }
  clock.leap(60_000);
  const restartedAtMs = clock.nowMs();
  await using after = await openPlane({ log, clock });
  const look = async (): Promise<Sighting | undefined> => {
    const [ada] = await watching(after, []).lookAround({ silentAfterMs });
    return ada;
  };
  const unheard = await look();
  assert.deepEqual(unheard?.known[0]?.unheardSinceMs, restartedAtMs);
  assert.equal(unheard?.lastProgressAtMs, waitsSinceMs, "not the restart");
  for (let step = 0; step < 3; step++) {
    clock.leap(4_000);
    await after.plane.submit(register(`other-${step}`), me, () => ({}));
  }
  const lost = await look();
  assert.deepEqual([lost?.state, lost?.sinceMs], ["lost", restartedAtMs]);
  await after.plane.submit(heartbeat("ada"), me, () => ({}));
  const heard = await look();
  assert.equal(heard?.state, "waiting");
  assert.deepEqual(heard.known[0], {
    source: "registry",
    state: "waiting",
    word: "waiting",
    sinceMs: waitsSinceMs,
    heardAtMs: clock.nowMs(),
  });
});

test("only whom is shown is looked at closely, and what needs a person is found without", async () => {
  const ids = ["a", "b", "c", "d"];
  const closely: number[] = [];
  await using to = await openTestDoor({
    lookAround: async () => ids.map(sightingOf),
    lookClosely: (seen) => {
      closely.push(seen.length);
      return seen.map((one) => ({ ...one, branch: "main" }));
    },
  });
  const { agents, total } = await to.done("getStatus", { limit: 2 });
  assert.deepEqual([agents.length, agents[0]?.branch, total], [2, "main", 4]);
  const named = await to.done("getStatus", { limit: 2, agent: "d" });
  assert.deepEqual([named.agents.map(({ id }) => id), named.total], [["d"], 1]);
  assert.equal((await to.done("getAttention", {})).total, 4);
  assert.deepEqual(closely, [2, 1]);
});

function watching(
  { plane, clock }: TestPlane,
  ids: readonly string[],
): { readonly lookAround: LookAround; readonly looks: () => number } {
  let looks = 0;
  const { lookAround } = makeLookAround({
    plane,
    files: () => {
      looks += 1;
      return ids.map((id) => ({ path: `/s/${id}.json`, record: recordOf(id, clock.nowMs()) }));
    },
    findProcesses: () => [],
    hostName: "here",
  });
  return { lookAround, looks: () => looks };
}

function recordOf(id: string, nowMs: number): StatusRecord {
  return {
    schema_version: schemaVersion,
    agent_id: id,
    agent_name: id,
    runtime: { lifecycle: "running", updated_at: printTimestamp(nowMs) },
    task: { state: "working" },
  };
}

function sightingOf(id: string): Sighting {
  const known = [
    { source: "file", state: "waiting", word: "input-required", heardAtMs: 1 },
  ] as const;
  return { id, name: id, host: "here", state: "waiting", known, isContradicted: false };
}

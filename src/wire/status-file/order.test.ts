import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareCodePoints, type DisplayKey, sortForDisplay, sortForLoad } from "./order.ts";
import { type DerivedState, type StatusFile, type StatusRecord, taskStates } from "./record.ts";
import { deriveState, lastActivityAtMs, type Moment, updatedAtMs } from "./state.ts";
import { parseTimestamp, printTimestamp } from "./timestamp.ts";

const nowMs = parseTimestamp("2026-06-20T16:50:00Z").atMs ?? 0;

type Given = {
  readonly id: string;
  readonly at: string;
  readonly activeAt?: string;
  readonly rest?: Partial<StatusRecord>;
  readonly lifecycle?: "running" | "stopped";
  readonly path?: string;
};

function file({ id, at, activeAt, rest = {}, lifecycle = "running", path }: Given): StatusFile {
  const times = { updated_at: `2026-06-20T${at}Z` };
  const runtime = activeAt
    ? { lifecycle, ...times, last_activity_at: `2026-06-20T${activeAt}Z` }
    : { lifecycle, ...times };
  const record: StatusRecord = {
    schema_version: "agent-status/v1alpha1",
    agent_id: id,
    agent_name: "n",
    runtime,
    ...rest,
  };
  return { path: path ?? `/s/${id}.json`, record };
}

function shown(files: readonly StatusFile[], moment: Moment): readonly StatusFile[] {
  return sortForDisplay(files, (each) => keyOf(each, moment));
}

function keyOf({ record }: StatusFile, moment: Moment): DisplayKey {
  const activeAtMs = lastActivityAtMs(record) ?? updatedAtMs(record);
  return { agentId: record.agent_id, state: deriveState(record, moment), activeAtMs };
}

function idsOf(files: readonly StatusFile[]): readonly string[] {
  return files.map(({ record }) => record.agent_id);
}

test("[AS-54] files load the newest first, and those of one time by their names", () => {
  const files = [
    file({ id: "b", at: "16:45:00" }),
    file({ id: "new", at: "16:45:00.001" }),
    file({ id: "a", at: "16:45:00" }),
    file({ id: "a-b", at: "18:45:00" }),
    file({ id: "old", at: "16:44:59" }),
  ];
  assert.deepEqual(idsOf(sortForLoad(files)), ["a-b", "new", "a", "b", "old"]);
  // `-` comes before the dot of `.json`.
  const tied = [file({ id: "a", at: "16:45:00" }), file({ id: "a-b", at: "16:45:00" })];
  assert.deepEqual(idsOf(sortForLoad(tied)), ["a-b", "a"]);
});

test("[AS-55] [TV-34] who is at something is shown first, by id; then the last active first", () => {
  const working = { rest: { task: { state: "working" } } } as const;
  const files = [
    file({ id: "idle", at: "16:49:50", activeAt: "16:49:00" }),
    file({ id: "working-older", at: "16:48:30", ...working }),
    file({ id: "working-newer", at: "16:49:55", ...working }),
    file({ id: "stopped", at: "16:49:45", lifecycle: "stopped" }),
    file({ id: "stale", at: "16:47:30" }),
  ];
  const moment = { nowMs, staleAfterMs: 120_000 };
  const order = ["working-newer", "working-older", "stopped", "idle", "stale"];
  assert.deepEqual(idsOf(shown(files, moment)), order);
  assert.deepEqual(idsOf(shown(files.toReversed(), moment)), order);
});

test("[AS-55] which states are quiet", () => {
  const states = [...taskStates, "idle", "stale", "missing", "running", "stopped"] as const;
  const isQuiet = (state: DerivedState): boolean => {
    const keys = [
      { agentId: "a", state, activeAtMs: nowMs },
      { agentId: "b", state: "working", activeAtMs: 0 },
    ] as const;
    return sortForDisplay(keys, (key) => key)[0]?.agentId === "b";
  };
  assert.deepEqual(states.filter(isQuiet), ["canceled", "unknown", "idle", "stale", "stopped"]);
});

test("[AS-55] ids are compared by code point, and equal ids keep the order of loading", () => {
  const working = { rest: { task: { state: "working" } } } as const;
  const files = [
    file({ id: "\u{1f600}", at: "16:50:00", ...working }),
    file({ id: "\ufffd", at: "16:50:00", ...working }),
    file({ id: "Z", at: "16:50:00", path: "/s/2.json", ...working }),
    file({ id: "Z", at: "16:50:00", path: "/s/1.json", ...working }),
    file({ id: "a", at: "16:50:00", ...working }),
  ];
  const sorted = shown(sortForLoad(files), { nowMs, staleAfterMs: 60_000 });
  assert.deepEqual(idsOf(sorted), ["Z", "Z", "a", "\ufffd", "\u{1f600}"]);
  assert.equal(sorted[0]?.path, "/s/1.json");
});

test("each file has its place in both orders, whatever the others are", () => {
  const moment = { nowMs, staleAfterMs: 60_000 };
  const some = fc
    .record({
      id: fc.string({ minLength: 1, maxLength: 2 }),
      updatedAt: fc.integer({ min: nowMs - 90_000, max: nowMs }).map(printTimestamp),
      activeAt: fc.option(fc.integer({ min: nowMs - 90_000, max: nowMs }).map(printTimestamp)),
      state: fc.option(fc.constantFrom(...taskStates)),
      name: fc.uuid(),
    })
    .map(({ id, updatedAt, activeAt, state, name }): StatusFile => {
      const times = { updated_at: updatedAt, ...(activeAt && { last_activity_at: activeAt }) };
      const record = file({ id, at: "16:50:00", rest: state ? { task: { state } } : {} }).record;
      return {
        path: `/s/${name}.json`,
        record: { ...record, runtime: { lifecycle: "running", ...times } },
      };
    });
  fc.assert(
    fc.property(fc.array(some), (files) => {
      const byTime = sortForLoad(files);
      for (const [one, next] of pairsOf(byTime)) {
        const [later, earlier] = [updatedAtMs(one.record), updatedAtMs(next.record)];
        assert(
          later > earlier || (later === earlier && compareCodePoints(one.path, next.path) <= 0),
        );
      }
      const inRows = shown(byTime, moment);
      const states = inRows.map(({ record }) => deriveState(record, moment));
      const firstIdle = states.indexOf("idle");
      assert(firstIdle < 0 || !states.slice(firstIdle).includes("working"));
      for (const [one, next] of pairsOf(inRows.map((each) => keyOf(each, moment)))) {
        const isSame = one.state === next.state && one.activeAtMs === next.activeAtMs;
        assert(!isSame || compareCodePoints(one.agentId, next.agentId) <= 0);
      }
      assert.deepEqual(new Set(inRows), new Set(files));
      assert.deepEqual(shown(sortForLoad(files.toReversed()), moment), inRows);
    }),
  );
});

function pairsOf<Item>(items: readonly Item[]): readonly (readonly [Item, Item])[] {
  return items.slice(1).map((item, index) => [items[index] ?? item, item]);
}

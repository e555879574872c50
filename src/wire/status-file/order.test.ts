import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareForDisplay, compareForLoad, sortForDisplay, sortForLoad } from "./order.ts";
import { type StatusFile, type StatusRecord, taskStates } from "./record.ts";
import { deriveState } from "./state.ts";
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
  assert.deepEqual(idsOf(sortForDisplay(files, moment)), order);
  assert.deepEqual(idsOf(sortForDisplay(files.toReversed(), moment)), order);
});

test("[AS-55] which states are quiet", () => {
  const moment = { nowMs, staleAfterMs: 60_000 };
  const marker = file({ id: "m", at: "16:50:00", rest: { task: { state: "working" } } });
  const isQuiet = (rest: Partial<StatusRecord>): boolean =>
    compareForDisplay(file({ id: "a", at: "16:50:00", rest }), marker, moment) > 0;
  assert.deepEqual(
    taskStates.filter((state) => isQuiet({ task: { state } })),
    ["canceled", "unknown"],
  );
  assert(isQuiet({}));
  assert(!isQuiet({ task: { summary: "x" } }));
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
  const sorted = sortForDisplay(files, { nowMs, staleAfterMs: 60_000 });
  assert.deepEqual(idsOf(sorted), ["Z", "Z", "a", "\ufffd", "\u{1f600}"]);
  assert.equal(sorted[0]?.path, "/s/1.json");
});

test("sorting and comparing are one order, whatever the files", () => {
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
      assert.deepEqual(byTime, files.toSorted(compareForLoad));
      const shown = sortForDisplay(files, moment);
      assert.deepEqual(
        shown,
        files.toSorted((a, b) => compareForDisplay(a, b, moment)),
      );
      const states = shown.map(({ record }) => deriveState(record, moment));
      const firstIdle = states.indexOf("idle");
      assert(firstIdle < 0 || !states.slice(firstIdle).includes("working"));
    }),
  );
});

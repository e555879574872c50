import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, EntryBody, Observed } from "../wire/api/index.ts";
import { dayOf, stretchesOf, strip } from "./history.ts";

const day = { startMs: 1_000, endMs: 11_000 };

test("a day is what was done in it, from the last thing before it on", () => {
  const entries = [
    seen(500, "working", "a"),
    seen(3_000, "waiting", "may I?"),
    seen(4_000, "working", "a"),
    at(9_000, { type: "observed.left", observed: observed("working", "a") }),
  ];
  assert.deepEqual(stretchesOf(entries, day), [
    { state: "working", note: "a", fromMs: 1_000, toMs: 3_000 },
    { state: "waiting", note: "may I?", fromMs: 3_000, toMs: 4_000 },
    { state: "working", note: "a", fromMs: 4_000, toMs: 9_000 },
    { state: "gone", note: "", fromMs: 9_000, toMs: 11_000 },
  ]);
});

test("who does the same on is one stretch, and who was gone all day did nothing", () => {
  const same = [seen(2_000, "idle", "npm test"), seen(5_000, "idle", "")];
  assert.deepEqual(stretchesOf(same, day), [
    { state: "idle", note: "npm test", fromMs: 2_000, toMs: 11_000 },
  ]);
  const gone = [at(500, { type: "observed.left", observed: observed("idle", "") })];
  assert.deepEqual(stretchesOf(gone, day), []);
});

test("what was seen late began when the source says, as the list of agents has it", () => {
  const entries = [
    seen(5_000, "working", "a", 2_000),
    seen(7_000, "idle", "", 3_000),
    seen(9_000, "lost", "", 8_000),
  ];
  assert.deepEqual(
    stretchesOf(entries, day).map(({ state, fromMs }) => [state, fromMs]),
    [
      ["working", 2_000],
      // By its last activity, while it was seen to go on.
      ["idle", 7_000],
      ["lost", 8_000],
    ],
  );
});

test("a lease or a task in between ends nothing that an agent does", () => {
  const lease = {
    taskId: "t",
    holder: "a",
    token: "1",
    acquiredAtMs: 0,
    expiresAtMs: 9_000,
    ttlMs: 9_000,
  };
  const entries = [
    seen(2_000, "working", "a"),
    at(3_000, { type: "lease.acquired", lease }),
    at(4_000, { type: "lease.released", lease }),
  ];
  assert.deepEqual(stretchesOf(entries, day), [
    { state: "working", note: "a", fromMs: 2_000, toMs: 11_000 },
  ]);
});

test("a day that no calendar has is refused, and the last of a leap year is not", () => {
  for (const text of ["2026-02-31", "2026-13-01", "2026-00-10", "2026-01-00", "0050-01-01"]) {
    assert.throws(() => dayOf(text), new RegExp(`there is no day ${text}`));
  }
  const { startMs, endMs } = dayOf("2028-02-29");
  assert.deepEqual(
    [startMs, endMs],
    [new Date(2028, 1, 29).getTime(), new Date(2028, 2, 1).getTime()],
  );
});

test("registered agents have days too", () => {
  const activity = { note: "x", sinceMs: 0, reportedAtMs: 0, source: "protocol" } as const;
  const says = (atMs: number, state: "reading" | "idle"): Entry =>
    at(atMs, { type: "agent.active", agentId: "a", activity: { ...activity, state } });
  assert.deepEqual(
    stretchesOf([says(2_000, "reading"), says(3_000, "idle")], day).map(({ state }) => state),
    ["working", "idle"],
  );
});

test("a strip shows in each cell what most needs a person, whatever else was in it", () => {
  // In a pipe there are 92 cells; of these stretches two lie in each, the last alone.
  const cellMs = 1_000;
  const states = ["working", "failed", "waiting", "idle", "lost"] as const;
  const stretches = states.map((state, index) => {
    const fromMs = (index * cellMs) / 2;
    return { state, note: "", fromMs, toMs: fromMs + cellMs / 2 };
  });
  const [cells] = strip(stretches, { startMs: 0, endMs: 92 * cellMs }).split("\n");
  assert.equal(cells, "  x!?");
});

function observed(state: Observed["state"], note: string, sinceMs = 0): Observed {
  return { id: "o", name: "o", state, note, goal: "", workspace: "", source: "file", sinceMs };
}

function seen(atMs: number, state: Observed["state"], note: string, sinceMs = atMs): Entry {
  return at(atMs, { type: "observed.changed", observed: observed(state, note, sinceMs) });
}

function at(atMs: number, body: EntryBody): Entry {
  return { sequence: atMs, busSequence: 0, topic: "", atMs, actor: "local", ...body };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { register } from "../../testing/commands.ts";
import { test as me, openPlane } from "../../testing/test-plane.ts";
import { printTimestamp, type StatusRecord, schemaVersion } from "../../wire/status-file/index.ts";
import { makeLookAround } from "./look-around.ts";

test("a registered agent and its file are one, and the file says more", async () => {
  await using opened = await openPlane();
  const { plane } = opened;
  await plane.submit(register("ada"), me, () => ({}));
  const look = makeLookAround({
    plane,
    files: () => [{ path: "/s/ada.json", record: recordOf("ada", { state: "working" }) }],
    findProcesses: () => [],
    hostName: "here",
  });
  const seen = await look({ silentAfterMs: 300_000 });
  assert.deepEqual(
    seen.map(({ id, known }) => [id, ...known.map(({ source }) => source)]),
    [["ada", "file", "registry"]],
  );
});

function recordOf(id: string, task: NonNullable<StatusRecord["task"]>): StatusRecord {
  return {
    schema_version: schemaVersion,
    agent_id: id,
    agent_name: id,
    runtime: { lifecycle: "running", updated_at: printTimestamp(Date.now()) },
    task,
  };
}
